"""prefetch: what later iterations of a loop read, brought near while this one computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.linear import linear
from tirscript.ir.arith.scoped import Storage
from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferLoad, Call, CallFunction, Const, Expr, Var, is_const
from tirscript.ir.node import Node
from tirscript.ir.op import OPS, const, get_op
from tirscript.ir.op_sets import CHOICES, LAZY
from tirscript.ir.rewrite import children, substitute, uses, walk
from tirscript.ir.stmt import Block, BufferStore, Evaluate, For

from ...statements import reads_memory
from ..blocks import reads_of
from ..edit import Edit, defined_in
from ..primitive import BlockAt, LoopAt, primitive
from ..tree import Place
from .cache import chosen

LINE = 64  # bytes that come at once
# operators that evaluate no more than their first operand always
_CHOOSE = CHOICES | LAZY


@primitive
def prefetch(
    edit: Edit, block: BlockAt, read_buffer_index: int | str, loop: LoopAt, ahead: int = 1, locality: int = 3
) -> None:
    """Bring near what a block will read of a buffer `ahead` iterations of a loop later, a piece with each run of the
    block's innermost loop.

    before:                                    after `prefetch("B", "A", "i")`:
        for i, j in T.grid(8, 4):                  for i, j in T.grid(8, 4):
            for k in range(32):                        for line in range(2):
                with T.block("B"):                         T.prefetch(T.address_of(A[T.min(i + 1, 7), ...]))
                    B[vi, vj] = A[vi, vj] + 1          for k in range(32):
                                                           with T.block("B"):
                                                               B[vi, vj] = A[vi, vj] + 1

    After the last iteration of `loop` comes the first one of the loop around it, if that reads elsewhere in the buffer.

    The results stay what they are. It is for loops whose iterations compute long on what is in the cache already, so
    that memory waits meanwhile. `locality` is that of `T.prefetch`: 3 for the nearest cache, 0 for the farthest. The
    block reads the buffer along memory or not at all by the innermost loop. Of places that differ by constants, as in
    a stencil, the one with the greatest indices counts, which is read before the others. A row that is looked up,
    `A[at[vi], vj]`, is brought near if each iteration looks one up, and nothing in the loops changes `at`.
    """
    if ahead < 1:
        edit.wrong(f"`ahead` is {ahead}; the iteration that comes next is 1 ahead")
    if not 0 <= locality <= 3:
        edit.wrong(f"`locality` is {locality}, and goes from 0 to 3")
    stmt: Block = block.stmt
    buffer = chosen(edit, block, reads_of(stmt), read_buffer_index, "reads")
    around = block.loops()
    if all(place is not loop for place in around[:-1]):
        edit.refuse(f"`{loop.stmt.var.name}` is no loop around the innermost one of the block `{stmt.name}`", loop)
    if buffer in defined_in(loop.stmt.body):
        edit.refuse(f"`{buffer.name}` is made anew in each iteration of `{loop.stmt.var.name}`", loop)
    loads = [load for load in _loads(stmt) if load.buffer is buffer]
    if not loads:
        edit.refuse(f"`{stmt.name}` reads `{buffer.name}` by a view or a call alone, which do not tell where", block)
    indices = _first_read(edit, block, loop, loads)
    outer, last = loop.stmt, around[-1].stmt
    if outer.step is not None or last.step is not None:
        edit.refuse("a loop counts by a step", loop if outer.step is not None else around[-1])
    if not any(uses(index, outer.var) for index in indices):
        edit.refuse(f"each iteration of `{outer.var.name}` reads the same", loop)
    count, step = _lines(edit, around[-1], buffer, indices)
    line = edit.fresh_var("line", last.var.dtype)
    start = line * const(step, line.dtype)
    then = {last.var: start if is_const(last.start, 0) else last.start + start}
    then |= _later(loop, ahead, around, buffer, indices)
    lines = For(line, const(0, line.dtype), const(count, line.dtype), ())
    known = edit.analyzer(around[-1])
    known.enter_loop(lines)
    place = tuple(
        _within(edit, block, known, substitute(index, then), size)
        for index, size in zip(indices, buffer.shape, strict=True)
    )
    near = Evaluate(get_op("prefetch")(get_op("address_of")(BufferLoad(buffer, place)), 0, locality, 1))
    lines = lines.replace(body=(near,))
    edit.tree.insert(around[-1], before=(lines,))


def _later(
    loop: Place, ahead: int, around: Sequence[Place], buffer: Buffer, indices: Sequence[Expr]
) -> dict[Var, Expr]:
    """The variables of the loops `ahead` iterations of a loop later.

    After its last iteration comes the first one of the next iteration of the loop around it, if that reads elsewhere,
    or else nothing more: the last one again.
    """
    stmt: For = loop.stmt
    var, later = stmt.var, stmt.var + const(ahead, stmt.var.dtype)
    at = [place is loop for place in around].index(True)
    outer: For | None = around[at - 1].stmt if at else None
    extent = int(stmt.stop.value) if type(stmt.stop) is Const and is_const(stmt.start, 0) else 0
    if outer is None or outer.step is not None or extent < ahead or buffer in defined_in(outer.body):
        return {var: _last_of(stmt, later)}
    if not any(uses(index, outer.var) for index in indices):
        return {var: _last_of(stmt, later)}
    size = const(extent, var.dtype)
    further = get_op("cast")(get_op("floordiv")(later, size), outer.var.dtype)
    return {var: get_op("floormod")(later, size), outer.var: _last_of(outer, outer.var + further)}


def _last_of(loop: For, value: Expr) -> Expr:
    """A later iteration of a loop, or its last one."""
    return get_op("min")(value, loop.stop - const(1, loop.var.dtype))


def _within(edit: Edit, block: Place, known: Analyzer, index: Expr, size: Expr) -> Expr:
    """An index into a dimension, no less than 0 and no greater than its last one."""
    index = known.simplify(index)
    low, high = known.const_int_bound(index)
    if low < 0 and reads_memory(index):
        index = get_op("max")(index, const(0, index.dtype))
    elif low < 0 and not known.can_prove(get_op("greater_equal")(index, 0)):
        edit.refuse(f"the index `{index}` that is read ahead is not proved to be 0 or more", block)
    last: Expr | None
    if type(size) is Const:
        # a number that the index reaches is one of its dtype
        last = None if high < size.value else const(int(size.value) - 1, index.dtype)
    elif index.dtype.is_signed is not size.dtype.is_signed:
        edit.refuse(f"the index `{index}` is {index.dtype}, and its dimension {size.dtype}", block)
    else:
        last = None if known.can_prove(get_op("less")(index, size)) else size - const(1, size.dtype)
    return index if last is None else known.simplify(get_op("min")(index, last))


def _loads(stmt: Block) -> list[BufferLoad]:
    return list(walk(stmt.body, BufferLoad))


def _first_read(edit: Edit, block: Place, loop: Place, loads: Sequence[BufferLoad]) -> tuple[Expr, ...]:
    """Where the block reads the buffer, by the loops around it."""
    stmt: Block = block.stmt
    name = loads[0].buffer.name
    first = max(loads, key=lambda load: tuple(linear(index).constant for index in load.indices))
    for load in loads:
        for one, other in zip(first.indices, load.indices, strict=True):
            if linear(one).terms != linear(other).terms:
                message = f"the places where the block `{stmt.name}` reads `{name}` differ by more than constants"
                edit.refuse(message, (block, ""), (load, "here"))
    values = {axis.var: axis.value for axis in stmt.axes}
    inside = defined_in(stmt.body)
    found = tuple(substitute(index, values) for index in first.indices)
    if any(_is_elsewhere(node) or node in inside for index in found for node in walk(index)):
        edit.refuse(f"where `{stmt.name}` reads `{name}` is known only inside it", (block, ""), (first, "here"))
    if any(map(reads_memory, found)):
        _check_looked_up(edit, block, loop, first, found)
    return found


def _is_elsewhere(node: Node) -> bool:
    """Whether no buffer and no loop says what a part of an index is."""
    return type(node) is CallFunction or (type(node) is Call and (node.op.effect != "pure" or node.op is OPS["undef"]))


def _check_looked_up(edit: Edit, block: Place, loop: Place, first: BufferLoad, indices: Sequence[Expr]) -> None:
    """Refuse where a later iteration may look nothing up, or something else than is there now."""
    stmt: Block = block.stmt
    places = list(block.above())
    inner = [place.stmt for place in places[: places.index(loop)]]
    store = stmt.body[0] if len(stmt.body) == 1 else None
    tables: list[BufferLoad] = [node for index in indices for node in walk(index, BufferLoad)]
    if (
        type(store) is not BufferStore
        or any(each.predicate is not None for each in (stmt, store))
        or any(load.predicate is not None for load in (first, *tables))
        or not any(node is first for node in _always(store.value))
        or any(type(place.stmt) is not For or leaves_loop(place.stmt.body) for place in places)
        or any(type(end) is not Const for one in inner for end in (one.start, one.stop))
    ):
        edit.refuse(f"not each iteration looks up where `{stmt.name}` reads", (block, ""), (first, "here"))
    written = Storage(edit.tree.func).written((places[-1].stmt,))
    for load in tables:
        if written(load.buffer):
            edit.refuse(f"`{load.buffer.name}`, which says where, changes in the loops", (block, ""), (load, "here"))


def _always(value: Expr) -> Iterator[Node]:
    """What an expression evaluates, whatever the values are."""
    stack: list[Node] = [value]
    while stack:
        node = stack.pop()
        yield node
        stack += node.args[:1] if type(node) is Call and node.op in _CHOOSE else children(node)


def _lines(edit: Edit, innermost: Place, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[int, int]:
    """How many lines of memory the innermost loop goes through, and the elements of a line."""
    stmt: For = innermost.stmt
    var = stmt.var
    if not any(uses(index, var) for index in indices):
        return 1, 0
    terms = linear(indices[-1]).terms
    along = [term for term in terms if uses(term, var)] == [var] and terms[var] == 1
    dense = buffer.strides is None or is_const(buffer.strides[-1], 1)
    if any(uses(index, var) for index in indices[:-1]) or not along or not dense:
        edit.refuse(f"the loop `{var.name}` does not read along memory", innermost)
    if type(stmt.extent) is not Const:
        edit.refuse(f"how many iterations the loop `{var.name}` has is not known", innermost)
    step = max(1, LINE * 8 // (buffer.dtype.bits * buffer.dtype.lanes))
    return -(-int(stmt.extent.value) // step), step


__all__ = ["prefetch"]
