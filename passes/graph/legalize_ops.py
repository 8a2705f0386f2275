"""Operators become calls of tensor functions, made of the kernels in their entries of the table.

before:                                            after:
    @G.graph_func                                      @T.prim_func(private=True)
    def main(x: G.Tensor((4,), "float32")):            def exp(x: T.Buffer((4,), "float32"), out: ...): ...
        with G.dataflow():
            a = G.exp(x)                               @G.graph_func
            G.output(a)                                def main(x: G.Tensor((4,), "float32")):
        return a                                           with G.dataflow():
                                                               a = G.call_tir(cls.exp, (x,), out=G.Tensor(...))

Equal kernels are one function. What has no kernel, or not enough of a shape to make one, stays. `only` and `skip` name
operators, separated by spaces: `legalize_ops{skip="nn.conv2d matmul"}`.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.equal import structural_equal
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    FunctionRef,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    OpCall,
    ShapeExpr,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_op import Legalized
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.hashing import structural_hash
from tirscript.ir.module import Module
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import rewrite, substitute, walk

from ..names import Names
from ..pipeline import module_pass


@module_pass()
def legalize_ops(module: Module, *, only: str = "", skip: str = "") -> Module:
    """`a = G.exp(x)` becomes `a = G.call_tir(cls.exp, (x,), out=...)` beside a tensor function `exp`."""
    maker = _Maker(module, named_ops(only) if only else None, named_ops(skip))
    functions = tuple(
        rewrite(one, {OpCall: maker.legalized, GraphBind: maker.bound}) if type(one) is GraphFunc else one
        for one in module.functions
    )
    if not maker.made and are_same(functions, module.functions):
        return module
    return module.replace(functions=(*maker.made, *functions))


def named_ops(names: str) -> frozenset[str]:
    """The operators that a text names, separated by spaces; T404 for one that there is not."""
    found = frozenset(names.split())
    for name in found:
        if name not in GRAPH_OPS:
            near = suggest(name, GRAPH_OPS)
            hint = f"did you mean `{near}`?" if near else "`tirscript ops --graph` lists them"
            raise DiagnosticError([error("T404", f"there is no operator `{name}` of graphs", hint=hint)])
    return found


class _Maker:
    """Makes the tensor functions of a module's operators, each kernel once."""

    def __init__(self, module: Module, only: frozenset[str] | None, skip: frozenset[str]) -> None:
        self.module = module
        self.only, self.skip = only, skip
        self.names = Names(function.name for function in module.functions)
        self.made: list[PrimFunc] = []
        self.known: dict[int, list[PrimFunc]] = {}
        self.calls: dict[Any, tuple[Legalized, PrimFunc] | None] = {}
        self.stands: dict[tuple[int, GraphType], GraphVar] = {}

    def legalized(self, call: OpCall) -> GraphExpr:
        """The call as a call of a tensor function, or as it is."""
        op = call.op
        if op.legalize is None or op.name in self.skip or (self.only is not None and op.name not in self.only):
            return call
        types = tuple(type_of(arg, self.module) for arg in call.args)
        variables = dict.fromkeys(walk(call.args, GraphVar))
        stands = {var: self.stand(at, var.type) for at, var in enumerate(variables)}
        general = substitute(call, stands)
        if (general, types) not in self.calls:
            kernel = op.legalize(general, types, op.name.rpartition(".")[2])
            self.calls[general, types] = None if kernel is None else (kernel, self.shared(kernel.func))
        known = self.calls[general, types]
        if known is None:
            return call
        found, function = known
        passed = substitute(found.args, {stand: var for var, stand in stands.items()})
        args: list[GraphExpr] = [FunctionRef(function.name), TupleExpr(passed)]
        if found.symbols:
            args.append(ShapeExpr(tuple(map(dims.dim, found.symbols))))
        made = OpCall(CALL_TIR, tuple(args), types=found.results, span=call.span)
        result = op.infer(call, types)
        # the result of `call_tir` with one type is a tensor, not a tuple
        return TupleExpr((made,), span=call.span) if type(result) is TupleType and len(result.fields) == 1 else made

    def stand(self, at: int, kind: GraphType) -> GraphVar:
        """What stands for the variable that is the first, second and so on of a call, so that calls which differ in
        their variables alone are one."""
        return self.stands.setdefault((at, kind), GraphVar(f"arg{at}", kind))

    def bound(self, stmt: GraphBind) -> Any:
        """A statement, before which the fields of a tuple that its kernel takes one by one have names of their own."""
        call = stmt.value
        only = call.fields[0] if type(call) is TupleExpr and len(call.fields) == 1 else None
        if type(only) is OpCall and only.op is CALL_TIR:
            var = GraphVar(f"{stmt.var.name}_0", only.types[0])
            first = self.bound(GraphBind(var, only, span=stmt.span))
            rest = stmt.replace(value=TupleExpr((var,), span=call.span))
            return (*first, rest) if isinstance(first, tuple) else (first, rest)
        if type(call) is not OpCall or call.op is not CALL_TIR or type(call.args[1]) is not TupleExpr:
            return stmt
        items: list[GraphBind] = []
        fields: list[GraphExpr] = []
        for field in call.args[1].fields:
            if type(field) is TupleItem:
                var = GraphVar(f"{stmt.var.name}_{field.index}", type_of(field, self.module))
                items.append(GraphBind(var, field, span=stmt.span))
                field = var
            fields.append(field)
        if not items:
            return stmt
        made = call.replace(args=(call.args[0], TupleExpr(tuple(fields)), *call.args[2:]))
        return (*items, stmt.replace(value=made))

    def shared(self, func: PrimFunc) -> PrimFunc:
        """The function of the module that is equal, or this one under a name of its own."""
        same = self.known.setdefault(structural_hash(func), [])
        for other in same:
            if structural_equal(func.replace(name=other.name), other):
                return other
        named = func.replace(name=self.names.fresh(func.name))
        same.append(named)
        self.made.append(named)
        return named


__all__ = ["legalize_ops", "named_ops"]
