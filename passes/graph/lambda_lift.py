"""Local functions become private functions of the module, with what they take from around them as parameters.

before:                                            after:
    @G.graph_func                                      @G.graph_func(private=True)
    def main(x: ..., w: ...):                          def scaled(w: ..., a: ...):
        @G.graph_func                                      return G.multiply(a, w)
        def scaled(a: ...):
            return G.multiply(a, w)                    @G.graph_func
                                                       def main(x: ..., w: ...):
        return scaled(x)                                   return cls.scaled(w, x)

A symbolic dimension of the outer function that no parameter has is passed as a scalar. A local function that is more
than called, or is called where what it takes is out of sight, becomes `G.make_closure(cls.scaled, (w,))`, and its calls
`G.invoke_pure_closure(scaled, (x,))`. One that calls itself, as TVM allows, calls the function of the module.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct

from tirscript.ir.expr import Var
from tirscript.ir.graph import (
    CallableType,
    Dataflow,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphVar,
    OpCall,
    PrimType,
    PrimValue,
    TupleExpr,
    plain_dimensions,
)
from tirscript.ir.graph_ops.calls import INVOKE_CLOSURE, INVOKE_PURE_CLOSURE, MAKE_CLOSURE
from tirscript.ir.module import Module
from tirscript.ir.node import recursion_room
from tirscript.ir.rewrite import definitions, refresh, rewrite, substitute, walk
from tirscript.ir.stmt import Stmt

from ..names import Names
from ..pipeline import module_pass


@module_pass()
def lambda_lift(module: Module) -> Module:
    """A function in a function becomes `cls.scaled`, called with what it took from around it."""
    lifting = _Lifting(module)
    with recursion_room():
        functions = tuple(lifting.outermost(one) if type(one) is GraphFunc else one for one in module.functions)
    if not lifting.made:
        return module
    return module.replace(functions=(*lifting.made, *functions))


class _Lifted(Struct, frozen=True, eq=False):
    """A local function that is one of the module: `given` are the arguments ahead of those of a call."""

    name: str
    given: tuple[GraphExpr, ...]
    direct: bool


class _Lifting:
    """One module on its way."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.names = Names(function.name for function in module.functions)
        self.made: list[GraphFunc] = []
        self.known: dict[GraphVar, _Lifted] = {}
        self.checked = True  # whether the function of the module that is on its way is one to be checked

    def outermost(self, func: GraphFunc) -> GraphFunc:
        """A function of the module."""
        self.checked = func.check_well_formed
        return self.function(func)

    def function(self, func: GraphFunc) -> GraphFunc:
        """A function without functions in it."""
        if not any(type(node) is GraphFunc for stmt in func.body for node in walk(stmt)):
            return func
        uses = _uses(func)
        body = self.body(func.body, uses)
        return func.replace(body=body, value=self.calls(func.value))

    def body(self, body: tuple[Stmt, ...], uses: dict[GraphVar, bool]) -> tuple[Stmt, ...]:
        kept: list[Stmt] = []
        for stmt in body:
            if type(stmt) is Dataflow:
                inner = self.body(stmt.body, uses)
                outputs = tuple(var for var in stmt.outputs if var not in self.known or not self.known[var].direct)
                if inner:
                    kept.append(stmt.replace(body=inner, outputs=outputs))
            elif type(stmt) is GraphIf:
                kept.append(
                    stmt.replace(
                        condition=self.calls(stmt.condition),
                        then_body=self.body(stmt.then_body, uses),
                        then_value=self.calls(stmt.then_value),
                        else_body=self.body(stmt.else_body, uses),
                        else_value=self.calls(stmt.else_value),
                    )
                )
            elif type(stmt) is GraphBind and type(stmt.value) is GraphFunc:
                closure = self.lifted(stmt.var, stmt.value, uses[stmt.var])
                if closure is not None:
                    kept.append(stmt.replace(value=closure))
            else:
                kept.append(self.calls(stmt))
        return tuple(kept)

    def lifted(self, var: GraphVar, func: GraphFunc, direct: bool) -> GraphExpr | None:
        """Put a local function into the module; the closure in its place, or None where it is only called."""
        func = self.calls(self.function(func))
        own = {*definitions(func), var}
        free = dict.fromkeys(node for node in walk(func, GraphVar) if node not in own)
        inside = {one: GraphVar(one.name, one.type) for one in free}
        params: tuple[GraphVar, ...] = (*inside.values(), *func.params)
        told = set(plain_dimensions(tuple(param.type for param in params)))
        more = dict.fromkeys(node for node in walk(func, Var) if node not in own and node not in told)
        symbols = {one: GraphVar(one.name, PrimType(one.dtype, one)) for one in more}
        name = self.names.fresh(var.name)
        given = (*(PrimValue(one) for one in symbols), *free)
        closure = OpCall(MAKE_CLOSURE, (FunctionRef(name), TupleExpr(given)), span=func.span)
        func = _calling_itself(func, var, given, closure)
        made = substitute(func, inside).replace(
            name=name,
            params=(*symbols.values(), *params),
            private=True,
            check_well_formed=func.check_well_formed and self.checked,
        )
        # its dimensions may be those of the outer function, and need variables of their own
        self.made.append(refresh(made))
        self.known[var] = _Lifted(name, given, direct)
        return None if direct else closure

    def calls(self, node: Any) -> Any:
        """A statement or value whose calls of local functions are calls of those of the module."""
        return rewrite(node, {FunctionCall: self.call}) if self.known else node

    def call(self, call: FunctionCall) -> GraphExpr:
        var = call.function
        lifted = self.known.get(var) if type(var) is GraphVar else None
        if lifted is None:
            return call
        if lifted.direct:
            return call.replace(function=FunctionRef(lifted.name), args=(*lifted.given, *call.args))
        kind = var.type  # type: ignore[attr-defined]
        told = type(kind) is CallableType
        op = INVOKE_PURE_CLOSURE if told and kind.pure else INVOKE_CLOSURE
        types = call.types or ((kind.result,) if told else ())
        return OpCall(op, (var, TupleExpr(call.args)), types=types, span=call.span)


def _calling_itself(func: GraphFunc, var: GraphVar, given: tuple[GraphExpr, ...], closure: OpCall) -> GraphFunc:
    """The local function `var`, where it names itself, with the function of the module that `closure` is of."""

    def again(call: FunctionCall) -> FunctionCall:
        return call.replace(function=closure.args[0], args=(*given, *call.args)) if call.function is var else call

    if not any(node is var for node in walk(func)):
        return func
    made: GraphFunc = rewrite(func, {FunctionCall: again})
    if any(node is var for node in walk(made)):
        itself = GraphVar(var.name, var.type)
        made = substitute(made, {var: itself})
        made = made.replace(body=(GraphBind(itself, closure), *made.body))
    return made


def _uses(func: GraphFunc) -> dict[GraphVar, bool]:
    """Whether each local function, at any depth, is only called, and where all that it takes is in sight."""
    nodes = list(walk(func))
    local = [node.var for node in nodes if type(node) is GraphBind and type(node.value) is GraphFunc]
    seen = Counter(id(node) for node in nodes if type(node) is GraphVar)
    called = Counter(id(node.function) for node in nodes if type(node) is FunctionCall)
    # it stands where it is defined, and an output of a dataflow is a use
    return {var: called[id(var)] == seen[id(var)] - 1 for var in local}


__all__ = ["lambda_lift"]
