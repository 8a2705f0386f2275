"""What nothing uses goes: bindings without effect, and private functions that nobody calls.

before:                                            after:
    @G.graph_func                                      @G.graph_func
    def main(x: G.Tensor((4,), "float32")):            def main(x: G.Tensor((4,), "float32")):
        with G.dataflow():                                 with G.dataflow():
            a = G.exp(x)                                       b = G.sin(x)
            b = G.sin(x)                                       G.output(b)
            G.output(b)                                    return b
        return b
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tirscript.ir.expr import CallFunction, Var
from tirscript.ir.graph import (
    Dataflow,
    FunctionRef,
    GraphBind,
    GraphFunc,
    GraphIf,
    GraphVar,
    PrimType,
)
from tirscript.ir.module import Module
from tirscript.ir.node import Node
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from ..pipeline import module_pass
from .replacing import each_graph_func, is_pure


@module_pass()
def dead_code_elimination(module: Module) -> Module:
    """A body with an unused `a = G.exp(x)` becomes one without it; private functions that nothing calls go."""
    made = each_graph_func(module, lambda func: _trimmed(func, module))
    reached = _called(made.functions)
    kept = tuple(one for one in made.functions if one.name in reached)
    return made if len(kept) == len(made.functions) else made.replace(functions=kept)


def _called(functions: tuple[Any, ...]) -> set[str]:
    """The names of the functions that callers may reach."""
    by_name = {one.name: one for one in functions}
    reached: set[str] = set()
    waiting = [one.name for one in functions if not one.private] or list(by_name)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in by_name:
            continue
        reached.add(name)
        for node in walk(by_name[name]):
            if type(node) in (FunctionRef, CallFunction):
                waiting.append(node.function)  # type: ignore[attr-defined]
    return reached


def _trimmed(func: GraphFunc, module: Module) -> GraphFunc:
    """The function without bindings that nothing uses."""
    defined = _defined(func.body)
    scalars = {var.type.value: var for var in defined if type(var.type) is PrimType and type(var.type.value) is Var}
    counts = Counter(_uses(func, scalars))
    counts.subtract([*defined, *func.params, *scalars.values()])
    body = _live(func.body, counts, scalars, module)
    return func if body is func.body else func.replace(body=body)


def _defined(body: tuple[Stmt, ...]) -> list[GraphVar]:
    """The variables that statements bind, of which each binding is an occurrence."""
    found = []
    for stmt in body:
        for node in walk(stmt):
            var = getattr(node, "var", None) if isinstance(node, Stmt) else None
            if type(var) is GraphVar:
                found.append(var)
            if type(node) is GraphFunc:
                found.extend(node.params)
    return found


def _uses(root: Node, scalars: dict[Var, GraphVar]) -> Iterator[GraphVar]:
    """The variables in a piece of program; a scalar also where a dimension names it."""
    for node in walk(root):
        if type(node) is GraphVar:
            yield node
        elif type(node) is Var and node in scalars:
            yield scalars[node]


def _live(
    body: tuple[Stmt, ...], counts: Counter[GraphVar], scalars: dict[Var, GraphVar], module: Module
) -> tuple[Stmt, ...]:
    """`body` without dead bindings, from the last to the first, so that what only they use goes too."""
    kept: list[Stmt] = []
    for stmt in reversed(body):
        made: Stmt | None = stmt
        if type(stmt) is Dataflow:
            outputs = tuple(var for var in stmt.outputs if counts[var] > 1)  # one is the output itself
            for var in stmt.outputs:
                counts[var] -= var not in outputs
            inner = _live(stmt.body, counts, scalars, module)
            if not inner:
                made = None
            elif inner is not stmt.body or len(outputs) != len(stmt.outputs):
                made = stmt.replace(body=inner, outputs=outputs)
        elif type(stmt) is GraphBind and counts[stmt.var] <= 0 and is_pure(stmt.value, module):
            made = None
            counts.subtract(_uses(stmt, scalars))
        elif type(stmt) is GraphIf:
            then, orelse = (_live(one, counts, scalars, module) for one in (stmt.then_body, stmt.else_body))
            if then is not stmt.then_body or orelse is not stmt.else_body:
                made = stmt.replace(then_body=then, else_body=orelse)
        if made is not None:
            kept.append(made)
    same = len(kept) == len(body) and all(map(lambda a, b: a is b, reversed(kept), body))
    return body if same else tuple(reversed(kept))


__all__ = ["dead_code_elimination"]
