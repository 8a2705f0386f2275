"""What does not change in a loop is computed, and decided, before it.

before:                                            after:
    for i in range(8):                                 x = n * 4
        if n > 4 and i < m:                            if n > 4:
            x = n * 4                                      for i in range(8):
            A[i] = A[i] + x                                    if i < m:
                                                                   A[i] = A[i] + x

`conditionals` names what is hoisted of conditions: "if" the condition of an `if`, "boolean" also the invariant parts of
one joined by `and`; `lets` hoists bound values. Both arms get a loop of their own where there is an `else`, or where
other statements stand beside the `if`. What may fail, or reads memory, stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tirscript.ir.arith.logic import conjuncts, negation
from tirscript.ir.arith.scoped import Storage
from tirscript.ir.expr import Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Binder
from tirscript.ir.rewrite import definitions, refresh, rewrite, walk
from tirscript.ir.stmt import Bind, For, If, Stmt

from .fitted_axes import fit_axes
from .pipeline import prim_func_pass
from .simplify import Simplify
from .statements import conjunction, keep_comments
from .trapping import is_movable

LARGEST = 200  # nodes of a loop that is written twice


@prim_func_pass()
def hoist_expression(
    func: PrimFunc, *, conditionals: str = "if,boolean", lets: bool = True, largest: int = LARGEST
) -> PrimFunc:
    """`for i in range(8): if n > 4: S` becomes `if n > 4: for i in range(8): S`."""
    wanted = {word for word in conditionals.split(",") if word}
    unknown = wanted - {"if", "boolean"}
    if unknown:
        from tirscript.ir.diagnostic import DiagnosticError, error

        message = f"`conditionals` of hoist_expression names {', '.join(map(repr, sorted(unknown)))}"
        raise DiagnosticError([error("T404", message, hint="it takes 'if', 'boolean' or both joined by a comma")])

    storage = Storage(func)

    def hoist(loop: For) -> Any:
        return _hoisted(loop, _Hoist(wanted, storage), lets, largest)

    return fit_axes(func, rewrite(func, {For: hoist}))


class _Hoist(NamedTuple):
    """What is hoisted of conditions, and which buffers are views of the same memory."""

    wanted: set[str]
    storage: Storage


def _hoisted(loop: For, hoist: _Hoist, lets: bool, largest: int) -> Any:
    given = loop
    before: list[Stmt] = []
    if lets:
        loop, before = _binds(loop)
    new: tuple[Stmt, ...] = (loop,)
    if hoist.wanted and loop.kind != "thread_binding":
        new = _conditions(loop, hoist, largest)
    return given if new == (given,) else (*before, *new)


def _binds(loop: For) -> tuple[For, list[Stmt]]:
    """The loop without the bindings of its body that are the same in each iteration, and those bindings."""
    moving: set[Any] = {loop.var, *definitions(loop.body)}
    out: list[Stmt] = []
    kept: list[Stmt] = []
    for stmt in loop.body:
        if type(stmt) is Bind and _invariant(stmt.value, moving):
            moving.discard(stmt.var)
            out.append(stmt)
        else:
            kept.append(stmt)
    return (loop.replace(body=tuple(kept)), out) if out else (loop, out)


def _invariant(expr: Expr, moving: Iterable[Any]) -> bool:
    """Whether an expression is the same in each iteration, and can be evaluated outside."""
    names = set(moving)
    return is_movable(expr) and not any(node in names for node in walk(expr) if isinstance(node, Binder))


def _conditions(loop: For, hoist: _Hoist, largest: int) -> tuple[Stmt, ...]:
    wanted = hoist.wanted
    moving = {loop.var, *definitions(loop.body)}
    for at, stmt in enumerate(loop.body):
        if type(stmt) is not If or type(stmt.condition) is Const:
            continue
        parts = conjuncts(stmt.condition) if "boolean" in wanted else [stmt.condition]
        still = [part for part in parts if _invariant(part, moving)]
        condition = conjunction(still)
        if condition is None:
            continue
        rest = conjunction([part for part in parts if all(part is not one for one in still)])
        alone = len(loop.body) == 1 and (not stmt.orelse or rest is None)
        if rest is None and "if" not in wanted:
            continue
        inner = stmt.then if rest is None else (stmt.replace(condition=rest),)
        yes = loop.replace(body=(*loop.body[:at], *keep_comments(stmt, inner), *loop.body[at + 1 :]))
        if alone and not stmt.orelse:
            return (If(condition, _conditions(yes, hoist, largest), trivia=None, span=stmt.span),)
        if sum(1 for _ in walk(loop)) > largest:
            continue
        no = refresh(loop.replace(body=(*loop.body[:at], *stmt.orelse, *loop.body[at + 1 :]), trivia=None))
        # all copies together stay below the bound
        left = largest // 2
        then = _conditions(_settled(yes, condition, hoist.storage), hoist, left)
        orelse = _conditions(_settled(no, negation(condition), hoist.storage), hoist, left) if no.body else ()
        return (If(condition, then, orelse, span=stmt.span),)
    return (loop,)


def _settled(loop: For, condition: Expr, storage: Storage) -> For:
    """A copy of a loop with what is decided by `condition` decided."""
    decider = Simplify()
    decider.storage = storage
    with decider.analyzer.scope(condition):
        body = decider.loop_body(loop)
    return loop.replace(body=body)
