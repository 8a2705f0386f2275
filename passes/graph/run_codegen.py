"""Graph functions for targets that compile graphs become functions of a library, which the others call.

before:                                            after, where "my_npu" has a `graph_to_runtime`:
    @G.graph_func(private=True)                        @G.graph_func(private=True)
    def dense(x, w):                                   def dense(x, w):
        G.func_attr({"target": T.target("my_npu")})        G.func_attr({"target": ..., "external": "my_npu.dense"})
        ...                                                ...
    @G.graph_func                                      @G.graph_func
    def main(x, w):                                    def main(x, w):
        with G.dataflow():                                 with G.dataflow():
            y = cls.dense(x, w)                                y = G.call_dps_packed("my_npu.dense", (x, w), out=...)
            G.output(y)                                        G.output(y)

The function stays in the module as it is: `build` gives it to the kind of its target, and the interpreter runs it. A
kind that has a `graph_to_tir` makes of its functions what it wants, which is then lowered like all others; one that
has neither takes the tensor functions of the common lowering.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.graph import (
    Dataflow,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphFunc,
    GraphVar,
    TensorType,
    TupleExpr,
    TupleType,
)
from tirscript.ir.graph_ops.calls import CALL_DPS_PACKED
from tirscript.ir.module import Function, Module
from tirscript.ir.node import Attrs
from tirscript.ir.rewrite import refresh, rewrite
from tirscript.ir.target import Target
from tirscript.ir.target_kinds import check_target, target_kind

from ..pipeline import module_pass
from ..placement import called, external_name, has_targets
from ..targets import EXTERNAL, TARGET, outer_target, own_target


@module_pass()
def run_codegen(module: Module) -> Module:
    """`y = cls.dense(x, w)` becomes `y = G.call_dps_packed("my_npu.dense", (x, w), ...)`, for `dense` of my_npu."""
    if not has_targets(module):
        return module
    outer = outer_target(module)
    host = "llvm" if outer is None else outer.main.resolved().kind
    targets: dict[str, Target] = {}
    for one in module.functions:
        target = own_target(one, outer) if isinstance(one, GraphFunc) else None
        if target is not None and target.resolved().kind != host:
            check_target(target, one.span)
            targets[one.name] = target
    for target in dict.fromkeys(targets.values()):
        if target_kind(target.resolved().kind).graph_to_tir is not None:
            module = _own_lowering(module, target, {name for name, one in targets.items() if one == target})
    graphs = {
        one.name: one
        for one in module.functions
        if isinstance(one, GraphFunc) and one.name in targets and _compiles_graphs(targets[one.name])
    }
    return _called_by_name(module, graphs, targets) if graphs else module


def _compiles_graphs(target: Target) -> bool:
    kind = target_kind(target.resolved().kind)
    return kind.graph_to_runtime is not None and kind.graph_to_tir is None


def _own_lowering(module: Module, target: Target, names: set[str]) -> Module:
    """The module after what a kind of target makes of its functions and of all that they call."""
    by_name = {one.name: one for one in module.functions}
    reached = dict.fromkeys(names)
    waiting = list(names)
    while waiting:
        more = [name for name in called(by_name[waiting.pop()]) if name in by_name and name not in reached]
        reached.update(dict.fromkeys(more))
        waiting += more
    part = Module(tuple(one for one in module.functions if one.name in reached), module.name, module.attrs)
    hook = target_kind(target.resolved().kind).hook("graph_to_tir")
    assert hook is not None
    made = hook(part, target)
    if not isinstance(made, Module):
        message = f"`graph_to_tir` of `{target.kind}` made {type(made).__name__} of a module"
        raise DiagnosticError([error("T402", message, target.span, hint="it gives a Module")])
    found = {one.name: one for one in made.functions}
    lost = [name for name in names if name not in found]
    if lost:
        message = f"`graph_to_tir` of `{target.kind}` lost the function `{lost[0]}`"
        raise DiagnosticError([error("T402", message, by_name[lost[0]].span, hint="functions keep their names")])
    kept = [found.pop(one.name, one) for one in module.functions]
    return module.replace(functions=(*found.values(), *kept))


def _called_by_name(module: Module, graphs: dict[str, GraphFunc], targets: dict[str, Target]) -> Module:
    """The module whose functions call `graphs` as those of a library."""
    taken = {one.name for one in module.functions}
    inner: dict[str, str] = {}
    for name, func in graphs.items():
        _check_signature(func, targets[name])
        made, number = name, 0
        while not func.private and made in taken:  # callers still call the public one, which calls it
            number += 1
            made = f"{name}_{targets[name].kind}" + (f"_{number}" if number > 1 else "")
        taken.add(made)
        inner[name] = made
    names = {name: external_name(inner[name], targets[name]) for name in graphs}

    def over(call: FunctionCall) -> Any:
        callee = call.function
        if type(callee) is not FunctionRef or callee.function not in graphs:
            return call
        return call.replace(function=ExternFunction(names[callee.function]))

    def bind(stmt: GraphBind) -> GraphBind:
        call = stmt.value
        if type(call) is not FunctionCall or type(call.function) is not ExternFunction:
            return stmt
        if call.function.symbol not in names.values():
            return stmt
        kind = stmt.var.type
        types = kind.fields if type(kind) is TupleType else (kind,)
        made = CALL_DPS_PACKED(call.function, TupleExpr(call.args), out=types)
        return stmt.replace(value=made.replace(span=call.span))

    functions: list[Function] = []
    for one in module.functions:
        if one.name in graphs:
            func, name = graphs[one.name], names[one.name]
            attrs = {**func.attrs.without("codegen", "Codegen"), TARGET: targets[one.name], EXTERNAL: name}
            if not func.private:
                functions.append(_stub(refresh(func), name))
            functions.append(func.replace(name=inner[one.name], private=True, attrs=Attrs(attrs)))
        elif isinstance(one, GraphFunc) and one.name not in targets:
            functions.append(rewrite(one, {FunctionCall: over, GraphBind: bind}))
        else:
            functions.append(one)
    return module.replace(functions=tuple(functions))


def _check_signature(func: GraphFunc, target: Target) -> None:
    """T402 unless a function takes and gives tensors, which is what its callers can pass."""
    for param in func.params:
        if type(param.type) is not TensorType:
            message = f"`{param.name}` of `{func.name}`, which is for `{target.kind}`, is no tensor"
            raise DiagnosticError([error("T402", message, param.span or func.span, hint="pass tensors")])
    kinds = func.result.fields if type(func.result) is TupleType else (func.result,)
    if not all(type(kind) is TensorType and kind.shape is not None and kind.dtype is not None for kind in kinds):
        message = f"the result of `{func.name}`, which is for `{target.kind}`, is no tensor of a known shape and dtype"
        raise DiagnosticError([error("T402", message, func.span, hint="give tensors, or a tuple of them")])


def _stub(func: GraphFunc, name: str) -> GraphFunc:
    """A public function for another target as callers see it: it calls the one that is compiled there."""
    var = GraphVar("out", func.result)
    types = func.result.fields if type(func.result) is TupleType else (func.result,)
    call = CALL_DPS_PACKED(ExternFunction(name), TupleExpr(func.params), out=types)
    block = Dataflow((GraphBind(var, call),), (var,))
    attrs = func.attrs.without(TARGET, "codegen", "Codegen", "composite")
    return func.replace(body=(block,), value=var, attrs=attrs)


__all__ = ["run_codegen"]
