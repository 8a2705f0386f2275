"""Kernels of operators: functions in the tensor language, read when an operator is legalized.

A kernel takes the operator's tensors (buffers), shapes and scalars, then the buffers of the results, then attributes by
keyword, and is written for every rank and dtype at once:

    def flip(x: Any, out: Any, *, axis: int) -> None:
        for *i, in T.grid(*out.shape):
            with T.block("flip"):
                *v, = T.axis.remap("S" * len(i), i)
                out[*v] = x[*v[:axis], x.shape[axis] - 1 - v[axis], *v[axis + 1 :]]

It is never run as Python: `legalize` makes the buffers of a call and reads the function's source as a macro on them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from ..buffer import Buffer
from ..dtype import FLOAT32, INT32, INT64, DType
from ..expr import Const, Expr, Var, const
from ..graph import (
    GraphConst,
    GraphExpr,
    GraphType,
    OpCall,
    PrimType,
    PrimValue,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from ..graph_op import Legalized
from ..node import Attrs
from ..op import OPS
from ..op import cast as cast_to
from ..rewrite import free_buffers, free_vars, substitute, walk
from ..stmt import Assert
from . import dims
from .extents import Equal, checks
from .reference import NARROW
from .rules import Types

T: Any = None  # the namespace T, in kernels; they are read and never run


Legalize = Callable[[OpCall, Types, str], Legalized | None]


def part(function: Any) -> Any:
    """Mark a function in the tensor language that kernels call: its statements are written out there."""
    function.__part_of_kernels__ = True
    return function


def kernel(
    function: Any,
    prepare: Callable[[OpCall, Types], Mapping[str, Any] | None] | None = None,
    *,
    inline: bool = False,
    exact: bool = False,
    equal: Callable[[OpCall, Types], Sequence[Equal]] | None = None,
    **given: Any,
) -> Legalize:
    """The legalization by a kernel.

    prepare: (call, types) -> further keyword arguments of the kernel; None where it has no kernel for the call
    inline:  scalar constants stand in the kernel as numbers of their dtype; a tensor argument is then a buffer or
             an expression
    exact:   whether loops go over all elements along an axis, which then has as many for the call to be right; a
             kernel that reads a part has to be given no fewer
    equal:   (call, types) -> further sizes that have to be equal
    given:   further keyword arguments
    """
    takes = inspect.signature(function).parameters
    wanted = [name for name, one in takes.items() if one.kind is one.KEYWORD_ONLY]

    def legalize(call: OpCall, types: Types, name: str) -> Legalized | None:
        results = _tensors_of(call.op.infer(call, types))
        further = {} if prepare is None else prepare(call, types)
        if results is None or further is None:
            return None
        made = _Buffers(inline)
        args = made.arguments(call, types)
        outs = made.results(results)
        if args is None or outs is None:
            return None
        keywords = {**call.attrs, **given, **further}
        keywords = {key: made.local(value) for key, value in keywords.items() if key in wanted}
        found = made.function(function, name, [*args, *outs], keywords, results)
        more = () if equal is None else equal(call, types)
        own = [(what, made.renamed(one), made.renamed(other)) for what, one, other in more]
        asked = checks(call, found.func.body, set(made.own.values()), exact, own)
        return structs.replace(found, func=found.func.replace(body=(*asked, *found.func.body))) if asked else found

    return legalize


def _tensors_of(kind: GraphType) -> tuple[TensorType, ...] | None:
    """The tensors of a result whose shapes and dtypes are known."""
    fields = kind.fields if type(kind) is TupleType else (kind,)
    found = tuple(one for one in fields if type(one) is TensorType and one.shape is not None and one.dtype is not None)
    return found if found and len(found) == len(fields) else None


def _is_large(kind: GraphType) -> bool:
    """Whether indices of a tensor, or into its elements in order, take more than int32."""
    if type(kind) is TupleType:
        return any(map(_is_large, kind.fields))
    if type(kind) is not TensorType or kind.shape is None:
        return False
    return math.prod(dims.number(one) or 1 for one in kind.shape) >= 1 << 31


class _Buffers:
    """Makes the parameters of one tensor function: buffers for tensors, variables of its own for dimensions."""

    def __init__(self, inline: bool) -> None:
        self.inline = inline
        self.own: dict[Var, Expr] = {}
        self.buffers: list[Buffer] = []
        self.passed: list[GraphExpr] = []
        self.index = INT32

    def arguments(self, call: OpCall, types: Types) -> list[Any] | None:
        """What the kernel takes for the call's arguments; None where a shape or a dtype is not known."""
        if any(map(_is_large, [*types, call.op.infer(call, types)])):
            self.index = INT64
        found: list[Any] = []
        for parameter, arg, kind in zip(call.op.values, call.args, types, strict=False):
            if parameter.kind == "tensor" and type(kind) is PrimType and not self.inline:
                return None  # the kernel reads elements
            value = self._argument(parameter.name, arg, kind)
            if value is None:
                return None
            found.append(value)
        # a value that the call leaves away is None for the kernel
        return [*found, *[None for _ in call.op.values[len(call.args) :]]]

    def _argument(self, name: str, arg: GraphExpr, kind: GraphType) -> Any:
        if type(kind) is TupleType:
            items = arg.fields if type(arg) is TupleExpr else [TupleItem(arg, at) for at in range(len(kind.fields))]
            found = [
                self._argument(f"{name}_{at}", one, each)
                for at, (one, each) in enumerate(zip(items, kind.fields, strict=True))
            ]
            return None if any(one is None for one in found) else tuple(found)
        rule = _ARGUMENTS.get(type(kind))
        return None if rule is None else rule(self, name, arg, kind)

    def tensor(self, name: str, arg: GraphExpr, kind: TensorType) -> Any:
        if kind.shape is None or kind.dtype is None:
            return None
        if self.inline and type(arg) is GraphConst and not kind.shape and arg.data.resolved:
            return const(arg.data.array.item(), kind.dtype)
        self.passed.append(arg)
        return self.buffer(name, kind.shape, kind.dtype)

    def shape(self, name: str, arg: GraphExpr, kind: ShapeType) -> Any:
        return None if kind.values is None else tuple(map(self.local, kind.values))

    def prim(self, name: str, arg: GraphExpr, kind: PrimType) -> Any:
        if self.inline and type(kind.value) is Const:
            return kind.value
        return None if kind.value is None else self.local(kind.value)

    def results(self, results: Sequence[TensorType]) -> list[Buffer]:
        names = ["out"] if len(results) == 1 else [f"out_{at}" for at in range(len(results))]
        found = []
        for name, kind in zip(names, results, strict=True):
            assert kind.shape is not None and kind.dtype is not None
            found.append(self.buffer(name, kind.shape, kind.dtype))
        return found

    def buffer(self, name: str, shape: Sequence[Expr], kind: DType) -> Buffer:
        made = Buffer(name, tuple(self.dimension(one) for one in shape), kind)
        self.buffers.append(made)
        return made

    def dimension(self, value: Expr) -> Expr:
        """A dimension in the function's own variables and its dtype of indices."""
        if type(value) is Const:
            return const(int(value.value), self.index)
        return self.renamed(value)

    def renamed(self, value: Expr) -> Expr:
        for part in walk(value):
            if type(part) is Var and part not in self.own:
                self.own[part] = Var(part.name, part.dtype)
        return substitute(value, self.own)

    def local(self, value: Any) -> Any:
        """An argument as the kernel takes it: constants are plain numbers."""
        if isinstance(value, (tuple, list)):
            return tuple(map(self.local, value))
        if isinstance(value, dict) and type(value) is not Attrs:
            return {key: self.local(one) for key, one in value.items()}
        if type(value) is Const:
            return value.value
        return self.renamed(value) if isinstance(value, Expr) else value

    def function(
        self, function: Any, name: str, args: list[Any], keywords: dict[str, Any], results: tuple[TensorType, ...]
    ) -> Legalized:
        """The tensor function. Tensors that it does not read are left out; dimensions that no buffer has alone are
        scalars that it is given. Scalars of other dtypes than dimensions have stand behind the tensors it reads."""
        from tirscript.script.kernel import kernel_function

        made = kernel_function(function, name, self.buffers, args, keywords)
        read = {id(buffer) for stmt in made.body for buffer in free_buffers(stmt)}
        count = len(self.buffers) - len(results)
        kept = [at for at in range(count) if id(self.buffers[at]) in read]
        buffers = [*[self.buffers[at] for at in kept], *self.buffers[count:]]
        bound = {id(one) for buffer in buffers for one in buffer.shape if type(one) is Var}
        used = {id(var) for buffer in buffers for one in buffer.shape for var in free_vars(one)}
        used.update(id(var) for stmt in made.body for var in free_vars(stmt))
        scalars = {var: own for var, own in self.own.items() if id(own) in used and id(own) not in bound}
        others = [var for var in scalars if var.dtype is not INT64]
        sizes = [var for var in scalars if var.dtype is INT64]
        params = [*buffers[: len(kept)], *map(self.own.get, others), *buffers[len(kept) :], *map(self.own.get, sizes)]
        passed = (*[self.passed[at] for at in kept], *map(PrimValue, others))
        return Legalized(made.replace(params=tuple(params)), passed, tuple(sizes), results)


_ARGUMENTS: dict[type, Callable[..., Any]] = {
    TensorType: _Buffers.tensor,
    ShapeType: _Buffers.shape,
    PrimType: _Buffers.prim,
}

# -- elementwise


def _elementwise(*args: Any, value: Any, along: Any, attrs: Any) -> None:
    """Every element of the result from the elements of the arguments."""
    out = args[-1]
    for (*i,) in T.grid(*out.shape):
        with T.block("compute"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = value([element(x, v, out.shape, along.get(at)) for at, x in enumerate(args[:-1])], attrs)


def element(x: Any, v: Sequence[Expr], shape: Sequence[Any], axis: int | None = None) -> Any:
    """The element of an argument that belongs to the element `v` of a result of that shape, as they broadcast.

    A vector may lie along one `axis` of the result instead; its one element is that of all.
    """
    from ..expr import BufferLoad

    if not isinstance(x, Buffer):
        return x
    if axis is not None and x.ndim:
        return BufferLoad(x, (_along(x.shape[0], shape[axis], v[axis]),))
    own = v[len(v) - x.ndim :]
    there = shape[len(v) - x.ndim :]
    return BufferLoad(x, tuple(_along(size, total, at) for size, total, at in zip(x.shape, there, own, strict=True)))


def _along(size: Expr, total: Any, at: Expr) -> Expr:
    return const(0, at.dtype) if dims.number(size) == 1 and dims.number(dims.dim(total)) != 1 else at


def elementwise(value: Any, along: Mapping[int, str] | None = None) -> Legalize:
    """The legalization of an operator on elements.

    value: a tensor operator by name, or a function of the elements (and of the attributes, by keyword); on floats of 16
           bits and less a function computes in float32, and its result is rounded once
    along: arguments by number that are scalars, or vectors along the axis in an attribute
    """
    single = OPS[value] if isinstance(value, str) else None
    function = single or value
    wanted = [] if single else [n for n, p in inspect.signature(value).parameters.items() if p.kind is p.KEYWORD_ONLY]

    def combined(elements: list[Any], attrs: Mapping[str, Any]) -> Expr:
        keywords = {name: attrs[name] for name in wanted}
        first = next(
            one for one in elements if isinstance(one, Expr) and (not one.dtype.is_bool or one is elements[-1])
        )
        kind = first.dtype
        if single is not None or kind.name not in NARROW or {"dtype", "out_dtype"} & keywords.keys():
            found: Expr = function(*elements, **keywords)
            return found
        wide = [cast_to(one, FLOAT32) if isinstance(one, Expr) and one.dtype is kind else one for one in elements]
        made: Expr = function(*wide, **keywords)
        return cast_to(made, kind) if made.dtype is FLOAT32 else made

    def prepare(call: OpCall, types: Types) -> Mapping[str, Any] | None:
        kind = types[0]
        rank = kind.rank if type(kind) is TensorType else None
        found = {at: int(call.attrs[name]) % (rank or 1) for at, name in (along or {}).items()}
        return {"along": found, "attrs": call.attrs}

    return kernel(_elementwise, prepare, inline=True, exact=True, value=combined)


# -- elements that move


def _rearranged(x: Any, *rest: Any, source: Any, attrs: Any) -> None:
    """Every element of the result is one of the argument; between them stand scalars and shapes."""
    out = T.meta_var(rest[-1])
    for (*i,) in T.grid(*out.shape):
        with T.block("move"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = x[*source(v, x, out, attrs)]


def rearranged(
    source: Callable[[Sequence[Expr], Buffer, Buffer, Mapping[str, Any]], Sequence[Any]], *, exact: bool = False
) -> Legalize:
    """The legalization of an operator that moves elements of its first argument.

    source: (v, argument, result, attributes) -> the place in the argument of the result's element `v`
    """
    return kernel(_rearranged, lambda call, types: {"attrs": call.attrs}, exact=exact, source=source)


def asking(legalize: Legalize, checks_of: Callable[[OpCall, dims.Shape, dims.Shape], Sequence[Assert]]) -> Legalize:
    """The legalization by a kernel that first asks what `checks_of` says, given the shapes of its first argument and of
    its result."""

    def legalized(call: OpCall, types: Types, name: str) -> Legalized | None:
        found = legalize(call, types, name)
        if found is None:
            return None
        func = found.func
        asked = checks_of(call, func.param_buffers[0].shape, func.param_buffers[-1].shape)
        return structs.replace(found, func=func.replace(body=(*asked, *func.body))) if asked else found

    return legalized


def as_many(legalize: Legalize) -> Legalize:
    """The legalization of an operator whose result has the elements of its argument: a kernel that asks for it first
    where sizes that only the call knows decide it, as it would read behind the argument else."""

    def checks_of(call: OpCall, source: dims.Shape, result: dims.Shape) -> Sequence[Assert]:
        check = check_as_many(call, source, result)
        return () if check is None else (check,)

    return asking(legalize, checks_of)


def check_as_many(call: OpCall, source: Sequence[Expr], result: Sequence[Expr]) -> Assert | None:
    """What asks whether two shapes have as many elements; None where that is proved."""
    have, want = (dims.product([cast_to(one, INT64) for one in shape]) for shape in (source, result))
    if dims.same(have, want):
        return None
    message = f"`{call.op.spelling}`: {dims.text(result)} has not as many elements as {dims.text(source)}"
    return Assert(OPS["equal"](have, want), message, span=call.span)


def size(buffer: Buffer, axis: int) -> Any:
    """A dimension of a buffer: a plain int where it is constant."""
    found = dims.number(buffer.shape[axis])
    return buffer.shape[axis] if found is None else found


def flat(places: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """The number of an element in row-major order."""
    found: Any = None
    for place, extent in zip(places, sizes, strict=True):
        found = place if found is None else found * extent + place
    return 0 if found is None else found


def unflat(number: Any, sizes: Sequence[Any]) -> list[Any]:
    """The place of the element of that number in row-major order."""
    found: list[Any] = []
    for at, extent in reversed(list(enumerate(sizes))):
        found.append(number % extent if at and not is_one(extent) else number if not is_one(extent) else 0)
        number = number // extent if not is_one(extent) else number
    return found[::-1]


def is_one(extent: Any) -> bool:
    """Whether a dimension is known to be 1."""
    return type(extent) is int and extent == 1


__all__ = [
    "Legalize",
    "T",
    "as_many",
    "asking",
    "check_as_many",
    "element",
    "elementwise",
    "flat",
    "kernel",
    "part",
    "rearranged",
    "size",
    "unflat",
]
