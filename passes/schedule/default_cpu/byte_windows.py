"""Convolutions of bytes, added up in 32 bits: their windows are written out, and they are products of matrices.

What is written out is a byte for each product of a filter: the instructions that multiply bytes make up for it. Windows
of more than `LARGEST` bytes are left to the rules for other convolutions.

windows[c * 9 + dy * 3 + dx, y * W + x] = P[c, y + dy, x + dx]
weights[f, c * 9 + dy * 3 + dx] = W[f, c, dy, dx]
C[f, y * W + x] += weights[f, k] * windows[k, y * W + x]        # as a product of bytes
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from tirscript.ir.expr import BufferLoad, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.rewrite import uses

from ..primitive import BlockHandle
from .byte_lanes import GROUP, ROWS, in_lanes
from .contraction import nest_loop
from .nests import Dim, Nest, factors, indices_of, is_plain
from .tile_products import LEAST, multiplies_bytes
from .work import Work, only_reader

# bytes of windows that are written out, at most
LARGEST = 64 << 20


class _Roles(Struct, frozen=True, eq=False):
    """The loads of a convolution, and the dimensions that become one: those of the pixels, and of the sum."""

    weights: BufferLoad
    image: BufferLoad
    pixels: tuple[Dim, ...]
    terms: tuple[Dim, ...]


def byte_windows(work: Work, nest: Nest) -> bool:
    """Schedule a convolution of bytes by the instructions that the facts name; False for other blocks."""
    if not work.facts.dots or not multiplies_bytes(nest) or nest.instances < LEAST:
        return False
    roles = _roles_of(work, nest)
    if roles is None:
        return False
    reader = only_reader(work, nest)
    if reader is not None and work.attempt(_scheduled, nest, roles, reader):
        return True
    return work.attempt(_scheduled, nest, roles, None)


def _roles_of(work: Work, nest: Nest) -> _Roles | None:
    """What the loads and dimensions are; None where there is nothing to make one of, or too little to gain by it."""
    loads = factors(nest.value)
    if loads is None or len(loads) != 2 or loads[0].buffer is loads[1].buffer:
        return None
    if any(nest.dim(index) is None for index in nest.store.indices):
        return None
    for weights, image in (loads, loads[::-1]):
        filters = [dim for dim in nest.spatial if uses(weights.indices, dim.var)]
        others = [dim for dim in nest.spatial if uses(image.indices, dim.var)]
        if not is_plain(weights, nest) or len(filters) != 1 or filters[0] in others:
            continue
        if len(filters) + len(others) < len(nest.spatial) or nest.instances // filters[0].extent > LARGEST:
            continue
        if not all(uses(load.indices, dim.var) for dim in nest.reduced for load in loads):
            continue
        pixels = _beside(nest, others)
        terms = tuple(sorted(nest.reduced, key=lambda dim: [index is dim.var for index in weights.indices].index(True)))
        if len(pixels) + len(terms) < 3 or math.prod(dim.extent for dim in terms) < GROUP * GROUP:
            continue
        if filters[0].extent < ROWS or math.prod(dim.extent for dim in pixels) < work.facts.lanes(32):
            continue
        return _Roles(weights, image, pixels, terms)
    return None


def _beside(nest: Nest, dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """The last of some dimensions that lie beside each other in the result."""
    line: list[Dim] = []
    for index in reversed(nest.store.indices):
        dim = nest.dim(index)
        if any(dim is one for one in dims) and dim is not None and dim.extent > 1:
            line.insert(0, dim)
        elif line:
            break
    return tuple(line)


def _scheduled(work: Work, nest: Nest, roles: _Roles, reader: BlockHandle | None) -> bool:
    """The schedule; the only `reader` of the result takes it where it is."""
    sch, name = work.sch, nest.name
    axes = [next(dim for dim in nest.dims if dim.var is axis.var) for axis in nest.block.axes]
    sch.reorder(*[nest_loop(nest, axis.var) for axis in nest.block.axes])
    rest = [dim for dim in nest.spatial if uses(roles.image.indices, dim.var) and dim not in roles.pixels]
    order = [*rest, *roles.terms, *roles.pixels]
    if nest.dim(nest.store.indices[-1]) not in roles.pixels:
        order = [*rest, *roles.pixels, *roles.terms]
    filters = next(dim for dim in nest.spatial if dim not in order)
    beside = [filters, *roles.terms]
    weights = sch.reindex_cache_read(name, roles.weights.buffer.name, "global", _map(axes, beside))
    windows = sch.reindex_cache_read(name, roles.image.buffer.name, "global", _map(axes, order))
    copied = [dim for dim in axes if dim in order]
    loops = dict(zip(map(id, copied), sch.get_loops(windows), strict=True))
    sch.reorder(*[loops[id(dim)] for dim in order])
    result = reader if reader is not None else sch.cache_write(name, 0, "global")
    stored = [dim for index in nest.store.indices if (dim := nest.dim(index)) is not None]
    lines = (roles.pixels, roles.terms)
    sch.transform_block_layout(name, _map(axes, axes, *lines))
    sch.transform_block_layout(result, _map(stored, stored, *lines))
    for block, dims in ((name, stored), (weights, beside), (windows, order)):
        sch.transform_layout(block, ("write", 0), _map(dims, dims, *lines))
    plain = work.nest(name)
    if plain is None or not in_lanes(work, plain, result):
        return False
    work.parallel([loops[id(dim)] for dim in order], float(nest.instances) / filters.extent)
    work.done.add(windows.name)
    return True


def _map(given: Sequence[Dim], order: Sequence[Dim], *lines: tuple[Dim, ...]) -> IndexMap:
    """The map from indices of `given` dimensions to those of an order, in which each of the lines is one."""
    params = indices_of(len(given))
    of = {id(dim): var for dim, var in zip(given, params, strict=True)}
    heads = {id(line[0]): line for line in lines}
    inner = {id(dim) for line in lines for dim in line[1:]}
    return IndexMap(params, tuple(_flat(heads.get(id(dim), (dim,)), of) for dim in order if id(dim) not in inner))


def _flat(line: tuple[Dim, ...], of: dict[int, Var]) -> Expr:
    """The index of several dimensions as one: `c * 9 + dy * 3 + dx`."""
    place: Expr = of[id(line[-1])]
    for at, dim in enumerate(line[:-1]):
        place = of[id(dim)] * math.prod(one.extent for one in line[at + 1 :]) + place
    return place


__all__ = ["byte_windows"]
