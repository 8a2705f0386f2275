"""Plain loops become loops around blocks, so that schedules can work on them.

before:                                            after:
    for i in range(4):                                 total = T.alloc_buffer((4,), "float32")
        total: T.float32 = 0.0                         for i in range(4):
        for j in range(8):                                 for j in range(8):
            total = total + A[i, j]                            with T.block("total"):
        B[i] = total / 8.0                                         vi, vj = T.axis.remap("SR", [i, j])
                                                                   with T.init():
                                                                       total[vi] = 0.0
                                                                   total[vi] = total[vi] + A[vi, vj]
                                                           with T.block("B"):
                                                               vi = T.axis.spatial(4, i)
                                                               B[vi] = total[vi] / 8.0

A nest of loops with constant bounds is converted whole or left as it is. What it stores becomes blocks: an element for
each iteration, or an update such as `C[i] = C[i] + value`, whose init is the store of the element before it. Variables
that live through several loops become buffers of an element for each iteration around them. Iterations that a block
calls independent are proved to be. Running sums and the like become scans (`scans_from_loops.py`), and indices are
simplified (`plain_indices.py`), in blocks that were there as well. Arrays of one dimension that loops go through as
matrices become matrices first (`dimensions.py`).
"""

from __future__ import annotations

from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import holds
from tirscript.ir.stmt import Block, For, Stmt

from ..pipeline import prim_func_pass
from ..statements import may_overlap, sizes_of
from .bordered_windows import with_borders
from .buffers_from_variables import buffers_from_variables
from .choices_from_loops import added_always, begun_blocks
from .clamped_windows import with_clamped
from .conditions_inward import conditions_inward
from .dimensions import with_dimensions
from .divided_loops import inits_apart
from .gains import adds_lines, reads_again
from .gathers_from_scatters import gathers_from_scatters
from .inits_from_blocks import inits_from_blocks
from .loops_from_zero import loops_from_zero
from .masked_sums import masked_sums
from .mirrors_apart import mirrors_apart
from .names_written_out import Refused, written_out
from .nest_blocks import Names, Nest, blocks_in
from .plain_indices import with_plain_indices
from .results_apart import results_apart
from .scans_from_loops import scans_from_loops
from .scratch_apart import scratch_apart
from .searches_by_rows import searches_by_rows
from .single_images import with_single_images
from .single_sums import without_single_sums
from .sums_of_differences import sums_of_differences
from .tiles_joined import tiles_joined
from .triangles import rectangles
from .updates_joined import updates_joined
from .variables_from_buffers import variables_from_buffers
from .whole_loops import whole_loops


@prim_func_pass()
def blocks_from_loops(func: PrimFunc, *, symbolic: bool = False) -> PrimFunc:
    """`for i in range(4): B[i] = A[i]` becomes `for i in range(4): with T.block("B"): vi = ...; B[vi] = A[vi]`.

    symbolic: take loops to the sizes of parameters too. The init of a sum is what a block does in its first iteration:
              where there is none, the result is not stored, as the loops did. decompose_reduction stores it always
    """
    return with_blocks(regular_loops(func), symbolic=symbolic)


def regular_loops(func: PrimFunc) -> PrimFunc:
    """The function with the loops and indices that blocks are looked for in; itself where it has these."""
    return with_single_images(with_dimensions(whole_loops(func)))


def with_blocks(
    func: PrimFunc, *, symbolic: bool = False, long_lines: bool = True, reassociate: bool = True
) -> PrimFunc:
    """The function with blocks in its loops where they can be found; itself where none are.

    Terms of sums of floats change places only where these are to `reassociate`. Sums over lines of symbolic length stay
    in one loop, as they are, where these are not `long_lines`.
    """
    if not any(type(stmt) is For for stmt in func.body):
        return func
    func = inits_from_blocks(begun_blocks(func))
    ordered = func.attrs.get("fastmath") is False
    in_order = ordered or not reassociate
    separate, joined = func, updates_joined(func.body, in_order=in_order)
    if joined is not func.body:
        func = func.replace(body=joined)
    together = func
    if not may_overlap(func):
        func = mirrors_apart(searches_by_rows(scratch_apart(func, _has_product)), _has_product)
        func = gathers_from_scatters(tiles_joined(func, _sums_products, in_order), _sums_products, in_order)
    # without sizes, blocks are the same where they may be symbolic
    sizes = frozenset(sizes_of(func) if symbolic else ())
    names = Names(func, sizes, long_lines)
    known = frozenset(names.blocks)
    given = sums_of_differences(buffers_from_variables(variables_from_buffers(added_always(func).body)))
    given = loops_from_zero(rectangles(func, given, lambda nest: _is_product(Names(func, sizes), nest)), sizes)
    given = inits_apart(given, may_overlap(func), long_lines)
    if not may_overlap(func):
        given = scans_from_loops(given, lambda nest: Nest(Names(func, sizes)).convert(nest) is not None, ordered)
    source: list[tuple[Stmt, int]] = []  # what was there, and where what became of it begins in the new body
    head: list[Stmt] = []
    body: list[Stmt] = []
    changed = False
    for stmt in given:
        if type(stmt) is For and not holds(stmt, Block):
            before = [one for one, _ in source[-2:]]
            nest, made, gone = _made(names, before, stmt)
            if made is None and (moved := _plainer(func, stmt)) is not stmt:
                nest, made, gone = _made(names, before, moved)
            if gone:
                del body[source[-gone][1] :]
            if made is not None:
                head += nest.allocations
                changed = True
            source.append((stmt, len(body)))
            body += made or [stmt]
        else:
            source.append((stmt, len(body)))
            body.append(stmt)
    if not changed:
        func = separate if func is together else func
        func = results_apart(with_plain_indices(without_single_sums(func)), known)
        return with_clamped(with_borders(func, ordered=in_order))
    at = next(place for place, stmt in enumerate(body) if type(stmt) is For)
    func = without_single_sums(func.replace(body=(*body[:at], *head, *body[at:])))
    func = masked_sums(results_apart(with_plain_indices(func), known))
    return with_clamped(with_borders(func, ordered=in_order))


def _made(names: Names, before: list[Stmt], loop: For) -> tuple[Nest, list[Stmt] | None, int]:
    """The blocks of a nest, None where it stays, with how many of the statements before it they take the place of."""
    nest = Nest(names)
    made = nest.cleared(before[-1], loop) if before else None
    if made is not None:
        return nest, made, 1
    made = nest.searched(before, loop)
    return (nest, made, 2) if made is not None else (nest, nest.convert(loop), 0)


def _plainer(func: PrimFunc, loop: For) -> For:
    """A loop with its conditions where they choose values; itself where nothing is to be done."""
    try:
        moved = loop if may_overlap(func) else conditions_inward(loop, written_out)
    except Refused:
        return loop
    (found,) = (moved,) if moved is loop else added_always(func.replace(body=(moved,))).body
    assert type(found) is For
    return found


def _is_product(names: Names, nest: For) -> bool | None:
    """Whether one of the blocks that a nest becomes sums up products; None where it becomes none."""
    (ready,) = loops_from_zero((nest,))
    made = Nest(names).convert(ready) if type(ready) is For else None
    if made is None:
        return None
    blocks = [block for part in made for _, block in blocks_in(part, ())]
    return any(reads_again(block) and not adds_lines(block) for block in blocks)


def _has_product(func: PrimFunc, nest: For) -> bool | None:
    """Whether one of the blocks of a nest, its triangles as squares, sums up products; None where it becomes none."""
    names = Names(func, frozenset())
    whole = rectangles(func, func.body, lambda one: _is_product(names, one))
    made = next(one for one, stmt in zip(whole, func.body, strict=True) if stmt is nest)
    return _is_product(names, made) if type(made) is For else None


def _sums_products(func: PrimFunc, nest: For) -> bool:
    """Whether a nest becomes blocks of which one sums up products."""
    (made,) = added_always(func.replace(body=(nest,))).body
    return type(made) is For and bool(_is_product(Names(func, frozenset()), made))


__all__ = ["blocks_from_loops", "regular_loops", "with_blocks"]
