"""The kernels of a `primitive` graph function become one kernel.

before:                                            after:
    @G.graph_func(private=True)                        @T.prim_func(private=True)
    def fused_matmul_relu(x, w):                       def fused_matmul_relu(x, w, b):
        G.func_attr({"primitive": True})                   a = T.alloc_buffer((4, 4), "float32")
        with G.dataflow():                                 for i, j, k in T.grid(4, 4, 4): ...
            a = G.call_tir(cls.matmul, (x, w), ...)        for i, j in T.grid(4, 4): ...
            b = G.call_tir(cls.relu, (a,), ...)
            G.output(b)
        return b

Its calls become `G.call_tir`. Schedules go on from there: `compute_inline` and `compute_at` take the memory between.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphFunc,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleType,
)
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.module import Module
from tirscript.ir.rewrite import rewrite, walk

from ..inline_private_functions import can_inline, inlined
from ..pipeline import module_pass
from .dead_code import dead_code_elimination
from .fuse_ops import PRIMITIVE
from .graph_to_tensor import lowered


@module_pass()
def fuse_tir(module: Module) -> Module:
    """`cls.fused_f_g(x)`, a graph function of two kernels, becomes `G.call_tir(cls.fused_f_g, (x,))` of one."""
    groups = [one for one in module.functions if type(one) is GraphFunc and one.attrs.get(PRIMITIVE)]
    if not groups:
        return module
    kernels = {one.name: one for one in module.functions if type(one) is PrimFunc and can_inline(one)}
    fused: dict[str, Any] = {}
    sized: set[str] = set()
    for group in groups:
        made = inlined(lowered(group, module), kernels)
        if _is_given_sizes(group, module):  # which stand behind the results, as `G.call_tir` has it
            made = made.replace(params=tuple(sorted(made.params, key=lambda param: type(param) is Var)))
            sized.add(group.name)
        fused[group.name] = made.replace(attrs=made.attrs.without(PRIMITIVE))

    def bind(stmt: GraphBind) -> GraphBind:
        call = stmt.value
        if (
            type(call) is not FunctionCall
            or type(call.function) is not FunctionRef
            or call.function.function not in fused
        ):
            return stmt
        kind = stmt.var.type
        types = kind.fields if type(kind) is TupleType else (kind,)
        args, sizes = call.args, None
        if call.function.function in sized:
            args, sizes = args[:-1], args[-1]
        made = CALL_TIR(call.function, TupleExpr(args), out=types, tir_vars=sizes)
        return stmt.replace(value=made.replace(span=call.span))

    functions = tuple(
        fused.get(one.name) or (rewrite(one, {GraphBind: bind}) if type(one) is GraphFunc else one)
        for one in module.functions
    )
    found: Module = dead_code_elimination.function(module.replace(functions=functions))
    return found


def _is_given_sizes(group: GraphFunc, module: Module) -> bool:
    """Whether a function takes tensors alone, and behind them a shape that all its calls write out."""
    kinds = [type(param.type) for param in group.params]
    if kinds[-1:] != [ShapeType] or not all(kind is TensorType for kind in kinds[:-1]):
        return False
    calls = [node for one in module.functions for node in walk(one, FunctionCall)]
    mine = [call for call in calls if type(call.function) is FunctionRef and call.function.function == group.name]
    return all(type(call.args[-1]) is ShapeExpr for call in mine)


__all__ = ["fuse_tir"]
