"""Products of dequantized tensors become products of their integers, summed up in int32.

before:                                            after:
    a = G.dequantize(x, 0.5, 3)                        t = G.matmul(x, w, out_dtype="int32")
    b = G.dequantize(w, 0.25, 0)                       c = G.sum(G.astype(w, "int32"), axis=[0])
    y = G.matmul(a, b)                                 r = G.subtract(t, G.multiply(c, 3))
                                                       y = G.multiply(G.astype(r, "float32"), 0.125)

The sum of integers is exact where the one of floats is rounded at each step, so both are equal but for the rounding of
float32. Zero points are taken off behind the product, since processors multiply bytes as they are; with constant
weights `fold_graph_constant` leaves one vector of them. What follows is done in floats, in one kernel with the product.

What gives some of its elements, such as a transposition or the greatest of windows, is done to the integers, and a
quantization that only undoes a dequantization goes. Scales have to be constants of float32, zero points such that the
bytes may be.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir.constant import constant
from tirscript.ir.dtype import FLOAT32, INT32, DType
from tirscript.ir.expr import Const
from tirscript.ir.graph import GraphBind, GraphConst, GraphExpr, GraphFunc, GraphVar, MatchCast, OpCall, TensorType
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.axes import axis_at, space_of
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.stmt import Stmt

from ..pipeline import module_pass
from .replacing import Replacing, each_graph_func, variables, written_in_place

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

# operators that only move elements
MOVES = frozenset(("reshape", "flatten", "expand_dims", "squeeze", "permute_dims"))
CONVOLUTIONS = frozenset(f"nn.conv{rank}d" for rank in (1, 2, 3))
# well within the normal numbers of float32
SMALLEST, LARGEST = 1e-37, 1e38
POOLS = frozenset(f"nn.max_pool{rank}d" for rank in (1, 2, 3))


@module_pass(opt_level=1)
def quantized_products(module: Module) -> Module:
    """`G.matmul(G.dequantize(x, 0.5, 0), G.dequantize(w, 0.25, 0))` becomes a product of integers times 0.125.

    A function with the attribute "fastmath" of False stays as it is.
    """

    def rule(func: GraphFunc) -> GraphFunc:
        return func if func.attrs.get("fastmath") is False else _Products(func, module).function(func)

    return each_graph_func(module, rule)


class _Quantized(Struct, frozen=True, eq=False):
    """What a dequantized value was: bytes, and the numbers of the scales and zero points."""

    call: OpCall
    scale: Array
    zero: Array

    @property
    def value(self) -> GraphExpr:
        return self.call.args[0]

    @property
    def kind(self) -> TensorType:
        return _tensor(self.value)

    @property
    def plain(self) -> bool:
        """Whether all elements have one scale and one zero point."""
        return self.scale.ndim == self.zero.ndim == 0

    @property
    def largest(self) -> int:
        """The greatest magnitude of an element less its zero point."""
        low, high = _dtype(self.kind).int_range()
        return max(int(high) - int(self.zero.min()), int(self.zero.max()) - int(low))

    def axis(self, rank: int) -> int:
        """The axis that scales and zero points go along."""
        return int(self.call.attrs["axis"]) % rank

    def goes_along(self, axis: int) -> bool:
        """Whether scales and zero points differ along this axis alone, or not at all."""
        return self.plain or self.axis(len(_shape(self.kind))) == axis

    def spread(self, array: Array, rank: int, axis: int) -> Array:
        """Scales or zero points in a shape that goes with a tensor of `rank` whose axis `axis` they belong to."""
        return array.reshape([-1 if at == axis else 1 for at in range(rank)]) if array.ndim else array


class _Products(Replacing):
    """`known` has what variables are that are dequantized from bytes, and the constants that variables are bound to."""

    def __init__(self, func: GraphFunc, module: Module) -> None:
        super().__init__()
        self.before: list[Stmt] = []
        self.written = written_in_place(func, module)

    def forget(self, gone: set[GraphVar]) -> None:
        self.known = {
            var: value
            for var, value in self.known.items()
            if var not in gone and not (type(value) is _Quantized and variables(value.call) & gone)
        }

    def instead(self, stmt: GraphBind | MatchCast) -> GraphExpr | None:
        call = stmt.value
        if type(stmt) is not GraphBind or type(call) is not OpCall or call.op.name != "quantize":
            return None
        given = None if stmt.var in self.written else self.quantized(call.args[0])
        if given is None or not given.plain or call.attrs["out_dtype"] is not given.kind.dtype:
            return None
        own = [self.array(arg) for arg in call.args[1:]]
        same = all(
            a is not None and a.shape == () and a == b for a, b in zip(own, (given.scale, given.zero), strict=True)
        )
        return given.value if same else None

    def rewritten(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if type(stmt) is not GraphBind:
            return (stmt,)
        call, self.before = stmt.value, []
        if type(call) is GraphConst:
            self.known[stmt.var] = call
        if type(call) is not OpCall:
            return (stmt,)
        name = call.op.name
        made: GraphExpr | None = call if name == "dequantize" else None
        if name == "matmul":
            made = self.matmul(call)
        elif name in CONVOLUTIONS:
            made = self.convolution(call)
        elif name in MOVES or name in POOLS:
            made = self.moved(call)
        if type(made) is OpCall and made.op.name == "dequantize":
            self.remember(stmt.var, made)
        return (stmt,) if made is None or made is call else (*self.before, stmt.replace(value=made))

    def remember(self, var: GraphVar, call: OpCall) -> None:
        """Keep what a variable is dequantized from, where its scales and zero points are known."""
        kind = type_of(call.args[0])
        scale, zero = (self.array(arg) for arg in call.args[1:])
        if (
            type(kind) is not TensorType
            or kind.shape is None
            or not _is_byte(kind.dtype)
            or scale is None
            or zero is None
            or variables(call) & self.written
        ):
            return
        if call.attrs["out_dtype"] is FLOAT32 and _is_normal(scale) and _are_bytes(zero, _dtype(kind)):
            self.known[var] = _Quantized(call, scale, zero)

    def quantized(self, value: GraphExpr) -> _Quantized | None:
        """What a value is dequantized from."""
        found = self.known.get(value)
        return found if type(found) is _Quantized else None

    def array(self, value: GraphExpr) -> Array | None:
        """The numbers that a value always is; None where they are not known."""
        found = self.known.get(value, value)
        return found.data.array if type(found) is GraphConst and found.data.resolved else None

    def op(self, name: str, *args: Any, hint: str, **attrs: Any) -> GraphVar:
        """A variable that is bound to the result of an operator."""
        value = GRAPH_OPS[name](*args, **attrs)
        var = GraphVar(hint, type_of(value))
        self.before.append(GraphBind(var, value))
        return var

    def moved(self, call: OpCall) -> OpCall | None:
        """`f(G.dequantize(x))` as `G.dequantize(f(x))`; None where these are not the same."""
        given = self.quantized(call.args[0])
        if given is None or (call.op.name in POOLS and not _fills_windows(call)):
            return None
        axis = 0
        if not given.plain:
            if call.op.name != "permute_dims":
                return None
            rank = len(_shape(given.kind))
            axes = call.attrs["axes"] or range(rank)[::-1]
            axis = [one % rank for one in axes].index(given.axis(rank))
        value = call.replace(args=(given.value, *call.args[1:]))
        var = GraphVar(f"{_name(given.value)}_moved", type_of(value))
        self.before.append(GraphBind(var, value))
        made: OpCall = GRAPH_OPS["dequantize"](var, *given.call.args[1:], axis=axis, out_dtype=FLOAT32)
        return made

    def matmul(self, call: OpCall) -> GraphExpr | None:
        """A product of matrices, by that of their bytes; None where it is none of bytes."""
        left, right = map(self.quantized, call.args)
        if left is None or right is None or call.attrs["out_dtype"] not in (None, FLOAT32):
            return None
        ranks = [len(_shape(one.kind)) for one in (left, right)]
        if min(ranks) < 2 or not left.goes_along(ranks[0] - 2) or not right.goes_along(ranks[1] - 1):
            return None
        if not _is_exact(left, right, [_shape(left.kind)[-1]]):
            return None
        rows, columns = ranks[0] - 2, ranks[1] - 1
        a, b = left.spread(left.zero, ranks[0], rows), right.spread(right.zero, ranks[1], columns)
        scale = left.spread(left.scale, ranks[0], rows) * right.spread(right.scale, ranks[1], columns)
        # (A - a) (B - b) = A B - (sums of A's rows) b - a (sums of the columns of B - b)
        total = self.op("matmul", left.value, right.value, out_dtype=INT32, hint="products")
        if b.any():
            wide = self.op("astype", left.value, INT32, hint="wide")
            sums = self.op("sum", wide, axis=[-1], keepdims=True, hint="rows")
            total = self.less(total, self.op("multiply", sums, _number(b, INT32), hint="rows"))
        if a.any():
            wide = self.op("astype", right.value, INT32, hint="wide")
            if b.any():
                wide = self.less(wide, _number(b, INT32))
            sums = self.op("sum", wide, axis=[-2], keepdims=True, hint="columns")
            total = self.less(total, self.op("multiply", sums, _number(a, INT32), hint="columns"))
        return self.scaled(total, scale)

    def convolution(self, call: OpCall) -> GraphExpr | None:
        """A convolution, by that of bytes; None where it is none of bytes, or its weights have a zero point."""
        data, weight = map(self.quantized, call.args)
        attrs = call.attrs
        if data is None or weight is None or attrs["out_dtype"] not in (None, FLOAT32) or attrs["groups"] != 1:
            return None
        layouts = [attrs["data_layout"], attrs["kernel_layout"], attrs["out_layout"] or attrs["data_layout"]]
        if not all(layout.isalpha() and layout.isupper() for layout in layouts):
            return None
        rank, filters = len(layouts[0]), axis_at(layouts[1], "O")
        if not data.plain or not weight.goes_along(filters) or weight.zero.any():
            return None
        terms = [size for at, size in enumerate(_shape(weight.kind)) if at != filters]
        if not _is_exact(data, weight, terms):
            return None
        value, more = data.value, dict(attrs.items())
        if data.zero.any() and any(attrs["padding"]):
            width = [0] * (2 * rank)
            for place, letter in enumerate(space_of(layouts)):
                at = axis_at(layouts[0], letter)
                width[2 * at : 2 * at + 2] = attrs["padding"][place], attrs["padding"][place + rank - 2]
            value = self.op("nn.pad", value, pad_width=width, pad_value=float(data.zero), hint="padded")
            more["padding"] = [0] * len(attrs["padding"])
        total = self.op(call.op.name, value, weight.value, **{**more, "out_dtype": INT32}, hint="products")
        channel = axis_at(layouts[2], "C")
        if data.zero.any():
            wide = self.op("astype", weight.value, INT32, hint="wide")
            sums = self.op("sum", wide, axis=[at for at in range(rank) if at != filters], hint="filters")
            sums = self.op("multiply", sums, _number(data.zero, INT32), hint="filters")
            shape = [_shape(weight.kind)[filters] if at == channel else dims.ONE for at in range(rank)]
            total = self.less(total, self.op("reshape", sums, tuple(shape), hint="filters"))
        return self.scaled(total, data.scale * weight.spread(weight.scale, rank, channel))

    def less(self, total: GraphVar, other: GraphExpr) -> GraphVar:
        return self.op("subtract", total, other, hint="products")

    def scaled(self, total: GraphVar, scale: Array) -> GraphExpr:
        real = self.op("astype", total, FLOAT32, hint="real")
        found: OpCall = GRAPH_OPS["multiply"](real, _number(scale, FLOAT32))
        return found


def _is_exact(left: _Quantized, right: _Quantized, terms: list[Any]) -> bool:
    """Whether sums of so many products fit int32, and neither scales nor sums leave the normal numbers of float32."""
    sizes = [size.value for size in terms if type(size) is Const]
    most = math.prod(sizes) * left.largest * right.largest
    if len(sizes) < len(terms) or most >= 1 << 31:
        return False
    least = float(left.scale.min()) * float(right.scale.min())
    greatest = float(left.scale.max()) * float(right.scale.max())
    return least > SMALLEST and max(most, 1) * greatest < LARGEST


def _is_normal(scale: Array) -> bool:
    """Whether there are scales, in float32, and all are positive, and 256 times a scale is a number of float32, too."""
    if not scale.size or scale.dtype != "float32":
        return False
    return bool(((scale > SMALLEST) & (scale < LARGEST / 256)).all())


def _are_bytes(zero: Array, kind: DType) -> bool:
    """Whether there are zero points, and all are values of the dtype of bytes, whatever their own is."""
    if not zero.size or zero.dtype.kind not in "iu":
        return False
    low, high = kind.int_range()
    return bool(((zero >= low) & (zero <= high)).all())


def _fills_windows(call: OpCall) -> bool:
    """Whether each window of a pool has elements of the data, of which the greatest is one."""
    attrs = call.attrs
    sizes = zip(attrs["pool_size"] * 2, attrs["padding"], strict=True)
    return not attrs["ceil_mode"] and all(one == 1 for one in attrs["dilation"]) and all(a > b for a, b in sizes)


def _is_byte(kind: DType | None) -> bool:
    return kind is not None and kind.is_int and kind.bits == 8


def _tensor(value: GraphExpr) -> TensorType:
    kind = type_of(value)
    assert type(kind) is TensorType
    return kind


def _shape(kind: TensorType) -> dims.Shape:
    assert kind.shape is not None
    return kind.shape


def _dtype(kind: TensorType) -> DType:
    assert kind.dtype is not None
    return kind.dtype


def _name(value: GraphExpr) -> str:
    return value.name if type(value) is GraphVar else "bytes"


def _number(array: Array, kind: DType) -> GraphConst:
    from tirscript.ir.constant import numpy_dtype

    return GraphConst(constant(array.astype(numpy_dtype(kind))))


__all__ = ["quantized_products"]
