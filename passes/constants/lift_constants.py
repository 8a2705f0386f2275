"""Constants between graph functions and the tensor functions that they call.

sunk:                                              lifted:
    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def f(x, y):                                       def f(x, W, y):
        W = T.constant("sha256:...")                       ... x[i] * W[i] ...
        ... x[i] * W[i] ...
                                                       @G.graph_func
    @G.graph_func                                      def main(x):
    def main(x):                                           y = G.call_tir(cls.f, (x, G.constant("sha256:...")), ...)
        y = G.call_tir(cls.f, (x,), ...)

`sink_constants` moves what a call passes into the function, where passes over tensor functions find it: layouts are
packed, slices compressed, elements folded. Each set of constants gets a function of its own. `lift_constants` moves
them back, so that functions which differ in their constants alone are one again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import CallFunction
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphVar,
    OpCall,
    PrimValue,
    TensorType,
    TupleExpr,
)
from tirscript.ir.hashing import structural_hash
from tirscript.ir.module import Function, Module
from tirscript.ir.rewrite import map_except_buffers, refresh, walk
from tirscript.ir.stmt import AllocateConst

from ..names import Names
from ..pipeline import module_pass
from .parameters import hindrance, with_constants

_CALLS = frozenset(("call_tir", "call_tir_inplace"))


@module_pass()
def sink_constants(module: Module, *, least: int = 1) -> Module:
    """`G.call_tir(cls.f, (x, G.const(w)))` becomes `G.call_tir(cls.f, (x,))`, and `f` holds the constant.

    Constants of fewer than `least` elements stay, and those of parameters that the function writes.
    """
    constants = _bound_constants(module)
    variants: dict[Any, tuple[PrimFunc, dict[int, ConstantTensor]]] = {}
    calls: list[tuple[OpCall, Any, tuple[GraphExpr, ...]]] = []
    for call, func, fields in _calls(module):
        if call.op.name != "call_tir":
            continue  # results are written into arguments by their number
        given = {
            at: data
            for at, field in enumerate(fields)
            if (data := _data(field, constants)) is not None
            and data.size >= least
            and hindrance(func, at, module) is None
        }
        if given:
            key = (func.name, tuple((at, data.digest) for at, data in given.items()))
            variants.setdefault(key, (func, given))
            calls.append((call, key, tuple(field for at, field in enumerate(fields) if at not in given)))
    made = {key: with_constants(func, given, module) for key, (func, given) in variants.items()}
    return _with_functions(module, made, calls)


@module_pass()
def lift_constants(module: Module, *, least: int = 1) -> Module:
    """`W = T.allocate_const(...)` in a function that a graph calls becomes an argument of the call.

    What stays: constants of fewer than `least` elements, in bodies of loops, with annotations, an alignment or a scope
    of their own. A function that others call, too, stays as it is, and the graph calls one without its constants.
    """
    lifted: dict[tuple[str, int], tuple[PrimFunc, list[GraphConst]]] = {}
    calls: list[tuple[OpCall, Any, tuple[GraphExpr, ...]]] = []
    for call, func, fields in _calls(module):
        key = (func.name, len(fields))
        if key not in lifted:
            lifted[key] = _lifted(func, len(fields), least)
        given = lifted[key][1]
        if given:
            calls.append((call, key, (*fields, *given)))
    return _with_functions(module, {key: func for key, (func, given) in lifted.items() if given}, calls)


def _lifted(func: PrimFunc, inputs: int, least: int) -> tuple[PrimFunc, list[GraphConst]]:
    """A function whose constants are parameters behind its `inputs`, and their values."""
    found = [stmt for stmt in func.body if type(stmt) is AllocateConst and _is_plain(stmt, least)]
    gone = set(map(id, found))
    buffers = tuple(stmt.buffer for stmt in found)
    params = (*func.params[:inputs], *buffers, *func.params[inputs:])
    body = tuple(stmt for stmt in func.body if id(stmt) not in gone)
    return func.replace(params=params, body=body), [_as_declared(stmt) for stmt in found]


def _is_plain(stmt: AllocateConst, least: int) -> bool:
    buffer = stmt.buffer
    same = stmt.data.shape == buffer.constant_shape() or stmt.data.resolved
    return same and stmt.data.size >= least and buffer.scope == "global" and not stmt.annotations and not buffer.align


def _as_declared(stmt: AllocateConst) -> GraphConst:
    """The value of a constant in the shape of its buffer."""
    shape = stmt.buffer.constant_shape()
    same = stmt.data.shape == shape
    return GraphConst(stmt.data if same else constant(stmt.data.array.reshape(shape)), span=stmt.span)


def _bound_constants(module: Module) -> dict[GraphVar, ConstantTensor]:
    """The variables that are another name of a constant."""
    return {
        node.var: node.value.data
        for node in walk(module)
        if type(node) is GraphBind and type(node.value) is GraphConst and type(node.var.type) is TensorType
    }


def _data(field: GraphExpr, constants: dict[GraphVar, ConstantTensor]) -> ConstantTensor | None:
    return field.data if type(field) is GraphConst else constants.get(field) if type(field) is GraphVar else None


def _calls(module: Module) -> Iterator[tuple[OpCall, PrimFunc, tuple[GraphExpr, ...]]]:
    """The calls of tensor functions whose arguments are one tensor or scalar for each parameter."""
    from tirscript.ir.graph_ops.infer import type_of  # with it come all operators of graphs

    for node in walk(tuple(one for one in module.functions if type(one) is GraphFunc)):
        if type(node) is not OpCall or node.op.name not in _CALLS or type(node.args[1]) is not TupleExpr:
            continue
        reference, fields = node.args[0], node.args[1].fields
        func = module.prim_func(reference.function) if type(reference) is FunctionRef else None
        if func is not None and all(type(one) is PrimValue or type(type_of(one)) is TensorType for one in fields):
            yield node, func, fields


def _with_functions(
    module: Module, made: dict[Any, PrimFunc], calls: list[tuple[OpCall, Any, tuple[GraphExpr, ...]]]
) -> Module:
    """The module whose calls go to the functions made for them. Those that nothing calls any more go, if private."""
    if not calls:
        return module
    uses = _uses(module)
    uses.subtract(key[0] for _, key, _ in calls)
    moved_from = {key[0] for key in made}
    kept = {one.name for one in module.functions if not one.private or uses[one.name] > 0}
    names = Names(one.name for one in module.functions if one.name in kept or one.name not in moved_from)
    named: dict[Any, PrimFunc] = {}
    variants: dict[str, list[PrimFunc]] = {}  # what stands in front of a function, by its name
    known: dict[int, list[PrimFunc]] = {}
    for key, func in made.items():
        func = func.replace(private=True)
        equal = known.setdefault(structural_hash(func.replace(name="")), [])
        same = next((other for other in equal if structural_equal(func.replace(name=other.name), other)), None)
        if same is None:
            same = refresh(func.replace(name=names.fresh(func.name)))  # the function that it is made of may stay
            equal.append(same)
            variants.setdefault(key[0], []).append(same)
        named[key] = same
    redirect = _Redirecting({id(call): (named[key].name, fields) for call, key, fields in calls})
    functions: list[Function] = []
    for one in module.functions:
        functions += variants.get(one.name, ())
        if one.name not in moved_from or one.name in kept:
            functions.append(redirect(one) if type(one) is GraphFunc else one)
    return module.replace(functions=tuple(functions))


def _uses(module: Module) -> Counter[str]:
    """How often each function is named."""
    found: Counter[str] = Counter()
    for node in walk(module):
        if type(node) is CallFunction or type(node) is FunctionRef:
            found[node.function] += 1
    return found


class _Redirecting:
    """Gives calls another function and other arguments."""

    def __init__(self, calls: dict[int, tuple[str, tuple[GraphExpr, ...]]]) -> None:
        self.calls = calls  # by the id of a call: the name of the function that it calls from now on, its arguments

    def __call__(self, node: Any) -> Any:
        new = self.calls.get(id(node))
        if new is None:
            return map_except_buffers(node, self)
        name, fields = new
        reference = node.args[0].replace(function=name)
        return node.replace(args=(reference, node.args[1].replace(fields=fields), *node.args[2:]))


__all__ = ["lift_constants", "sink_constants"]
