"""What the primitives on loops share: chains of loops, predicates of bodies, extents."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const, Expr, is_const
from tirscript.ir.op import cast, const, get_op
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block, Break, Continue, For, If, Stmt, While

from ..access import Accesses
from ..statements import may_overlap, reads_memory
from ..trapping import is_movable
from .blocks import reads_of, writes_of
from .dataflow import is_viewed, same_memory
from .edit import Edit
from .refusal import KINDS
from .tree import Place


def plain(edit: Edit, loop: Place, what: str) -> For:
    """The loop at a place, refused where it is not serial, counts by a step, or is left by `break`."""
    stmt: For = loop.stmt
    if stmt.kind != "serial":
        edit.refuse(
            f"the loop `{stmt.var.name}` is {KINDS[stmt.kind]}; only a serial loop can be {what}",
            loop,
            hint=f"{edit.primitive} comes first; the new loops can be {KINDS[stmt.kind]} afterwards",
        )
    if stmt.annotations:
        names = ", ".join(map(repr, stmt.annotations))
        edit.refuse(
            f"the loop `{stmt.var.name}` has annotations ({names}) that would be lost",
            loop,
            hint="take them off with `unannotate`, and annotate the new loops",
        )
    if stmt.step is not None:
        edit.refuse(f"the loop `{stmt.var.name}` counts by a step", loop)
    check_counted(edit, loop)
    _check_range_stays(edit, loop)
    leaver = leaves(stmt)
    if leaver is not None:
        word = "break" if type(leaver) is Break else "continue"
        edit.refuse(f"the loop `{stmt.var.name}` has a `{word}` of its own", (loop, ""), (leaver, "here"))
    return stmt


def _check_range_stays(edit: Edit, loop: Place) -> None:
    """Refuse a loop that changes the memory which says how far it runs: that is read where it begins alone."""
    stmt: For = loop.stmt
    ends = (stmt.start, stmt.stop)
    if not any(map(reads_memory, ends)):
        return
    read = {name for node in walk(ends) if type(node) is Buffer for name in same_memory(loop, node)}
    for access in Accesses(stmt.body).found:
        if access.write and access.buffer in read:
            edit.refuse(
                f"how far the loop `{stmt.var.name}` runs is read from `{access.buffer.name}`, which it changes",
                (loop, ""),
                *([] if access.node is None else [(access.node, "here")]),
            )


def check_counted(edit: Edit, loop: Place) -> None:
    """Refuse a loop whose dtype does not hold how many iterations it has: `range(T.int8(-100), T.int8(100))`."""
    stmt: For = loop.stmt
    dtype, start = stmt.var.dtype, stmt.start
    fits = stmt.extent.dtype is dtype
    if fits and type(start) is not Const and (dtype.bits < 32 or not dtype.is_signed):
        known = edit.analyzer(loop)
        low, high = known.const_int_bound(start)[0], known.const_int_bound(stmt.stop)[1]
        ordered = dtype.is_signed or known.can_prove(start <= stmt.stop)
        fits = ordered and low is not None and high is not None and int(high) - int(low) <= dtype.int_range()[1]
    if not fits:
        edit.refuse(f"the {dtype} of `{stmt.var.name}` is not proved to hold how many iterations it has", loop)


def leaves(loop: For) -> Stmt | None:
    """The `break` or `continue` that is one of this loop's own, None where there is none."""
    stack: list[Stmt] = list(loop.body)
    while stack:
        stmt = stack.pop()
        if type(stmt) in (Break, Continue):
            return stmt
        if type(stmt) in (For, While):
            continue
        for name in ("init", "then", "orelse", "body"):
            stack += getattr(stmt, name, None) or ()
    return None


def chain(edit: Edit, loops: list[Place]) -> list[Place]:
    """The loops from the outermost of `loops` to the innermost, refused where they are not a chain of only children."""
    if len({id(loop) for loop in loops}) != len(loops):
        twice = next(loop for at, loop in enumerate(loops) if any(loop is other for other in loops[:at]))
        edit.refuse(f"the loop `{twice.stmt.var.name}` is given twice", twice)
    inner = max(loops, key=lambda place: sum(1 for _ in place.above()))
    wanted = {id(loop) for loop in loops}
    found = [inner]
    for place in inner.above():
        if len([p for p in found if id(p) in wanted]) == len(wanted):
            break
        if type(place.stmt) is Block:
            edit.refuse(
                f"the block `{place.stmt.name}` stands between the loops",
                *[(loop, "") for loop in loops],
                (place, "this block"),
            )
        if type(place.stmt) is not For:
            edit.refuse("between the loops stands something else than loops", (place, "this"))
        if len(place.stmt.body) != 1:
            edit.refuse(
                f"the loops are not nested in each other alone: `{place.stmt.var.name}` holds {len(place.stmt.body)} "
                "statements",
                place,
            )
        found.append(place)
    missing = [loop for loop in loops if all(loop is not place for place in found)]
    if missing:
        edit.refuse(
            f"the loops `{missing[0].stmt.var.name}` and `{inner.stmt.var.name}` are not nested in each other",
            *[(loop, "") for loop in (missing[0], inner)],
        )
    return found[::-1]


def inner_loops(
    edit: Edit, block: Place, loop: Place, hint: str | None = None, *, apart: Collection[Buffer] = ()
) -> list[Place]:
    """The loops from `loop` to the block, refused where it is not around it, or they hold more than the block; blocks
    that do not touch the buffers `apart` may be beside it where there are such."""
    loops = block.loops()
    at = next((number for number, place in enumerate(loops) if place is loop), None)
    if at is None:
        names = ", ".join(f"`{place.stmt.var.name}`" for place in loops) or "none"
        edit.refuse(
            f"the loop `{loop.stmt.var.name}` is not around the block `{block.stmt.name}`",
            (block, ""),
            (loop, "this loop"),
            hint=f"the loops around it are {names}",
        )
    for place in loops[at:]:
        if len(place.stmt.body) != 1 and not (apart and _leave_alone(edit, place, block, apart)):
            edit.refuse(
                f"the loop `{place.stmt.var.name}` holds more than the block `{block.stmt.name}`", place, hint=hint
            )
    check_straight(edit, block, loop)
    return loops[at:]


def _leave_alone(edit: Edit, loop: Place, block: Place, buffers: Collection[Buffer]) -> bool:
    """Whether all else in a loop are blocks that touch none of some buffers."""
    if may_overlap(edit.func) or any(is_viewed(edit.func, buffer) for buffer in buffers):
        return False
    for place in loop.below(nested=False):
        if type(place.stmt) is Block and place is not block:
            if any(buffer in reads_of(place.stmt) or buffer in writes_of(place.stmt) for buffer in buffers):
                return False
        elif type(place.stmt) not in (For, Block):
            return False
    return True


def check_straight(edit: Edit, block: Place, loop: Place) -> None:
    """Refuse where something else than loops stands between a loop and a block in it."""
    for place in block.above():
        if place is loop:
            return
        if type(place.stmt) is not For:
            word = WORDS.get(type(place.stmt), "something else than loops")
            edit.refuse(
                f"between the loop `{loop.stmt.var.name}` and the block `{block.stmt.name}` stands {word}",
                (block, ""),
                (place, "here"),
                hint=WHERE if type(place.stmt) is If else None,
            )


# what decides whether a block runs at all
WORDS: dict[type, str] = {If: "an `if`", While: "a `while`"}
WHERE = "a condition on the axes of a block is its predicate: `T.where(...)` at its top"


def axis_loops(edit: Edit, block: Place, what: str) -> list[Place]:
    """The loops of a block, refused where they are not its axes one by one, and nothing beside them."""
    stmt: Block = block.stmt
    loops = block.loops()
    for place in loops:
        plain(edit, place, what)
        if len(place.stmt.body) != 1:
            edit.refuse(f"the loop `{place.stmt.var.name}` holds more than the block `{stmt.name}`", place)
    if loops:
        check_straight(edit, block, loops[0])
    if [axis.value for axis in stmt.axes] != [place.stmt.var for place in loops] or stmt.predicate is not None:
        edit.refuse(
            f"the axes of the block `{stmt.name}` are not its loops one by one",
            block,
            hint=f"{edit.primitive} comes before the loops are split, fused or reordered",
        )
    return loops


def guarded(body: tuple[Stmt, ...], condition: Expr) -> tuple[Stmt, ...]:
    """`body` run only where `condition` holds: as the predicate of its blocks, or in an `if` for other statements."""
    if not all(map(_only_blocks, body)):
        return (If(condition, body),)
    return tuple(_predicated(stmt, condition) for stmt in body)


def _only_blocks(stmt: Stmt) -> bool:
    """Whether a statement is a nest of blocks, in loops whose ranges can be worked out where no block runs."""
    if type(stmt) is For:
        return is_movable(stmt.start) and is_movable(stmt.stop) and all(map(_only_blocks, stmt.body))
    return type(stmt) is Block


def _predicated(stmt: Stmt, condition: Expr) -> Stmt:
    if type(stmt) is For:
        return stmt.replace(body=tuple(_predicated(inner, condition) for inner in stmt.body))
    assert type(stmt) is Block
    if stmt.predicate is None:
        return stmt.replace(predicate=condition)
    # what reads memory, or may divide by 0, may do so where the condition holds alone
    both = (stmt.predicate, condition) if is_movable(stmt.predicate) else (condition, stmt.predicate)
    return stmt.replace(predicate=get_op("logical_and")(*both))


def product(edit: Edit, factors: Sequence[Expr], loops: Sequence[Place]) -> Expr:
    """The product of numbers of iterations; refused where the dtype of the loops does not hold it."""
    dtype = loops[0].stmt.var.dtype if not factors else factors[0].dtype
    numbers = math.prod(int(factor.value) for factor in factors if type(factor) is Const)
    if not dtype.int_range()[0] <= numbers <= dtype.int_range()[1]:
        names = ", ".join(f"`{loop.stmt.var.name}`" for loop in loops)
        edit.refuse(f"{numbers} iterations do not fit the {dtype} of {names}", *loops)
    whole: Expr = const(1, dtype)
    for factor in factors:
        whole = times(whole, factor)
    return whole


def number(edit: Edit, given: int | Expr, loop: Place, what: str) -> Expr:
    """A factor or length as a user gave it, in the dtype of the loop; refused where it is no positive number of it."""
    dtype = loop.stmt.var.dtype
    if isinstance(given, int):
        if isinstance(given, bool) or given < 1:
            edit.wrong(f"a {what} is at least 1, not {given}")
        if given > dtype.int_range()[1]:
            edit.wrong(f"the {what} {given} does not fit the {dtype} of the loop `{loop.stmt.var.name}`")
        return const(given, dtype)
    if not given.dtype.is_int or given.dtype.is_vector:
        edit.wrong(f"a {what} is a number of iterations, not a {given.dtype}")
    return cast(given, dtype)


def times(a: Expr, b: Expr) -> Expr:
    """`a * b`, folded where a factor is 1 or both are numbers."""
    if is_const(a, 1):
        return b
    if is_const(b, 1):
        return a
    if type(a) is Const and type(b) is Const:
        return const(int(a.value) * int(b.value), a.dtype)
    return a * b


def plus(a: Expr, b: Expr) -> Expr:
    """`a + b`, without what is 0."""
    if is_const(a, 0):
        return b
    if is_const(b, 0):
        return a
    return a + b


__all__ = [
    "WHERE",
    "WORDS",
    "axis_loops",
    "chain",
    "check_counted",
    "check_straight",
    "guarded",
    "inner_loops",
    "leaves",
    "number",
    "plain",
    "plus",
    "product",
    "times",
]
