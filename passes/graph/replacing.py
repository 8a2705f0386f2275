"""What passes over graph functions share: the walk of those that use another value in place of a binding's variable,
and what calls write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirscript.ir.expr import Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    Dataflow,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    TensorType,
)
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.calls import IN_PLACE
from tirscript.ir.module import Module
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import Stmt
from tirscript.ir.written import only_reads

from ..lowering import STEPS


class Replacing:
    """One function on its way. Subclasses say in `instead` what takes the place of a binding's variable.

    `known` holds what they want to remember of the bindings so far. What a dataflow or a branch binds and does not
    give to the outside is forgotten behind it.
    """

    def __init__(self) -> None:
        self.values: dict[GraphVar, GraphExpr] = {}
        self.known: dict[Any, Any] = {}
        self.changed = False

    def instead(self, stmt: GraphBind | MatchCast) -> GraphExpr | None:
        """The value that is used where the variable of `stmt` was; None where the binding stays."""
        raise NotImplementedError

    def rewritten(self, stmt: Stmt) -> tuple[Stmt, ...]:
        """What takes the place of a statement that stays."""
        return (stmt,)

    def forget(self, gone: set[GraphVar]) -> None:
        """Drop from `known` what needs one of these variables."""
        raise NotImplementedError

    def function(self, func: GraphFunc) -> GraphFunc:
        """The function without the bindings for which others stand."""
        body = self.body(func.body)
        changed = self.values or self.changed
        return func.replace(body=body, value=substitute(func.value, self.values)) if changed else func

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements that stay."""
        kept: list[Stmt] = []
        for stmt in body:
            if type(stmt) is Dataflow:
                inner = self.body(stmt.body)
                own = _bound(inner)
                given = (self.values.get(var, var) for var in stmt.outputs)
                outputs = tuple(dict.fromkeys(var for var in given if type(var) is GraphVar and var in own))
                self.forget(own - set(outputs))
                if inner:
                    kept.append(stmt.replace(body=inner, outputs=outputs))
            elif type(stmt) is GraphIf:
                kept.append(self.branches(stmt))
            else:
                made: Any = substitute(stmt, self.values) if self.values else stmt
                other = self.instead(made) if type(made) in (GraphBind, MatchCast) else None
                if other is None:
                    found = self.rewritten(made)
                    self.changed = self.changed or len(found) != 1 or found[0] is not made
                    kept += found
                else:
                    self.values[made.var] = other
        return tuple(kept)

    def branches(self, stmt: GraphIf) -> GraphIf:
        """An `if` with both branches walked; what one of them binds is known in it alone."""
        condition = substitute(stmt.condition, self.values)
        sides = []
        for body, value in ((stmt.then_body, stmt.then_value), (stmt.else_body, stmt.else_value)):
            inner = self.body(body)
            sides.append((inner, substitute(value, self.values)))
            self.forget(_bound(inner))
        (then, one), (orelse, other) = sides
        return stmt.replace(condition=condition, then_body=then, then_value=one, else_body=orelse, else_value=other)


def _bound(body: tuple[Stmt, ...]) -> set[GraphVar]:
    found: set[GraphVar] = set()
    for stmt in body:
        if type(stmt) is Dataflow:
            found.update(stmt.outputs)
        elif isinstance(stmt, (GraphBind, MatchCast, GraphIf)):
            found.add(stmt.var)
    return found


def each_graph_func(module: Module, rule: Callable[[GraphFunc], GraphFunc]) -> Module:
    """The module with what a rule makes of each graph function; itself where all of them stay.

    What `split_at_sizes` has made is executed as it is, and stays.
    """
    functions = tuple(
        rule(one) if type(one) is GraphFunc and not one.attrs.get(STEPS) else one for one in module.functions
    )
    return module if are_same(functions, module.functions) else module.replace(functions=functions)


_DIMENSIONS: dict[Any, str] = {
    TensorType: "shape",
    ShapeType: "values",
    ShapeExpr: "values",
    PrimType: "value",
    PrimValue: "value",
}


def with_sizes(func: GraphFunc, sizes: Mapping[Var, Expr]) -> GraphFunc:
    """The function with other dimensions, in the types of its variables too. `n * 2` of 3 is 6."""
    if not sizes:
        return func

    def numbered(dim: Expr) -> Expr:
        made: Expr = substitute(dim, sizes)
        return dim if made is dim else dims.simple(made)

    def rule(node: Any) -> Any:
        name = _DIMENSIONS[type(node)]
        given = getattr(node, name)
        made = tuple(map(numbered, given)) if isinstance(given, tuple) else None if given is None else numbered(given)
        return node if made == given else node.replace(**{name: made})

    rules: dict[type, Any] = dict.fromkeys(_DIMENSIONS, rule)
    known = rewrite(func, rules)
    fresh: dict[Any, Any] = dict(sizes)
    for node in dict.fromkeys(walk(known)):
        if type(node) is GraphVar:
            kind: GraphType = rewrite(node.type, rules)
            if kind is not node.type:
                fresh[node] = node.replace(type=kind)
    made: GraphFunc = substitute(known, fresh)
    return made


def variables(value: GraphExpr | Stmt) -> set[GraphVar]:
    """The variables that a value or a statement uses."""
    return set(walk(value, GraphVar))


def is_pure(value: GraphExpr, module: Module | None) -> bool:
    """Whether evaluating a value does nothing but give it: writes no argument, above all."""
    for node in walk(value):
        if type(node) is OpCall and (not node.op.pure or node.op in IN_PLACE):
            return False
        if type(node) is FunctionCall:
            callee: Any = node.function
            if type(callee) is ExternFunction:
                return False
            if type(callee) is FunctionRef:
                found: Any = module[callee.function] if module is not None and callee.function in module else None
                if isinstance(found, PrimFunc):
                    return found.returns is not None and only_reads(found)
                if type(found) is not GraphFunc or not found.pure:
                    return False
            else:
                return False
    return True


def written_in_place(func: GraphFunc, module: Module | None) -> set[GraphVar]:
    """The variables whose elements calls in a function may write, which are others from there on; under all names."""
    nodes = list(walk(func))
    found: set[GraphVar] = set()
    for node in nodes:
        if (type(node) is OpCall and node.op in IN_PLACE) or (type(node) is FunctionCall and not is_pure(node, module)):
            found |= variables(node)
    if not found:
        return found
    # operators make values of their own; a tuple, an item, a branch or another function may give what it got
    named = [node for node in nodes if isinstance(node, (GraphBind, MatchCast, GraphIf))]
    alike = [{stmt.var, *_given(stmt)} for stmt in named]
    while True:
        more = set[GraphVar]().union(*(names for names in alike if names & found)) - found
        if not more:
            return found
        found |= more


def _given(stmt: GraphBind | MatchCast | GraphIf) -> set[GraphVar]:
    """The variables of whose values the one that a statement binds may be another name."""
    if isinstance(stmt, GraphIf):
        return variables(stmt.then_value) | variables(stmt.else_value)
    value = stmt.value
    return set() if type(value) is OpCall and value.op not in IN_PLACE else variables(value)


__all__ = ["Replacing", "each_graph_func", "is_pure", "variables", "with_sizes", "written_in_place"]
