"""Sums of products of which one tensor is read at plain axes, the weights, and the other anywhere: convolutions.

A tile of some pixels by some vectors of filters stays in registers while the channels and the window run. The weights
are copied so that the filters of a tile lie beside each other.

for f_0 in T.parallel(F // 32):
    for y in range(H):
        for x_0 in range(W // 8):
            for c, dy, dx in ...: 8 x 2 vectors of the tile += P[c, y + dy, x + dx] * packed[f_0, c, dy, dx]
            store the tile
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses, walk

from ..primitive import BlockHandle
from . import contraction
from .nests import Dim, Nest, factors, indices_of, is_plain, stride_of, term
from .sharing import is_even
from .tiles import LINE, TERMS
from .work import ALONE, Work, only_reader

# a pixel for so many filters pays for a copy of the weights
UNFOLDED = 3
# the least part of vectors that filters fill
FULL = 0.6
# windows of so many columns are written out
WINDOW = 8
# fewer pixels do not pay for the copy of the weights
PIXELS = 4
# operations that are as long as the copy of one weight, each from another line
ACROSS_LINES = 8.0
# tiles of so many vectors leave registers for pixels that several steps of an unrolled window share; with more of them
# what LLVM keeps of those goes through memory
BESIDE = 16
# where some of the pixels are asked whether they are there, more than so many; such a tile is as good as one of so few
ASKED, CROWDED = 13, 7

# to store a result across the lines takes as long as so many products
ACROSS = 22

# so many channels, each of which begins in another page, are more than a tile's pixels keep near
DEEP = 128


class Roles(Struct, frozen=True, eq=False):
    """The dimensions along vectors and beside them, the load of the weights, and the sizes of the tile."""

    filters: Dim
    pixels: Dim
    weights: BufferLoad
    lanes: int
    vectors: int
    height: int
    conditions: tuple[Expr, ...] = ()  # a window that reaches over a border


def convolution(work: Work, nest: Nest) -> bool:
    """Schedule a convolution; False where the block is none, or no vectors divide its filters."""
    return _with_or_without_reader(work, nest, roles_of(work, nest), scheduled)


def rounded_convolution(work: Work, nest: Nest) -> bool:
    """Schedule a convolution whose filters nearly fill vectors; False where the block is none."""
    return _with_or_without_reader(work, nest, roles_of(work, nest, rounded=True), _rounded)


def _with_or_without_reader(work: Work, nest: Nest, roles: Roles | None, way: Callable[..., object]) -> bool:
    """Schedule a convolution in some way, its only reader in its tiles where that goes."""
    if roles is None:
        return False
    reader = only_reader(work, nest)
    readers = [reader, None] if reader is not None else [None]
    if way is scheduled and any(work.attempt(_joined, nest, roles, reader) for reader in readers):
        return True
    return any(work.attempt(way, nest, roles, reader) for reader in readers)


def _joined(work: Work, nest: Nest, roles: Roles, reader: BlockHandle | None) -> bool:
    """The schedule of a convolution whose lines of pixels are too short for a tile: all pixels of an image are a line.

    Line by line, all weights would be read again for each, and each vector of them for few products.
    """
    line, axes = _pixels_of_image(nest, roles), nest.block.axes
    extent, first = math.prod(dim.extent for dim in line), line[0] if line else roles.pixels
    if roles.conditions or len(line) < 2 or roles.pixels.extent >= PIXELS or extent < PIXELS:
        return False
    at = axes.index(first.axis)
    if axes[at : at + len(line)] != tuple(dim.axis for dim in line):
        return False
    if reader is not None and not _in_order(work, nest, reader):
        return False
    sch, name = work.sch, nest.name
    result = reader if reader is not None else sch.cache_write(name, 0, "global")
    by_axis = [next(dim for dim in nest.dims if dim.axis is axis) for axis in axes]
    sch.reorder(*[dim.loop for dim in by_axis])
    places = contraction.join([nest.dim(index) for index in nest.store.indices], line)
    sch.transform_block_layout(name, contraction.join(by_axis, line))
    sch.transform_block_layout(result, places)
    sch.transform_layout(name, ("write", 0), places)
    made = work.nest(name, symbolic=not nest.known)
    found = roles_of(work, made) if made is not None else None
    if made is None or found is None or found.pixels.extent != extent:
        return False
    scheduled(work, made, found, reader, result=result)
    return True


def _pixels_of_image(nest: Nest, roles: Roles) -> tuple[Dim, ...]:
    """The dimensions of an image around its pixels in a line, which are beside each other in the result."""
    line: list[Dim] = []
    for index in nest.store.indices:
        dim = nest.dim(index)
        if dim is not None and dim.known and not uses(roles.weights.indices, dim.var):
            line.append(dim)
        elif any(dim is roles.pixels for dim in line):
            break
        else:
            line = []
    return tuple(line)


def _in_order(work: Work, nest: Nest, reader: BlockHandle) -> bool:
    """Whether the axes of the block that reads the results are the dimensions of these, in their order."""
    block = work.block(reader.name)
    axes = tuple(axis.var for axis in block.axes)
    loads = [node for node in walk(block.body, BufferLoad) if node.buffer is nest.store.buffer]
    return all(load.indices == axes for load in loads)


def _rounded(work: Work, nest: Nest, roles: Roles, reader: BlockHandle | None) -> bool:
    """The schedule of a convolution whose filters are rounded up to whole vectors."""
    found = with_whole_vectors(work, nest, roles)
    if found is None:
        return False
    packed = contraction.maker_of(work, nest.name, roles.weights.buffer.name)
    scheduled(work, *found, reader, packed, contraction.result_of(work, found[0], reader, True))
    return True


def with_whole_vectors(work: Work, nest: Nest, roles: Roles) -> tuple[Nest, Roles] | None:
    """Round filters up to whole vectors, with zeros for weights; None where that is no convolution any more."""
    work.sch.pad_einsum(nest.name, [roles.lanes if axis is roles.filters.axis else 1 for axis in nest.block.axes])
    made = work.nest(nest.name, symbolic=not nest.known)
    found = roles_of(work, made) if made is not None else None
    if made is None or found is None or found.filters.axis.var is not roles.filters.axis.var:
        return None
    return made, found


def scheduled(
    work: Work,
    nest: Nest,
    roles: Roles,
    reader: BlockHandle | None,
    packed: BlockHandle | None = None,
    result: BlockHandle | None = None,
) -> None:
    """The schedule of a convolution; its only `reader` takes the results where they are, in registers. `packed` and
    `result` copy the weights and the results where something does."""
    sch, width = work.sch, roles.lanes * roles.vectors
    if packed is None:
        packed = sch.cache_read(nest.name, roles.weights.buffer.name, "global", [nest.name])
    at = _place(roles.weights.indices, roles.filters.var)
    if at != len(roles.weights.indices) - 1 or roles.filters.extent > width:
        sch.transform_layout(packed, ("write", 0), _panels(len(roles.weights.indices), at, width))
    if at != len(roles.weights.indices) - 1:
        _lines_of_filters(work, packed, at, roles)
    if result is None:
        result = reader if reader is not None else sch.cache_write(nest.name, 0, "local")
    f_0, f_1 = sch.split(roles.filters.loop, [None, width])
    x_0, x_1 = sch.split(roles.pixels.loop, [None, roles.height])
    outer = [dim for dim in nest.spatial if dim is not roles.filters and dim is not roles.pixels]
    inner = [dim.loop for dim in nest.reduced]
    # the first dimension is that of the images where there is one, or only the call knows how many; threads are woken
    # for each of these, and read all weights again
    one = [dim for dim in outer if not uses(roles.weights.indices, dim.var)]
    one = [dim for dim in one if dim.extent == 1 or (not dim.known and dim.var is nest.store.indices[0])]
    each = math.prod(dim.extent for dim in nest.dims if dim.known)
    if each >= ALONE and is_even(work, roles.filters.extent // width) and _are_small_images(nest, roles):
        one = [dim for dim in one if dim.known]
    images = [dim.loop for dim in one]
    tiles = [f_0, *[dim.loop for dim in outer if dim not in one], x_0]
    sch.reorder(*images, *tiles, *inner, x_1, f_1)
    sch.reverse_compute_at(result, x_0)
    sch.set_scope(nest.name, 0, "local")
    at = _place(nest.store.indices, roles.filters.var)
    if at != len(nest.store.indices) - 1:
        sch.transform_layout(nest.name, ("write", 0), _panels(len(nest.store.indices), at, width))
    if roles.height * roles.vectors > BESIDE and not roles.conditions:
        for loop in inner:
            sch.annotate(loop, "disable_unroll", True)
    sch.decompose_reduction(nest.name, inner[0])
    for part in (f"{nest.name}_init", f"{nest.name}_update"):
        loops = sch.get_loops(part)
        work.vectorize(part, roles.lanes)
        sch.unroll(loops[-2])
    if uses(roles.conditions, nest.reduced[-1].var) and nest.reduced[-1].extent <= WINDOW:
        sch.unroll(inner[-1])  # then the condition is known of most pixels
    work.contract(f"{nest.name}_update")
    if roles.height % (4 if reader is None else 8) == 0:
        work.attempt(_lines_of_pixels, result, roles.height)
    if nest.known or each < ALONE:
        work.parallel([*images, *tiles], nest.work)
    else:
        work.parallel(tiles, each)
    weights = math.prod(dim.extent for dim in (roles.filters, *nest.reduced))
    work.parallel(sch.get_loops(packed)[:-1][:2], ACROSS_LINES * weights)
    work.done |= {nest.name, f"{nest.name}_init", f"{nest.name}_update", result.name, packed.name}
    work.tiled.add(nest.name)


def _are_small_images(nest: Nest, roles: Roles) -> bool:
    """Whether an image is smaller than a panel of weights, so that to read all images for each panel costs less than to
    read all weights for each image."""
    image = next(load for load in factors(term(nest.value)[0]) or () if load is not roles.weights)
    sizes = [int(size.value) for size in image.buffer.shape if type(size) is Const]
    panel = roles.lanes * roles.vectors * math.prod(dim.extent for dim in nest.reduced)
    return len(sizes) + 1 == image.buffer.ndim and math.prod(sizes) <= panel


def _lines_of_filters(work: Work, packed: BlockHandle, at: int, roles: Roles) -> None:
    """Copy the weights of a tile's filters together: one by one, each would go to a line that is in no near cache."""
    loops = work.sch.get_loops(packed)
    filters, beside = work.sch.split(loops[at], [None, roles.lanes * roles.vectors])
    work.sch.reorder(filters, *[loop for loop in loops if loop is not loops[at]], beside)
    work.vectorize(packed, roles.lanes)


def _lines_of_pixels(work: Work, result: BlockHandle, height: int) -> bool:
    """Store the pixels of a filter that lie beside each other at once.

    One by one, they would go to the line of each filter in turn, and lines that lie 4 KiB apart push each other out of
    the nearest cache.
    """
    inner = work.sch.get_loops(result)[-1]
    if work.extent(inner) != height:
        return False
    work.sch.vectorize(inner)
    return True


def unfolded(work: Work, nest: Nest) -> bool:
    """Schedule a convolution of few pixels as a contraction of its windows, which are written out panel by panel.

    The weights are read where they lie: to copy them in another order takes longer than the products of few pixels.
    """
    roles = roles_of(work, nest)
    if roles is None or roles.conditions:
        return False
    image = next(load for load in factors(nest.value) or () if load is not roles.weights)
    pixels = math.prod(dim.extent for dim in nest.spatial if not uses(roles.weights.indices, dim.var))
    if pixels < roles.lanes or roles.filters.extent < roles.lanes or UNFOLDED * pixels >= roles.filters.extent:
        return False
    if work.copied_once(roles.weights.buffer):
        return False  # which is copied when it is compiled
    if is_plain(image, nest):
        return False
    windows = work.sch.reindex(nest.name, ("read", image.buffer.name))
    plain = work.nest(nest.name)
    found = contraction.roles_of(work, plain) if plain is not None else None
    line = contraction.line_of(plain, found) if plain is not None and found is not None else ()
    if plain is None or found is None or len(line) < 2 or found.rows.axis.var is not roles.filters.axis.var:
        return False
    return contraction.joined(work, plain, found, line, contraction.Made(right=windows))


def pointwise(work: Work, nest: Nest) -> bool:
    """Schedule a contraction as a convolution where vectors divide its filters, but not the lines of its result."""
    last = nest.dims[-1] if not nest.store.indices else nest.dim(nest.store.indices[-1])
    roles = roles_of(work, nest)
    if last is None or roles is None or roles.filters is last or last.extent % work.facts.lanes(nest.dtype.bits) == 0:
        return False
    if len(nest.spatial) < 3 or roles.height * roles.vectors < 8:
        return False
    return convolution(work, nest)


def filters_along(work: Work, nest: Nest) -> bool:
    """Schedule a contraction as a convolution where its lines would fill vectors badly, but its filters do.

    Results are stored across the lines then, which long sums pay for.
    """
    found, roles = contraction.roles_of(work, nest), roles_of(work, nest)
    if found is None or roles is None or not work.copied_once(roles.weights.buffer):
        return False
    line = contraction.line_of(nest, found) or (found.columns,)
    if roles.filters in line or roles.height * roles.vectors < 8:
        return False
    columns, width = math.prod(dim.extent for dim in line), 2 * work.facts.lanes(nest.dtype.bits)
    idle = -columns % width
    if math.prod(dim.extent for dim in nest.reduced) * idle <= ACROSS * columns:
        return False
    return convolution(work, nest)


def roles_of(work: Work, nest: Nest, *, rounded: bool = False, lines: int = 1) -> Roles | None:
    """What the dimensions are, None where the block is no convolution, or no vectors divide its filters; with
    `rounded`, where many elements of the vectors that hold them would be idle. Tiles are as for lines of pixels that
    are rounded up to a multiple of `lines`."""
    if nest.update is None or nest.update.op is not OPS["add"] or nest.instances < 4096:
        return None
    if not all(dim.known for dim in nest.reduced):
        return None
    if not nest.store.indices or contraction.is_written_out(nest):
        return None
    if any(type(node) is Call and node.op is OPS["Select"] for node in walk(nest.store.value)):
        return None  # vectors along the lines have masks
    value, conditions = term(nest.update.value)
    loads = factors(value)
    if loads is None or len(loads) != 2 or any(nest.dim(index) is None for index in nest.store.indices):
        return None
    one = work.facts.lanes(nest.dtype.bits)
    for weights, image in (loads, loads[::-1]):
        if not is_plain(weights, nest) or weights.buffer is image.buffer or weights.buffer is nest.store.buffer:
            continue
        mine = [dim for dim in nest.spatial if uses(weights.indices, dim.var) and not uses(image.indices, dim.var)]
        pixels = [dim for dim in nest.spatial if uses(image.indices, dim.var) and not uses(weights.indices, dim.var)]
        mine = [dim for dim in mine if dim.known and not uses(conditions, dim.var)]
        known = [dim for dim in pixels if dim.known]
        if math.prod(dim.extent for dim in known) >= PIXELS:
            pixels = known
        else:
            pixels = [dim for dim in pixels if not dim.known]
        for filters in sorted(mine, key=lambda dim: -dim.extent):
            lanes = next((one // part for part in (1, 2) if filters.extent % max(4, one // part) == 0), 0)
            if rounded:
                lanes = 0 if lanes else _nearly_filled(filters.extent, one)
            if lanes < 4 or math.prod(dim.extent for dim in pixels) < PIXELS:
                continue
            beside = next((dim for dim in reversed(pixels) if dim.extent >= 4), pixels[-1])
            if _along_pixels(nest, image, beside) or _is_thin(nest, image, filters):
                continue
            sums = [dim.extent for dim in nest.reduced if dim.extent > 1]
            deep = len(sums) == 1 and sums[0] >= DEEP
            whole, asked = -(-filters.extent // lanes), uses(conditions, beside.var)
            count = -(-beside.extent // lines) * lines if beside.known else math.lcm(beside.multiple, lines)
            vectors, height = tile_of(whole, count, work.facts.registers, deep=deep, asked=asked)
            if not beside.known and vectors * height < 2:
                continue  # one sum at a time waits for itself
            return Roles(filters, beside, weights, lanes, vectors, height, conditions)
    return None


def _along_pixels(nest: Nest, image: BufferLoad, pixels: Dim) -> bool:
    """Whether so few terms are added up for each of a long line of pixels that vectors along it cost less than storing
    the results of filters across it."""
    if nest.store.indices[-1] is not pixels.var or not pixels.known or pixels.extent < LINE:
        return False
    terms, step = math.prod(dim.extent for dim in nest.reduced), stride_of(image, pixels.var)
    return step is not None and terms <= TERMS and terms * step <= 2 * TERMS


def _is_thin(nest: Nest, image: BufferLoad, filters: Dim) -> bool:
    """Whether it is a product of so few terms that it is none for `contraction`, in long lines."""
    terms = math.prod(dim.extent for dim in nest.reduced)
    return terms <= contraction.FEWEST and filters.known and filters.extent >= LINE and is_plain(image, nest)


def _nearly_filled(filters: int, one: int) -> int:
    """The lanes of the vectors that filters nearly fill; 0 where much of them would be idle."""
    lanes = one if filters > one // 2 else one // 2
    return lanes if filters >= FULL * -(-filters // lanes) * lanes else 0


def tile_of(vectors: int, pixels: int, registers: int, *, deep: bool = False, asked: bool = False) -> tuple[int, int]:
    """How many vectors by how many pixels a tile holds: divisors of both, as many products as keep the processor busy.

    Of the rest, what reads least: each pixel is read for every vector of filters and each weight for every pixel of a
    tile. Weights come from farther away, and pixels that are stored beside each other share lines; but where a product
    is `deep`, a single sum over many channels, all of which lie apart, pixels come from as far as weights.
    """
    far = 1 if deep else 3
    best = max(
        (
            CROWDED if asked and size * height > ASKED else min(size * height, 12),
            -(1 / size + far / height + 0.3 * (size * height > BESIDE)),
            size,
            height,
        )
        for size in (1, 2, 3, 4)
        if vectors % size == 0
        for height in range(1, registers)
        if pixels % height == 0 and size * height + size + 1 <= registers
    )
    return best[2], best[3]


def _place(indices: tuple[object, ...], var: Var) -> int:
    return next(at for at, index in enumerate(indices) if index is var)


def _panels(count: int, at: int, width: int) -> IndexMap:
    """The filters of a tile beside each other, innermost; the tiles outermost."""
    given = indices_of(count)
    others = [index for place, index in enumerate(given) if place != at]
    return IndexMap(given, (given[at] // width, *others, given[at] % width))


__all__ = [
    "convolution",
    "filters_along",
    "pointwise",
    "roles_of",
    "rounded_convolution",
    "scheduled",
    "unfolded",
    "with_whole_vectors",
]
