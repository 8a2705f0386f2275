"""What is computed of a model's weights alone moves to a function of its own, which is called once for all calls.

before:                                                after:
    @G.graph_func                                          @G.graph_func
    def main(x, w):                                        def main_transform_params(model_params):
        G.func_attr({"num_input": 1})                          w = model_params[0]
        t = G.permute_dims(w)                                  t = G.permute_dims(w)
        y = G.matmul(x, t)                                     return (t,)
        return y
                                                           @G.graph_func
                                                           def main(x, t):
                                                               G.func_attr({"num_input": 1})
                                                               y = G.matmul(x, t)
                                                               return y

`num_input` tells how many parameters come first that are no weights. The results are the parameters of `main` behind
them: weights that it needs as they are, then what is computed, each in their order. What `builtin.stop_lift_params`
gives, what is in a branch, and what needs sizes of the inputs stays.
"""

from __future__ import annotations

from tirscript.ir.expr import Var
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphFunc,
    GraphVar,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
    plain_dimensions,
)
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs
from tirscript.ir.rewrite import definitions, refresh, walk
from tirscript.ir.stmt import Stmt

from ..names import Names
from ..pipeline import module_pass
from .replacing import is_pure, variables, written_in_place

INPUTS = "num_input"
STOP = "builtin.stop_lift_params"


@module_pass()
def lift_transform_params(module: Module) -> Module:
    """`t = G.permute_dims(w)` of a weight `w` moves to `main_transform_params`; `t` becomes a parameter of `main`."""
    names = Names(function.name for function in module.functions)
    made: list[object] = []
    for one in module.functions:
        found = _Lifting(one, module).functions(names) if type(one) is GraphFunc and INPUTS in one.attrs else None
        made += [one] if found is None else found
    same = len(made) == len(module.functions)
    return module if same else module.replace(functions=tuple(made))


class _Lifting:
    def __init__(self, func: GraphFunc, module: Module) -> None:
        self.func, self.module = func, module
        count = int(getattr(func.attrs[INPUTS], "value", func.attrs[INPUTS]))
        self.inputs, self.weights = func.params[:count], func.params[count:]
        self.sizes = set(plain_dimensions(tuple(one.type for one in self.weights)))
        self.written = written_in_place(func, module)
        self.computed: dict[GraphVar, GraphBind] = {}  # of weights and constants
        self.of_weights = set(self.weights) - self.written

    def functions(self, names: Names) -> list[GraphFunc] | None:
        """The function of the weights and that of the inputs; None where nothing is computed of the weights alone."""
        if not self.inputs:
            return None  # all of it is computed of weights already
        self.collect(self.func.body)
        lifted = self.computed.keys() & self.of_weights
        body = _without(self.func.body, lifted)
        used = {node for part in (*body, self.func.value) for node in walk(part, GraphVar)}
        given = [var for var in self.computed if var in lifted and var in used]
        if not given:
            return None
        kept = self.kept(body, used, given)
        main = self.func.replace(params=(*self.inputs, *kept, *given), body=body)
        return [self.transform(names.fresh(f"{self.func.name}_transform_params"), [*kept, *given]), main]

    def kept(self, body: tuple[Stmt, ...], used: set[GraphVar], given: list[GraphVar]) -> list[GraphVar]:
        """The weights that are needed as they are: by a statement, or as nothing else tells a size in the rest."""
        known = set(plain_dimensions(tuple(one.type for one in (*self.inputs, *given))))
        known |= {one for one in definitions(body) if type(one) is Var}
        sizes = {node for part in (*body, self.func.value, *given) for node in walk(part, Var)}
        kept = []
        for var in self.weights:
            told = set(plain_dimensions((var.type,)))
            if var in used or told & sizes - known:
                kept.append(var)
                known |= told
        return kept

    def collect(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            if type(stmt) is Dataflow:
                self.collect(stmt.body)
            elif type(stmt) is GraphBind and self.may_move(stmt):
                self.computed[stmt.var] = stmt
                if variables(stmt.value) & self.of_weights:
                    self.of_weights.add(stmt.var)

    def may_move(self, stmt: GraphBind) -> bool:
        nodes = list(walk((stmt.value, stmt.var.type)))
        if type(stmt.var.type) not in (TensorType, TupleType) or stmt.var in self.written:
            return False
        if not variables(stmt.value) <= self.of_weights | self.computed.keys():
            return False
        stopped = any(getattr(getattr(node, "op", None), "name", None) == STOP for node in nodes)
        sized = all(node in self.sizes for node in nodes if type(node) is Var)
        return sized and not stopped and is_pure(stmt.value, self.module)

    def transform(self, name: str, results: list[GraphVar]) -> GraphFunc:
        """The function that computes these of a tuple of the weights."""
        needed = set(results)
        steps: list[GraphBind] = []
        for var, stmt in reversed(self.computed.items()):
            if var in needed:
                steps.insert(0, stmt)
                needed |= variables(stmt.value)
        whole = GraphVar("model_params", TupleType(tuple(one.type for one in self.weights)))
        items = [GraphBind(one, TupleItem(whole, at)) for at, one in enumerate(self.weights) if one in needed]
        value = TupleExpr(tuple(results))
        made = GraphFunc(
            name, (whole,), (Dataflow((*items, *steps), tuple(results)),), value,
            TupleType(tuple(one.type for one in results)), attrs=Attrs({INPUTS: 0}),
        )  # fmt: skip
        return refresh(made)  # with variables and dimensions of its own


def _without(body: tuple[Stmt, ...], lifted: set[GraphVar]) -> tuple[Stmt, ...]:
    """The statements without the bindings of these variables."""
    made: list[Stmt] = []
    for stmt in body:
        if type(stmt) is Dataflow:
            inner = _without(stmt.body, lifted)
            if inner:
                made.append(stmt.replace(body=inner, outputs=tuple(var for var in stmt.outputs if var not in lifted)))
        elif getattr(stmt, "var", None) not in lifted:
            made.append(stmt)
    return tuple(made)


__all__ = ["INPUTS", "lift_transform_params"]
