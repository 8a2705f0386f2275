"""`tirscript graph`: graph functions as a drawing for Graphviz, or as JSON."""

from __future__ import annotations

import json
from typing import Any

import click

from tirscript.ir import DiagnosticError, GraphFunc, Module, error
from tirscript.ir.graph import (
    Dataflow,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphExpr,
    GraphIf,
    GraphVar,
    MatchCast,
    OpCall,
    TupleExpr,
    TupleItem,
)
from tirscript.ir.node import recursion_room

from .files import FILE, some
from .output import machine, write

EPILOG = """\b
Examples:
  tirscript graph model.py --dot | dot -Tsvg > model.svg
  tirscript graph model.py:main --json"""

_SHAPES = {"input": "ellipse", "output": "ellipse", "constant": "note", "if": "diamond", "kernel": "box3d"}


@click.command(name="graph", epilog=EPILOG)
@click.argument("file", type=FILE)
@click.option("--dot", is_flag=True, help="As text for Graphviz (what it does without options).")
@click.option("--json", "as_json", is_flag=True, help="As JSON: nodes and edges of each graph function.")
def command(file: str, dot: bool, as_json: bool) -> None:
    """Draw the graph functions of a file: operators and kernels as nodes, shapes on the edges."""
    if dot and as_json:
        raise click.UsageError("--dot and --json are two forms of one drawing; choose one")
    _, found = some(file)
    parts = [part for program in found.values() for part in _parts(program)]
    if not parts:
        raise DiagnosticError([error("T307", f"{file} has no graph function", hint="`@G.graph_func` makes one")])
    with recursion_room():
        drawn = [Drawing(func).described() for func in parts]
    if as_json:
        machine(drawn)
    else:
        write(dot_text(drawn))


def _parts(program: Any) -> tuple[GraphFunc, ...]:
    if isinstance(program, Module):
        return tuple(program.graph_funcs)
    return (program,) if isinstance(program, GraphFunc) else ()


class Drawing:
    """One graph function as nodes and edges; a node's number is its place in the list."""

    def __init__(self, func: GraphFunc) -> None:
        self.func = func
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.made: dict[GraphVar, int] = {}

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        for param in self.func.params:
            self.made[param] = self.node("input", param.name)
        self.body(self.func.body)
        self.feed(self.func.value, self.node("output", "result"))
        return {"function": self.func.name, "nodes": self.nodes, "edges": self.edges}

    def node(self, kind: str, label: str, calls: str | None = None) -> int:
        self.nodes.append({"kind": kind, "label": label, "calls": calls})
        return len(self.nodes) - 1

    def body(self, stmts: Any) -> None:
        for stmt in stmts:
            _STATEMENTS[type(stmt)](self, stmt)

    def bind(self, stmt: GraphBind) -> None:
        self.made[stmt.var] = self.value(stmt.value, stmt.var.name)

    def match(self, stmt: MatchCast) -> None:
        self.made[stmt.var] = at = self.node("operator", "match_cast")
        self.feed(stmt.value, at)

    def branch(self, stmt: GraphIf) -> None:
        self.body(stmt.then_body)
        self.body(stmt.else_body)
        self.made[stmt.var] = at = self.node("if", "if")
        for value in (stmt.condition, stmt.then_value, stmt.else_value):
            self.feed(value, at)

    def value(self, expr: GraphExpr, name: str) -> int:
        """The node that makes a value."""
        if type(expr) is GraphVar:
            return self.made[expr]
        callee = None
        if type(expr) is FunctionCall:
            callee, args = expr.function, expr.args
        elif type(expr) is OpCall:
            first = expr.args[0] if expr.args else None
            called = type(first) in (FunctionRef, ExternFunction)
            callee, args = (first, expr.args[1:]) if called else (None, expr.args)
        else:
            return self.other(expr, name)
        if type(callee) is FunctionRef:
            at = self.node("kernel" if type(expr) is OpCall else "call", callee.function, callee.function)
        elif type(callee) is ExternFunction:
            at = self.node("library", callee.symbol)
        else:
            at = self.node("operator", expr.op.name) if type(expr) is OpCall else self.node("call", "call")
        for arg in (callee, *args) if type(callee) is GraphVar else args:
            self.feed(arg, at)
        return at

    def other(self, expr: GraphExpr, name: str) -> int:
        """A node for what is no call: a tuple, an item of one, a local function, a constant, a shape."""
        if type(expr) is GraphFunc:
            return self.node("function", name)
        parts: tuple[GraphExpr, ...] = ()
        if type(expr) is TupleExpr:
            parts = expr.fields
        elif type(expr) is TupleItem:
            parts = (expr.value,)
        kind = "tuple" if type(expr) is TupleExpr else "item" if type(expr) is TupleItem else "constant"
        at = self.node(kind, f"item {expr.index}" if type(expr) is TupleItem else name or kind)
        for part in parts:
            self.feed(part, at)
        return at

    def feed(self, expr: GraphExpr, to: int) -> None:
        """Edges for what a node takes."""
        if type(expr) is TupleExpr:
            for field in expr.fields:
                self.feed(field, to)
            return
        at = self.value(expr, "")
        label = expr.type.script().strip() if type(expr) is GraphVar else ""
        self.edges.append({"from": at, "to": to, "label": label})


_STATEMENTS: dict[type, Any] = {
    GraphBind: Drawing.bind,
    MatchCast: Drawing.match,
    Dataflow: lambda drawing, stmt: drawing.body(stmt.body),
    GraphIf: Drawing.branch,
}


def dot_text(drawn: list[dict[str, Any]]) -> str:
    """Graphviz's text: a cluster for each function."""
    lines = ["digraph {", "  compound=true"]
    for at, one in enumerate(drawn):
        lines += [f"  subgraph cluster_{at} {{", f"    label={json.dumps(one['function'])}"]
        for number, node in enumerate(one["nodes"]):
            shape = _SHAPES.get(node["kind"], "box")
            lines.append(f"    f{at}_{number} [label={json.dumps(node['label'])}, shape={shape}]")
        for edge in one["edges"]:
            lines.append(f"    f{at}_{edge['from']} -> f{at}_{edge['to']} [label={json.dumps(edge['label'])}]")
        lines.append("  }")
    places = {one["function"]: at for at, one in enumerate(drawn)}
    for at, one in enumerate(drawn):
        for number, node in enumerate(one["nodes"]):
            to = places.get(node["calls"])
            if to is not None:
                lines.append(f"  f{at}_{number} -> f{to}_0 [style=dashed, lhead=cluster_{to}]")
    return "\n".join([*lines, "}"]) + "\n"
