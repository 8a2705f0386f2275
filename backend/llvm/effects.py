"""What a call must know of a function: may it let go of the GIL, may its arguments overlap."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tirscript.backend.runtime.library import c_library
from tirscript.ir import (
    Attr,
    Block,
    BufferLoad,
    Call,
    CallFunction,
    Const,
    Expr,
    For,
    If,
    Module,
    Node,
    PrimFunc,
    Stmt,
    StringImm,
    While,
    recursion_room,
    walk,
)

# a kernel of fewer operations than this runs a few microseconds at most: releasing the GIL would cost more than it
# gives
LONG = 20_000
_NEEDS_PYTHON = frozenset(("call_packed", "print", "breakpoint"))


def needs_gil(func: PrimFunc | Stmt, module: Module | None = None) -> bool:
    """Whether `func`, or a function it calls, may call back into Python."""
    functions = {} if module is None else {one.name: one for one in module.prim_funcs}
    seen: set[str] = set()
    todo: list[PrimFunc | Stmt] = [func]
    while todo:
        for node in walk(todo.pop()):
            if type(node) is Call and node.op.name in _NEEDS_PYTHON and not _calls_c(node):
                return True
            if type(node) is CallFunction and node.function not in seen:
                seen.add(node.function)
                callee = functions.get(node.function)
                if callee is not None:
                    todo.append(callee)
    return False


def _calls_c(call: Call) -> bool:
    name = call.args[0] if call.op.name == "call_packed" else None
    return type(name) is StringImm and c_library(name.value) is not None


def estimated_cost(func: PrimFunc, module: Module | None = None) -> float:
    """About how many operations a call executes; infinite where a loop's extent is not known."""
    functions = {} if module is None else {one.name: one for one in module.functions}
    with recursion_room():
        return _body(func.body, _Costs(functions))


def releases_gil(func: PrimFunc, module: Module | None = None) -> bool:
    """Whether a call of `func` should let other Python threads run, or has to: where iterations that run at once call
    back into Python, each takes the GIL when its turn comes."""
    if not needs_gil(func, module):
        return estimated_cost(func, module) >= LONG
    every = (func,) if module is None else module.functions
    loops = [node for one in every for node in walk(one, For) if node.kind == "parallel"]
    return any(needs_gil(loop, module) for loop in loops)


class _Costs:
    """The functions of a module, and what calls of them cost, as far as that is known."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self.functions = functions
        self.known: dict[str, float] = {}


def _body(body: tuple[Stmt, ...], costs: _Costs) -> float:
    return sum(_COST.get(type(stmt), _flat)(stmt, costs) for stmt in body)


def _flat(stmt: Node, costs: _Costs) -> float:
    cost = 1.0
    for node in walk(stmt):
        if type(node) is CallFunction:
            cost += _callee(node.function, costs)
        elif type(node) is Call:
            # how long a library takes is not known
            cost += (
                math.inf
                if _calls_c(node)
                else 100.0
                if node.op.effect == "opaque"
                else 10.0
                if node.op.llvm is not None
                else 1.0
            )
        elif type(node) is BufferLoad:
            cost += 1.0
    return cost


def _callee(name: str, costs: _Costs) -> float:
    if name not in costs.known:
        costs.known[name] = math.inf  # what a recursive call costs, and one of a function that is not here
        if name in costs.functions:
            costs.known[name] = _body(costs.functions[name].body, costs)
    return costs.known[name]


def _loop(stmt: For, costs: _Costs) -> float:
    if type(stmt.start) is not Const or type(stmt.stop) is not Const:
        return math.inf
    step = stmt.step.value if type(stmt.step) is Const else 1
    if stmt.step is not None and type(stmt.step) is not Const:
        return math.inf
    extent = math.ceil((stmt.stop.value - stmt.start.value) / step)
    return extent * _body(stmt.body, costs) if extent > 0 else 0.0


def _branch(stmt: If, costs: _Costs) -> float:
    return _flat(stmt.condition, costs) + max(_body(stmt.then, costs), _body(stmt.orelse, costs))


def _block(stmt: Block, costs: _Costs) -> float:
    axes: list[Expr] = [axis.value for axis in stmt.axes]
    return sum(_flat(axis, costs) for axis in axes) + _body(stmt.init or (), costs) + _body(stmt.body, costs)


_COST: dict[type, Callable[[Any, _Costs], float]] = {
    For: _loop,
    While: lambda stmt, costs: math.inf,
    If: _branch,
    Block: _block,
    Attr: lambda stmt, costs: _body(stmt.body, costs),
}
