"""Graph functions as nodes and edges: what `tirscript graph` writes and the viewer draws.

A node is an operator, a kernel, a library function, a parameter, the result, and so on; an edge is a value that one
node makes and another takes. What stands on an edge is told by EDGE_LABELS: whoever knows more of a value than its
shape (how it lies in memory, say) adds a function there, and both drawings show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tirscript.ir import DiagnosticError, Expr, GraphFunc, Module
from tirscript.ir.graph import (
    CallableType,
    Dataflow,
    DTypeValue,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    StringValue,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops.infer import type_of
from tirscript.passes.layouts import PadMapping, value_layouts
from tirscript.passes.layouts.value_layouts import lettered

_INT64 = re.compile(r"T\.int64\((-?\d+)\)")
# values that are written into the node that takes them
_PLAIN = (ShapeExpr, PrimValue, StringValue, DTypeValue)

# (function, module or None, value) -> a line about the value that goes along an edge, or None
EdgeLabel = Callable[[GraphFunc, "Module | None", GraphExpr], "str | None"]


def type_words(kind: GraphType) -> str:
    """A type in few words: `float32[n, 4]`, `(int32[4], bool[])`, `shape[n, 4]`, `int64`."""
    return _TYPES.get(type(kind), lambda kind: "object")(kind)


def _dim(dim: Expr) -> str:
    return _INT64.sub(r"\1", dim.script(fragment=True).strip())


def _dims(values: tuple[Expr, ...] | None, rank: int | None) -> str:
    if values is not None:
        return f"[{', '.join(map(_dim, values))}]"
    return "[…]" if rank is None else f"[{', '.join('?' * rank)}]"


_TYPES: dict[type, Callable[[Any], str]] = {
    TensorType: lambda kind: f"{kind.dtype or '?'}{_dims(kind.shape, kind.ndim)}",
    ShapeType: lambda kind: f"shape{_dims(kind.values, kind.ndim)}",
    PrimType: lambda kind: str(kind.dtype),
    TupleType: lambda kind: f"({', '.join(map(type_words, kind.fields))})",
    CallableType: lambda kind: "function",
}


def shape_and_dtype(func: GraphFunc, module: Module | None, value: GraphExpr) -> str | None:
    """The type of a value in few words."""
    try:
        return type_words(type_of(value, module))
    except DiagnosticError:
        return None


class Layouts:
    """The label that tells how a value lies in memory, where that is not the plain layout.

    A drawing asks for the values of one function after the other, so those of the last one are kept.
    """

    def __init__(self) -> None:
        self.of: tuple[GraphFunc, Module] | None = None
        self.lines: dict[Any, str] = {}

    def __call__(self, func: GraphFunc, module: Module | None, value: GraphExpr) -> str | None:
        if module is None:
            return None
        if self.of is None or self.of[0] is not func or self.of[1] is not module:
            self.of = (func, module)
            self.lines = {one: layout_words(mapping) for one, mapping in value_layouts(func, module).items()}
        return self.lines.get(value) if type(value) in (GraphVar, GraphConst) else None


def layout_words(mapping: PadMapping) -> str:
    """A layout in few words: `[i, j] -> [i//4, j, i%4], pad 0`, or `padded` where nobody knows with what."""
    index_map = lettered(mapping.index_map)
    places = f"{_dims(index_map.params, None)} -> {_dims(index_map.indices, None)}"
    places = places.replace(" // ", "//").replace(" % ", "%")
    if not mapping.padded:
        return places
    if mapping.pad_value is None:
        return f"{places}, padded"
    value = mapping.pad_value.value
    return f"{places}, pad {value:g}" if isinstance(value, float) else f"{places}, pad {value}"


EDGE_LABELS: list[EdgeLabel] = [shape_and_dtype, Layouts()]


class Drawing:
    """One graph function as nodes and edges; a node's number is its place in the list.

    A node is {kind, label, calls, details}: `calls` is the function of the module that it stands for; `details` are
    attributes that are not the default, and plain arguments. An edge is {from, to, label, role}: `role` is what the
    value is to an `if`. `made` tells the node of a variable.
    """

    def __init__(self, func: GraphFunc, module: Module | None = None) -> None:
        self.func, self.module = func, module
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.made: dict[GraphVar, int] = {}
        for param in func.params:
            self.made[param] = self.node("input", param.name)
        self.body(func.body)
        self.feed(func.value, self.node("output", "result"))

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"function": self.func.name, "nodes": self.nodes, "edges": self.edges}

    def node(self, kind: str, label: str, calls: str | None = None, details: tuple[str, ...] = ()) -> int:
        """A new node; its number."""
        self.nodes.append({"kind": kind, "label": label, "calls": calls, "details": list(details)})
        return len(self.nodes) - 1

    def body(self, stmts: Any) -> None:
        """The nodes of statements."""
        for stmt in stmts:
            _STATEMENTS[type(stmt)](self, stmt)

    def bind(self, stmt: GraphBind) -> None:
        self.made[stmt.var] = self.value(stmt.value, stmt.var.name)

    def match(self, stmt: MatchCast) -> None:
        self.made[stmt.var] = at = self.node("operator", "match_cast", details=(type_words(stmt.type),))
        self.feed(stmt.value, at)

    def branch(self, stmt: GraphIf) -> None:
        self.body(stmt.then_body)
        self.body(stmt.else_body)
        self.made[stmt.var] = at = self.node("if", "if")
        self.feed(stmt.condition, at, "condition")
        self.feed(stmt.then_value, at, "then")
        self.feed(stmt.else_value, at, "else")

    def value(self, expr: GraphExpr, name: str) -> int:
        """The node that makes a value."""
        if type(expr) is GraphVar:
            return self.made[expr]
        if type(expr) is OpCall:
            first = expr.args[0] if expr.args else None
            called = type(first) in (FunctionRef, ExternFunction)
            callee, args = (first, expr.args[1:]) if called else (None, expr.args)
        elif type(expr) is FunctionCall:
            callee, args = expr.function, expr.args
        else:
            return self.other(expr, name)
        taken = [field for arg in args for field in (arg.fields if type(arg) is TupleExpr else (arg,))]
        details = (*_attributes(expr), *(plain_words(arg) for arg in taken if isinstance(arg, _PLAIN)))
        if type(callee) is FunctionRef:
            kind = "kernel" if type(expr) is OpCall else "call"
            at = self.node(kind, callee.function, callee.function, details)
        elif type(callee) is ExternFunction:
            at = self.node("library", callee.symbol, details=details)
        elif type(expr) is OpCall:
            at = self.node("operator", expr.op.name, details=details)
        else:
            at = self.node("call", "call", details=details)
        for arg in (callee, *taken) if type(callee) is GraphVar else taken:
            if not isinstance(arg, _PLAIN):
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
        details = (plain_words(expr),) if isinstance(expr, _PLAIN) else ()
        at = self.node(kind, f"item {expr.index}" if type(expr) is TupleItem else name or kind, details=details)
        for part in parts:
            self.feed(part, at)
        return at

    def feed(self, expr: GraphExpr, to: int, role: str = "") -> None:
        """Edges for what a node takes."""
        if type(expr) is TupleExpr:
            for field in expr.fields:
                self.feed(field, to, role)
            return
        at = self.value(expr, "")
        lines = [found for tell in EDGE_LABELS if (found := tell(self.func, self.module, expr))]
        self.edges.append({"from": at, "to": to, "label": "\n".join(lines), "role": role})


def _attributes(call: OpCall | FunctionCall) -> list[str]:
    """The attributes of a call that are not what a call without them has."""
    if isinstance(call, FunctionCall):
        return [f"{name}={_attribute(worth)}" for name, worth in call.attrs.items()]
    known = {one.name: one for one in call.op.parameters}
    return [
        f"{name}={_attribute(worth)}"
        for name, worth in call.attrs.items()
        if name not in known or not known[name].is_default(worth)
    ]


def _attribute(worth: Any) -> str:
    if isinstance(worth, (tuple, list)):
        return f"[{', '.join(map(_attribute, worth))}]"
    return str(worth.script(fragment=True)).strip() if hasattr(worth, "script") else str(worth)


def plain_words(expr: GraphExpr) -> str:
    """A shape, number or string as a node shows it."""
    if type(expr) is ShapeExpr:
        return _dims(expr.values, None)
    return str(expr.script(fragment=True)).strip()


_STATEMENTS: dict[type, Any] = {
    GraphBind: Drawing.bind,
    MatchCast: Drawing.match,
    Dataflow: lambda drawing, stmt: drawing.body(stmt.body),
    GraphIf: Drawing.branch,
}

__all__ = ["EDGE_LABELS", "Drawing", "EdgeLabel", "plain_words", "shape_and_dtype", "type_words"]
