"""specialize: few iterations of a tile in code of their own, chosen when the kernel runs."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir.arith.linear import Linear, linear
from tirscript.ir.arith.logic import conjuncts
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import BufferLoad, Const, Expr, Var, is_const
from tirscript.ir.op import const
from tirscript.ir.rewrite import definitions, refresh, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Block, BufferStore, For, If, Stmt

from ...statements import has_effect, reads_memory
from ..blocks import writes_of
from ..dataflow import allocation, is_viewed
from ..edit import Edit
from ..loops import plain
from ..primitive import LoopAt, primitive
from ..tree import Place
from .loop_partition import narrowed, renamed


@primitive
def specialize(edit: Edit, loop: LoopAt, size: int) -> list[Place]:
    """Where the predicates in a loop let no more than `size` iterations run, run a copy that has no more; its blocks.

    before:                                    after `specialize("ax0", 1)`:
        for i_0 in range((n + 7) // 8):            for i_0 in range((n + 7) // 8):
            for k, i_1 in T.grid(64, 8):               if i_0 * 8 + 1 < n:
                with T.block("C"):                         for k, i_1 in T.grid(64, 8):
                    vi = ... i_0 * 8 + i_1                     with T.block("C"): ...
                    L[vi] += ...                           for ax0 in range(8):
            for ax0 in range(8):                               with T.block("D"): ...
                with T.block("D"):                     else:
                    vi = ... i_0 * 8 + ax0                 for k, i_1 in T.grid(64, 1):
                    T.where(i_0 * 8 + ax0 < n)                 with T.block("C_1"): ...
                    D[vi] = L[vi]                          for ax0 in range(1):
                                                               with T.block("D_1"): ...

    All that stands beside the loop is in both. Cut with it are loops beside it whose blocks make nothing but elements
    of temporaries that the iterations left out alone would read: so a tile of one row takes a row's time. The copy has
    temporaries of its own.
    """
    stmt = plain(edit, loop, "specialized")
    extent = stmt.stop
    if not is_const(stmt.start, 0) or type(extent) is not Const:
        edit.refuse(f"the loop `{stmt.var.name}` does not run from 0 to a number", loop)
    if not 1 <= size < extent.value:
        edit.wrong(f"`size` is {size}; it is at least 1 and less than {extent.value}, the iterations of the loop")
    home = loop.parent
    assert home is not None
    if type(home.stmt) is not For:
        edit.refuse(f"the loop `{stmt.var.name}` stands in no other loop, so there is nothing to choose again", loop)
    others = [place for place in loop.siblings() if type(place.stmt) not in (For, Block)]
    if others:
        edit.refuse(f"beside the loop `{stmt.var.name}` stands something else than loops and blocks", others[0])
    condition = _beyond(edit, loop, size)
    found = _only_for(edit, loop, size)
    cut = [loop, *(place for place, _ in found)]
    stops = {place.stmt.var: const(size, place.stmt.var.dtype) for place in cut}
    own = {buffer: buffer.replace() for _, made in found for buffer in made}

    def shortened(node: For) -> For:
        if node.var not in stops:
            return node
        stop = stops[node.var]
        return node.replace(stop=stop, body=narrowed(node.body, node.var, node.start, stop, later=False))

    old = tuple(place.stmt for place in loop.siblings())
    new: tuple[Stmt, ...] = renamed(edit, refresh(substitute(rewrite(old, {For: shortened}), own)), [])
    edit.tree.splice(home, loop.field, 0, len(old), (If(condition, old, new),))
    for buffer in own.values():
        edit.allocate(buffer)
    return [edit.block(node.name) for node in walk(new, Block)]


def _beyond(edit: Edit, loop: Place, size: int) -> Expr:
    """What holds where iterations from `size` on do something: a part of the predicate of all blocks in the loop."""
    var: Var = loop.stmt.var
    own = [name for name in definitions(loop.stmt.body) if type(name) is Var]
    blocks = list(loop.below(Block, nested=False))
    if any(type(place.stmt) not in (For, Block) for place in loop.below(nested=False)):
        edit.refuse(f"in the loop `{var.name}` stands something else than loops and blocks", loop)
    parts = [
        part
        for part in (conjuncts(blocks[0].stmt.predicate) if blocks and blocks[0].stmt.predicate is not None else ())
        if uses(part, var) and not any(uses(part, name) for name in own) and not reads_memory(part)
    ]
    known = edit.analyzer(loop, inside=True)
    for part in parts:
        first = substitute(part, {var: const(size, var.dtype)})
        if all(_demands(block.stmt, part) for block in blocks):
            with known.scope(var >= size, part):
                if known.can_prove(first):
                    return first
    return edit.refuse(
        f"no condition of the blocks in the loop `{var.name}` says that none of its iterations from {size} on run",
        loop,
        hint="reverse_compute_at gives blocks of sizes that a tile does not divide such a predicate",
    )


def _demands(block: Block, part: Expr) -> bool:
    return block.predicate is not None and part in conjuncts(block.predicate)


def _only_for(edit: Edit, loop: Place, size: int) -> list[tuple[Place, set[Buffer]]]:
    """Loops beside one whose iterations from `size` on make only what the iterations from there of that one read; and
    the temporaries that these make."""
    found: list[tuple[Place, set[Buffer]]] = []
    for sibling in loop.siblings():
        if sibling is loop:
            continue
        for place in (sibling, *sibling.below(For, nested=False)):
            if type(place.stmt) is not For or not _may_be_cut(place, size):
                continue
            made = {buffer for block in place.below(Block, nested=False) for buffer in writes_of(block.stmt)}
            if made and all(_goes_with(edit, buffer, place, loop) for buffer in made):
                found.append((place, made))
    return found


def _may_be_cut(loop: Place, size: int) -> bool:
    """Whether a loop is as simple as the one that is specialized, and holds nothing but loops and blocks of stores."""
    stmt: For = loop.stmt
    if not is_const(stmt.start, 0) or type(stmt.stop) is not Const or stmt.stop.value <= size:
        return False
    if stmt.kind != "serial" or stmt.step is not None or stmt.annotations:
        return False
    blocks = list(loop.below(Block, nested=False))
    stores = [node for block in blocks for node in (*(block.stmt.init or ()), *block.stmt.body)]
    if any(type(node) is not BufferStore or has_effect(node.value) for node in stores):
        return False
    return all(type(place.stmt) in (For, Block) for place in loop.below(nested=False))


def _goes_with(edit: Edit, buffer: Buffer, maker: Place, reader: Place) -> bool:
    """Whether a temporary is used in two loops alone, and in each iteration of them in a slice of its own, the same."""
    home = allocation(edit, buffer)
    if home is None or is_viewed(edit.func, buffer):
        return False
    count = sum(type(node) in (BufferLoad, BufferStore) and node.buffer is buffer for node in walk(edit.func.body))  # type: ignore[attr-defined]
    seen = [*_indices(maker, buffer), *_indices(reader, buffer)]
    if len(seen) != count:
        return False
    inner = {name for loop in (maker, reader) for name in definitions(loop.stmt) if type(name) is Var}
    last = max(int(loop.stmt.stop.value) for loop in (maker, reader))
    return any(_same_slices([indices[at] for indices in seen], inner, last) for at in range(buffer.ndim))


def _indices(loop: Place, buffer: Buffer) -> Iterator[list[Linear]]:
    """The indices of the accesses of a buffer in the blocks of a loop, with `_ITERATION` for the loop's variable."""
    for place in loop.below(Block, nested=False):
        values = {axis.var: axis.value for axis in place.stmt.axes}
        for node in walk((*(place.stmt.init or ()), *place.stmt.body)):
            if type(node) in (BufferLoad, BufferStore) and node.buffer is buffer:  # type: ignore[attr-defined]
                yield [_by_iteration(linear(index, values), loop.stmt.var) for index in node.indices]  # type: ignore[attr-defined]


def _by_iteration(form: Linear, var: Var) -> Linear:
    terms: dict[Expr, int] = {_ITERATION if atom is var else atom: c for atom, c in form.terms.items()}
    return Linear(terms, form.constant, form.dtype)


def _same_slices(forms: list[Linear], inner: set[Var], last: int) -> bool:
    """Whether indices are the same in the same iteration, of at most `last`, and others in others."""
    first = forms[0]
    step = abs(first.terms.get(_ITERATION, 0))
    if not 0 < step * last <= first.dtype.int_range()[1]:
        return False
    if any(uses(atom, var) for atom in first.terms for var in inner):
        return False
    return all(
        form.terms == first.terms and form.constant == first.constant and form.dtype is first.dtype for form in forms
    )


# the variable of a loop, in indices that are compared with those of another
_ITERATION = Var("iteration", INT64)
