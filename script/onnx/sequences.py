"""Sequences of tensors whose lengths are known: what is known of each tensor, in their order. They are no values of the
graph; operators on them choose tensors while the model is read. Those that a loop of any number of rounds makes are one
tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir.dtype import INT64
from tirscript.ir.graph import GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.slicing import MOST_PARTS

if TYPE_CHECKING:
    from .importer import Importer
    from .node import Node

Known = tuple[Any, ...]  # all that is known of a tensor


class Stacked(Struct, frozen=True, eq=False):
    """A sequence of a length that is known when the model runs: its tensors, of one shape, along axis 0 of one."""

    tensor: GraphExpr


def _given(importer: Importer, node: Node) -> tuple[Known, ...]:
    """The sequence that a node takes."""
    name = node.proto.input[0]
    found = importer.sequences.get(name)
    if type(found) is not tuple:
        raise node.wrong(f"`{name}` is no sequence of a known length")
    return found


def _place(node: Node, at: int, length: int, default: int | None = None) -> int:
    """A place in a sequence; one below 0 counts from the end."""
    if not node.has(at) and default is not None:
        return default
    place = node.scalar(at)
    if place is None:
        raise node.wrong("the place in the sequence is not known before the model runs")
    place = int(place)
    last = length if default == length else length - 1
    if not -length <= place <= last:
        raise node.wrong(f"place {place} is none of a sequence of {length}")
    return place + length if place < 0 else place


def _give(importer: Importer, node: Node, found: tuple[Known, ...]) -> None:
    importer.take(node.output, ())
    importer.sequences[node.output] = found


def _empty(importer: Importer, node: Node) -> None:
    _give(importer, node, ())


def _construct(importer: Importer, node: Node) -> None:
    _give(importer, node, tuple(importer.known(name) for name in node.proto.input))


def _stacked(importer: Importer, node: Node) -> GraphExpr | None:
    """The tensor that the sequence a node takes lies in, if it is of a length that is not known."""
    found = importer.sequences.get(node.proto.input[0])
    return found.tensor if type(found) is Stacked else None


def _at(importer: Importer, node: Node) -> None:
    whole = _stacked(importer, node)
    if whole is not None:
        place = node.tensor(1)
        if node.scalar(1) is None or float(node.scalar(1) or 0) < 0:  # from the end
            length = node.op("reshape", node.op("shape_to_tensor", ShapeExpr(node.shape(whole)[:1])), ())
            below = node.op("less", place, node.constant(0, node.dtype(place)))
            place = node.op("where", below, node.op("add", place, length), place)
        importer.take(node.output, (node.last("take", whole, place, 0),))
        return
    given = _given(importer, node)
    importer.take(node.output, given[_place(node, 1, len(given))])


def _insert(importer: Importer, node: Node) -> None:
    given = _given(importer, node)
    place = _place(node, 2, len(given), len(given))
    _give(importer, node, (*given[:place], importer.known(node.proto.input[1]), *given[place:]))


def _erase(importer: Importer, node: Node) -> None:
    given = _given(importer, node)
    if not given:
        raise node.wrong("the sequence is empty")
    place = _place(node, 1, len(given)) if node.has(1) else len(given) - 1
    _give(importer, node, given[:place] + given[place + 1 :])


def _length(importer: Importer, node: Node) -> None:
    import numpy as np

    from .importer import Ints

    whole = _stacked(importer, node)
    if whole is None:
        importer.keep(node.output, np.asarray(len(_given(importer, node)), "int64"))
    else:
        importer.take(node.output, ())
        importer.ints[node.output] = Ints(node.shape(whole)[:1], INT64, scalar=True)


def _split(importer: Importer, node: Node) -> None:
    """Parts of given sizes, of one size but for the last, or single elements."""
    x = node.tensor(0)
    shape = node.shape(x)
    axis = node.axis(int(node.attr("axis", 0)), len(shape))
    size, parts = dims.number(shape[axis]), node.ints(1)
    sizes = node.numbers(1, "split")
    if sizes is None or (parts is not None and parts.scalar):
        if size is None:
            raise node.wrong("the dimension it splits is symbolic, and the sizes are not given")
        each = 1 if sizes is None else sizes[0]
        if each < 1:
            raise node.wrong(f"it splits into parts of {each}")
        if size > each * MOST_PARTS:
            raise node.wrong(f"it splits {size:,} into parts of {each}", f"at most {MOST_PARTS:,} parts are supported")
        sizes = [min(each, size - start) for start in range(0, size, each)]
    if min(sizes, default=0) < 0 or (size is not None and sum(sizes) != size):
        raise node.wrong(f"it splits {size} into {sizes}")
    found: list[Known] = []
    start = 0
    for length in sizes:
        part: GraphExpr = node.op("strided_slice", x, (axis,), (start,), (start + length,), (1,), assume_inbound=True)
        if not node.has(1) and not node.attr("keepdims", 1):
            part = node.op("squeeze", part, [axis])
        found.append((part,))
        start += length
    _give(importer, node, tuple(found))


def _joined(node: Node, whole: GraphExpr) -> GraphExpr:
    """The tensors of a sequence that lies in one beside each other: its axis 0 elsewhere, or part of another one."""
    length, *shape = node.shape(whole)
    new = bool(node.attr("new_axis", 0))
    axis = node.axis(int(node.needed("axis")), len(shape) + new)
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
    turned = node.op("permute_dims", whole, order) if axis else whole
    if new:
        return turned
    shape[axis] = dims.mul(length, shape[axis])
    return node.last("reshape", turned, ShapeExpr(tuple(shape)))


def _concat(importer: Importer, node: Node) -> None:
    """The tensors one behind the other, as `Concat` and `Unsqueeze` make it of them."""
    import numpy as np
    from onnx import helper

    whole = _stacked(importer, node)
    if whole is not None:
        importer.take(node.output, (_joined(node, whole),))
        return
    given = _given(importer, node)
    if not given:
        raise node.wrong("the sequence is empty")
    axis, names = int(node.needed("axis")), [f"{node.output}_{at}" for at in range(len(given))]
    for name, known in zip(names, given, strict=True):
        importer.take(name, known)
    if node.attr("new_axis", 0):
        importer.keep(place := f"{node.output}_axis", np.asarray([axis], "int64"))
        for name in names:
            wide = [name, place] if node.opset >= 13 else [name]
            attrs: dict[str, Any] = {} if node.opset >= 13 else {"axes": [axis]}
            importer.node(helper.make_node("Unsqueeze", wide, [f"{name}_wide"], node.proto.name, **attrs))
        names = [f"{name}_wide" for name in names]
    importer.node(helper.make_node("Concat", names, [node.output], node.proto.name, axis=axis))


SEQUENCES: dict[str, Callable[[Importer, Node], None]] = {
    "ConcatFromSequence": _concat,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}

__all__ = ["SEQUENCES"]
