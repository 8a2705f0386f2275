"""Bindings moved into a function of their own, and the walk over dataflow blocks that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tirscript.ir.dtype import INT64
from tirscript.ir.expr import Call, Expr, Var
from tirscript.ir.graph import (
    Dataflow,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphVar,
    ShapeExpr,
    ShapeType,
    plain_dimensions,
)
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs, are_same
from tirscript.ir.op import OPS, cast
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import Stmt

from ..names import Names
from .replacing import variables, written_in_place

LONGEST = 80  # characters of a name that is made of others


class Outlining:
    """Functions made of bindings of a module's dataflow blocks; `skip` tells which functions are left alone."""

    def __init__(self, module: Module, skip: str, block: Callable[[Dataflow], Dataflow]) -> None:
        self.module, self.skip, self.block = module, skip, block
        self.made: list[GraphFunc] = []
        self.names = Names(function.name for function in module.functions)
        # what calls of the function at hand write in place, which is another value behind them
        self.written: set[GraphVar] = set()

    def run(self) -> Module:
        """The module with the new functions before the others."""
        functions = tuple(self.function(one) if type(one) is GraphFunc else one for one in self.module.functions)
        return self.module.replace(functions=(*self.made, *functions)) if self.made else self.module

    def function(self, func: GraphFunc) -> GraphFunc:
        if self.skip in func.attrs:
            return func
        self.written = written_in_place(func, self.module)
        body = self.body(func.body)
        return func if body is func.body else func.replace(body=body)

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        changed = tuple(map(self.statement, body))
        return body if are_same(changed, body) else changed

    def statement(self, stmt: Stmt) -> Stmt:
        if type(stmt) is GraphIf:
            then, orelse = self.body(stmt.then_body), self.body(stmt.else_body)
            same = then is stmt.then_body and orelse is stmt.else_body
            return stmt if same else stmt.replace(then_body=then, else_body=orelse)
        return self.block(stmt) if type(stmt) is Dataflow else stmt

    def stays(self, bind: GraphBind) -> bool:
        """Whether a binding must stand where it does: a value that it uses is written in place, here or elsewhere."""
        return bool(self.written) and bool(variables(bind.value) & self.written)

    def call(self, members: list[GraphBind], name: str, attrs: Mapping[str, Any]) -> GraphBind:
        """The call of a new function that does what `members` do, in the place of the last of them.

        Sizes that none of its tensors tells are a last parameter, a shape.
        """
        root = members[-1]
        inputs = inputs_of(members)
        untold = untold_sizes(members)
        told = plain_dimensions(tuple(var.type for var in inputs))
        sizes = {var: Var(var.name, INT64) for var in untold}  # as shapes hold them, scalars of int32 too
        fresh: dict[Any, Any] = {var: Var(var.name, var.dtype) for var in told}
        fresh |= {var: cast(size, var.dtype) for var, size in sizes.items()}
        inner = dict(fresh)
        for var in (*inputs, *(bind.var for bind in members)):
            inner[var] = var.replace(type=substitute(var.type, fresh))
        body = substitute(tuple(bind.replace(trivia=None) for bind in members), inner)
        result = inner[root.var]
        params = tuple(inner[var] for var in inputs)
        args: tuple[GraphExpr, ...] = tuple(inputs)
        if untold:
            params += (GraphVar("sizes", ShapeType(tuple(sizes.values()))),)
            args += (ShapeExpr(tuple(cast(var, INT64) for var in untold)),)
        made = self.names.fresh(name[:LONGEST])
        block = Dataflow(body, (result,))
        func = GraphFunc(made, params, (block,), result, result.type, attrs=Attrs(attrs), private=True)
        narrow = {size for var, size in sizes.items() if var.dtype is not INT64}

        def as_it_was(call: Call) -> Expr:
            """A scalar that was made narrow again, and wide as dimensions are, which is the size itself."""
            inner: Any = call.args[0]
            casts = call.op is OPS["cast"] and type(inner) is Call and inner.op is OPS["cast"]
            return inner.args[0] if casts and call.dtype is INT64 and inner.args[0] in narrow else call

        self.made.append(rewrite(func, {Call: as_it_was}) if narrow else func)
        return root.replace(value=FunctionCall(FunctionRef(made), args, span=root.value.span))


def is_closed(members: Iterable[GraphBind]) -> bool:
    """Whether the symbolic dimensions of bindings are all found in their inputs, the parameters of a function."""
    return not untold_sizes(members)


def untold_sizes(members: Iterable[GraphBind]) -> tuple[Var, ...]:
    """The symbolic dimensions of bindings that are no dimension of their inputs by themselves."""
    members = list(members)
    inputs = tuple(var.type for var in inputs_of(members))
    known = set(plain_dimensions(inputs))
    parts = (node for bind in members for part in (bind.value, bind.var.type) for node in walk(part))
    used = dict.fromkeys(
        node for node in (*parts, *(node for kind in inputs for node in walk(kind))) if type(node) is Var
    )
    return tuple(var for var in used if var not in known)


def inputs_of(members: Iterable[GraphBind]) -> list[GraphVar]:
    """What bindings use and do not make."""
    members = list(members)
    own = {bind.var for bind in members}
    used = (node for bind in members for node in walk(bind.value, GraphVar))
    return [var for var in dict.fromkeys(used) if var not in own]


__all__ = ["Outlining", "inputs_of", "is_closed", "untold_sizes"]
