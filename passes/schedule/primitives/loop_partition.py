"""loop_partition: one loop becomes several, one behind the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.dtype import BOOL
from tirscript.ir.expr import Call, Const, Expr, Var, is_const
from tirscript.ir.op import OPS, cast, const, get_op
from tirscript.ir.rewrite import refresh, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Block, For, Stmt

from ...statements import reads_memory
from ..edit import Edit
from ..loops import number, plain, plus
from ..primitive import LoopAt, primitive
from ..refusal import quoted
from ..tree import Place

_CHOICE, _AND = OPS["if_then_else"], OPS["logical_and"]


@primitive
def loop_partition(
    edit: Edit, loop: LoopAt, factors: Sequence[int | Expr | None], preserve_unit_iters: bool = True
) -> list[Place]:
    """Cut a loop into loops that run one after the other, of the given lengths; one may be None and is worked out.

    before:                            after `loop_partition("i", [2, None])`:
        for i in range(30):                for i_0 in range(2):
            with T.block("B"): ...             with T.block("B"): ...
                                           for i_1 in range(2, 30):
                                               with T.block("B_1"): ...

    A length may be an expression of what is known before the loop; where that may be 0, the loop reduces nothing.
    The blocks in the later loops get names of their own. The parts can be scheduled apart, as where the first and the
    last iterations need a condition that the others do not: what is proved to hold throughout a part is not asked
    there. `preserve_unit_iters` of False gives the variables of loops of one iteration their only value.
    """
    stmt = plain(edit, loop, "partitioned")
    if not factors:
        edit.wrong("`factors` is empty")
    unknown = [at for at, factor in enumerate(factors) if factor is None]
    if len(unknown) > 1:
        edit.wrong(f"`factors` has {len(unknown)} times None; only one length can be worked out")
    dtype = stmt.var.dtype
    known = edit.analyzer(loop, sizes=True)
    lengths = [const(0, dtype) if factor is None else number(edit, factor, loop, "length") for factor in factors]
    numbers = sum(int(length.value) for length in lengths if type(length) is Const)
    if numbers > dtype.int_range()[1]:
        edit.wrong(f"the lengths make {numbers} iterations, which do not fit the {dtype} of `{stmt.var.name}`")
    whole: Expr = const(0, dtype)
    for length in lengths:
        whole = plus(whole, length)
    extent = stmt.extent
    if unknown:
        lengths[unknown[0]] = known.simplify(extent - whole)
    elif not known.prove_equal(whole, extent):
        edit.refuse(
            f"the lengths make {quoted(known.simplify(whole))} iterations, and `{stmt.var.name}` has {quoted(extent)}",
            loop,
            hint="give None for one of the lengths",
        )
    # a reduction over the loop begins in the first part
    begins = any(type(node) is Block and node.init is not None and _reduces(node, stmt.var) for node in walk(stmt.body))
    for length in lengths:
        least = 1 if begins or type(length) is Const else 0
        if not known.can_prove(get_op("greater_equal")(length, least)):
            edit.refuse(f"the length {quoted(known.simplify(length))} is not proved to be {least} or more", loop)
    start = stmt.start
    parts: list[For] = []
    for at, length in enumerate(lengths):
        stop = known.simplify(plus(start, length))
        var = edit.fresh_var(f"{stmt.var.name}_{at}", dtype)
        body: tuple[Stmt, ...] = narrowed(substitute(stmt.body, {stmt.var: var}), var, start, stop, at > 0)
        if not preserve_unit_iters and known.can_prove(get_op("equal")(length, 1)):
            body = substitute(body, {var: start})
        if at:
            body = renamed(edit, refresh(body), parts)
        part = stmt.replace(var=var, start=start, stop=stop, body=body, trivia=None if at else stmt.trivia)
        parts.append(_Decided(known.copy()).visit(part))
        start = stop
    edit.replace(loop, *parts)
    return [edit.loop(part.var) for part in parts]


class _Decided(Scoped):
    """Leaves out the conditions of blocks and values that hold throughout a part; of memory it knows nothing."""

    def visit(self, node: Any) -> Any:
        if type(node) is Call and node.dtype is BOOL and not reads_memory(node):
            holds = self.analyzer.can_prove(node)
            if holds or self.analyzer.can_refute(node):
                return const(holds, BOOL)
        new = self.descend(node)
        if type(new) is Call and new.op is _AND:
            return next((other for one, other in itertools.permutations(new.args) if is_const(one, True)), new)
        if type(new) is Block and is_const(new.predicate, True):
            return new.replace(predicate=None)
        if type(new) is Call and new.op is _CHOICE and type(new.args[0]) is Const:
            return new.args[1 if new.args[0].value else 2]
        return new


def _reduces(block: Block, var: Var) -> bool:
    return any(axis.kind == "reduce" and uses(axis.value, var) for axis in block.axes)


def narrowed(body: tuple[Stmt, ...], var: Var, start: Expr, stop: Expr, later: bool) -> tuple[Stmt, ...]:
    """The body with axes that are the loop alone of the loop's range.

    A reduction over the loop has begun in the first part, so its init is dropped in later ones.
    """

    def narrow(block: Block) -> Block:
        reduced = [axis for axis in block.axes if axis.value is var and axis.kind == "reduce"]
        axes = tuple(
            axis.replace(start=cast(start, axis.var.dtype), stop=cast(stop, axis.var.dtype))
            if axis.value is var
            else axis
            for axis in block.axes
        )
        return block.replace(axes=axes, init=None if later and reduced else block.init)

    found: tuple[Stmt, ...] = rewrite(body, {Block: narrow})
    return found


def renamed(edit: Edit, body: tuple[Stmt, ...], before: list[For]) -> tuple[Stmt, ...]:
    """The body with names for its blocks that no other has."""
    taken = {*edit.tree.blocks, *(node.name for part in before for node in walk(part, Block))}

    def rename(block: Block) -> Block:
        number = 1
        while f"{block.name}_{number}" in taken:
            number += 1
        taken.add(f"{block.name}_{number}")
        return block.replace(name=f"{block.name}_{number}")

    found: tuple[Stmt, ...] = rewrite(body, {Block: rename})
    return found
