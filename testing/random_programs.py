"""Random functions that are valid, stay in bounds, read nothing unwritten, and end.

Whatever runs them must leave the same values in their arguments: only exact operations are used, save for what is
stored to the parameter named `approx`, which is never read again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Attrs,
    Bind,
    Break,
    Buffer,
    BufferData,
    BufferStore,
    Const,
    Continue,
    DeclBuffer,
    DType,
    Evaluate,
    Expr,
    For,
    If,
    MatchBuffer,
    PrimFunc,
    Ramp,
    Return,
    ScalarDecl,
    Stmt,
    Var,
    While,
    const,
    constant,
    get_op,
)
from tirscript.ir.constant_lists import encode
from tirscript.ir.dtype import HANDLE

from .blocks import block_nest, match_block, opaque_block
from .expressions import Scope, elementary, vector_at
from .readable import READABLE
from .statements import Statements, product
from .values import BOOL, DTYPES, FLOATS, INT32, INT64

ATTRIBUTES = (
    Attrs({"global_symbol": "main"}),
    Attrs({"global_symbol": "main", "noalias": True}),
    Attrs({"note": 'a "quoted" word', "sizes": (1, 2, (3,)), "table": Attrs({"a": 1.5, "b": None})}),
)


class Programs(Statements):
    """Functions and their bodies."""

    returns: DType | None = None
    runnable = True

    def function(self) -> PrimFunc:
        """A whole function."""
        symbols = [Var(self.pick(("n", "m")), self.pick((INT64, INT32)))] if self.chance(3) else []
        buffers = [self.parameter(symbols) for _ in range(self.number(1, 4))]
        scalars = [Var(self.name(), self.pick(DTYPES)) for _ in range(self.below(3))]
        self.returns = self.pick(DTYPES) if self.chance(6) else None
        params: list[Var | Buffer] = [*buffers, *scalars]
        # a symbolic dimension may be a parameter too
        params += [symbol for symbol in symbols if self.chance(3)]
        head: list[Stmt] = []
        for number, param in enumerate(params):
            if isinstance(param, Buffer) and self.chance(5):
                handle = Var(f"h{number}", HANDLE)
                head.append(MatchBuffer(param, handle))
                params[number] = handle
        scope = Scope([*scalars, *symbols], list(buffers), list(buffers))
        used = {var for buffer in buffers for var in buffer.shape}
        scope.variables = [var for var in scope.variables if var not in symbols or var in used or var in params]
        body = list(self.body(scope, 3))
        if self.chance(4):
            approx = Buffer("approx", (const(4),), self.pick(FLOATS))
            params.append(approx)
            stores = [BufferStore(approx, (const(at),), elementary(self, approx.dtype, scope)) for at in range(4)]
            body = [*(s for s in body if type(s) is not Return), *stores]
        if self.returns is not None:
            body.append(Return(self.expr(self.returns, scope)))
        attrs = self.pick(ATTRIBUTES) if self.chance(4) else Attrs()
        docstring = "What it does." if self.chance(8) else None
        return PrimFunc(
            "main", tuple(params), (*head, *body), attrs, self.returns, private=self.chance(8), docstring=docstring
        )

    def parameter(self, symbols: Sequence[Var]) -> Buffer:
        """A buffer that the caller passes; the first use of a symbol is as a dimension by itself."""
        dims: list[Expr] = [const(self.pick((2, 3, 1, 4, 6, 8))) for _ in range(self.pick((1, 2, 1, 3, 0)))]
        for symbol in symbols:
            if dims and self.chance(2):
                dims[0] = symbol
                if len(dims) > 1 and self.chance(2):
                    dims[1] = self.pick((symbol, symbol + 1, symbol * 2))
        return Buffer(self.name(), tuple(dims), self.pick(DTYPES))

    def body(self, scope: Scope, depth: int) -> tuple[Stmt, ...]:
        """A body of one to four statements."""
        made: list[Stmt] = []
        for _ in range(self.number(1, 4)):
            if made and self.budget <= 0:
                break
            rules = _SIMPLE if depth <= 0 or self.budget <= 0 else _ALL if self.runnable else _READABLE
            made += self.pick(rules)(self, scope, depth)
            if type(made[-1]) in (Break, Continue, Return):
                break
        return self.decorate(made or [Evaluate(const(0))])

    def decorate(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """The statements with comments at some of them."""
        last = len(body) - 1
        found = []
        for number, stmt in enumerate(body):
            compound = hasattr(stmt, "body") or type(stmt) is If
            trivia = self.trivia(number == 0, number == last and not compound, compound)
            found.append(stmt.replace(trivia=trivia) if trivia is not None else stmt)
        return tuple(found)


Rule = Callable[[Programs, Scope, int], list[Stmt]]


def _store(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    if not scope.targets:
        return _bind(self, scope, depth)
    target = self.pick(scope.targets)
    indices = tuple(self.index(dim, scope) for dim in target.shape)
    return [BufferStore(target, indices, self.expr(target.dtype, scope))]


def _vector_store(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    wide = [b for b in scope.targets if b.shape and type(b.shape[-1]) is Const and int(b.shape[-1].value) >= 2]
    if not wide:
        return _store(self, scope, depth)
    target = self.pick(wide)
    extent = int(target.shape[-1].value)  # type: ignore[attr-defined]
    lanes = 4 if extent >= 4 and self.chance(2) else 2
    start = const(self.below(extent - lanes + 1))
    ahead = tuple(self.index(dim, scope) for dim in target.shape[:-1])
    at = vector_at(const(0), lanes, lambda dim: self.index(dim, scope, 0))
    return [BufferStore(target, (*ahead, Ramp(start, const(1), lanes)), self.vector(target.dtype, lanes, at, scope, 2))]


def _bind(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    var = Var(self.name(), self.pick(DTYPES))
    value = self.expr(var.dtype, scope)
    scope.variables.append(var)
    return [Bind(var, value)]


def _scalar(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    buffer = Buffer(self.name(), (), self.pick(DTYPES), scope="scalar")
    value = self.expr(buffer.dtype, scope)
    scope.buffers.append(buffer)
    scope.targets.append(buffer)
    if self.chance(4):
        return [ScalarDecl(buffer), BufferStore(buffer, (), value)]
    return [ScalarDecl(buffer, value)]


def _if(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    condition = self.expr(BOOL, scope)
    then = self.body(scope.inner(), depth - 1)
    orelse: tuple[Stmt, ...] = ()
    if self.chance(2):
        orelse = self.body(scope.inner(), depth - 1)
        if self.chance(2):
            orelse = (If(self.expr(BOOL, scope), self.body(scope.inner(), depth - 1), orelse),)
    return [If(condition, then, orelse)]


def _leave(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    way: list[Stmt] = []
    if scope.loop:
        way.append(self.pick((Break(), Continue())))
    elif scope.leave and self.chance(3):
        way.append(Return(self.expr(self.returns, scope, 1) if self.returns is not None else None))
    if not way:
        return _store(self, scope, depth)
    return [If(self.expr(BOOL, scope), tuple(way))]


def _for(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    symbols = [var for var in scope.variables if var.name in ("n", "m") and var.dtype in (INT32, INT64)]
    known = {dim for buffer in scope.buffers for dim in buffer.shape}
    symbols = [symbol for symbol in symbols if symbol in known]
    which = self.below(5)
    kind, step = "serial", None
    stop: Expr
    if which == 0 and symbols:
        stop = self.pick(symbols)
    elif which == 1:
        stop = self.expr(INT32, scope, 1) % 5  # as the data say
    else:
        stop = const(self.number(0, 5))
        kind = self.pick(("serial", "serial", "unroll"))
    start = const(self.below(3) if self.chance(3) else 0, stop.dtype)
    if self.chance(5) and kind == "serial":
        step = const(self.number(1, 3), stop.dtype)
    var = Var(self.name(), stop.dtype)
    inner = scope.inner(loop=kind == "serial")
    inner.variables.append(var)
    self.loop_vars.add(var)
    body = self.body(inner, depth - 1)
    annotations = Attrs({"pragma": "note", "factor": 4}) if self.chance(8) else Attrs()
    return [For(var, start, stop, body, step, kind, annotations=annotations)]


def _while(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    counter = Buffer(self.pick(("count", "step")), (), INT32, scope="scalar")
    scope.buffers.append(counter)
    now = self.read(counter)
    condition: Expr = now < self.number(1, 5)
    if self.chance(2):
        condition = get_op("logical_and")(condition, self.expr(BOOL, scope, 2))
    body = self.body(scope.inner(loop=True), depth - 1)
    count = BufferStore(counter, (), now + 1)
    return [ScalarDecl(counter, const(0)), While(condition, (count, *body))]


def _alloc(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    dims = tuple(const(self.pick((2, 3, 4, 1))) for _ in range(self.pick((1, 2))))
    kind, scope_of, align = self.pick(DTYPES), self.pick(("global", "local")), self.pick((0, 0, 64))
    buffer = Buffer(self.name(), dims, kind, scope=scope_of, align=align)
    fill = self.nest(buffer, lambda indices: [BufferStore(buffer, indices, self.expr(buffer.dtype, scope, 1))])
    made: list[Stmt] = [AllocBuffer(buffer), fill]
    scope.buffers.append(buffer)
    scope.targets.append(buffer)
    if self.chance(3):
        view = Buffer(self.name(), (const(product(buffer)),), buffer.dtype, scope=buffer.scope)
        made.append(DeclBuffer(view, BufferData(buffer)))
        self.shared |= {buffer, view}
        scope.buffers.append(view)
        scope.targets.append(view)
    return made


def _constant(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    """A constant, short or too long for a list, with any bits; now and then declared flat."""
    kind = self.pick(DTYPES)
    shape = tuple(self.pick((2, 3, 4, 1, 8)) for _ in range(self.pick((1, 2, 3, 0))))
    flat = [self.const(kind) for _ in range(self.number(1, 3))]
    count = math.prod(shape)
    data = encode([flat[at % len(flat)].value for at in range(count)], kind).reshape(shape)
    if kind.is_float and self.chance(3):
        data.reshape(-1).view("u1")[:: max(1, self.below(5))] ^= 0x7F  # nans among them, with bits of their own
    dims = (count,) if self.chance(4) else shape
    buffer = Buffer(self.name(), tuple(map(const, dims)), kind, align=self.pick((0, 0, 128)))
    scope.buffers.append(buffer)
    return [AllocateConst(buffer, constant(data, kind))]


def _any_order(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    """A parallel or vectorized loop: each iteration writes a place of its own and reads nothing that is written."""
    kind = self.pick(("parallel", "vectorized"))
    at = 0 if kind == "parallel" else -1
    wide = [b for b in scope.targets if b.shape and type(b.shape[at]) is Const]
    if not wide or self.aliased(scope):
        return _store(self, scope, depth)
    target = self.pick(wide)
    var = Var(self.name(), INT32)
    inner = scope.without(target)
    inner.variables.append(var)
    body: list[Stmt] = []
    if kind == "parallel":
        body += _bind(self, inner, 0)
        if self.chance(2):
            body += _scalar(self, inner, 0)
            inner.targets.clear()
    indices = [self.index(dim, inner, 0) for dim in target.shape]
    indices[at] = var
    body.append(BufferStore(target, tuple(indices), self.expr(target.dtype, inner, 2)))
    return [For(var, const(0), target.shape[at], tuple(body), kind=kind)]


def _check(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    holds: Expr = self.expr(INT32, scope, 1) % 4 < 4
    return [self.pick((Assert(holds, 'a rest is "small"'), Assert(holds), Assume(holds)))]


def _nothing(self: Programs, scope: Scope, depth: int) -> list[Stmt]:
    return [Evaluate(const(0))]


_SIMPLE: tuple[Rule, ...] = (*(_store,) * 3, _bind, _scalar, _vector_store, _leave, _leave, _check, _nothing)
_ALL: tuple[Rule, ...] = (
    *(_store, _for, _if, _bind, _scalar, _for, _store, _while, _alloc, _vector_store, _any_order, _leave, _check),
    _constant,
    *(block_nest, block_nest, opaque_block, match_block),
)


_READABLE: tuple[Rule, ...] = (*_ALL, *READABLE)


@st.composite
def programs(draw: Any, *, budget: int = 80, runnable: bool = True) -> PrimFunc:
    """Random functions of about `budget` nodes at most; `inputs_for` makes arguments for them.

    Where they need not be `runnable`, they also hold what only other machines or a later proof can run.
    """
    maker = Programs(draw, budget)
    maker.runnable = runnable
    return maker.function()
