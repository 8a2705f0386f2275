"""What is worth it is computed in float16 or bfloat16; sums and what needs the range of float32 stay there.

before:                                            after:
    h = G.nn.conv2d(x, w)                              x_1 = G.astype(x, "float16")
    b = G.add(h, c)                                    w_1 = G.astype(w, "float16")
    y = G.nn.conv2d(b, v)                              h = G.nn.conv2d(x_1, w_1, out_dtype="float32")
    p = G.nn.softmax(y)                                h_1 = G.astype(h, "float16")
                                                       c_1 = G.astype(c, "float16")
                                                       b_1 = G.add(h_1, c_1)
                                                       v_1 = G.astype(v, "float16")
                                                       y = G.nn.conv2d(b_1, v_1, out_dtype="float32")
                                                       p = G.nn.softmax(y)

The table of operators says of each one its `precision`. Those that are ALWAYS narrow (products of matrices,
convolutions, attention) take narrow arguments and sum in float32. Those that FOLLOW are narrow where an argument is
narrow already and all uses of the result may be. All others are computed in float32, and so are parameters, results
and what leaves its dataflow: the types of a function stay. Constants become narrow with `fold_graph_constant`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import FLOAT32, DType, dtype
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    OpCall,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_op import ALWAYS, FOLLOW
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import Stmt

from ..pipeline import graph_func_pass
from .replacing import variables

NARROW = ("float16", "bfloat16")


@graph_func_pass()
def to_mixed_precision(func: GraphFunc, *, dtype: str = "float16") -> GraphFunc:
    """`h = G.matmul(x, w)` becomes `G.matmul(G.astype(x, "float16"), G.astype(w, "float16"), out_dtype="float32")`."""
    if dtype not in NARROW:
        message = f"`to_mixed_precision` computes in {' or '.join(NARROW)}, not in {dtype}"
        raise DiagnosticError([error("T404", message, func.span)])
    rewriting = _Narrowing(dtype)
    body = rewriting.block(func.body, set(walk(func.value, GraphVar)))
    return func.replace(body=body) if rewriting.changed else func


class _Narrowing:
    """One function on its way. Each block knows the casts that stand in it, and those around it."""

    def __init__(self, narrow: str) -> None:
        self.narrow: DType = dtype(narrow)
        self.changed = False
        self.halves: list[dict[GraphVar, GraphVar]] = []  # the narrow form of variables, a table a block
        self.wides: list[dict[GraphVar, GraphVar]] = []  # the variable of float32 of those that are narrow only
        self.only: set[GraphVar] = set()  # variables that stand in their narrow form alone
        self.wanted: set[GraphVar] = set()  # variables whose uses may all be narrow
        self.out: list[Stmt] = []

    def block(self, body: tuple[Stmt, ...], outside: set[GraphVar]) -> tuple[Stmt, ...]:
        """The statements of a block, after which `outside` are used."""
        self.wanted |= self.decided(body, outside)
        before, self.out = self.out, []
        self.halves.append({})
        self.wides.append({})
        for stmt in body:
            if type(stmt) is Dataflow:
                self.out.append(stmt.replace(body=self.block(stmt.body, set(stmt.outputs))))
            elif type(stmt) is GraphIf:
                then = self.block(stmt.then_body, variables(stmt.then_value))
                orelse = self.block(stmt.else_body, variables(stmt.else_value))
                self.out.append(stmt.replace(then_body=then, else_body=orelse))
            elif type(stmt) is GraphBind:
                self.bind(stmt)
            else:
                self.out.append(stmt)
        self.halves.pop()
        self.wides.pop()
        made, self.out = self.out, before
        return tuple(made)

    def decided(self, body: tuple[Stmt, ...], outside: set[GraphVar]) -> set[GraphVar]:
        """The variables of a block whose every use is by what is narrow, or may be."""
        refused = set(outside)
        used: set[GraphVar] = set()
        for stmt in reversed(body):
            value = stmt.value if type(stmt) is GraphBind else None
            own = stmt.var if type(stmt) is GraphBind else None
            if type(value) is OpCall and value.op.precision == ALWAYS:
                narrow = True
            elif (type(value) is OpCall and value.op.precision == FOLLOW) or type(value) is TupleItem:
                narrow = own in used and own not in refused
            else:
                narrow = False
            found = {node for node in walk(stmt, GraphVar) if node is not own}
            used |= found
            if not narrow:
                refused |= found
        bound = {stmt.var for stmt in body if type(stmt) is GraphBind}
        return {var for var in bound & used if var not in refused and _is_wide(var.type)}

    def bind(self, stmt: GraphBind) -> None:
        value, var = stmt.value, stmt.var
        if type(value) is OpCall and value.op.precision == ALWAYS and any(map(self.is_wide, _leaves(value))):
            self.always(stmt, value)
        elif type(value) is OpCall and value.op.precision == FOLLOW and var in self.wanted and self.follows(value):
            made = value.replace(args=tuple(self.narrowed(arg) for arg in value.args))
            kind = type_of(made)
            if kind.__class__ is var.type.__class__ and all(one is self.narrow for one in _dtypes(kind)):
                self.narrow_only(stmt, GraphVar(var.name, kind), made)
            else:
                self.out.append(stmt.replace(value=self.widened(value)))
        elif type(value) is TupleItem and value.value in self.only and var in self.wanted:
            made_item = value.replace(value=self.half(value.value))
            self.narrow_only(stmt, GraphVar(var.name, type_of(made_item)), made_item)
        else:
            self.out.append(stmt.replace(value=self.widened(value)))

    def always(self, stmt: GraphBind, call: OpCall) -> None:
        """A call with narrow arguments; its sums are of float32 where it can tell."""
        attrs = dict(call.attrs.items())
        if "out_dtype" in attrs and attrs["out_dtype"] is None:
            attrs["out_dtype"] = FLOAT32
        made = call.replace(args=tuple(self.narrowed(arg) for arg in call.args), attrs=type(call.attrs)(attrs))
        self.changed = True
        kind = type_of(made)
        same = stmt.var.type.dtype if type(stmt.var.type) is TensorType else None
        if type(kind) is TensorType and kind.dtype in (FLOAT32, same):
            self.out.append(stmt.replace(value=made))
            if stmt.var in self.wanted:
                self.half(stmt.var)
            return
        self.narrow_only(stmt, GraphVar(stmt.var.name, kind), made)
        if stmt.var not in self.wanted:
            self.wide(stmt.var, stmt.var)
            self.only.discard(stmt.var)

    def narrow_only(self, stmt: GraphBind, half: GraphVar, value: GraphExpr) -> None:
        self.halves[-1][stmt.var] = half
        self.only.add(stmt.var)
        self.out.append(stmt.replace(var=half, value=value))
        self.changed = True

    def follows(self, call: OpCall) -> bool:
        """Whether an argument is narrow already, and all others can be."""
        leaves = [leaf for leaf in _leaves(call) if _is_wide(type_of(leaf))]
        return any(self.known(leaf) is not None for leaf in leaves)

    def known(self, leaf: GraphExpr) -> GraphVar | None:
        """The narrow form of a variable, where it has one."""
        if type(leaf) is not GraphVar:
            return None
        return next((table[leaf] for table in reversed(self.halves) if leaf in table), None)

    def is_wide(self, leaf: GraphExpr) -> bool:
        return _is_wide(type_of(leaf))

    def narrowed(self, arg: GraphExpr) -> GraphExpr:
        """An argument in its narrow form."""
        if type(arg) is TupleExpr:
            return arg.replace(fields=tuple(map(self.narrowed, arg.fields)))
        return self.half(arg) if type(arg) in (GraphVar, GraphConst) and _is_wide(type_of(arg)) else arg

    def half(self, leaf: GraphExpr) -> GraphExpr:
        found = self.known(leaf)
        if found is not None:
            return found
        made = GRAPH_OPS["astype"](leaf, self.narrow)
        var = GraphVar(leaf.name if type(leaf) is GraphVar else "narrow", type_of(made))
        self.out.append(GraphBind(var, made))
        if type(leaf) is GraphVar:
            self.halves[-1][leaf] = var
        return var

    def widened(self, value: GraphExpr) -> GraphExpr:
        """A value whose arguments are of float32, as they were."""
        names = {var for var in variables(value) if var in self.only}
        return substitute(value, {var: self.wide(var) for var in names}) if names else value

    def wide(self, var: GraphVar, name: GraphVar | None = None) -> GraphVar:
        """The variable of float32 of one that stands in its narrow form alone."""
        found = next((table[var] for table in reversed(self.wides) if var in table), None)
        if found is None:
            made = GRAPH_OPS["astype"](self.half(var), FLOAT32)
            found = name or GraphVar(var.name, type_of(made))
            self.wides[-1][var] = found
            self.out.append(GraphBind(found, made))
        return found


def _leaves(call: OpCall) -> Iterator[GraphExpr]:
    for arg in call.args:
        yield from arg.fields if type(arg) is TupleExpr else (arg,)


def _dtypes(kind: GraphType) -> tuple[DType | None, ...]:
    """The dtypes of a tensor or a tuple of them; (None,) of all else."""
    if type(kind) is TupleType:
        return tuple(found for field in kind.fields for found in _dtypes(field))
    return (kind.dtype,) if type(kind) is TensorType else (None,)


def _is_wide(kind: GraphType) -> bool:
    found = _dtypes(kind)
    return bool(found) and all(one is FLOAT32 for one in found)


__all__ = ["to_mixed_precision"]
