"""Sums that are changed where they lie become values of their own, so that what changes them can be done with them.

before:                                            after:
    for i, j, k in T.grid(4, 4, 8):                    C_sum = T.alloc_buffer((4, 4), "float32")
        with T.block("C"):                             for i, j, k in T.grid(4, 4, 8):
            vi, vj, vk = T.axis.remap("SSR", ...)          with T.block("C"):
            with T.init():                                     vi, vj, vk = T.axis.remap("SSR", ...)
                C[vi, vj] = 0.0                                with T.init():
            C[vi, vj] += A[vi, vk] * B[vk, vj]                     C_sum[vi, vj] = 0.0
    for i, j in T.grid(4, 4):                                  C_sum[vi, vj] += A[vi, vk] * B[vk, vj]
        with T.block("C_1"):                           for i, j in T.grid(4, 4):
            vi, vj = T.axis.remap("SS", [i, j])            with T.block("C_1"):
            C[vi, vj] = C[vi, vj] + b[vj]                      vi, vj = T.axis.remap("SS", [i, j])
                                                               C[vi, vj] = C_sum[vi, vj] + b[vj]

The two blocks each write every element of the buffer. What reads it between them reads the sum; what reads it before or
behind them reads what it read. What is no sum is taken apart where only the later block reads it, which then holds it,
or sums along its rows for that block, as in a softmax: then it is made row by row.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Const, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import NO_ATTRS
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, MatchBuffer, Stmt

from ..statements import may_overlap, same_indices, same_size

# what is asked of each pair of them grows with their square
MOST = 40


class _Site(Struct, frozen=True, eq=False):
    """A block in loops of a function that stand in each other alone."""

    block: Block
    loops: tuple[For, ...]

    def axis(self, loop: For) -> Axis | None:
        """The axis that is the variable of a loop around."""
        return next((axis for axis in self.block.axes if axis.value is loop.var), None)

    @property
    def parts(self) -> tuple[Stmt, ...]:
        return (*(self.block.init or ()), *self.block.body)

    def accesses(self, buffer: Buffer) -> list[BufferLoad | BufferStore]:
        return [node for node in walk(self.parts) if type(node) in _ACCESSES and node.buffer is buffer]  # type: ignore[attr-defined,misc]


_ACCESSES = frozenset((BufferLoad, BufferStore))
_DECLARED = frozenset((AllocBuffer, MatchBuffer))


def results_apart(func: PrimFunc, given: frozenset[str] = frozenset()) -> PrimFunc:
    """The function with each result that a later block changes in a buffer of its own; itself where there is none.

    Sums of blocks that are `given` have terms for sure: without any they would leave what was there.
    """
    if may_overlap(func):
        return func
    while True:
        sites = list(_sites(func.body, ()))
        step = None if len(sites) > MOST else _step(func, sites, given)
        if step is None:
            return func
        func = step


def _sites(stmts: tuple[Stmt, ...], loops: tuple[For, ...]) -> Iterator[_Site]:
    for stmt in stmts:
        if type(stmt) is Block:
            yield _Site(stmt, loops)
        elif type(stmt) is For:
            yield from _sites(stmt.body, (*loops, stmt))


def _step(func: PrimFunc, sites: list[_Site], given: frozenset[str]) -> PrimFunc | None:
    """The function with one result apart."""
    for at, first in enumerate(sites):
        buffer = _summed(first, given)
        simple = buffer is None
        if buffer is None:
            buffer = _set(first)
        if buffer is None:
            continue
        touching = [place for place, site in enumerate(sites) if site.accesses(buffer)]
        writing = [
            place for place in touching if any(type(node) is BufferStore for node in sites[place].accesses(buffer))
        ]
        later = next((place for place in writing if place > at), None)
        if later is None or not _changes(sites[later], buffer) or not _only_in(func, sites, buffer):
            continue
        between = [sites[place] for place in touching if at < place < later]
        if simple and not (_feed(between, sites[later], buffer) if between else _once(first, sites[later], buffer)):
            continue
        ends = (first, sites[later])
        if not all(_in_step(sites[place], end, buffer) for place in touching for end in ends):
            continue
        apart = Buffer(f"{buffer.name}_{'set' if simple else 'sum'}", buffer.shape, buffer.dtype)
        new = {
            id(sites[place].block): _reading(sites[place].block, buffer, apart)
            for place in touching
            if at < place <= later
        }
        new[id(first.block)] = substitute(first.block, {buffer: apart})
        body = _replaced(func.body, new)
        home = next(place for place, stmt in enumerate(func.body) if type(stmt) in (For, Block))
        return func.replace(body=(*body[:home], AllocBuffer(apart, NO_ATTRS), *body[home:]))
    return None


def _summed(site: _Site, given: frozenset[str]) -> Buffer | None:
    """The buffer of which a block makes every element as a sum, or the like, that begins anew; None for others."""
    block = site.block
    store = _whole(site)
    if store is None or block.init is None or len(block.init) != 1 or type(block.init[0]) is not BufferStore:
        return None
    begin = block.init[0]
    if (
        begin.buffer is not store.buffer
        or begin.predicate is not None
        or not same_indices(begin.indices, store.indices)
    ):
        return None
    sums = [axis for axis in block.axes if axis.kind == "reduce"]
    if not sums or (block.name in given and any(type(axis.stop) is not Const for axis in sums)):
        return None
    own = [node for node in site.accesses(store.buffer) if type(node) is BufferLoad]
    inside = [node for node in walk(block.body) if node in own]
    return (
        store.buffer
        if len(inside) == len(own) and all(same_indices(node.indices, store.indices) for node in own)
        else None
    )


def _set(site: _Site) -> Buffer | None:
    """The buffer of which a block makes every element of other ones; None for other blocks."""
    store = _whole(site)
    if store is None or site.block.init is not None or any(axis.kind != "spatial" for axis in site.block.axes):
        return None
    return store.buffer if len(site.accesses(store.buffer)) == 1 else None


def _once(first: _Site, later: _Site, buffer: Buffer) -> bool:
    """Whether what a block sets is put where a later one reads it: it is read once, or soon computed again."""
    from ..schedule.default_cpu.nests import heavy

    (store,) = first.block.body
    assert type(store) is BufferStore
    return len(later.accesses(buffer)) == 2 or not heavy(store.value)


def _feed(between: list[_Site], later: _Site, buffer: Buffer) -> bool:
    """Whether what reads a buffer before a later block are sums along its rows for that block: rows of a softmax."""
    for site in between:
        made = _summed(site, frozenset())
        if made is None or made is buffer or not later.accesses(made):
            return False
        rows = [axis.var for axis in site.block.axes if axis.kind == "spatial"]
        if any(list(node.indices[: len(rows)]) != rows for node in site.accesses(buffer)):
            return False
    return True


def _changes(site: _Site, buffer: Buffer) -> bool:
    """Whether a block makes every element of a buffer anew, of what the element was."""
    store = _whole(site)
    if store is None or store.buffer is not buffer or site.block.init is not None:
        return False
    own = [node for node in site.accesses(buffer) if type(node) is BufferLoad]
    if any(axis.kind != "spatial" for axis in site.block.axes):
        return False
    return bool(own) and all(node.predicate is None and same_indices(node.indices, store.indices) for node in own)


def _whole(site: _Site) -> BufferStore | None:
    """The store that is all a block does, where it stores every element of its buffer; None for other blocks."""
    block = site.block
    if block.predicate is not None or block.reads is not None or block.writes is not None or len(block.body) != 1:
        return None
    store = block.body[0]
    if type(store) is not BufferStore or store.predicate is not None or store.buffer.is_scalar:
        return None
    if len(block.axes) != len(site.loops):
        return None
    for loop in site.loops:
        axis = site.axis(loop)
        if axis is None or loop.step is not None or loop.kind != "serial" or loop.annotations:
            return None
        if not same_size(axis.start, loop.start) or not same_size(axis.stop, loop.stop):
            return None
    spatial = {axis.var: axis for axis in block.axes if axis.kind == "spatial"}
    for index, dim in zip(store.indices, store.buffer.shape, strict=True):
        if type(index) is Var and index in spatial:
            axis = spatial.pop(index)
            if not is_const(axis.start, 0) or not same_size(axis.stop, dim):
                return None
        elif not (is_const(index, 0) and is_const(dim, 1)):
            return None
    return None if spatial else store


def _in_step(site: _Site, end: _Site, buffer: Buffer) -> bool:
    """Whether, in an iteration of the loops that two blocks share, they access the same elements of a buffer only.

    Then which of them comes first at an element is a question of the text.
    """
    if site is end:
        return True
    (store,) = end.block.body
    assert type(store) is BufferStore
    for loop in site.loops:
        if not any(loop is other for other in end.loops):
            break
        mine, theirs = site.axis(loop), end.axis(loop)
        if mine is None or theirs is None:
            return False
        at = next((place for place, index in enumerate(store.indices) if index is theirs.var), None)
        if at is None or any(node.indices[at] is not mine.var for node in site.accesses(buffer)):
            return False
    return True


def _only_in(func: PrimFunc, sites: list[_Site], buffer: Buffer) -> bool:
    """Whether nothing but loads and stores of blocks reach a buffer."""
    found = [node for node in walk(func.body) if node is buffer]
    declared = [stmt for stmt in func.body if type(stmt) in _DECLARED and stmt.buffer is buffer]  # type: ignore[attr-defined]
    return len(found) == len(declared) + sum(len(site.accesses(buffer)) for site in sites)


def _reading(block: Block, buffer: Buffer, apart: Buffer) -> Block:
    """The block with what it reads of a buffer read from another one."""
    found: Block = rewrite(
        block, {BufferLoad: lambda node: node.replace(buffer=apart) if node.buffer is buffer else node}
    )
    return found


def _replaced(stmts: tuple[Stmt, ...], new: dict[int, Block]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmt in stmts:
        if type(stmt) is For:
            out.append(stmt.replace(body=_replaced(stmt.body, new)))
        else:
            out.append(new.get(id(stmt), stmt))
    return tuple(out)


__all__ = ["results_apart"]
