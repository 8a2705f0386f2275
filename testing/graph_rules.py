"""A rule for each kind of operator in random graphs: it picks arguments that fit and binds what it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from tirscript.ir import DType, Expr, PrimFunc, constant, dtype, structural_equal
from tirscript.ir.graph import FunctionRef, GraphConst, GraphExpr, GraphVar, ShapeExpr, TensorType, TupleExpr
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.calls import CALL_DPS_PACKED, CALL_TIR, CALL_TIR_INPLACE
from tirscript.script import parse

from .values import BOOL, INT32, INT64

if TYPE_CHECKING:
    from .random_graphs import Graphs

FLOAT, INT = dtype("float32"), INT32
EXACT = 1e6  # what exact values are kept below: float32 holds all integers up to 16777216
ROUNDED = 1e3  # what others are kept below


class Value(Struct, frozen=True, eq=False):
    """A variable, whether its elements are integers that rounding does not touch, and what they are below."""

    var: GraphVar
    exact: bool
    bound: float

    @property
    def dtype(self) -> DType | None:
        """Of the tensor."""
        return self.var.type.dtype if type(self.var.type) is TensorType else None

    @property
    def shape(self) -> tuple[Expr, ...]:
        """Of the tensor."""
        return (self.var.type.shape or ()) if type(self.var.type) is TensorType else ()

    def most(self, more: float = 1) -> float:
        """What the bound may be for a result that is `more` times as large."""
        return (EXACT if self.exact else ROUNDED) / more


Rule = Callable[["Graphs"], Any]


def _op(name: str, *args: Any, **attrs: Any) -> GraphExpr:
    made: GraphExpr = GRAPH_OPS[name](*args, **attrs)
    return made


def _const(g: Graphs, shape: tuple[int, ...], kind: DType, low: int = -3, high: int = 3) -> GraphConst:
    return GraphConst(constant(g.array(shape, kind, low, high)))


def _known(value: Value) -> list[int]:
    """The axes whose sizes are numbers."""
    return [axis for axis, dim in enumerate(value.shape) if dims.number(dim) is not None]


def _size(value: Value, axis: int) -> int:
    size = dims.number(value.shape[axis])
    assert size is not None
    return size


# -- element by element


def _unary_exact(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    if value is not None:
        names = ("nn.relu", "abs", "negative") if value.dtype is FLOAT else ("abs", "negative")
        g.emit(_op(g.pick(names), value.var), value.exact, value.bound)


def _unary(g: Graphs) -> None:
    value = g.some(FLOAT, bound=ROUNDED)
    if value is None:
        return
    name = g.pick(("tanh", "sigmoid", "nn.gelu", "nn.silu", "sin", "exp", "erf", "nn.leakyrelu"))
    if name == "exp" and value.bound > 5:
        name = "atan"
    bound = {"exp": np.exp(5), "nn.gelu": value.bound, "nn.silu": value.bound, "nn.leakyrelu": value.bound}
    g.emit(_op(name, value.var), False, float(bound.get(name, 1.6)))


def _clip(g: Graphs) -> None:
    value = g.some(FLOAT)
    if value is not None:
        g.emit(_op("clip", value.var, -2, 5), value.exact, min(5, value.bound))


def _partner(g: Graphs, value: Value) -> tuple[GraphExpr, bool, float]:
    """Another tensor that is broadcast with `value`, or a constant."""
    kind = value.dtype
    assert kind is not None
    fits = [one for one in reversed(g.values) if one.dtype is kind and _broadcasts(one, value)]
    if fits and not g.chance(3):
        other = g.pick(fits)
        return other.var, other.exact, other.bound
    tail = []
    for dim in reversed(value.shape):
        size = dims.number(dim)
        if size is None or g.chance(3):
            break
        tail.append(size)
    return _const(g, tuple(reversed(tail)), kind), True, 3


def _broadcasts(one: Value, other: Value) -> bool:
    """Whether that is known without looking at sizes."""
    pairs = zip(reversed(one.shape), reversed(other.shape), strict=False)
    return all(dims.same(a, b) or 1 in (dims.number(a), dims.number(b)) for a, b in pairs)


def _within(one: Value, other: Value) -> bool:
    """Whether the first is broadcast to the shape of the second."""
    pairs = zip(reversed(one.shape), reversed(other.shape), strict=False)
    return len(one.shape) <= len(other.shape) and all(dims.same(a, b) or dims.number(a) == 1 for a, b in pairs)


def _binary(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    if value is None:
        return
    other, exact, bound = _partner(g, value)
    both = value.exact and exact
    most = EXACT if both else ROUNDED
    name = g.pick(("add", "multiply", "subtract", "maximum", "minimum", "multiply"))
    found = {"multiply": value.bound * bound, "add": value.bound + bound, "subtract": value.bound + bound}
    new = found.get(name, max(value.bound, bound))
    if new > most:
        name, new = "maximum", max(value.bound, bound)
    args = (value.var, other) if g.chance(2) or name == "subtract" else (other, value.var)
    g.emit(_op(name, *args), both, new)


def _compare(g: Graphs) -> None:
    value = g.some(FLOAT, INT, exact=True)
    if value is None:
        return
    other, exact, _ = _partner(g, value)
    if exact:
        g.emit(_op(g.pick(("less", "greater_equal", "equal", "not_equal")), value.var, other), True, 1)


def _logical(g: Graphs) -> None:
    value = g.some(BOOL)
    if value is not None:
        other, _, _ = _partner(g, value)
        g.emit(_op(g.pick(("logical_and", "logical_or", "logical_xor")), value.var, other), True, 1)


def _where(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    conditions = [one for one in g.values if one.dtype is BOOL and value is not None and _within(one, value)]
    if value is None or not conditions:
        return
    condition = g.pick(list(reversed(conditions)))
    other, exact, bound = _partner(g, value)
    g.emit(_op("where", condition.var, value.var, other), value.exact and exact, max(bound, value.bound))


def _astype(g: Graphs) -> None:
    value = g.some(FLOAT, INT, BOOL, INT64, exact=True)
    if value is not None:
        to = g.pick((FLOAT, INT))
        g.emit(_op("astype", value.var, dtype=to.name), True, value.bound)


# -- places


def _reshape(g: Graphs) -> None:
    value = g.some(FLOAT, INT, BOOL)
    if value is None or not value.shape:
        return
    shape = list(value.shape)
    at = g.below(len(shape))
    size = dims.number(shape[at])
    if len(shape) > 1 and g.chance(2):
        at = min(at, len(shape) - 2)
        shape[at : at + 2] = [dims.mul(shape[at], shape[at + 1])]
    elif size is not None and size % 2 == 0:
        shape[at : at + 1] = list(dims.shape((2, size // 2)))
    else:
        shape.insert(at, dims.dim(1))
    g.emit(_op("reshape", value.var, ShapeExpr(tuple(shape))), value.exact, value.bound)


def _permute(g: Graphs) -> None:
    value = g.some(FLOAT, INT, BOOL)
    if value is not None and len(value.shape) > 1:
        axes = list(range(len(value.shape)))
        at = g.below(len(axes) - 1)
        axes = [*axes[at + 1 :], *axes[: at + 1]]
        g.emit(_op("permute_dims", value.var, axes=axes), value.exact, value.bound)


def _one(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    if value is None:
        return
    ones = [axis for axis in _known(value) if _size(value, axis) == 1]
    if ones and g.chance(2):
        g.emit(_op("squeeze", value.var, axis=[g.pick(ones)]), value.exact, value.bound)
    elif len(value.shape) < 5:
        g.emit(_op("expand_dims", value.var, axis=[g.below(len(value.shape) + 1)]), value.exact, value.bound)


def _concat(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    if value is None or not value.shape:
        return
    fits = [one for one in reversed(g.values) if structural_equal(one.var.type, value.var.type)]
    other = g.pick(fits)
    both, bound = value.exact and other.exact, max(value.bound, other.bound)
    name = g.pick(("concat", "stack"))
    g.emit(_op(name, TupleExpr((value.var, other.var)), axis=g.below(len(value.shape))), both, bound)


def _split(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    even = [axis for axis in _known(value) if _size(value, axis) % 2 == 0] if value is not None else []
    if value is not None and even:
        parts = _op("split", value.var, 2, axis=g.pick(even))
        g.items(parts, [(value.exact, value.bound)] * 2)


def _tuple(g: Graphs) -> None:
    fields = [one for one in (g.some(FLOAT, INT, BOOL) for _ in range(2)) if one is not None]
    if fields:
        g.items(TupleExpr(tuple(one.var for one in fields)), [(one.exact, one.bound) for one in fields])


def _slice(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    wide = [axis for axis in _known(value) if _size(value, axis) > 1] if value is not None else []
    if value is None or not wide:
        return
    axis = g.pick(wide)
    size, name = _size(value, axis), g.pick(("strided_slice", "take", "flip"))
    if name == "flip":
        made = _op("flip", value.var, axis=axis)
    elif name == "take":
        made = _op("take", value.var, _const(g, (2,), INT64, 0, size - 1), axis=axis)
    else:
        ranges = [ShapeExpr(dims.shape((number,))) for number in (axis, g.below(2), size, 1 + g.below(2))]
        made = _op("strided_slice", value.var, *ranges)
    g.emit(made, value.exact, value.bound)


def _repeat(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    if value is None or not value.shape:
        return
    rank = len(value.shape)
    name = g.pick(("nn.pad", "tile", "repeat", "broadcast_to"))
    if name == "nn.pad":
        made = _op(name, value.var, pad_width=[*[0] * (2 * rank - 1), 1])
    elif name == "tile":
        made = _op(name, value.var, repeats=[2, *[1] * (rank - 1)])
    elif name == "repeat":
        made = _op(name, value.var, repeats=2, axis=g.below(rank))
    else:
        made = _op(name, value.var, ShapeExpr((*dims.shape((2,)), *value.shape)))
    g.emit(made, value.exact, value.bound)


def _as_shape(g: Graphs) -> None:
    """A shape that is a value."""
    value = g.some(FLOAT)
    if value is None or len(value.shape) < 2:
        return
    shape = g.emit(_op("shape_of", value.var))
    flat = g.emit(_op("flatten", value.var), value.exact, value.bound)
    if shape is not None and flat is not None:
        g.emit(_op("reshape", flat.var, shape.var), value.exact, value.bound)


# -- reductions and contractions


def _reduce(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    if value is None or not value.shape:
        return
    axis = g.below(len(value.shape))
    size = g.count(value.shape[axis : axis + 1])
    name = g.pick(("sum", "max", "min", "mean", "cumsum", "argmax"))
    if name in ("sum", "cumsum", "mean") and value.bound > value.most(size):
        name = "max"
    if (name == "argmax" and not value.exact) or (name == "mean" and value.dtype is not FLOAT):
        name = "min"
    if name == "mean" and value.bound > ROUNDED:
        name = "max"
    if name == "argmax":
        g.emit(_op(name, value.var, axis=axis), True, size)
    elif name == "cumsum":
        g.emit(_op(name, value.var, axis=axis), value.exact, value.bound * size)
    else:
        made = _op(name, value.var, axis=[axis], keepdims=g.chance(2))
        g.emit(made, value.exact and name != "mean", value.bound * (size if name == "sum" else 1))


def _matmul(g: Graphs) -> None:
    value = g.some(FLOAT)
    if value is None or len(value.shape) < 2:
        return
    size = g.count(value.shape[-1:])
    if dims.number(value.shape[-1]) is None or g.chance(3):
        axes = [*range(len(value.shape) - 2), len(value.shape) - 1, len(value.shape) - 2]
        if value.bound**2 * size > value.most():
            return
        turned = g.emit(_op("permute_dims", value.var, axes=axes), value.exact, value.bound)
        if turned is not None:
            g.emit(_op("matmul", value.var, turned.var), value.exact, value.bound**2 * size)
    elif value.bound * 3 * size <= value.most():
        g.emit(_op("matmul", value.var, _const(g, (size, 3), FLOAT)), value.exact, value.bound * 3 * size)


def _conv(g: Graphs) -> None:
    value = g.some(FLOAT, rank=4)
    known = _known(value) if value is not None else []
    if value is None or known[-3:] != [1, 2, 3] or _size(value, 2) < 3 or _size(value, 3) < 3:
        return
    channels = _size(value, 1)
    name = g.pick(("conv", "max_pool", "avg_pool"))
    if name == "conv" and value.bound * 6 * 9 * channels <= value.most():
        weight = _const(g, (2, channels, 3, 3), FLOAT, -2, 2)
        made = _op("nn.conv2d", value.var, weight, padding=[1, 1, 1, 1] if g.chance(2) else [0, 0, 0, 0])
        g.emit(made, value.exact, value.bound * 2 * 9 * channels)
    elif name == "avg_pool" and value.bound <= ROUNDED:
        g.emit(_op("nn.avg_pool2d", value.var, pool_size=[2, 2], strides=[2, 2]), False, value.bound)
    else:
        g.emit(_op("nn.max_pool2d", value.var, pool_size=[2, 2], strides=[1, 1]), value.exact, value.bound)


def _softmax(g: Graphs) -> None:
    value = g.some(FLOAT, bound=ROUNDED)
    if value is not None and value.shape:
        axis = g.below(len(value.shape))
        name = g.pick(("nn.softmax", "nn.log_softmax"))
        g.emit(_op(name, value.var, axis=axis), False, 1 if name == "nn.softmax" else 2 * value.bound + 8)


def _norm(g: Graphs) -> None:
    value = g.some(FLOAT, exact=True, bound=ROUNDED)
    size = dims.number(value.shape[-1]) if value is not None and value.shape else None
    if value is not None and size is not None:
        gamma, beta = _const(g, (size,), FLOAT, 1, 2), _const(g, (size,), FLOAT)
        g.emit(_op("nn.layer_norm", value.var, gamma, beta, axes=[-1]), False, 2 * size + 3)


def _inference(g: Graphs) -> None:
    """What training and inference do differently."""
    value = g.some(FLOAT, bound=ROUNDED / 10)
    if value is None:
        return
    size = dims.number(value.shape[1]) if len(value.shape) > 1 else None
    if size is not None and g.chance(2):
        parts = [_const(g, (size,), FLOAT, 1, 2) for _ in range(4)]
        made = _op("nn.batch_norm", value.var, *parts, axis=1, training=False)
        g.items(made, [(False, 2 * value.bound + 6), (False, 3), (False, 3)])
    else:
        g.items(_op("nn.dropout", value.var, rate=0.5), [(value.exact, value.bound), (True, 1)])


# -- kernels

NEGATE = "tirscript.testing.negate"  # a library function, which `graphs` registers

KERNELS = {
    "twice": """
@T.prim_func(private=True)
def twice(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({shape}, "{dtype}")):
    for {loops} in T.grid({extents}):
        with T.block("B"):
            {axes} = T.axis.remap("{spatial}", [{loops}])
            B[{at}] = A[{at}] + A[{at}]
""",
    "larger": """
@T.prim_func(private=True)
def larger(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({shape}, "{dtype}"), C: T.Buffer({shape}, "{dtype}")):
    for {loops} in T.grid({extents}):
        with T.block("C"):
            {axes} = T.axis.remap("{spatial}", [{loops}])
            C[{at}] = T.max(A[{at}], B[{at}])
""",
    "double": """
@T.prim_func(private=True)
def double(A: T.Buffer({shape}, "{dtype}")):
    for {loops} in T.grid({extents}):
        with T.block("A"):
            {axes} = T.axis.remap("{spatial}", [{loops}])
            A[{at}] = A[{at}] + A[{at}]
""",
    "both": """
@T.prim_func(private=True)
def both(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({shape}, "{dtype}"), C: T.Buffer({shape}, "{dtype}")):
    for {loops} in T.grid({extents}):
        B[{at}] = A[{at}] * T.cast(2, "{dtype}")
        C[{at}] = -A[{at}]
""",
    "total": """
@T.prim_func(private=True)
def total(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({shape}, "{dtype}")):
    for {loops}, r in T.grid({extents}, {last}):
        with T.block("B"):
            {axes}, vr = T.axis.remap("{spatial}R", [{loops}, r])
            with T.init():
                B[{at}] = T.cast(0, "{dtype}")
            B[{at}] += A[{ahead}vr]
""",
}


def _kernel(g: Graphs, name: str, value: Value) -> str:
    """The name of a kernel for tensors of a value's type, which the module has from then on."""
    rank, kind = len(value.shape), value.dtype
    numbers = [dims.number(dim) for dim in value.shape]
    sizes = [str(size) if size is not None else f"d{axis}" for axis, size in enumerate(numbers)]
    shown = [size if size.isdigit() else f'"{size}"' for size in sizes]
    axes = [f"v{axis}" for axis in range(rank)]
    text = KERNELS[name].format(
        shape=f"({', '.join(shown)},)",
        dtype=kind,
        loops=", ".join(f"i{axis}" for axis in range(rank)),
        extents=", ".join(sizes),
        axes=", ".join(axes) if rank > 1 or name == "total" else "(v0,)",
        spatial="S" * rank,
        at=", ".join(axes if name != "both" else [f"i{axis}" for axis in range(rank)]),
        ahead="".join(f"{axis}, " for axis in axes[:-1]),
        last=sizes[-1],
    )
    func = parse(text)
    assert isinstance(func, PrimFunc)
    for other in g.module.functions:
        if structural_equal(func.replace(name=other.name), other):
            return other.name
    func = func.replace(name=g.fresh(name))
    g.module = g.module.with_function(func)
    return func.name


def _call_tir(g: Graphs) -> None:
    value = g.some(FLOAT, INT)
    if value is None or not value.shape:
        return
    kind = TensorType(value.shape, value.dtype)
    name = g.pick(("twice", "larger", "both", "total"))
    args = [value]
    if name == "larger":
        args.append(g.pick([one for one in reversed(g.values) if structural_equal(one.var.type, value.var.type)]))
    more = {"twice": 2, "both": 2, "larger": 1, "total": g.count(value.shape[-1:])}[name]
    if value.bound > value.most(more):
        return
    bound = max(one.bound for one in args) * more
    exact = all(one.exact for one in args)
    kernel = FunctionRef(_kernel(g, name, value))
    given = TupleExpr(tuple(one.var for one in args))
    if name == "both":
        g.items(CALL_TIR(kernel, given, out=(kind, kind)), [(exact, bound), (exact, value.bound)])
    else:
        g.emit(CALL_TIR(kernel, given, out=kind), exact, bound)


def _inplace(g: Graphs) -> None:
    """A kernel that writes into its argument, which nothing else uses."""
    value = g.some(FLOAT)
    if value is None or not value.shape or value.bound > value.most(4):
        return
    made = g.emit(_op("add", value.var, value.var), value.exact, 2 * value.bound)
    if made is None:
        return
    g.values.remove(made)
    kernel = FunctionRef(_kernel(g, "double", value))
    kind = TensorType(value.shape, value.dtype)
    call = CALL_TIR_INPLACE(kernel, TupleExpr((made.var,)), inplace_indices=[0], out=kind)
    g.emit(call, value.exact, 4 * value.bound)


def _library(g: Graphs) -> None:
    value = g.some(FLOAT)
    if value is not None:
        kind = TensorType(value.shape, value.dtype)
        call = CALL_DPS_PACKED(NEGATE, TupleExpr((value.var,)), out=kind)
        g.emit(call, value.exact, value.bound)


def _half(g: Graphs) -> None:
    """There and back, and a sum between: float16 holds all integers up to 2048."""
    value = g.some(FLOAT, exact=True, bound=1000)
    narrow = g.emit(_op("astype", value.var, "float16"), True, value.bound) if value is not None else None
    if value is None or narrow is None:
        return
    g.values.remove(narrow)
    total = g.emit(_op("add", narrow.var, narrow.var), True, 2 * value.bound)
    if total is not None:
        g.values.remove(total)
        g.emit(_op("astype", total.var, "float32"), True, 2 * value.bound)


# operators of floats that keep shape and dtype, for branches
ALIKE: tuple[Rule, ...] = (_unary_exact, _unary, _clip, _binary)
RULES: tuple[Rule, ...] = (
    *(_unary_exact, _unary, _binary, _binary, _binary, _clip, _compare, _logical, _where, _astype),
    *(_reshape, _permute, _one, _concat, _split, _tuple, _slice, _repeat, _as_shape),
    *(_reduce, _reduce, _matmul, _matmul, _conv, _conv, _softmax, _norm, _inference, _call_tir, _call_tir),
    *(_inplace, _library, _half),
)

__all__ = ["ALIKE", "RULES", "Value"]
