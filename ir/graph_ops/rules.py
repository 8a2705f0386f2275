"""What type rules are made of: the tensors of a call, checks of them, and messages that name the call.

A rule gets the call and the types of its arguments and returns the type of the result. It never fails for what is not
known: an unknown shape or dtype gives what follows without it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..diagnostic import DiagnosticError
from ..dtype import DType
from ..expr import Const, Expr
from ..graph import (
    GraphType,
    GraphVar,
    ObjectType,
    OpCall,
    PrimType,
    ShapeType,
    StringValue,
    TensorType,
    TupleExpr,
    TupleType,
)
from ..op import fail, join
from ..span import Span
from ..words import counted
from . import dims
from .dims import Shape

Types = tuple[GraphType, ...]
Rule = Callable[[OpCall, Types], GraphType]

ANY: tuple[str, ...] = ()
FLOATS = ("float", "bfloat", "float8")
INTS = ("int", "uint")
NUMBERS = (*FLOATS, *INTS)
BOOLS = ("bool",)
INTS_OR_BOOLS = (*INTS, *BOOLS)
_WORDS: dict[tuple[str, ...], str] = {
    FLOATS: "floats",
    INTS: "integers",
    NUMBERS: "numbers",
    BOOLS: "bools",
    INTS_OR_BOOLS: "integers or bools",
}


def refuse(call: OpCall, message: str, hint: str | None = None, code: str = "T207") -> NoReturn:
    """Raise a diagnostic about the call."""
    raise fail(code, f"`{call.op.spelling}`: {message}", hint)


def name_of(call: OpCall, at: int) -> str:
    """The name of a value parameter."""
    return call.op.values[at].name


def tensor(call: OpCall, types: Types, at: int, kinds: tuple[str, ...] = ANY) -> TensorType:
    """The argument as a tensor whose elements are of some kinds (all, where none are given); T104 or T105 otherwise.

    A scalar is a tensor without dimensions.
    """
    what = f"`{name_of(call, at)}`"
    if at < len(call.args) and type(call.args[at]) is StringValue:
        refuse(call, f"{what} is a tensor, not a string", None, "T104")
    return as_tensor(call, types[at], what, kinds)


def as_tensor(call: OpCall, kind: GraphType, what: str, kinds: tuple[str, ...] = ANY) -> TensorType:
    """A type as that of a tensor; see `tensor`."""
    if type(kind) is PrimType:
        kind = TensorType((), kind.dtype)
    elif type(kind) is ObjectType:
        return TensorType()
    if type(kind) is not TensorType:
        refuse(call, f"{what} is a tensor, not {describe(kind)}", _instead(kind), "T104")
    if kinds and kind.dtype is not None and kind.dtype.kind not in kinds:
        wanted = {FLOATS: "float32", BOOLS: "bool"}.get(kinds, "int64")
        hint = f'convert it: `{_written(call, what)}.astype("{wanted}")`'
        refuse(call, f"{what} is a tensor of {_WORDS.get(kinds, 'other numbers')}, not of {kind.dtype}", hint, "T105")
    return kind


def _instead(kind: GraphType) -> str | None:
    return "take one of its fields: `x[0]`" if type(kind) is TupleType else None


def describe(kind: GraphType) -> str:
    """A type in a message."""
    if type(kind) is TensorType:
        return f"a tensor {dims.text(kind.shape) if kind.shape is not None else 'of unknown shape'}"
    return _NOUNS.get(type(kind), "a value of another kind")


_NOUNS: dict[type, str] = {TupleType: "a tuple", ShapeType: "a shape", PrimType: "a scalar"}


def tensors(call: OpCall, types: Types, at: int) -> tuple[TensorType, ...] | None:
    """The tensors of a tuple argument, at least one; None where nothing is known of it."""
    kind = types[at]
    if type(kind) is ObjectType:
        return None
    if type(kind) is not TupleType:
        refuse(call, f"`{name_of(call, at)}` is a tuple of tensors, not {describe(kind)}", "write `(x, y)`", "T104")
    if not kind.fields:
        refuse(call, f"`{name_of(call, at)}` is an empty tuple", "give it one tensor or more", "T104")
    return tuple(as_tensor(call, one, f"field {i} of `{name_of(call, at)}`") for i, one in enumerate(kind.fields))


def scalar(call: OpCall, types: Types, at: int, kinds: tuple[str, ...], what: str) -> Expr | None:
    """The value of a scalar argument of some kinds, as `what` names them; None where it is not known."""
    return as_scalar(call, types[at], f"`{name_of(call, at)}` is {what}", kinds)


def as_scalar(call: OpCall, kind: GraphType, what: str, kinds: tuple[str, ...]) -> Expr | None:
    """The value of a scalar type; see `scalar`."""
    if type(kind) is ObjectType:
        return None
    if type(kind) is not PrimType:
        refuse(call, f"{what}, not {describe(kind)}", "write a number or `G.prim_value(n)`", "T104")
    if kind.dtype.kind not in kinds:
        hint = 'cast it: `T.cast(x, "int64")`' if kinds == INTS and type(kind.value) is not Const else None
        refuse(call, f"{what}, not {kind.dtype}", hint, "T105")
    return kind.value


def target_shape(call: OpCall, types: Types, at: int) -> ShapeType:
    """A shape argument."""
    kind = types[at]
    if type(kind) is ObjectType:
        return ShapeType()
    if type(kind) is not ShapeType:
        refuse(
            call,
            f"`{name_of(call, at)}` is a shape, not {describe(kind)}",
            "write `(2, 3)` or `G.shape([2, 3])`",
            "T104",
        )
    return kind


def of_shape(kind: ShapeType, dtype: DType | None, vdevice: str | None = None) -> TensorType:
    """The tensor that has a shape."""
    return TensorType(kind.values, dtype, None if kind.values is not None else kind.ndim, vdevice)


def like(kind: TensorType, **changes: Any) -> TensorType:
    """A tensor type with some of its fields changed and no span."""
    fields = {"shape": kind.shape, "dtype": kind.dtype, "ndim": kind.ndim, "vdevice": kind.vdevice, **changes}
    return TensorType(**fields)


def of_rank(rank: int | None, dtype: DType | None, vdevice: str | None = None) -> TensorType:
    """A tensor of which at most the number of dimensions is known."""
    return TensorType(() if rank == 0 else None, dtype, None if rank == 0 else rank, vdevice)


# -- axes


def axis_of(call: OpCall, axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; T207 where the tensor has none of that number."""
    if not -rank <= axis < rank:
        has = counted(rank, "dimension")
        ends = f"it is from {-rank} to {rank - 1}" if rank else "a scalar has no axis"
        refuse(call, f"`{what}` is {axis}, but the tensor has {has}", ends)
    return axis % rank if rank else 0


def axes_of(call: OpCall, axes: Sequence[int] | None, rank: int, what: str = "axis") -> tuple[int, ...]:
    """Axes counted from the front, each once; all of them where there are None."""
    if axes is None:
        return tuple(range(rank))
    found = tuple(axis_of(call, axis, rank, what) for axis in axes)
    if len(set(found)) != len(found):
        refuse(call, f"`{what}` names an axis twice: {list(axes)}")
    return found


def rank_of(call: OpCall, kind: TensorType, at: int, *ranks: int) -> None:
    """T207 unless the tensor has one of these numbers of dimensions, or an unknown one."""
    if kind.rank is not None and kind.rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        shown = dims.text(kind.shape) if kind.shape is not None else f"of {counted(kind.rank, 'dimension')}"
        wanted += " dimension" if wanted == "1" else " dimensions"
        refuse(call, f"`{name_of(call, at)}` must have {wanted}, not {kind.rank}: {shown}")


# -- what several arguments have in common


def common_dtype(call: OpCall, kinds: Sequence[TensorType], names: Sequence[str]) -> DType | None:
    """The dtype of all; None where one is not known; T107 where two differ."""
    first: tuple[DType, str] | None = None
    for kind, name in zip(kinds, names, strict=True):
        if kind.dtype is None:
            continue
        if first is not None and kind.dtype is not first[0]:
            message = f"{first[1]} is of {first[0]} and {name} of {kind.dtype}"
            refuse(call, message, f'convert one: `{_written(call, name)}.astype("{first[0]}")`', "T107")
        first = first or (kind.dtype, name)
    return first[0] if first is not None and all(kind.dtype is not None for kind in kinds) else None


def _written(call: OpCall, name: str) -> str:
    """How a program writes the argument that a message calls `name`: a variable by its own name, other values as they
    stand in the text, where that is short."""
    given = call.args
    names = [f"`{one.name}`" for one in call.op.values]
    other = name.strip("`")
    if name not in names and type(given[0]) is TupleExpr:  # "field 1" of the tensors that are one argument
        given = given[0].fields
        names = [f"{name.split()[0]} {at}" for at in range(len(given))]
        other = "it"
    found = given[names.index(name)] if name in names[: len(given)] else None
    if type(found) is GraphVar and found.name not in _UNNAMED:
        return found.name
    return _as_operand(found.span) or other if found is not None else other


_UNNAMED = ("gv", "lv")  # the parser's names for values that have none
_LONGEST = 40


def _as_operand(span: Span | None) -> str | None:
    """The text of a value as what stands before a dot; None where it is long or stands on several lines."""
    if span is None or span.start_line != span.end_line or len(span.text) > _LONGEST:
        return None
    try:
        node = ast.parse(span.text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if isinstance(node, ast.Constant):
        return None
    return span.text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({span.text})"


def meeting(spelling: str, a: DType, b: DType) -> DType:
    """The dtype in which elements of two are compared, that of `T`'s comparisons; a bool is 0 or 1 of the other."""
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    return join(spelling, a, b)


def compared_dtype(call: OpCall, kinds: Sequence[TensorType]) -> DType | None:
    """The dtype in which elements of these are compared; T107 where there is none."""
    found = [kind.dtype for kind in kinds if kind.dtype is not None]
    try:
        return functools.reduce(lambda a, b: meeting(call.op.spelling, a, b), found) if found else None
    except DiagnosticError as problem:
        raise located(problem, call.span) from None


def common_shape(call: OpCall, kinds: Sequence[TensorType]) -> tuple[Shape | None, int | None]:
    """The shape that broadcasting gives, and the number of dimensions, as far as they are known."""
    ranks = [kind.rank for kind in kinds]
    rank = None if None in ranks else max(rank for rank in ranks if rank is not None)
    shapes = [kind.shape for kind in kinds]
    found: Shape | None = shapes[0]
    for each in shapes[1:]:
        if found is None or each is None:
            found = None
            continue
        try:
            found = dims.broadcast(found, each)
        except dims.Mismatch as problem:
            known = " and ".join(dims.text(one) for one in shapes if one is not None)
            why = f"the shapes {known} do not broadcast: {problem} are neither equal nor 1"
            refuse(
                call,
                why,
                "aligned at the last one, dimensions are equal or 1; `G.reshape` or `G.expand_dims` changes them",
            )
    return found, None if found is not None else rank


def common_device(kinds: Sequence[TensorType]) -> str | None:
    """The device that is named first."""
    return next((kind.vdevice for kind in kinds if kind.vdevice is not None), None)


def equal_dims(call: OpCall, a: Expr, b: Expr, what: str, hint: str | None = None) -> None:
    """T207 where two dimensions are proved to differ; `what` says which they are."""
    if dims.differ(a, b):
        refuse(call, f"{what}: {dims.text(a)} and {dims.text(b)}", hint)


def located(problem: DiagnosticError, span: Any) -> DiagnosticError:
    """The diagnostics with a place, where they have none."""
    from msgspec import structs

    from ..diagnostic import Label

    if span is None:
        return problem
    return DiagnosticError(
        one if one.labels else structs.replace(one, labels=(Label(span),)) for one in problem.diagnostics
    )
