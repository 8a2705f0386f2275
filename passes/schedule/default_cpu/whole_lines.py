"""Lines of pixels whose length is unknown, or has no divisor for a tile, are rounded up to whole tiles, the image with
zeros behind its lines.

before:                                            after:
    for y, x in T.grid(h, w):                          P_pad has ceildiv(w, 8) * 8 + 2 pixels in a line
        with T.block("conv"):                          for y, x in T.grid(h, T.ceildiv(w, 8) * 8):
            C[f, y, x] += W[f, c, u, v] * P[...]           with T.block("conv"): C_pad[f, y, x] += ...
                                                       and C is a copy of the first w pixels of each line

What makes the image, such as its border, makes the rounded one instead, and the reader of the results reads of the
tile in registers what there is.
"""

from __future__ import annotations

from tirscript.ir.rewrite import uses

from .convolution import Roles, roles_of
from .groups import divided
from .nests import Dim, Nest, factors, is_plain
from .work import Work

# the pixels of a tile, and the products that keep a processor busy
TILE, BUSY = 8, 12
# a tile that does so much more at once is worth the copies
WORTH = 1.25


def whole_lines(work: Work) -> list[str]:
    """Round up the lines of all convolutions that gain by it; their names."""
    found: list[str] = []
    for name in [block.name for block in work.blocks()]:
        nest = work.nest(name, symbolic=True)
        if nest is None or nest.update is None or not nest.reduced or not all(dim.known for dim in nest.reduced):
            continue
        line = _line(work, nest) or _line_of_groups(nest)
        if line is not None and work.attempt(_rounded, nest, line):
            found.append(name)
    return found


def _rounded(work: Work, nest: Nest, line: Dim) -> None:
    work.sch.pad_einsum(nest.name, [TILE if axis is line.axis else 1 for axis in nest.block.axes])


def _line(work: Work, nest: Nest) -> Dim | None:
    """The pixels of a convolution whose lines are worth rounding up; None where there are none."""
    after = _roles(work, nest, TILE)
    if after is None or after.conditions or (after.pixels.known and not nest.dtype.is_float):
        return None
    images = [load for load in factors(nest.value) or () if load is not after.weights]
    if not images or is_plain(images[0], nest):
        return None  # a product, whose rows or columns are these pixels
    before, extent = _roles(work, nest, 1), after.pixels.extent
    idle = -(-extent // TILE) * TILE / extent if after.pixels.known else 1.0
    if before is not None and _busy(after) < WORTH * idle * _busy(before):
        return None
    return after.pixels


def _roles(work: Work, nest: Nest, lines: int) -> Roles | None:
    return roles_of(work, nest, lines=lines) or roles_of(work, nest, rounded=True, lines=lines)


def _busy(roles: Roles) -> int:
    return min(roles.vectors * roles.height, BUSY)


def _line_of_groups(nest: Nest) -> Dim | None:
    """The pixels in a line of unknown length of a convolution whose filters fall into groups; None for others."""
    loads = factors(nest.value)
    if nest.known or loads is None or len(loads) != 2 or not nest.store.indices:
        return None
    if divided(nest, (*loads[0].indices, *loads[1].indices)) is None:
        return None
    line = nest.dim(nest.store.indices[-1])
    if line is None or line.reduces or line.known or line.multiple % TILE == 0:
        return None
    return line if sum(uses(load.indices, line.var) for load in loads) == 1 else None


__all__ = ["whole_lines"]
