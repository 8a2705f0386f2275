"""Operators on integers that are known: what models compute of shapes stays expressions of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tirscript.ir.dtype import dtype
from tirscript.ir.expr import Const, Expr, is_const
from tirscript.ir.graph_ops import dims
from tirscript.ir.words import counted

from .importer import MOST, Ints
from .node import Node

_INT64 = dtype("int64")


def _shape(node: Node) -> Ints | None:
    if node.proto.input[0] in node.importer.ints:
        known = node.importer.ints[node.proto.input[0]]
        shape: tuple[Expr, ...] = () if known.scalar else (dims.dim(len(known.values)),)
    else:
        shape = node.shape(node.tensor(0))
    rank = len(shape)
    start, end = int(node.attr("start", 0)), int(node.attr("end", rank))
    return Ints(shape[_clamped(start, rank) : _clamped(end, rank)], _INT64)


def _clamped(at: int, rank: int) -> int:
    return max(0, min(rank, at + rank if at < 0 else at))


def _size(node: Node) -> Ints | None:
    if node.proto.input[0] in node.importer.ints:
        return Ints((dims.dim(len(node.importer.ints[node.proto.input[0]].values)),), _INT64, scalar=True)
    return Ints((dims.product(node.shape(node.tensor(0))),), _INT64, scalar=True)


def _gather(node: Node) -> Ints | None:
    known, at = node.ints(0), node.ints(1)
    if known is None or known.scalar or at is None or not all(type(one) is Const for one in at.values):
        return None
    numbers = [int(one.value) for one in at.values if type(one) is Const]
    if not all(-len(known.values) <= one < len(known.values) for one in numbers):
        raise node.wrong(f"index {numbers} of {counted(len(known.values), 'value')}")
    return Ints(tuple(known.values[one] for one in numbers), known.dtype, at.scalar)


def _concat(node: Node) -> Ints | None:
    parts = [node.ints(at) for at in range(node.count())]
    found = [one for one in parts if one is not None and not one.scalar]
    if len(found) != len(parts) or not found:
        return None
    return Ints(tuple(value for one in found for value in one.values), found[0].dtype)


def _same(node: Node) -> Ints | None:
    return node.ints(0)


def _unsqueeze(node: Node) -> Ints | None:
    known = node.ints(0)
    if known is None or not known.scalar or len(node.numbers(1, "axes") or ()) != 1:
        return None
    return Ints(known.values, known.dtype)


def _squeeze(node: Node) -> Ints | None:
    known = node.ints(0)
    if known is None or known.scalar or len(known.values) != 1:
        return None
    return Ints(known.values, known.dtype, scalar=True)


def _cast(node: Node) -> Ints | None:
    """To integers that hold dimensions, and to floats that do, as of the limit of a range of floats."""
    known = node.ints(0)
    kind = node.importer.dtype(int(node.attr("to")), "what it casts to")
    wide = kind.bits >= 32 and not kind.is_bool
    return Ints(known.values, kind, known.scalar) if known is not None and wide else None


def _slice(node: Node) -> Ints | None:
    known = node.ints(0)
    if known is None or known.scalar:
        return None
    starts, ends = node.numbers(1, "starts"), node.numbers(2, "ends")
    steps = node.numbers(4, "steps", [1])
    if starts is None or ends is None or not steps or steps[0] == 0:
        return None
    return Ints(known.values[starts[0] : ends[0] : steps[0]], known.dtype)


def _range(node: Node) -> Ints | None:
    parts = [node.ints(at) for at in range(3)]
    if any(one is None or len(one.values) != 1 or type(one.values[0]) is not Const for one in parts):
        return None
    first, stop, step = (int(one.values[0].value) for one in parts if one is not None)  # type: ignore[attr-defined]
    count = -((first - stop) // step) if step else 0
    numbers = range(first, stop, step or 1)
    return Ints(tuple(map(dims.dim, numbers)), parts[0].dtype) if 0 < count <= MOST else None  # type: ignore[union-attr]


def _product(node: Node) -> Ints | None:
    known = node.ints(0)
    if known is None or known.scalar:
        return None
    if node.attr("noop_with_empty_axes", 0) and not node.numbers(1, "axes"):
        return known
    keep = bool(node.attr("keepdims", 1))
    return Ints((dims.product(known.values),), known.dtype, scalar=not keep)


def _each(compute: Callable[[Expr, Expr], Expr]) -> Callable[[Node], Ints | None]:
    """Element by element, one input after the other; one value goes with all."""

    def both(a: Ints, b: Ints) -> Ints | None:
        lines = _alike(a.values, b.values)
        return None if lines is None else Ints(tuple(map(compute, *lines)), a.dtype, a.scalar and b.scalar)

    def rule(node: Node) -> Ints | None:
        total = node.ints(0)
        for at in range(1, node.count()):
            part = node.ints(at)
            total = None if total is None or part is None else both(total, part)
        return total

    return rule


def _alike(*lines: Sequence[Any]) -> list[Sequence[Any]] | None:
    """Lines of the same length, those of one value repeated; None where they do not go together."""
    sizes = {len(one) for one in lines} - {1}
    if len(sizes) > 1:
        return None
    size = max(sizes, default=1)
    return [tuple(one) * size if len(one) == 1 else one for one in lines]


def _equal(node: Node) -> Ints | None:
    """Whether each is what the other has, where that is known of all."""

    def compare(a: Expr, b: Expr) -> Expr:
        return dims.dim(1 if dims.same(a, b) else 0 if dims.differ(a, b) else -1)

    found = _each(compare)(node)
    if found is None or any(type(one) is Const and one.value == -1 for one in found.values):
        return None
    return Ints(found.values, dtype("bool"), found.scalar)


def _where(node: Node) -> Ints | None:
    chosen, data = node.ints(0), node.data(0)
    if chosen is not None:
        known = [one.value for one in chosen.values if type(one) is Const]
        if len(known) < len(chosen.values):
            return None
        which = [one != 0 for one in known]
    elif data is not None and data.ndim <= 1 and data.size <= MOST:
        which = [bool(one) for one in data.array.reshape(-1)]
    else:
        return None
    a, b = node.ints(1), node.ints(2)
    if a is None or b is None:
        return None
    lines = _alike(which, a.values, b.values)
    if lines is None:
        return None
    scalar = a.scalar and b.scalar and (chosen.scalar if chosen is not None else data is not None and data.ndim == 0)
    return Ints(tuple(x if flag else y for flag, x, y in zip(*lines, strict=True)), a.dtype, scalar)


def _reshape(node: Node) -> Ints | None:
    """To one axis or to none; what has more is a tensor."""
    known, shape = node.ints(0), node.ints(1)
    if known is None or shape is None:
        return None
    wanted = [dims.number(one) for one in shape.values]
    if len(wanted) > 1 or (wanted and wanted[0] not in (-1, len(known.values))):
        return None
    return Ints(known.values, known.dtype, scalar=not wanted) if wanted or len(known.values) == 1 else None


def _divide(node: Node) -> Ints | None:
    """Integers are divided towards zero, which is the floor where neither is negative."""
    above, below = node.ints(0), node.ints(1)
    if above is None or below is None or above.dtype.is_float or not all(map(_is_dimension, below.values)):
        return None
    if any(is_const(one, 0) for one in below.values):
        raise node.wrong("it divides by 0")

    def quotient(a: Expr, b: Expr) -> Expr:
        if node.importer.not_negative(a):
            return dims.floordiv(a, b)
        found = dims.floordiv(dims.maximum(a, 0), b)
        if node.importer.not_negative(dims.sub(dims.add(a, b), 1)):  # what is above -b gives 0
            return found
        return dims.sub(found, dims.floordiv(dims.maximum(dims.sub(0, a), 0), b))

    return _each(quotient)(node)


def _remainder(node: Node) -> Ints | None:
    """Of the sign of the divisor, or with `fmod` of the dividend: the same where both are dimensions."""
    found = [node.ints(0), node.ints(1)]
    if any(one is None or one.dtype.is_float for one in found):
        return None
    unsure = found[1:] if not node.attr("fmod", 0) else found
    if not all(_is_dimension(value) for one in unsure if one is not None for value in one.values):
        return None
    if any(is_const(one, 0) for one in found[1].values):  # type: ignore[union-attr]
        raise node.wrong("it divides by 0")
    return _each(dims.floormod)(node)


def _is_dimension(value: Expr) -> bool:
    return dims.not_negative(value)


def _filled(node: Node) -> Ints | None:
    shape = node.ints(0)
    value = node.attr("value")
    if shape is None or value is None or value.dtype.name != "int64" or len(shape.values) > 1:
        return None
    count = 1 if not shape.values else shape.values[0]
    number = dims.dim(int(value.reshape(-1)[0]))
    if type(count) is Const:
        count = int(count.value)
    if not isinstance(count, int) or count > 64:
        return None
    return Ints((number,) * count, _INT64, scalar=not shape.values)


# what gives integers that are known, or None where the operator's own rule is asked
INTEGERS: dict[str, Callable[[Node], Ints | None]] = {
    "Add": _each(dims.add),
    "Cast": _cast,
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "Div": _divide,
    "Equal": _equal,
    "Gather": _gather,
    "Identity": _same,
    "Max": _each(dims.maximum),
    "Min": _each(dims.minimum),
    "Mod": _remainder,
    "Mul": _each(dims.mul),
    "Range": _range,
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _each(dims.sub),
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}

__all__ = ["INTEGERS"]
