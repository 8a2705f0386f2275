"""Random modules whose `main` is a graph function, with arguments for a call of it.

Whatever runs a module must give the same result, up to rounding: each value is known to be `exact` (its elements are
integers that float32 holds, and the same however they are summed) or not, and what makes a leap at some number, such
as a comparison, is applied to exact values only. Bounds of values keep them where rounding is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tirscript.backend.runtime.library import register_library
from tirscript.ir import DType, Expr, Module, Var, constant, dtype
from tirscript.ir.graph import (
    CallableType,
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
    PrimType,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
    plain_dimensions,
)
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_types import as_annotated
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import Stmt

from .draw import extent
from .graph_rules import ALIKE, NEGATE, RULES, Value
from .values import BOOL, INT32, INT64, Chooser

FLOAT, INT = dtype("float32"), INT32
NAMES = ("lv", "a", "h", "lv", "out", "x")
LARGEST = 600  # elements of a value


class Graphs(Chooser):
    """A module under construction, and the function in it that is open."""

    def __init__(self, draw: Any, operators: int) -> None:
        super().__init__(draw, operators)
        self.module = Module(())
        self.values: list[Value] = []
        self.body: list[Stmt] = []
        self.sizes: dict[Var, int] = {}
        self.rng = np.random.default_rng(self.below(1 << 16))

    # -- what rules use

    def count(self, shape: Sequence[Expr]) -> int:
        """The number of elements of a shape, with the sizes of this call."""
        return int(np.prod([extent(dim, self.sizes) for dim in shape], dtype=np.int64))

    def emit(self, value: GraphExpr, exact: bool = True, bound: float = 0.0) -> Value | None:
        """Bind a value; None where it is larger than random programs should be, and then it is not bound."""
        kind = as_annotated(type_of(value, self.module))
        if type(kind) is TensorType and (kind.shape is None or self.count(kind.shape) > LARGEST):
            return None
        found = Value(GraphVar(self.pick(NAMES), kind), exact, bound)
        self.body.append(GraphBind(found.var, value))
        self.budget -= 1
        if type(kind) is TensorType:
            self.values.append(found)
        return found

    def items(self, value: GraphExpr, known: Sequence[tuple[bool, float]]) -> None:
        """Bind a tuple, and then some of its items, of which `known` tells whether they are exact, and their bounds."""
        made = self.emit(value)
        if made is None:
            return
        wanted = [at for at in range(len(known)) if not self.chance(3)] or [0]
        for at in wanted:
            self.emit(TupleItem(made.var, at), *known[at])

    def some(self, *kinds: DType, exact: bool = False, bound: float = 1e9, rank: int | None = None) -> Value | None:
        """A value that fits, rather a late one; None where there is none."""
        fits = [
            one
            for one in reversed(self.values)
            if one.dtype in kinds
            and (one.exact or not exact)
            and one.bound <= bound
            and (rank is None or len(one.shape) == rank)
        ]
        return self.pick(fits) if fits else None

    def array(self, shape: Sequence[int], kind: DType, low: int = -3, high: int = 3) -> Any:
        """An array of small integers."""
        if kind is BOOL:
            return self.rng.integers(0, 2, tuple(shape)).astype(bool)
        return self.rng.integers(low, high + 1, tuple(shape)).astype(kind.name)

    def name(self) -> str:
        """A hint for a name."""
        return self.pick(NAMES)

    # -- statements

    def step(self) -> None:
        """One operator, or a few that belong together."""
        # hypothesis prefers small numbers, which would be the same few rules again and again
        RULES[self.below(1 << 12) * 1021 % len(RULES)](self)

    def condition(self) -> None:
        """A branch on a scalar that is computed or given."""
        flag = next((one.var for one in self.values if one.dtype is BOOL and not one.shape), None)
        given = self.some(FLOAT, bound=100)
        if flag is None or given is None:
            return
        before, outer = list(self.values), self.body
        branches = []
        for _ in range(2):
            self.body, self.values = [], [given]
            for _ in range(self.number(1, 2)):
                self.pick(ALIKE)(self)
            same = [one for one in self.values if one.dtype is given.dtype and dims.same_shapes(one.shape, given.shape)]
            result = same[-1]
            body = tuple(self.body)
            if body and self.chance(2):
                body = (Dataflow(body, (result.var,) if result is not given else _defined(body)[-1:]),)
            branches.append((body, result))
        self.body, self.values = outer, before
        (then, one), (orelse, other) = branches
        found = Value(GraphVar("chosen", given.var.type), one.exact and other.exact, max(one.bound, other.bound))
        self.body.append(GraphIf(found.var, flag, then, one.var, orelse, other.var))
        self.values.append(found)

    def match_cast(self) -> None:
        """A check that never fails; a dimension may get a name."""
        given = self.some(FLOAT, INT)
        if given is None:
            return
        shape = list(given.shape)
        if shape and self.chance(2):
            at = self.below(len(shape))
            size = extent(shape[at], self.sizes)
            shape[at] = named = Var(self.pick(("m", "k")), INT64)
            self.sizes[named] = size
        kind = TensorType(tuple(shape), given.dtype)
        made = Value(GraphVar(self.name(), kind), given.exact, given.bound)
        self.body.append(MatchCast(made.var, given.var, kind))
        self.values.append(made)

    def call(self) -> None:
        """A call of a private graph function, which is made here or was before."""
        outer = (self.body, self.values, self.sizes)
        given = self.some(FLOAT, bound=30)
        if given is None:
            return
        args = [given]
        if self.chance(2):
            args.append(self.some(FLOAT, bound=30) or given)
        types = tuple(one.var.type for one in args)
        plain = plain_dimensions(types)
        if any(type(node) is Var and node not in plain for kind in types for node in walk(kind)):
            return  # such as n * 2, of which the function could not know n
        inner = {var: Var(var.name, var.dtype) for var in plain}
        sizes = {inner[var]: self.sizes[var] for var in plain}
        params = [Value(GraphVar(f"p{at}", substitute(one.var.type, inner)), one.exact, one.bound) for at, one in
                  enumerate(args)]  # fmt: skip
        self.body, self.values, self.sizes = [], list(params), sizes
        for _ in range(self.number(1, 3)):
            self.pick(ALIKE)(self) if self.chance(2) else self.step()
        result = self.values[-1]
        function = self.function(self.fresh("part"), tuple(one.var for one in params), result.var, private=True)
        self.body, self.values, self.sizes = outer
        self.module = self.module.with_function(function)
        for _ in range(self.number(1, 2)):
            value = FunctionCall(FunctionRef(function.name), tuple(one.var for one in args))
            self.emit(value, result.exact, result.bound)

    def local(self) -> None:
        """A function in the function, which uses what is around it, and a call of it or two."""
        given = self.some(FLOAT, bound=30)
        if given is None:
            return
        around = self.some(FLOAT, bound=30) or given
        outer, before = self.body, list(self.values)
        param = Value(GraphVar("p", given.var.type), given.exact, given.bound)
        self.body, self.values = [], [around, param]
        for _ in range(self.number(1, 3)):
            self.pick(ALIKE)(self)
        result, body = self.values[-1], tuple(self.body)
        self.body, self.values = outer, before
        kind = as_annotated(type_of(result.var, self.module))
        function = GraphFunc("", (param.var,), body, result.var, kind)
        name = GraphVar("part", CallableType((param.var.type,), kind, True))
        self.body.append(GraphBind(name, function))
        for _ in range(self.number(1, 2)):
            self.emit(FunctionCall(name, (given.var,)), result.exact, result.bound)

    # -- functions

    def fresh(self, name: str) -> str:
        """A name that no function of the module has."""
        number = 0
        while f"{name}{number}" in self.module:
            number += 1
        return f"{name}{number}"

    def function(self, name: str, params: tuple[GraphVar, ...], value: GraphExpr, private: bool) -> GraphFunc:
        """The open function, with its bindings in dataflow blocks and outside of them."""
        result = as_annotated(type_of(value, self.module))
        known = {id(var) for param in params for var in walk(param.type, Var)}
        result = _coarse(result, known)
        return GraphFunc(name, params, self.blocks(self.body, value), value, result, private=private)

    def blocks(self, body: list[Stmt], value: GraphExpr) -> tuple[Stmt, ...]:
        """Stretches of a body as dataflow blocks."""
        pieces: list[list[Stmt] | Stmt] = []
        for stmt in body:
            loose = type(stmt) is not GraphBind or type(stmt.value) is GraphFunc or self.chance(12)
            if loose:
                pieces.append(stmt)
            elif pieces and isinstance(pieces[-1], list) and not self.chance(10):
                pieces[-1].append(stmt)
            else:
                pieces.append([stmt])
        made: list[Stmt] = []
        used = set(walk(value, GraphVar))
        for piece in reversed(pieces):
            if isinstance(piece, list):
                bound = _defined(tuple(piece))
                outputs = tuple(var for var in bound if var in used)
                block = Dataflow(tuple(piece), outputs or bound[-1:])
                made.append(block)
                used.update(walk(block, GraphVar))
            else:
                made.append(piece)
                used.update(walk(piece, GraphVar))
        return tuple(reversed(made))

    def main(self) -> tuple[Module, list[Any]]:
        """The module, with arguments of `main`."""
        n = Var("n", INT64)
        self.sizes[n] = self.number(1, 4)
        symbol = [n] if self.chance(2) else []
        params, inputs = [], []
        for at in range(self.number(1, 3)):
            shape = self.shape(symbol)
            kind = self.pick((FLOAT, FLOAT, FLOAT, INT))
            params.append(Value(GraphVar(f"x{at}", TensorType(shape, kind)), True, 3.0))
            inputs.append(self.array([extent(dim, self.sizes) for dim in shape], kind))
        params.append(Value(GraphVar("flag", TensorType((), BOOL)), True, 1.0))
        inputs.append(np.array(bool(self.below(2))))
        self.values = list(params)
        self.sizes_as_values(params, inputs)
        wanted = self.budget
        for _ in range(4 * wanted):
            if self.budget <= 0:
                break
            which = self.below(15)
            special = {11: self.condition, 12: self.match_cast, 13: self.call, 14: self.local}.get(which)
            (special or self.step)()
        result: GraphExpr = self.values[-1].var
        if self.chance(3):
            other = self.pick(list(reversed(self.values))).var
            result = TupleExpr((result, TupleExpr((other, result)) if self.chance(4) else other))
        function = self.function("main", tuple(one.var for one in params), result, private=False)
        return self.module.with_function(function), inputs

    def sizes_as_values(self, params: list[Value], inputs: list[Any]) -> None:
        """A scalar or a shape among the parameters, and a tensor of that size."""
        if not self.chance(3):
            return
        k = Var("k", INT64)
        self.sizes[k] = self.number(1, 4)
        if self.chance(2):
            kind: GraphType = PrimType(INT64, k)
            inputs.append(self.sizes[k])
        else:
            kind = ShapeType((k, dims.dim(3)))
            inputs.append((self.sizes[k], 3))
        param = GraphVar("size", kind)
        params.append(Value(param, True, 0.0))
        shape = param if type(kind) is ShapeType else ShapeExpr((k, dims.dim(3)))
        filled: GraphExpr = GRAPH_OPS["full"](shape, GraphConst(constant(self.array((), FLOAT))), FLOAT)
        self.emit(filled, True, 3.0)

    def shape(self, symbol: Sequence[Var]) -> tuple[Expr, ...]:
        """The shape of a parameter: of a table, of images, of any rank."""
        found = self.pick(((3, 4), (1, 2, 5, 5), (4, 4), (2, 3, 4), (1, 2, 4, 3), (4,), (2, 1, 6)))
        shape = list(dims.shape(found))
        if symbol:
            shape[0] = symbol[0]
        return tuple(shape)


def _coarse(kind: GraphType, known: set[int]) -> GraphType:
    """A type outside of the function: shapes by dimensions that no parameter has are only counted."""
    if type(kind) is TupleType:
        return TupleType(tuple(_coarse(field, known) for field in kind.fields))
    if type(kind) is TensorType and any(type(node) is Var and id(node) not in known for node in walk(kind)):
        return TensorType(None, kind.dtype, kind.rank)
    return kind


def _defined(body: tuple[Stmt, ...]) -> tuple[GraphVar, ...]:
    return tuple(stmt.var for stmt in body if type(stmt) in (GraphBind, MatchCast))  # type: ignore[attr-defined]


def _negate(given: Any, out: Any) -> None:
    np.negative(given, out=out)


@st.composite
def graphs(draw: Any, *, operators: int = 12) -> tuple[Module, list[Any]]:
    """Random modules with a graph function `main` of 3 to about `operators` operators, and arguments for it.

    `tirscript.interpret(module, *arguments)` gives its result. Beside operators of most kinds there are kernels that
    `G.call_tir` and `G.call_tir_inplace` call, a library function, graph functions that others call, functions in them,
    branches, checks of shapes, tuples, constants, shapes and scalars as arguments, and some float16.
    """
    register_library(NEGATE, _negate, override=True)
    chooser = Chooser(draw, 0)
    maker = Graphs(draw, chooser.number(3, operators))
    return maker.main()


__all__ = ["Graphs", "Value", "graphs"]
