"""Graph functions whose results have sizes that they compute become steps, between which memory is made.

before:                                            after:
    @G.graph_func                                      @T.prim_func
    def main(x: G.Tensor((8,), "float32")):            def main_0(x, total): ...
        t = G.call_tir(cls.total, (x,), ...)
        n = cls.element(t)                             @T.prim_func
        y = G.call_tir(                                def main_1(x, y): ...
            cls.places, (x,),
            out=G.Tensor((n,), "int64"),               @G.graph_func
        )                                              def main(x: G.Tensor((8,), "float32")):
        return y                                           G.func_attr({"runs_steps": True})
                                                           s = G.call_tir(cls.main_0, (x,), out=G.Tensor((), "int64"))
                                                           n = cls.main_size(s)
                                                           y = G.call_tir(cls.main_1, (x,), out=G.Tensor((n,), "int64"))
                                                           return y

Compiled functions write into memory that their caller has. Here the caller cannot know how much, so the steps are what
is compiled, and the function itself, now a few calls of them, is executed by the runtime. So is an `if` whose branches
give tensors of other shapes: its branches become steps, too, and a `match_cast` names the sizes of what it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import constant
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import BufferLoad, CallFunction, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    Dataflow,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    ObjectType,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
    plain_dimensions,
)
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs
from tirscript.ir.rewrite import definitions, refresh, rewrite, substitute, walk
from tirscript.ir.stmt import Return, Stmt

from ..lowering import STEPS
from ..names import Names
from ..pipeline import module_pass
from .graph_to_tensor import graph_to_tensor, lowered
from .replacing import variables


@module_pass()
def split_at_sizes(module: Module) -> Module:
    """A function that returns `G.Tensor((n,))`, where it computes `n`, becomes calls of tensor functions.

    Where these call graph functions, all that are left become tensor functions, too: those alone can be called there.
    """
    made: list[Any] = []
    steps: list[PrimFunc] = []
    names = Names(one.name for one in module.functions)
    for one in module.functions:
        split = None
        if type(one) is GraphFunc and not one.private and STEPS not in one.attrs:
            split = _Split(one, module, names).functions()
        made += (one,) if split is None else split
        steps += () if split is None else (step for step in split if type(step) is PrimFunc)
    if not steps:
        return module
    result = module.replace(functions=tuple(made))
    graphs = {one.name for one in result.graph_funcs}
    calls_graphs = any(type(node) is CallFunction and node.function in graphs for one in steps for node in walk(one))
    return graph_to_tensor.function(result) if calls_graphs else result


class _Unknown(Exception):
    """What goes from a step to the next is of a type that no memory is made for; the function stays whole."""


class _Step(Struct, eq=False):
    """Statements that run without a pause."""

    body: list[Stmt]
    sizes: set[Var]  # what they compute


class _Split:
    """One function on its way."""

    def __init__(self, func: GraphFunc, module: Module, names: Names) -> None:
        self.func, self.module, self.names = func, module, names
        # the sizes that the function that calls the steps knows
        self.own = set(plain_dimensions(tuple(param.type for param in func.params)))
        self.seen = set(self.own)
        self.weights: dict[GraphVar, GraphBind] = {}
        self.instead: dict[Any, Any] = {}
        self.made: list[PrimFunc] = []
        self.readers: dict[DType, PrimFunc] = {}  # of what a step computes, by its type
        self.body: list[Stmt] = []  # of the function that calls the steps

    def functions(self) -> list[Any] | None:
        """The steps and the function that calls them; None where it has no sizes to wait for."""
        statements = list(self.plain(self.func.body))
        value = substitute(self.func.value, self.instead)
        computed = {size for stmt in statements for size in self.computed(stmt)}
        if not any(map(_is_choice, statements)) and not computed & _lengths(type_of(value, self.module)):
            return None
        try:
            self.row(statements, self.func.params, variables(value))
        except _Unknown:
            return None
        attrs = Attrs({**self.func.attrs, STEPS: True})
        main = self.func.replace(body=tuple(self.body), value=self.weighed(value), attrs=attrs)
        return [*self.made, *self.readers.values(), refresh(main)]

    def weighed(self, value: GraphExpr) -> GraphExpr:
        """A value of the function that calls the steps, where weights have no names."""
        made: GraphExpr = substitute(value, {var: bind.value for var, bind in self.weights.items()})
        return made

    def computed(self, stmt: Stmt) -> tuple[Var, ...]:
        """The size that a statement computes by a call of a tensor function, or those that it names of a choice."""
        if type(stmt) is MatchCast and _is_apart(stmt):
            return tuple(_defined(stmt))
        if type(stmt) is not GraphBind or type(stmt.value) is not FunctionCall:
            return ()
        function = stmt.value.function
        called: Any = self.module[function.function] if type(function) is FunctionRef else None
        kind = stmt.var.type
        if not isinstance(called, PrimFunc) or type(kind) is not PrimType or type(kind.value) is not Var:
            return ()
        return (kind.value,)

    # statements in a row

    def plain(self, body: Iterable[Stmt]) -> Iterator[Stmt]:
        """The statements in a row, weights apart; what is known has no second name for its size."""
        for given in body:
            if type(given) is Dataflow:
                yield from self.plain(given.body)
                continue
            stmt: Any = substitute(given, self.instead) if self.instead else given
            if _is_choice(stmt):
                yield self.plain_choice(stmt)
                continue
            self.seen.update(self.computed(stmt))
            if type(stmt) is GraphBind and type(stmt.value) is GraphConst:
                self.weights[stmt.var] = stmt
                continue
            if type(stmt) is GraphBind and type(stmt.var.type) is PrimType and type(stmt.value) is PrimValue:
                self.rename(stmt.var.type.value, stmt.value.value)
            if type(stmt) is MatchCast:
                self.match(stmt.type, type_of(stmt.value, self.module))
            if isinstance(stmt, (GraphBind, MatchCast)):
                kind = substitute(stmt.var.type, self.instead)
                if kind is not stmt.var.type:
                    var = stmt.var.replace(type=kind)
                    stmt = stmt.replace(var=var, type=kind) if type(stmt) is MatchCast else stmt.replace(var=var)
            before = getattr(given, "var", None)
            now = _checked(stmt) or getattr(stmt, "var", None)
            if before is not now:
                self.instead[before] = now
            yield stmt

    def plain_choice(self, stmt: GraphIf) -> GraphIf:
        bodies = {name: tuple(self.plain(getattr(stmt, name))) for name in ("then_body", "else_body")}
        values = {name: substitute(getattr(stmt, name), self.instead) for name in ("then_value", "else_value")}
        return stmt.replace(**bodies, **values)

    def match(self, want: GraphType, have: GraphType) -> None:
        if type(want) is TupleType and type(have) is TupleType:
            for field, of in zip(want.fields, have.fields, strict=False):
                self.match(field, of)
        elif type(want) is type(have):
            for axis, other in zip(_dimensions(want), _dimensions(have), strict=False):
                self.rename(axis, other)

    def rename(self, want: Expr | None, have: Expr) -> None:
        """Take a size for the name that is given to it first."""
        if type(want) is Var and want is not have and want not in self.instead and want not in self.seen:
            self.instead[want] = have

    def steps(self, statements: Sequence[Stmt]) -> Iterator[_Step]:
        """The statements up to the first that needs a size which those before it compute, and so on."""
        step = _Step([], set())
        for stmt in statements:
            own = set(self.computed(stmt))
            if step.body and (step.sizes & (_names(stmt) - own) or _is_apart(stmt) or _is_apart(step.body[-1])):
                yield step
                step = _Step([], set())
            step.body.append(stmt)
            step.sizes |= own
        if step.body:
            yield step

    # steps

    def row(self, statements: Sequence[Stmt], params: Iterable[GraphVar], results: set[GraphVar]) -> None:
        """Make the steps of statements in a row, behind which `results` are used."""
        known = dict.fromkeys(params)
        steps = list(self.steps(statements))
        later = [results]
        for step in steps[:0:-1]:
            later.append(later[-1] | _used(step.body))
        for step in steps:
            first, needed = step.body[0], later.pop()
            if not _is_apart(first):
                self.step(step, list(known), needed)
            elif type(first) is GraphIf:
                self.choice(first, known)
            else:
                self.body.append(first)
                self.own |= step.sizes
            known |= dict.fromkeys(_made(step.body))

    def choice(self, stmt: GraphIf, known: Iterable[GraphVar]) -> None:
        """A choice between the steps of two branches."""
        made: dict[str, Any] = {"condition": self.weighed(stmt.condition)}
        for side in ("then", "else"):
            value = getattr(stmt, f"{side}_value")
            outside, self.body = self.body, []
            self.row(getattr(stmt, f"{side}_body"), known, variables(value))
            made |= {f"{side}_body": tuple(self.body), f"{side}_value": self.weighed(value)}
            self.body = outside
        self.body.append(stmt.replace(**made))

    def step(self, step: _Step, known: list[GraphVar], later: set[GraphVar]) -> None:
        """Make the tensor function of a step, its call, and what is used later of its results."""
        used = _used(step.body)
        params: list[GraphVar] = []
        args: list[GraphExpr] = []
        body: list[Stmt] = [bind for var, bind in self.weights.items() if var in used]
        scalars: dict[GraphVar, PrimValue] = {}
        for var in known:
            if var not in used:
                continue
            if type(var.type) is PrimType and type(var.type.value) is Var:
                scalars[var] = PrimValue(var.type.value)  # which is known like the sizes
                continue
            value = self.taken(var, var, params, args)
            if value is not var:
                body.append(GraphBind(var, value))
        body += (substitute(stmt, scalars) if scalars else stmt for stmt in step.body)
        results: list[GraphExpr] = []
        given: list[tuple[GraphVar, GraphExpr]] = []
        call = GraphVar(f"{self.func.name}_{len(self.made)}", ObjectType())
        for var in _made(step.body):
            if var in later or (type(var.type) is PrimType and var.type.value in step.sizes):
                given.append((var, self.given(var, var.type, call, results)))
        results = results or [GraphConst(constant(0, INT64))]
        types = tuple(_memory(type_of(one, self.module)) for one in results)
        told = set(plain_dimensions(tuple(param.type for param in params)))
        needed = dict.fromkeys(name for part in (*params, *body, *results) for name in _ordered(part))
        inside = step.sizes | {name for stmt in step.body for name in _defined(stmt) if name not in self.own}
        sizes = tuple(name for name in needed if name not in told and name not in inside)
        if not self.own.issuperset(sizes) or not self.own.issuperset(_names(types)):
            raise _Unknown
        self.own |= step.sizes
        # a shape holds int64; scalars of other types stand among the arguments
        others = [name for name in sizes if name.dtype is not INT64]
        params += (GraphVar(name.name, PrimType(name.dtype, name)) for name in others)
        args += map(PrimValue, others)
        sizes = tuple(name for name in sizes if name.dtype is INT64)
        if sizes:
            params.append(GraphVar("sizes", ShapeType(sizes)))
        result = results[0] if len(results) == 1 else TupleExpr(tuple(results))
        name = self.names.fresh(call.name)
        attrs = self.func.attrs.without("global_symbol")  # which is the name of one function
        func = GraphFunc(name, tuple(params), tuple(body), result, attrs=attrs, span=self.func.span)
        self.made.append(_sizes_last(lowered(refresh(func), self.module), len(sizes), len(results)))
        value = CALL_TIR(
            FunctionRef(name), TupleExpr(tuple(args)), out=types, tir_vars=ShapeExpr(sizes) if sizes else None
        )
        self.call(call.replace(type=types[0] if len(types) == 1 else TupleType(types)), call, value, given)

    def taken(self, var: GraphVar, place: GraphExpr, params: list[GraphVar], args: list[GraphExpr]) -> GraphExpr:
        """A value from before, made of parameters of the step."""
        kind = var.type
        if type(kind) is PrimType or type(kind) is TensorType:
            _memory(kind)
            params.append(var)
            args.append(place)
            return var
        if type(kind) is TupleType:
            fields = [
                self.bound(f"{var.name}_{at}", TupleItem(place, at), field) for at, field in enumerate(kind.fields)
            ]
            return TupleExpr(tuple(self.taken(one, one, params, args) for one in fields))
        if type(kind) is ShapeType and kind.values is not None:
            return ShapeExpr(kind.values)
        raise _Unknown

    def given(self, value: GraphExpr, kind: GraphType, call: GraphVar, results: list[GraphExpr]) -> GraphExpr:
        """A value of a step as what is made of the results of its call."""
        if type(kind) is TupleType:
            fields = ((TupleItem(value, at), field) for at, field in enumerate(kind.fields))
            return TupleExpr(tuple(self.given(one, field, call, results) for one, field in fields))
        if type(kind) is ShapeType and kind.values is not None:
            return ShapeExpr(kind.values)
        results.append(value)
        item = TupleItem(call, len(results) - 1)
        if type(kind) is PrimType:
            return FunctionCall(FunctionRef(self.reader(kind.dtype)), (item,))
        if type(kind) is not TensorType:
            raise _Unknown
        return item

    def reader(self, dtype: DType) -> str:
        """The function that reads a number that a step has computed."""
        if dtype not in self.readers:
            size = Buffer("size", (), dtype)
            name = self.names.fresh(f"{self.func.name}_{'size' if dtype is INT64 else dtype}")
            self.readers[dtype] = PrimFunc(name, (size,), (Return(BufferLoad(size, ())),), returns=dtype)
        return self.readers[dtype].name

    def call(self, var: GraphVar, before: GraphVar, value: GraphExpr, given: list[tuple[GraphVar, GraphExpr]]) -> None:
        """Bind the call of a step to `var`, and each value to what it is of it."""
        self.body.append(GraphBind(var, value))
        instead: dict[Any, Any] = {before: var}
        for name, made in given:
            # the result of `call_tir` with one type is a tensor, not a tuple
            made = substitute(made, instead)
            if type(var.type) is not TupleType:
                made = rewrite(made, {TupleItem: lambda item: var if item.value is var else item})
            if type(made) is FunctionCall:
                made = self.read(made)
            elif type(made) is TupleExpr:
                made = rewrite(made, {FunctionCall: self.number, TupleItem: self.item})
            self.body.append(GraphBind(name, made))

    def read(self, call: FunctionCall) -> FunctionCall:
        """The call that reads a number, of a tensor that has a name."""
        size = call.args[0]
        return call if type(size) is GraphVar else call.replace(args=(self.item(size, "size"),))

    def number(self, call: FunctionCall) -> GraphVar:
        """A number that is read for a tuple, under a name."""
        read = self.read(call)
        tensor: Any = type_of(read.args[0], self.module)
        return self.bound("number", read, PrimType(tensor.dtype))

    def item(self, value: GraphExpr, name: str = "item") -> GraphVar:
        """An item of the results of a step, under a name."""
        return self.bound(name, value, type_of(value, self.module))

    def bound(self, name: str, value: GraphExpr, kind: GraphType) -> GraphVar:
        """The name of a value in the function that calls the steps."""
        if type(kind) is PrimType and kind.value is None:
            kind = kind.replace(value=Var(name, kind.dtype))
        var = GraphVar(name, kind)
        self.body.append(GraphBind(var, value))
        return var


def _is_choice(stmt: Stmt) -> bool:
    """Whether a statement is an `if` whose branches give tensors of other shapes, or has one inside."""
    return type(stmt) is GraphIf and any(type(one) is GraphIf and _has_unknown(one.var.type) for one in walk(stmt))


def _is_apart(stmt: Stmt) -> bool:
    """Whether the function that calls the steps does it: a choice, or naming the sizes of what one gives."""
    return _is_choice(stmt) or (type(stmt) is MatchCast and _has_unknown(type_of(stmt.value)))


def _has_unknown(kind: GraphType) -> bool:
    return any(type(one) is TensorType and one.shape is None for one in walk(kind))


def _checked(stmt: Stmt) -> GraphVar | None:
    """The tensor of a known shape that a `match_cast` checks: what it gives is the same memory, no result."""
    if type(stmt) is not MatchCast or type(stmt.value) is not GraphVar:
        return None
    kind = stmt.value.type
    return stmt.value if type(kind) is TensorType and kind.shape is not None else None


def _sizes_last(step: PrimFunc, sizes: int, results: int) -> PrimFunc:
    """A step with its parameters in the order of `G.call_tir`: the sizes stand behind the results."""
    ends = len(step.params) - results
    inputs = step.params[: ends - sizes]
    return step.replace(params=(*inputs, *step.params[ends:], *step.params[ends - sizes : ends]))


def _memory(kind: GraphType) -> TensorType:
    """What a result of a step is written into."""
    if type(kind) is PrimType:
        return TensorType((), kind.dtype)
    if type(kind) is not TensorType or kind.shape is None or kind.dtype is None:
        raise _Unknown
    return kind


def _lengths(kind: GraphType) -> set[Var]:
    """What the sizes of a result's tensors are made of; scalars and shapes are themselves of a known size."""
    if type(kind) is TupleType:
        return set().union(*map(_lengths, kind.fields))
    return _names(kind) if type(kind) is TensorType else set()


def _dimensions(kind: GraphType) -> tuple[Expr, ...]:
    found = kind.shape if type(kind) is TensorType else kind.values if type(kind) is ShapeType else None
    return found or ()


def _ordered(root: Any) -> Iterator[Var]:
    """The sizes that are named in a statement or a value, and in the types of what it holds."""
    for node in walk(root):
        if type(node) is Var:
            yield node
        elif type(node) is GraphVar:
            yield from walk(node.type, Var)


def _defined(stmt: Stmt) -> list[Var]:
    """The sizes that a statement names first."""
    return [name for name in definitions(stmt) if type(name) is Var]


def _names(root: Any) -> set[Var]:
    return set(_ordered(root))


def _used(body: Iterable[Stmt]) -> set[GraphVar]:
    """The variables that statements use, whether they bind them or not."""
    return {node for stmt in body for node in walk(stmt, GraphVar)}


def _made(body: Iterable[Stmt]) -> list[GraphVar]:
    """The variables that statements bind, not those inside of branches."""
    return [stmt.var for stmt in body if isinstance(stmt, (GraphBind, MatchCast, GraphIf))]


__all__ = ["STEPS", "split_at_sizes"]
