"""Loops are cut where a condition in them changes its truth, so that most iterations need not ask it.

before:                                            after:
    for i in range(4):                                 for i in range(3):
        for j in range(4):                                 for j in range(4):
            if i * 4 + j < 14:                                 B[i * 4 + j] = A[i * 4 + j]
                B[i * 4 + j] = A[i * 4 + j]            for i in range(3, 4):
                                                           for j in range(2):
                                                               B[i * 4 + j] = A[i * 4 + j]

The iterations stay in their order, so nothing that depends on it changes. A loop is cut into at most `parts`, and only
where its body has at most `largest` statements, as bodies are repeated; with `likely`, only at conditions that the
program calls likely. The conditions are those of `if`, of `a if c else b` and of T.where, where they read no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.presburger import cut_of
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.effects import exits
from tirscript.ir.expr import Call, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import children, definitions, refresh, walk
from tirscript.ir.stmt import Axis, Bind, Block, Break, For, If, Stmt

from .pipeline import prim_func_pass
from .statements import keep_comments, map_except_buffers, reads_memory

_KINDS = frozenset(("serial", "parallel", "unroll"))
_CHOICE, _LIKELY = OPS["if_then_else"], OPS["likely"]


@prim_func_pass()
def loop_partition(func: PrimFunc, *, parts: int = 3, largest: int = 64, likely: bool = False) -> PrimFunc:
    """`for i in range(16): if i < 14: S` becomes `for i in range(14): S`, and a loop for the rest."""
    return Partition(parts, largest, likely).function(func)


class _Asked(Struct, frozen=True, eq=False):
    """A condition in a loop: the node that asks it, the loops between, and the names bound there."""

    node: Any
    condition: Expr
    inner: dict[Var, tuple[Expr, Expr]]
    values: dict[Var, Expr]


class Partition(Scoped):
    """Cuts loops into at most `parts`; a subclass says with `may_cut` which ones."""

    def __init__(self, parts: int, largest: int, likely: bool) -> None:
        super().__init__()
        self.parts, self.largest, self.likely = parts, largest, likely

    def visit(self, node: Any) -> Any:
        return self.partition(node) if type(node) is For else self.descend(node) if isinstance(node, Stmt) else node

    def partition(self, loop: For) -> Any:
        pieces = self.pieces(loop, self.parts)
        done: list[Stmt] = []
        for piece in pieces:
            new = self.loop(piece)
            if new.body or not loop.body:
                done.append(new)
        if len(done) == 1 and len(pieces) == 1:
            return done[0]
        return keep_comments(loop, tuple(one.replace(trivia=None) for one in done))

    def pieces(self, loop: For, parts: int) -> list[For]:
        """A loop as loops that run one after the other, in each of which fewer conditions are asked."""
        if not self.divides(loop):
            return [loop]
        inside = [var for var in definitions(loop.body) if type(var) is Var]
        for asked in _asked(loop.body, {}, {}):
            if reads_memory(asked.condition) or (self.likely and not _is_likely(asked.condition)):
                continue
            cut = cut_of(
                asked.condition,
                loop.var,
                (loop.start, loop.stop),
                asked.inner,
                self.analyzer.known,
                self.analyzer.relevant(asked.condition),
                values={**self.analyzer.known.lets, **asked.values},
                unknown=inside,
            )
            if cut is None:
                continue
            body = _decided(loop.body, asked.node, cut.truth)
            if cut.whole:
                return self.pieces(loop.replace(body=body), parts)
            first, last = (
                end if end is loop.start or end is loop.stop else self.analyzer.simplify(end)
                for end in (cut.low, cut.high)
            )
            ends = [(loop.start, first), (first, last), (last, loop.stop)]
            count = sum(low is not high for low, high in ends)
            if count > parts or not self.may_cut(loop, ends):
                continue
            made = []
            for low, high in ends:
                if low is high:
                    continue
                made.append(loop.replace(start=low, stop=high, body=body if low is first else loop.body))
            fresh = [made[0], *(refresh(piece) for piece in made[1:])]
            found: list[For] = []
            for at, piece in enumerate(fresh):
                found += self.pieces(piece, parts - len(found) - (len(fresh) - at - 1))
            return found
        return [loop]

    def may_cut(self, loop: For, ends: list[tuple[Expr, Expr]]) -> bool:
        """Whether to make these parts of a loop, of which some are empty."""
        return True

    def divides(self, loop: For) -> bool:
        """Whether a loop may be cut: it counts up by one, is not left early, and no block's axis is its variable."""
        if loop.kind not in _KINDS or loop.step is not None or loop.start.dtype is not loop.stop.dtype:
            return False
        if reads_memory(loop.start) or reads_memory(loop.stop) or Break in exits(loop.body):
            return False
        count = 0
        for node in walk(loop.body):
            count += isinstance(node, Stmt)
            if type(node) is Axis and node.value is loop.var:
                return False
        return count <= self.largest


def _is_likely(condition: Expr) -> bool:
    return any(type(node) is Call and node.op is _LIKELY for node in walk(condition))


def _asked(stmts: tuple[Any, ...], inner: dict[Var, tuple[Expr, Expr]], values: dict[Var, Expr]) -> Iterator[_Asked]:
    """The conditions in a body, outer ones first."""
    values = dict(values)
    for stmt in stmts:
        kind = type(stmt)
        if kind is Bind and not reads_memory(stmt.value) and stmt.value.dtype is stmt.var.dtype:
            values[stmt.var] = stmt.value
        if kind is If:
            yield _Asked(stmt, stmt.condition, inner, values)
        if kind is Block:
            known = {axis.var: axis.value for axis in stmt.axes if axis.value.dtype is axis.var.dtype}
            values = {**values, **{var: value for var, value in known.items() if not reads_memory(value)}}
            if stmt.predicate is not None:
                yield _Asked(stmt, stmt.predicate, inner, values)
        within = dict(inner)
        if kind is For:
            if stmt.step is not None or reads_memory(stmt.start) or reads_memory(stmt.stop):
                continue
            within[stmt.var] = (stmt.start, stmt.stop)
        bodies = [child for child in children(stmt) if isinstance(child, Stmt)]
        for child in children(stmt):
            if isinstance(child, Expr):
                for node in walk(child):
                    if type(node) is Call and node.op is _CHOICE:
                        yield _Asked(node, node.args[0], inner, values)
        if bodies:
            yield from _asked(tuple(bodies), within, values)


def _decided(stmts: tuple[Stmt, ...], node: Any, truth: bool) -> tuple[Stmt, ...]:
    """A body in which the condition that `node` asks is known."""

    def visit(part: Any) -> Any:
        if part is node:
            if type(part) is If:
                return keep_comments(part, part.then if truth else part.orelse)
            if type(part) is Block:
                return part.replace(predicate=None) if truth else ()
            return part.args[1 if truth else 2]
        return map_except_buffers(part, visit)

    out: list[Stmt] = []
    for stmt in stmts:
        new = visit(stmt)
        out += new if type(new) is tuple else (new,)
    return tuple(out)
