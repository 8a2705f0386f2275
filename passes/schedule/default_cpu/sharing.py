"""How threads share a product: who does which tiles, and who copies the panels that these read.

for j_0, group in T.parallel(...):        # few panels: several threads do one, each with a copy of its own
    panel = columns j_0 of the right operand
    for i_0 in the rows of the group: ...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tirscript.ir.rewrite import uses

from ..primitive import LoopHandle
from .nests import Dim, Nest
from .work import ALONE, Work

if TYPE_CHECKING:
    from .contraction import Roles

# bytes of an operand that stays in the second cache
SECOND_CACHE = 1 << 20
# rows for which a thread copies a panel that others copy too, and the part of the second cache that all panels take
ROWS_OF_COPY, OF_CACHE = 24, 2
# the part of the time at least that threads with copies of their own have something to do, of what they had without
BUSY = 0.75


class Order(Struct, frozen=True, eq=False):
    """The loops around the terms of a tile.

    outer:    those over batches; tiles: those over tiles, outermost first
    own:      the loop in which a panel of columns is copied, where threads do not share the panels (`by_panel`)
    columns:  whether panels come first, then their rows
    """

    outer: list[LoopHandle]
    tiles: list[LoopHandle]
    own: LoopHandle
    by_panel: bool
    columns: bool


def is_worth_threads(nest: Nest, roles: Roles) -> bool:
    """Whether one of a batch of unknown length, which may be of one, is worth waking threads for."""
    one = [dim for dim in nest.dims if dim.known or not any(dim is other for other in roles.outer)]
    return all(dim.known for dim in one) and count_of(one) >= ALONE


def for_one(loops: list[LoopHandle], work: Work, alone: bool) -> list[LoopHandle]:
    """The loops, without those over a batch of unknown length where threads are woken for one of it `alone`."""
    known = [at for at, loop in enumerate(loops) if work.extent(loop) is not None]
    return loops[known[0] :] if alone and known else loops


def for_all_threads(work: Work, roles: Roles, panels: int) -> bool:
    """Whether so many panels give all threads as much to do."""
    return is_even(work, panels) or not roles.columns.known


def is_even(work: Work, parts: int) -> bool:
    """Whether threads that share so many equal parts have about as much to do."""
    return parts >= 8 * work.facts.threads or parts % work.facts.threads == 0


def row_groups(work: Work, nest: Nest, roles: Roles, panels: int, tiles: int | None) -> int:
    """Into how many groups to part the tiles of rows, each with its own copy of a panel; 1 where all threads copy what
    all read, which then comes from the others' caches."""
    if roles.outer or not nest.known or tiles is None:
        return 1
    if depth_of(nest, roles) * roles.columns.extent * nest.dtype.bits // 8 > SECOND_CACHE // OF_CACHE:
        return 1
    least = max(1, ROWS_OF_COPY * tiles // roles.rows.extent)  # tiles of a group
    fitting = [groups for groups in range(1, tiles // least + 1) if tiles % groups == 0]
    threads = work.facts.threads
    groups = max(fitting, key=lambda groups: (_share(panels * groups, threads), -groups), default=1)
    return groups if _share(panels * groups, threads) >= BUSY * _share(panels * tiles, threads) else 1


def _share(parts: int, threads: int) -> float:
    """The part of the time in which threads have something to do, where each does as many of so many equal parts."""
    return parts / (-(-parts // threads) * threads)


def is_lower(roles: Roles) -> bool:
    """Whether the operand of the rows is smaller than that of the columns."""
    return roles.rows.known and roles.columns.known and roles.rows.extent < roles.columns.extent


def stays_near(work: Work, nest: Nest, roles: Roles, panels: int) -> bool:
    """Whether all panels stay in the second cache beside a tile's rows, which it does not hold all of.

    Each tile of rows does all panels then: a thread with several panels would read all rows again for each.
    """
    if roles.outer or not (roles.rows.known and roles.columns.known) or panels <= work.facts.threads:
        return False
    line = depth_of(nest, roles) * nest.dtype.bits // 8
    return line * roles.columns.extent <= SECOND_CACHE // 8 and line * roles.rows.extent > SECOND_CACHE


def depth_of(nest: Nest, roles: Roles) -> int:
    """The number of terms of a sum."""
    return nest.instances // (roles.rows.extent * roles.columns.extent * count_of(roles.outer))


def count_of(dims: Sequence[Dim]) -> int:
    return math.prod(dim.extent for dim in dims)


def order_of(work: Work, nest: Nest, roles: Roles, loops: dict[str, LoopHandle], panels: int, *, copied: bool) -> Order:
    """In which order tiles are made, by the loops over dimensions; `copied` where the columns read a copy."""
    i_0, j_0 = loops[roles.rows.var.name], loops[roles.columns.var.name]
    outer, alone = [loops[dim.var.name] for dim in roles.outer], is_worth_threads(nest, roles)
    many = count_of([dim for dim in roles.outer if dim.known or not alone])
    enough = for_all_threads(work, roles, panels * many)
    one = not outer and work.extent(i_0) == 1  # that reads a panel
    by_panel = one or (enough and not stays_near(work, nest, roles, panels))
    # else each thread reads all of one operand, which others have packed or are reading, and parts of the other
    columns = by_panel or is_lower(roles)
    tiles = [j_0, i_0] if columns else [i_0, j_0]
    groups = 1 if enough or not copied else row_groups(work, nest, roles, panels, work.extent(i_0))
    if groups > 1:
        by_panel, (group, i_0) = True, work.sch.split(i_0, [groups, None])
        tiles = [j_0, group, i_0]
    # a panel is for all of a batch that has one operand of the columns
    apart = tuple(dim for dim in roles.outer if uses(roles.right.indices, dim.var))
    known = [dim for dim in apart if dim.known or not alone]
    if copied and by_panel and for_all_threads(work, roles, panels * count_of(known)):
        batch = [loops[dim.var.name] for dim in roles.outer if not any(dim is one for one in apart)]
        return Order([loops[dim.var.name] for dim in apart], [j_0, *batch, i_0], j_0, by_panel, columns)
    return Order(outer, tiles, tiles[-2], by_panel, columns)


__all__ = [
    "SECOND_CACHE",
    "Order",
    "count_of",
    "depth_of",
    "for_all_threads",
    "for_one",
    "is_even",
    "is_lower",
    "is_worth_threads",
    "order_of",
    "row_groups",
    "stays_near",
]
