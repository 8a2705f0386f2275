"""Graph functions in place of their calls, and which functions call which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Expr, Var
from tirscript.ir.graph import Dataflow, FunctionRef, GraphExpr, GraphFunc, GraphType, MatchCast
from tirscript.ir.graph_ops.infer import match_types
from tirscript.ir.module import Module
from tirscript.ir.rewrite import refresh, substitute, walk
from tirscript.ir.stmt import Stmt

from ..statements import keep_comments
from .replacing import with_sizes


def calls_of(func: GraphFunc) -> set[str]:
    """The functions of the module that a function names."""
    return {node.function for node in walk(func, FunctionRef)}


def callees_first(module: Module) -> list[str]:
    """The graph functions, each behind those that it calls, unless they call each other in a circle."""
    calls = {one.name: calls_of(one) for one in module.functions if type(one) is GraphFunc}
    order: dict[str, None] = {}
    todo = [(name, False) for name in reversed(calls)]
    begun: set[str] = set()
    while todo:
        name, done = todo.pop()
        if done:
            order[name] = None
        elif name not in begun:
            begun.add(name)
            todo.append((name, True))
            todo += ((other, False) for other in sorted(calls[name] & calls.keys() - begun, reverse=True))
    return list(order)


def for_arguments(func: GraphFunc, types: Sequence[GraphType]) -> GraphFunc:
    """A function with variables of its own, whose dimensions are those that arguments of these types have.

    Raises DiagnosticError where they do not fit its parameters.
    """
    fresh = refresh(func)
    sizes: dict[Var, Expr] = {}
    for param, have in zip(fresh.params, types, strict=True):
        match_types(param.type, have, sizes, f"`{param.name}`")
    return with_sizes(fresh, sizes)


def fits(func: GraphFunc, types: Sequence[GraphType]) -> bool:
    """Whether the parameters of a function are known to be of these types."""
    return all(structural_equal(param.type, have) for param, have in zip(func.params, types, strict=True))


def in_place(
    func: GraphFunc, args: Sequence[GraphExpr], types: Sequence[GraphType], *, flat: bool = True
) -> tuple[list[Stmt], GraphExpr]:
    """The statements of a function `for_arguments` in place of its call, and its value; `flat` without dataflows, as
    they stand in another one.

    What is known of an argument only when the program runs is checked by a `G.match_cast`.
    """
    made: list[Stmt] = []
    instead: dict[Any, Any] = {}
    for param, arg, have in zip(func.params, args, types, strict=True):
        if structural_equal(param.type, have):
            instead[param] = arg
        else:
            made.append(MatchCast(param, arg, param.type))
    made += (substitute(stmt, instead) for stmt in (plain_statements(func.body) if flat else func.body))
    return made, substitute(func.value, instead)


def plain_statements(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """Statements, with those of dataflows in their places."""
    for stmt in body:
        yield from keep_comments(stmt, stmt.body) if type(stmt) is Dataflow else (stmt,)


__all__ = ["callees_first", "calls_of", "fits", "for_arguments", "in_place", "plain_statements"]
