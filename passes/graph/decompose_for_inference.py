"""What layers do only in training goes, and the rest of them becomes arithmetic.

before:                                            after:
    t = G.nn.batch_norm(                               s = G.divide(gamma, G.sqrt(G.add(v, G.const(1e-5))))
        x, gamma, beta, m, v, axis=1,                  h = G.subtract(beta, G.multiply(m, s))
        training=False                                 b = G.add(G.multiply(x, G.reshape(s, (1, 8, 1, 1))),
    )                                                            G.reshape(h, (1, 8, 1, 1)))
    b = t[0]
    d = G.nn.dropout(b, rate=0.5)
    e = d[0]                                           (`b` where `e` is used)

With weights that are constants, `fold_graph_constant` leaves one product and one sum of a batch normalization.
"""

from __future__ import annotations

from tirscript.ir.constant import constant
from tirscript.ir.dtype import DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphVar,
    OpCall,
    ShapeExpr,
    TensorType,
    TupleItem,
)
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.rewrite import substitute
from tirscript.ir.stmt import Stmt

from ..pipeline import graph_func_pass
from .replacing import variables


@graph_func_pass()
def decompose_for_inference(func: GraphFunc) -> GraphFunc:
    """`b = G.nn.batch_norm(x, ..., training=False)[0]` becomes a product and a sum, `G.nn.dropout(x)[0]` `x`."""
    rewriting = _Rewriting()
    body = rewriting.body(func.body)
    if not rewriting.changed:
        return func
    return func.replace(body=body, value=substitute(func.value, rewriting.instead))


class _Rewriting:
    def __init__(self) -> None:
        self.norms: dict[GraphVar, OpCall] = {}
        self.dropouts: dict[GraphVar, OpCall] = {}
        self.instead: dict[GraphVar, GraphExpr] = {}
        self.out: list[Stmt] = []
        self.changed = False

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        outside, self.out = self.out, []
        for stmt in body:
            self.statement(substitute(stmt, self.instead) if self.instead and type(stmt) is GraphBind else stmt)
        inside, self.out = self.out, outside
        return tuple(inside)

    def statement(self, stmt: Stmt) -> None:
        if type(stmt) is Dataflow:
            body = self.body(stmt.body)
            outputs = tuple(var for var in stmt.outputs if var not in self.instead)
            kept = [self.instead[var] for var in stmt.outputs if var in self.instead]
            more = tuple(one for one in kept if type(one) is GraphVar and _is_bound(one, body) and one not in outputs)
            self.out.append(stmt.replace(body=body, outputs=(*outputs, *more)))
            self.forget(body, {*outputs, *more})
        elif type(stmt) is GraphIf:
            then, orelse = self.body(stmt.then_body), self.body(stmt.else_body)
            self.forget((*then, *orelse), set())
            made = stmt.replace(then_body=then, else_body=orelse)
            for name in ("condition", "then_value", "else_value"):
                made = made.replace(**{name: substitute(getattr(made, name), self.instead)})
            self.out.append(made)
        elif type(stmt) is GraphBind:
            self.bind(stmt)
        else:
            self.out.append(substitute(stmt, self.instead) if self.instead else stmt)

    def forget(self, body: tuple[Stmt, ...], seen: set[GraphVar]) -> None:
        """Drop the layers of `body` whose arguments are not seen behind it: `seen` are those that are."""
        gone = {var for stmt in body if type(var := getattr(stmt, "var", None)) is GraphVar} - seen
        self.norms = {var: call for var, call in self.norms.items() if not variables(call) & gone}
        self.dropouts = {var: call for var, call in self.dropouts.items() if not variables(call) & gone}

    def bind(self, stmt: GraphBind) -> None:
        value = stmt.value
        if type(value) is OpCall and value.op.name == "nn.batch_norm" and not value.attrs["training"]:
            self.norms[stmt.var] = value
        if type(value) is OpCall and value.op.name == "nn.dropout":
            self.dropouts[stmt.var] = value
        item = value.value if type(value) is TupleItem and type(value.value) is GraphVar else None
        if type(value) is TupleItem and item in self.dropouts and value.index == 0:
            self.instead[stmt.var] = self.dropouts[item].args[0]
            self.changed = True
            return
        if type(value) is TupleItem and item in self.norms and value.index > 0:
            given = self.norms[item].args[2 + value.index]  # the mean and the variance stay what they are
            if structural_equal(type_of(given), stmt.var.type):
                self.instead[stmt.var] = given
                self.changed = True
                return
        if type(value) is TupleItem and item in self.norms and value.index == 0:
            found = self.normalized(self.norms[item], stmt)
            if found is not None:
                self.out.append(stmt.replace(value=found))
                self.changed = True
                return
        self.out.append(stmt)

    def normalized(self, call: OpCall, stmt: GraphBind) -> GraphExpr | None:
        """A batch normalization with the mean and the variance it was trained to; None where its shape is not known."""
        x, gamma, beta, mean, variance = call.args
        kind, own = type_of(x), type_of(variance)
        if type(kind) is not TensorType or kind.shape is None or type(own) is not TensorType or own.dtype is None:
            return None
        axis = int(call.attrs["axis"]) % len(kind.shape)
        epsilon = _number(float(call.attrs["epsilon"]), own.dtype)
        deviation = self.op("sqrt", self.op("add", variance, epsilon, name="epsilon"), name="deviation")
        one = gamma if call.attrs["scale"] else _number(1.0, own.dtype)
        scale = self.op("divide", one, deviation, name=f"{stmt.var.name}_scale")
        shift = self.op("multiply", mean, scale, name="shift")
        shift = self.op("subtract", beta, shift) if call.attrs["center"] else self.op("negative", shift)
        size = own.shape[0] if own.shape else kind.shape[axis]
        shape = ShapeExpr(tuple(size if at == axis else dims.ONE for at in range(len(kind.shape))))
        wide = self.op("reshape", scale, shape, name=f"{stmt.var.name}_scale")
        product = self.op("multiply", x, wide, name=f"{stmt.var.name}_scaled")
        return GRAPH_OPS["add"](product, self.op("reshape", shift, shape, name=f"{stmt.var.name}_shift"))

    def op(self, op: str, *args: GraphExpr, name: str = "shift") -> GraphVar:
        value = GRAPH_OPS[op](*args)
        var = GraphVar(name, type_of(value))
        self.out.append(GraphBind(var, value))
        return var


def _is_bound(var: GraphVar, body: tuple[Stmt, ...]) -> bool:
    return any(getattr(stmt, "var", None) is var for stmt in body)


def _number(value: float, kind: DType) -> GraphExpr:
    return GraphConst(constant(value, kind))


__all__ = ["decompose_for_inference"]
