"""Whether the parts of a node that exists already fit each other: arguments of calls, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..buffer import Buffer
from ..dtype import BOOL, DType, dtype
from ..expr import BufferRegion, Const, Var, round_float
from ..op import _ACCEPTS, _WORDS, Op, integer_problem
from ..words import counted

# code, message, the way out
Problem = tuple[str, str, str | None]


def call_problem(op: Op, kinds: Sequence[DType], result: DType) -> Problem | None:
    """What is wrong with a call of `op` with arguments of these dtypes and this result, or None."""
    low, high = op.arity
    if not low <= len(kinds) <= high:
        wanted = str(low) if low == high else f"at least {low}" if high >= 1 << 16 else f"{low} to {high}"
        return "T101", f"`{op.spelling}` takes {counted(wanted, 'argument')}, not {len(kinds)}", None
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(kinds[0], result)
    if op.make is not None or not kinds:
        return None
    return _group_problem(op, kinds, result)


def _group_problem(op: Op, kinds: Sequence[DType], result: DType) -> Problem | None:
    first, last = op.group
    group = kinds[first : len(kinds) if last is None else last]
    kind = group[0]
    for other in group[1:]:
        if other is not kind and not (kind.is_handle and other.is_handle):
            return "T204", f"the operands of `{op.spelling}` are {kind} and {other}", "cast one of them"
    if not _ACCEPTS[op.operands](kind.element):
        return "T105", f"`{op.spelling}` takes {_WORDS[op.operands]}, not {kind}", None
    if first and kinds[0].element is not BOOL:
        return "T102", f"the condition of `{op.spelling}` is {kinds[0]}, not bool", "compare it: `x != 0`"
    if first and kinds[0].is_vector and (kinds[0].lanes, kinds[0].scalable) != (kind.lanes, kind.scalable):
        return "T106", f"`{op.spelling}` of {kinds[0]} and {kind}: the numbers of lanes differ", None
    for other in () if last is None else kinds[last:]:
        problem = integer_problem(op, other, kind)
        if problem is not None:
            return problem
    wanted = kind
    if op.result != "same":
        wanted = dtype(op.result)
        if kind.is_vector:
            wanted = wanted.with_lanes(kind.lanes, kind.scalable)
    if result is not wanted and not (result.is_handle and wanted.is_handle):
        return "T204", f"`{op.spelling}` of {kind} is {wanted}, but the call is of dtype {result}", None
    return None


def _cast_problem(have: DType, to: DType) -> Problem | None:
    if have.is_handle != to.is_handle:
        return "T108", f"cannot cast {have} to {to}", "use `T.reinterpret`"
    if have.lanes != to.lanes or have.scalable != to.scalable:
        return "T106", f"cannot cast {have} to {to}: the numbers of lanes differ", None
    return None


def _reinterpret_problem(have: DType, to: DType) -> Problem | None:
    if have.bits * have.lanes != to.bits * to.lanes:
        return "T108", f"cannot reinterpret {have} as {to}: the sizes differ", None
    return None


_SPECIAL = {"cast": _cast_problem, "reinterpret": _reinterpret_problem}


def argument_problem(have: Any, param: Var | Buffer) -> str | None:
    """What is wrong with passing `have` (a dtype, a Buffer or a BufferRegion) for `param`, in words, or None."""
    if isinstance(param, Buffer):
        if isinstance(have, DType):  # an address, taken as the parameter's shape
            return None if have.is_handle else f"a buffer, not {have}"
        buffer = have if isinstance(have, Buffer) else have.buffer
        if buffer.dtype is not param.dtype:
            return f"a buffer of {param.dtype}, but `{buffer.name}` is one of {buffer.dtype}"
        if param.ndim not in _ranks(have):
            return (
                f"a buffer of {counted(param.ndim, 'dimension')}, but `{buffer.name}` is given with {_ranks(have)[0]}"
            )
        return _shape_problem(have, param)
    if not isinstance(have, DType):
        return None if param.dtype.is_handle else f"{param.dtype}, not a buffer"
    if have is param.dtype or (have.is_handle and param.dtype.is_handle):
        return None
    return f"{param.dtype}, not {have}"


def _ranks(have: Buffer | BufferRegion) -> tuple[int, ...]:
    if isinstance(have, Buffer):
        return (have.ndim,)
    return len(have.ranges), sum(part.stop is not None for part in have.ranges)


def _shape_problem(have: Buffer | BufferRegion, param: Buffer) -> str | None:
    """Constant dimensions of a whole buffer that differ."""
    if isinstance(have, Buffer):
        for axis, (given, wanted) in enumerate(zip(have.shape, param.shape, strict=True)):
            if type(given) is Const and type(wanted) is Const and given.value != wanted.value:
                return f"{wanted.value} long in dimension {axis}, but `{have.name}` is {given.value}"
    return None


def bad_constant(node: Const) -> str | None:
    """Why a constant cannot be of its dtype, or None."""
    value, kind = node.value, node.dtype
    if kind.is_vector or kind.is_handle or kind.kind == "void":
        return f"{kind} has no scalar constants"
    if kind.is_float:
        if type(value) is not float:
            return f"a constant of {kind} holds the Python {type(value).__name__} {value!r}"
        rounded = round_float(value, kind)
        return None if rounded == value or value != value else f"the constant {value!r} is not a value of {kind}"
    if type(value) is not (bool if kind.is_bool else int):
        return f"a constant of {kind} holds the Python {type(value).__name__} {value!r}"
    low, high = kind.int_range()
    return None if low <= value <= high else f"the constant {value} does not fit {kind}, which holds {low} to {high}"
