"""Bindings without effects that stand outside of dataflow are put into it, where passes may fuse and move them.

before:                                            after:
    a = G.exp(x)                                       with G.dataflow():
    b = G.add(a, x)                                        a = G.exp(x)
    G.print(b)                                             b = G.add(a, x)
    c = G.sin(b)                                           G.output(b)
    return c                                           G.print(b)
                                                       c = G.sin(b)
                                                       return c

Dataflow beside such bindings becomes one with them. What has effects, a check and a scalar stay where they are: sizes
that they tell are known behind them, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir.graph import Dataflow, GraphBind, GraphFunc, GraphIf, GraphVar, TensorType, TupleType
from tirscript.ir.module import Module
from tirscript.ir.node import Node, are_same
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from ..pipeline import module_pass
from .replacing import each_graph_func, is_pure
from .written_out import plain_statements

LEAST = 2
VALUES = (TensorType, TupleType)


@module_pass(opt_level=1)
def convert_to_dataflow(module: Module, *, least: int = LEAST) -> Module:
    """`a = G.exp(x); b = G.sin(a)` outside of dataflow becomes a dataflow of both; `least` is how many are worth it."""
    return each_graph_func(module, _Collecting(module, least).function)


class _Collecting:
    def __init__(self, module: Module, least: int) -> None:
        self.module = module
        self.least = least

    def function(self, func: GraphFunc) -> GraphFunc:
        body = self.body(func.body, (func.value,))
        return func if body is func.body else func.replace(body=body)

    def body(self, body: tuple[Stmt, ...], behind: tuple[Node, ...]) -> tuple[Stmt, ...]:
        """The statements with what may be in one dataflow in one; `behind` is what stands behind them."""
        made: list[Stmt] = []
        needed = set(_variables(behind))
        run: list[Stmt] = []
        for stmt in reversed(body):
            if self.is_flow(stmt):
                run.insert(0, stmt)
                continue
            made[:0] = self.gathered(run, needed)
            needed.update(_variables(run))
            run = []
            stmt = self.branches(stmt) if type(stmt) is GraphIf else stmt
            made.insert(0, stmt)
            needed.update(_variables((stmt,)))
        made[:0] = self.gathered(run, needed)
        return body if are_same(made, body) else tuple(made)

    def branches(self, stmt: GraphIf) -> GraphIf:
        then = self.body(stmt.then_body, (stmt.then_value,))
        orelse = self.body(stmt.else_body, (stmt.else_value,))
        same = then is stmt.then_body and orelse is stmt.else_body
        return stmt if same else stmt.replace(then_body=then, else_body=orelse)

    def is_flow(self, stmt: Stmt) -> bool:
        """Whether a statement is dataflow, or may be in it without hiding a size from what stands behind."""
        if type(stmt) is Dataflow:
            return True
        return type(stmt) is GraphBind and type(stmt.var.type) in VALUES and is_pure(stmt.value, self.module)

    def gathered(self, run: list[Stmt], needed: set[GraphVar]) -> list[Stmt]:
        """Neighbours as one dataflow, those as they are of which there are too few; `needed` is used behind them."""
        inside = tuple(plain_statements(run))
        alone = len(run) == 1 and type(run[0]) is Dataflow
        if not run or alone or len(inside) < self.least:
            return run
        told = {var for stmt in run if type(stmt) is Dataflow for var in stmt.outputs if type(var.type) not in VALUES}
        bound = dict.fromkeys(var for one in inside if type(var := getattr(one, "var", None)) is GraphVar)
        outputs = tuple(var for var in bound if var in needed or var in told)
        return [Dataflow(inside, outputs)] if outputs else run


def _variables(nodes: tuple[Node, ...] | list[Stmt]) -> Iterator[GraphVar]:
    return (one for node in nodes for one in walk(node, GraphVar))


__all__ = ["LEAST", "convert_to_dataflow"]
