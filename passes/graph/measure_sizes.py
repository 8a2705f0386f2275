"""Sizes that only the program computes become scalars of it, which stand in the shapes of what follows.

before:                                            after:
    @G.graph_func                                      @T.prim_func(private=True)
    def main(x: G.Tensor((8,), "bool")):               def element(x: T.Buffer((1,), "int64")) -> T.int64:
        a = G.nonzero(x)                                   return x[0]
        b = G.exp(G.astype(a, "float32"))
        return b                                       @G.graph_func
                                                       def main(x: G.Tensor((8,), "bool")):
                                                           ...
                                                           n = cls.element(total)
                                                           a: G.Tensor((1, n), "int64") = ...
                                                           b: G.Tensor((1, n), "float32") = ...

Dimensions of which a parameter says only how many they are (`x: G.Tensor(ndim=2)`) are given names, too, so that the
callers of the function know the sizes of its results.

So are the dimensions in which the branches of an `if` differ, by a `match_cast` of what it gives.

The rules stand with the operators, in their table (`GraphOp.measured`). What they have none for stays.

A scalar that is computed of dimensions (`m = n * 2`) is what it is computed of where it is a dimension, so that more is
known to be of one size.

A graph function whose results have such sizes is written out where another one calls it: `y = cls.places(x)` names none
of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    Dataflow,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    ObjectType,
    OpCall,
    PrimType,
    PrimValue,
    ShapeType,
    TensorType,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_types import join
from tirscript.ir.module import Module
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import Return, Stmt

from ..lowering import STEPS
from ..names import Names
from ..pipeline import module_pass
from .replacing import with_sizes
from .written_out import callees_first, calls_of, for_arguments, in_place


@module_pass()
def measure_sizes(module: Module) -> Module:
    """`a = G.nonzero(x)` becomes operators of a size `n`, a scalar: `n = cls.element(total)`."""
    made = _Elements(module)
    now: dict[str, Any] = {one.name: one for one in module.functions}
    computing: dict[str, GraphFunc] = {}  # those whose results have sizes that they compute
    inlined: set[str] = set()
    changed: set[str] = set()  # what calls them has other types
    for name in callees_first(module):
        done = bool(now[name].attrs.get(STEPS))  # its sizes have names
        func = now[name] if done else _with_scalars(now[name])
        sized = tuple(map(_sized, func.params))
        if not done and (
            func is not now[name]
            or calls_of(func) & changed
            or sized != func.params
            or any(_needs_sizes(node) for node in walk(func))
        ):
            known = module.replace(functions=tuple(now.values()))
            measuring = _Measuring(func, sized, known, made, computing, anew=func is not now[name])
            func = now[name] = measuring.function()
            inlined |= measuring.inlined
            changed.add(name)
        if not _sizes(type_of(func.value, module)) <= _sizes(tuple(param.type for param in func.params)):
            computing[name] = func
    if all(now[one.name] is one for one in module.functions):
        return module
    used = {name for one in now.values() if type(one) is GraphFunc for name in calls_of(one)}
    kept = (one for name, one in now.items() if not (name in inlined - used and one.private))
    return module.replace(functions=(*made.functions, *kept))


def _needs_sizes(node: Any) -> bool:
    """Whether sizes of what a node gives are to be computed: of an operator, or of a choice of tensors."""
    if type(node) is OpCall:
        return node.op.measured is not None
    return type(node) is GraphIf and any(type(one) is TensorType and one.shape is None for one in walk(node.var.type))


def _with_scalars(func: GraphFunc) -> GraphFunc:
    """The function with what scalars are computed of in place of their names in dimensions."""
    sizes: dict[Var, Expr] = {}
    for node in walk(func):
        if type(node) is GraphBind and type(node.value) is PrimValue and type(node.var.type) is PrimType:
            symbol, value = node.var.type.value, node.value.value
            if type(symbol) is Var and symbol.dtype is value.dtype and symbol.dtype.is_int and _is_computed(value):
                sizes[symbol] = substitute(value, sizes)
    return with_sizes(func, sizes)


def _is_computed(value: Expr) -> bool:
    """Whether a scalar is computed of dimensions and numbers alone."""
    return all(type(part) in (Const, Var) or (type(part) is Call and part.op.effect == "pure") for part in walk(value))


def _sizes(root: Any) -> set[Var]:
    return set(walk(root, Var))


def _sized(param: GraphVar) -> GraphVar:
    """A parameter with a name for each dimension of which only the number is known."""
    kind = _named(param.type, param.name)
    return param if kind is param.type else param.replace(type=kind)


def _named(kind: GraphType, name: str) -> GraphType:
    if type(kind) is TupleType:
        fields = tuple(_named(field, f"{name}_{at}") for at, field in enumerate(kind.fields))
        return kind if are_same(fields, kind.fields) else kind.replace(fields=fields)
    if type(kind) is TensorType and kind.shape is None and kind.rank is not None:
        return kind.replace(shape=_fresh(name, kind.rank), ndim=None)
    if type(kind) is ShapeType and kind.values is None and kind.rank is not None:
        return kind.replace(values=_fresh(name, kind.rank), ndim=None)
    return kind


def _fresh(name: str, rank: int) -> tuple[Var, ...]:
    return tuple(Var(f"{name}_{axis}", INT64) for axis in range(rank))


class _Elements:
    """The functions that read an element of a vector, one for each length and index."""

    def __init__(self, module: Module) -> None:
        self.names = Names(one.name for one in module.functions)
        self.functions: list[PrimFunc] = []
        self.known: dict[tuple[int, int], str] = {}

    def name(self, length: int, index: int) -> str:
        if (length, index) not in self.known:
            name = self.known[length, index] = self.names.fresh(f"element_{index}" if length > 1 else "element")
            x = Buffer("x", (const(length, INT64),), INT64)
            load = BufferLoad(x, (const(index, INT64),))
            self.functions.append(PrimFunc(name, (x,), (Return(load),), returns=INT64, private=True))
        return self.known[length, index]


class _Measuring:
    """One function on its way; the `Bindings` of the rules."""

    def __init__(
        self,
        func: GraphFunc,
        params: tuple[GraphVar, ...],
        module: Module,
        elements: _Elements,
        computing: Mapping[str, GraphFunc],
        *,
        anew: bool,
    ) -> None:
        self.func, self.params, self.module, self.elements, self.computing = func, params, module, elements, computing
        self.anew = anew  # whether all types are inferred anew
        self.inlined: set[str] = set()
        pairs = zip(func.params, params, strict=True)
        self.instead: dict[GraphVar, GraphVar] = {param: sized for param, sized in pairs if sized is not param}
        self.out: list[Stmt] = []
        self.name = ""

    def function(self) -> GraphFunc:
        body = self.body(self.func.body)
        value = substitute(self.func.value, self.instead)
        result, found = self.func.result, _type(value, self.module)
        # a caller knows the sizes of what it passes
        if found is not None and _says_more(found, result):
            if _sizes(found) <= _sizes(tuple(param.type for param in self.params)):
                result = found
        return self.func.replace(params=self.params, body=body, value=value, result=result)

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        outside, self.out = self.out, []
        for stmt in body:
            self.statement(stmt)
        inside, self.out = self.out, outside
        return tuple(inside)

    def statement(self, stmt: Any) -> None:
        if type(stmt) is Dataflow:
            inner = self.body(stmt.body)
            if any(type(one) is GraphIf for one in inner):  # of a function that is written out; it has none itself
                self.out += inner
                return
            outputs = [self.instead.get(var, var) for var in stmt.outputs]
            # what the types of the others name is known behind the dataflow, too
            named = {node for var in outputs for node in walk(var.type)}
            bound = (one.var for one in inner if type(one) is GraphBind and one.var not in outputs)
            outputs += (var for var in bound if type(var.type) is PrimType and var.type.value in named)
            self.out.append(stmt.replace(body=inner, outputs=tuple(outputs)))
        elif type(stmt) is GraphIf:
            then, orelse = self.body(stmt.then_body), self.body(stmt.else_body)
            names = ("condition", "then_value", "else_value")
            values = {name: substitute(getattr(stmt, name), self.instead) for name in names}
            kinds = [_type(values[name], self.module) for name in names[1:]]
            var = self.known(stmt.var, None if None in kinds else join(*kinds))  # type: ignore[arg-type]
            self.out.append(stmt.replace(var=var, then_body=then, else_body=orelse, **values))
            self.name_sizes(stmt.var, var, kinds)
        elif type(stmt) is GraphBind:
            self.bind(stmt)
        elif type(stmt) is MatchCast:
            self.out.append(stmt.replace(value=substitute(stmt.value, self.instead)))
        else:
            self.out.append(substitute(stmt, self.instead) if self.instead else stmt)

    def bind(self, stmt: GraphBind) -> None:
        value = substitute(stmt.value, self.instead) if self.instead else stmt.value
        if type(value) is OpCall and value.op.measured is not None:
            self.name = stmt.var.name
            types = tuple(type_of(arg, self.module) for arg in value.args)
            value = value.op.measured(value, types, self) or value
        elif type(value) is FunctionCall and (callee := self.callee(value)) is not None:
            value = self.written_out(callee, value.args)
        elif value is stmt.value and type(value) is not FunctionCall and not self.anew:
            self.out.append(stmt)
            return
        self.out.append(stmt.replace(var=self.known(stmt.var, _type(value, self.module)), value=value))

    def name_sizes(self, before: GraphVar, var: GraphVar, kinds: Sequence[GraphType | None]) -> None:
        """Name the sizes in which the branches differ that `var` stands for."""
        kind = _chosen(var.type, kinds, var.name)
        if kind is not var.type:
            cast = self.instead[before] = var.replace(type=kind)
            self.out.append(MatchCast(cast, var, kind))

    def known(self, var: GraphVar, found: GraphType | None) -> GraphVar:
        """A variable of the type that was found for it, where that says more than its own."""
        if found is None or not _says_more(found, var.type):
            return var
        made = self.instead[var] = var.replace(type=found)
        return made

    # calls

    def callee(self, call: FunctionCall) -> GraphFunc | None:
        """The function that is called, if its results have sizes that it computes."""
        found = self.computing.get(call.function.function) if type(call.function) is FunctionRef else None
        same = found is not None and found.attrs.get("target") == self.func.attrs.get("target")
        return found if same else None

    def written_out(self, callee: GraphFunc, args: Sequence[GraphExpr]) -> GraphExpr:
        """The statements of a function in place of its call, and its value."""
        self.inlined.add(callee.name)
        types = [type_of(arg, self.module) for arg in args]
        made, value = in_place(for_arguments(callee, types), args, types)
        self.out += made
        return value

    # what rules make

    def op(self, name: str, *args: Any, **attrs: Any) -> GraphVar:
        return self.emit(GRAPH_OPS[name](*args, **attrs), f"{self.name}_{name.rpartition('.')[2]}")

    def emit(self, value: GraphExpr, name: str, kind: GraphType | None = None) -> GraphVar:
        var = GraphVar(name, kind or type_of(value, self.module))
        self.out.append(GraphBind(var, value))
        return var

    def number(self, vector: GraphExpr, index: int) -> Var:
        kind: Any = type_of(vector, self.module)
        if kind.dtype is not INT64:
            vector = self.op("astype", vector, dtype="int64")
        call = FunctionCall(FunctionRef(self.elements.name(int(kind.shape[0].value), index)), (vector,))
        found = Var(f"{self.name}_size", INT64)
        self.emit(call, found.name, PrimType(INT64, found))
        return found


def _chosen(kind: GraphType, sides: Sequence[GraphType | None], name: str) -> GraphType:
    """The type of what is of one of two types, with a name for each dimension in which they differ."""
    first, second = sides
    if type(kind) is TupleType and type(first) is TupleType and type(second) is TupleType:
        pairs = enumerate(zip(kind.fields, first.fields, second.fields, strict=True))
        fields = tuple(_chosen(field, both, f"{name}_{at}") for at, (field, *both) in pairs)
        return kind if are_same(fields, kind.fields) else kind.replace(fields=fields)
    if type(kind) is not TensorType or type(first) is not TensorType or type(second) is not TensorType:
        return kind
    if kind.shape is not None or kind.dtype is None or first.rank != second.rank or not (first.shape and second.shape):
        return kind
    shape = tuple(
        one if dims.same(one, other) else fresh
        for one, other, fresh in zip(first.shape, second.shape, _fresh(name, len(first.shape)), strict=True)
    )
    return kind.replace(shape=shape, ndim=None)


def _type(value: GraphExpr, module: Module) -> GraphType | None:
    try:
        return type_of(value, module)
    except DiagnosticError:
        return None  # the well-formedness check tells


def _says_more(found: GraphType, before: GraphType) -> bool:
    """Whether a type knows a rank, a shape or values that the one written for it does not."""
    if type(before) is ObjectType:
        return type(found) is not ObjectType
    if type(found) is TensorType and type(before) is TensorType:
        return found.dtype is not None and found.shape is not None and before.shape is None
    if type(found) is ShapeType and type(before) is ShapeType:
        return found.values is not None and before.values is None
    if type(found) is TupleType and type(before) is TupleType:
        return any(map(_says_more, found.fields, before.fields))
    return False


__all__ = ["measure_sizes"]
