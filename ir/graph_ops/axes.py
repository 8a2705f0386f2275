"""The names of axes: "NCHW" names each by a letter, "NCHW4c" has the channels in blocks of 4, which lie innermost.

N is the batch, C the channels, O and I the output and input channels of a weight, D, H and W the dimensions of space.
A number and a small letter are an axis within the blocks of the large one; those of space lie in no blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import mul
from typing import Any

from ..expr import Expr
from ..graph import OpCall
from . import dims
from .rules import equal_dims, refuse

SPACE = {1: "W", 2: "HW", 3: "DHW"}
MAX_BLOCK = 1 << 31


@lru_cache(256)
def axes_of(layout: str) -> tuple[tuple[str, int], ...]:
    """The axes of a layout in their order: the letter, and the number of elements in a block, 0 for a large letter."""
    return tuple((letter, int(count or 0)) for count, letter in re.findall(r"(\d*)([A-Za-z])", layout))


def check_layout(call: OpCall, name: str, letters: str, blocks: str = "") -> str:
    """The layout in an attribute, which names each of some axes once; T032 otherwise.

    `blocks` are the letters of the axes that may lie in blocks.
    """
    layout: str = call.attrs[name]
    hint = f'it names the axes {", ".join(letters)}: "{letters}"'
    axes = axes_of(layout)
    inner = [letter for letter, _ in axes if letter.islower()]
    if any(letter.upper() not in blocks for letter in inner):
        hint = f'turn it by `G.layout_transform`, and name the axes {", ".join(letters)}: "{letters}"'
        which = f"axes other than {' and '.join(blocks)}" if blocks else "axes"
        refuse(call, f"`{name}` is {layout!r}: {which} in blocks are not supported", hint, "T032")
    whole = sorted(letter for letter, _ in axes if letter.isupper())
    sizes_fit = all((letter.islower()) == (0 < count < MAX_BLOCK) for letter, count in axes)
    written = "".join(f"{count or ''}{letter}" for letter, count in axes)
    if whole != sorted(letters) or len(set(inner)) != len(inner) or not sizes_fit or written != layout:
        refuse(call, f"`{name}` is {layout!r}", hint, "T032")
    return layout


def rank_of_layout(layout: str) -> int:
    """The number of dimensions of a tensor."""
    return len(axes_of(layout))


def space_of(layouts: Sequence[str]) -> str:
    """The letters of the dimensions of space."""
    return SPACE[sum(not count for _, count in axes_of(layouts[0])) - 2]


def axis_at(layout: str, letter: str) -> int:
    """The dimension of an axis that lies in no blocks, or that counts the blocks."""
    return next(at for at, (one, _) in enumerate(axes_of(layout)) if one == letter)


def by_letter(layout: str, place: Sequence[Any]) -> dict[str, Any]:
    """A place by the letters of its axes, blocks put together."""
    found = {letter: value for (letter, count), value in zip(axes_of(layout), place, strict=True) if not count}
    for (letter, count), value in zip(axes_of(layout), place, strict=True):
        if count:
            found[letter.upper()] = found[letter.upper()] * count + value
    return found


def extents(layout: str, shape: Sequence[Any], times: Callable[[Any, int], Any] = mul) -> dict[str, Any]:
    """The extents of a shape by the letters of the axes, blocks put together."""
    found = {letter: value for (letter, count), value in zip(axes_of(layout), shape, strict=True) if not count}
    for letter, count in axes_of(layout):
        if count:
            found[letter.upper()] = times(found[letter.upper()], count)
    return found


def placed(layout: str, place: Mapping[str, Any]) -> list[Any]:
    """The indices of a place that is given by letters."""
    blocks = {letter.upper(): count for letter, count in axes_of(layout) if count}
    found: list[Any] = []
    for letter, count in axes_of(layout):
        if count:
            found.append(place[letter.upper()] % count)
        else:
            found.append(place[letter] // blocks[letter] if letter in blocks else place[letter])
    return found


def extents_of(call: OpCall, name: str, layout: str, shape: Sequence[Expr]) -> dict[str, Expr]:
    """The extents of a tensor's type by letters; T207 where its blocks are not as long as the layout says."""
    for (letter, count), dim in zip(axes_of(layout), shape, strict=True):
        if count:
            what = f"`{name}` is {layout!r}, and the length of its dimension {letter} is another one"
            equal_dims(call, dims.dim(count), dim, what)
    return extents(layout, shape, dims.mul)


def shape_in(call: OpCall, layout: str, found: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """The shape of a result from its extents by letters; T207 where they make no whole blocks."""
    shape = dict(found)
    for letter, count in axes_of(layout):
        if count:
            extent = dims.number(found[letter.upper()])
            if extent is not None and extent % count:
                refuse(call, f"the result has {extent} along {letter.upper()}, no whole blocks of {count} ({layout!r})")
            shape[letter.upper()] = dims.floordiv(found[letter.upper()], count)
    return tuple(dims.dim(count) if count else shape[letter] for letter, count in axes_of(layout))


# -- references


def arranged(array: Any, layout: str, order: str) -> Any:
    """A numpy array with its axes in an order of large letters, blocks put together."""
    axes = axes_of(layout)
    names = [letter for letter, _ in axes]
    inner = {letter: [one for one in (letter, letter.lower()) if one in names] for letter in order}
    turned = array.transpose([names.index(one) for letter in order for one in inner[letter]])
    found = extents(layout, array.shape)
    return turned.reshape([found[letter] for letter in order])


def rearranged(array: Any, order: str, layout: str) -> Any:
    """A numpy array whose axes are in an order of large letters, in a layout."""
    blocks = {letter.upper(): count for letter, count in axes_of(layout) if count}
    parts: list[tuple[str, int]] = []
    for letter, extent in zip(order, array.shape, strict=True):
        count = blocks.get(letter, 1)
        parts += [(letter, extent // count), *([(letter.lower(), count)] if letter in blocks else [])]
    names = [name for name, _ in parts]
    split = array.reshape([extent for _, extent in parts])
    return split.transpose([names.index(letter) for letter, _ in axes_of(layout)])
