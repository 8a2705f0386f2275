"""Expressions and control flow made smaller, by rules that hold under wrap-around.

before:                                            after:
    for i in range(8):                                 for i in range(8):
        for j in range(4):                                 for j in range(4):
            if i * 4 + j < 32:                                 B[i * 4 + j] = A[i, j]
                B[i * 4 + j] = A[(i * 4 + j) // 4, (i * 4 + j) % 4]

The rules: constants fold with the meaning of their dtype; sums of integers lose what cancels; `//` and `%` by constants
see through sums with known loop ranges; comparisons, minima and selections are decided by constant bounds; an `if` on a
constant and a loop of no or one iteration go away. What is assumed of a number is only what its dtype, the loop ranges
and the axis domains say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.bounds import Interval, bounds
from tirscript.ir.arith.elements import Elements, is_same_memory
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.arith.simplifier import Simplifier
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferData, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import map_except_buffers, substitute
from tirscript.ir.stmt import (
    AllocateConst,
    Assert,
    Assume,
    Bind,
    Block,
    BufferStore,
    DeclBuffer,
    For,
    If,
    StaticAssert,
    Stmt,
    While,
)

from .access import constant_extent, loop_range
from .fitted_axes import fit_axes
from .pipeline import prim_func_pass
from .statements import keep_comments, out_of_bounds, reads_memory


@prim_func_pass()
def simplify(func: PrimFunc, *, contents: bool = False) -> PrimFunc:
    """`B[i * 4 + j] = A[(i * 4 + j) // 4] + 0` becomes `B[i * 4 + j] = A[i]` where j is below 4.

    With `contents` also what memory is known to hold is used: what was stored there, and what T.assume says of it.
    """
    if contents:
        from .knowing import KnowingSimplify

        return fit_axes(func, KnowingSimplify().function(func))
    return fit_axes(func, Simplify().function(func))


def simplified(expr: Expr, ranges: Mapping[Var, Interval] | None = None) -> Expr:
    """An expression simplified with what is known of its variables, `ranges` of some."""
    return Analyzer(ranges).simplify(expr)


class Simplify(Scoped):
    """Rewrites statements where an analyzer decides what they do, and simplifies the expressions in them."""

    def __init__(self, analyzer: Analyzer | None = None) -> None:
        super().__init__(analyzer)
        self.expressions = Simplifier(self.analyzer)

    def visit(self, node: Any) -> Any:
        """A node simplified; a tuple of statements where a statement went away."""
        if isinstance(node, Expr):
            return self.expressions.whole(node)
        rule = _RULES.get(type(node))
        return self.descend(node) if rule is None else rule(self, node)

    def run(self, loop: For) -> Any:
        start, stop = self.visit(loop.start), self.visit(loop.stop)
        if start is not loop.start or stop is not loop.stop:
            loop = loop.replace(start=start, stop=stop)
        known = self.analyzer.known
        extent = constant_extent(loop)
        if extent is None and loop.step is None and loop_range(loop, known) is None:
            extent = 0 if bounds(stop, known)[1] <= bounds(start, known)[0] else None
        if extent == 0:
            return ()
        if extent == 1 and loop.kind != "thread_binding" and not leaves_loop(loop.body):
            return keep_comments(loop, self.once(loop, start))
        body = self.loop_body(loop)
        return loop if body is loop.body else loop.replace(body=body)

    def once(self, loop: For, start: Expr) -> tuple[Stmt, ...]:
        """The body of a loop that runs once; with those alone in it that run from a number once, all in one."""
        if not reads_memory(start):
            values, inner = {loop.var: start}, loop.body
            while len(inner) == 1 and _runs_plainly_once(inner[0]):
                values[inner[0].var] = inner[0].start
                inner = inner[0].body
            body: tuple[Stmt, ...] = substitute(inner, values)
            if not out_of_bounds(body):
                return self.body(body)
        bind = Bind(loop.var, start, span=loop.span)
        with self.analyzer.scope():
            self.after(bind)
            return (bind, *self.sequence(loop.body))

    def choose(self, stmt: If) -> Any:
        condition = self.visit(stmt.condition)
        if type(condition) is Const:
            return keep_comments(stmt, self.body(stmt.then if condition.value else stmt.orelse))
        if condition is not stmt.condition:
            stmt = stmt.replace(condition=condition)
        new = self.branch(stmt)
        if not new.then and not new.orelse and not reads_memory(condition):
            return ()
        return new

    def again(self, stmt: While) -> Any:
        new = self.repeat(stmt)
        return () if is_const(new.condition, False) else new

    def place(self, stmt: Block) -> Any:
        new = self.block(stmt)
        return new.replace(predicate=None) if is_const(new.predicate, True) else new

    def check(self, stmt: Any) -> Any:
        condition = self.visit(stmt.condition)
        if is_const(condition, True):
            return ()
        return stmt if condition is stmt.condition else stmt.replace(condition=condition)

    def constant(self, stmt: AllocateConst) -> AllocateConst:
        """Behind it, loads of its elements at constant indices are the elements."""
        if stmt.data.resolved:
            self.expressions.constants[stmt.buffer] = Elements(stmt.data.array)
        return stmt

    def view(self, stmt: DeclBuffer) -> DeclBuffer:
        """A view of a constant that counts its elements as the constant does is one too."""
        new: DeclBuffer = self.descend(stmt)
        data = new.data
        elements = self.expressions.constants.get(data.buffer) if type(data) is BufferData else None
        if elements is not None and is_same_memory(new):
            self.expressions.constants[new.buffer] = elements
        return new

    def store(self, stmt: BufferStore) -> BufferStore:
        new = map_except_buffers(stmt, self.visit)
        return new if new is stmt else self.expressions.legal(stmt, new)


def _runs_plainly_once(stmt: Stmt) -> TypeGuard[For]:
    """Whether a statement is a loop of one iteration, from a number, that says nothing of how it runs."""
    return (
        type(stmt) is For
        and stmt.trivia is None
        and stmt.kind != "thread_binding"
        and type(stmt.start) is Const
        and constant_extent(stmt) == 1
        and not leaves_loop(stmt.body)
    )


_RULES: dict[type, Any] = {
    For: Simplify.run,
    If: Simplify.choose,
    While: Simplify.again,
    Block: Simplify.place,
    Assert: Simplify.check,
    StaticAssert: Simplify.check,
    Assume: Simplify.check,
    BufferStore: Simplify.store,
    AllocateConst: Simplify.constant,
    DeclBuffer: Simplify.view,
}
