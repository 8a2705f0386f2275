"""How an operand of a contraction is copied: into panels as wide as a tile, whichever way round it lies.

for j_0 in range(n // 32):
    for k_0, j_1 in T.grid(K // 16, 2):
        panel[k_0 * 16 :, j_1 * 16 :] is the square B[j_0 * 32 + j_1 * 16 :, k_0 * 16 :], transposed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.index_map import IndexMap
from tirscript.ir.rewrite import uses

from ..primitive import BlockHandle, LoopHandle
from .nests import indices_of
from .transposes import copied_by_squares
from .work import Work

if TYPE_CHECKING:
    from .contraction import Roles

# elements at most that are copied across the lines of a panel one after the other
STRIP = 12


def lines_last(work: Work, copy: BlockHandle, roles: Roles) -> bool:
    """Lay the copied operand out with its columns innermost, the reduction just outside of them; whether it was not."""
    inner = [dim.var for dim in roles.reduced] + [roles.columns.var]
    last = [next(at for at, index in enumerate(roles.right.indices) if index is var) for var in inner]
    places = [at for at in range(len(roles.right.indices)) if at not in last] + last
    if places == sorted(places):
        return False
    work.sch.transform_layout(copy, ("write", 0), _permutation(places))
    return True


def by_columns(work: Work, copy: BlockHandle) -> None:
    """Copy an operand in the order in which the copy lies."""
    sch, block = work.sch, work.block(copy.name)
    order = {axis.var: axis.value for axis in block.axes}
    last = block.body[0].indices[-1]  # type: ignore[attr-defined]
    loops = sch.get_loops(copy)
    inner = [loop for loop in loops if last in order and uses(order[last], sch.get(loop).var)][-1:]
    below = loops[loops.index(inner[0]) + 1 :] if inner else []
    if below:
        sch.reorder(*below, *inner)


def in_squares(work: Work, copy: BlockHandle, width: int, panel: LoopHandle | None) -> bool:
    """Copy an operand that lies the other way round panel by panel, each in squares in registers, and where the loop
    over the panels is given in it."""
    block = work.block(copy.name)
    axes = [axis.var for axis in block.axes]
    stored = block.body[0].indices  # type: ignore[attr-defined]
    if not set(stored) <= set(axes):
        return False
    work.sch.transform_block_layout(copy, _permutation([axes.index(index) for index in stored]))
    into_panels(work, copy, width, block=True)
    if panel is not None:
        work.sch.compute_at(copy, panel)
    return copied_by_squares(work, copy)


def by_lines(work: Work, copy: BlockHandle, roles: Roles, lanes: int) -> bool:
    """Copy an operand that lies the other way round in strips of a few elements, as many as divide the line if some do.

    A strip as long as a vector of 512 bits would be scattered. Where the last one is not whole, the copy is not found
    to be a panel's own memory.
    """
    loops = work.sch.get_loops(copy)
    extent = work.extent(loops[-1]) or 0
    if roles.right.indices[-1] is not roles.reduced[-1].var or extent < 2 * lanes:
        return False
    strips = range(min(lanes, STRIP), 3, -1)
    size = next((size for size in strips if extent % size == 0), min(lanes, 8))
    line, strip = work.sch.split(loops[-1], [None, size])
    work.sch.reorder(line, loops[-2], strip)
    return True


def _permutation(places: list[int]) -> IndexMap:
    given = indices_of(len(places))
    return IndexMap(given, tuple(given[at] for at in places))


def into_panels(work: Work, copy: BlockHandle, width: int, *, block: bool = False) -> None:
    """Lay the whole operand out in panels as wide as a tile; with `block`, its block goes by panels too."""
    buffer = work.block(copy.name).body[0].buffer  # type: ignore[attr-defined]
    *others, line, column = given = indices_of(buffer.ndim)
    panels = IndexMap(given, (*others, column // width, line, column % width))
    if block:
        work.sch.transform_block_layout(copy, panels)
    work.sch.transform_layout(copy, ("write", 0), panels)


def panel_by_panel(work: Work, copy: BlockHandle, width: int) -> None:
    """Copy an operand that lies in lines in the order of its panels."""
    *_, line, column = work.sch.get_loops(copy)
    panel, within = work.sch.split(column, [None, width])
    work.sch.reorder(panel, line, within)


def vector_copy(work: Work, copy: BlockHandle, lanes: int) -> bool:
    """Let a block that copies go in vectors where the lanes divide its line."""
    inner = work.sch.get_loops(copy)[-1]
    extent = work.extent(inner)
    if extent is None or extent % lanes:
        return False
    work.vectorize(copy, lanes)
    return True


__all__ = ["by_columns", "by_lines", "in_squares", "into_panels", "lines_last", "panel_by_panel", "vector_copy"]
