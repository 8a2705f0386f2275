"""Which items of two bodies correspond to each other, where some were inserted, removed or moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .node import Node, shape_of
from .rewrite import walk

# a stretch of the left sequence and one of the right, as start and stop
Stretch = tuple[int, int, int, int]


def pairs(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int]]:
    """The positions of items that correspond, in order; an item without a counterpart is in no pair.

    Sequences of the same classes are paired one by one. Others are aligned by what is the same in both but for names,
    then what lies between by its outline, then by its class; as many items as are left on both sides stand for each
    other.
    """
    if len(a) == len(b) and all(type(x) is type(y) for x, y in zip(a, b, strict=True)):
        return [(at, at) for at in range(len(a))]
    return list(_paired(a, b, (0, len(a), 0, len(b)), (_whole, _outline, type)))


def _paired(
    a: Sequence[Any], b: Sequence[Any], within: Stretch, keys: tuple[Callable[[Any], Any], ...]
) -> Iterator[tuple[int, int]]:
    left, left_stop, right, right_stop = within
    if left == left_stop or right == right_stop:
        return
    if not keys:
        if left_stop - left == right_stop - right:
            yield from zip(range(left, left_stop), range(right, right_stop))
        return
    key, *rest = keys
    first, second = [key(one) for one in a[left:left_stop]], [key(one) for one in b[right:right_stop]]
    import difflib  # only for programs that differ

    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    for tag, i, i_stop, j, j_stop in matcher.get_opcodes():
        if tag == "equal":
            yield from ((left + i + k, right + j + k) for k in range(i_stop - i))
        else:
            yield from _paired(a, b, (left + i, left + i_stop, right + j, right + j_stop), tuple(rest))


def _whole(item: Any) -> Any:
    """Everything in an item but the names: the same for what differs in names only."""
    if not isinstance(item, Node):
        return _plain(item)
    return tuple(_here(node) for node in walk(item))


def _outline(item: Any) -> tuple[Any, ...]:
    """What tells an item from its neighbours: its plain values, and the classes of the nodes in it."""
    if not isinstance(item, Node):
        return (_plain(item),)
    below = [_classes(child) for child in shape_of(type(item)).get_children(item)]
    return (_here(item), *below)


def _here(node: Node) -> tuple[Any, ...]:
    shape = shape_of(type(node))
    return (type(node),) if shape.binder else (type(node), *map(_plain, shape.get_scalars(node)))


def _plain(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return type(value)
    return value


def _classes(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(type(one) for one in value[:4])
    return type(value)


__all__ = ["pairs"]
