"""Statements of random programs that are only read and printed: they need other machines, functions, or a proof."""

from __future__ import annotations

from tirscript.ir import (
    AllocBuffer,
    Attr,
    Attrs,
    Bind,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    LaunchThread,
    Ramp,
    StaticAssert,
    Stmt,
    Var,
    const,
    get_op,
)
from tirscript.ir.dtype import dtype

from .expressions import Scope
from .statements import Statements
from .values import BOOL, DTYPES, INT32

RARE = (dtype("float32x4"), dtype("float8_e4m3fn"), dtype("float8_e5m2"))
THREADS = ("threadIdx.x", "threadIdx.y", "blockIdx.x", "vthread.x")
KEYS = ("pragma_auto_unroll_max_step", "storage_scope", "a key with spaces")


def attribute(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """An attribute over a body."""
    values = (const(1), "word", const(2), const(0.5), None, True)
    targets: list[object] = [None, const(0), *(BufferData(buffer) for buffer in scope.buffers if not buffer.is_scalar)]
    body = self.body(scope.inner(), depth - 1)
    return [Attr(self.pick(targets), self.pick(KEYS), self.pick(values), body)]


def launch(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """A body run by many threads, in either of its forms."""
    var = Var(self.name(), INT32)
    inner = scope.inner(loop=False)
    inner.leave = False
    inner.variables.append(var)
    extent = const(self.pick((4, 1, 32)))
    if self.chance(2):
        return [LaunchThread(var, self.pick(THREADS), extent, self.body(inner, depth - 1))]
    self.loop_vars.add(var)
    body = self.body(inner, depth - 1)
    annotations = Attrs({"pragma": 1}) if self.chance(3) else Attrs()
    return [For(var, const(0), extent, body, kind="thread_binding", thread=self.pick(THREADS), annotations=annotations)]


def static_assert(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """Something to prove."""
    return [StaticAssert(self.expr(BOOL, scope, 1) | True, self.pick(("", 'a "reason"')))]


def call_out(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """A call of something that is not there."""
    kind = self.pick(DTYPES)
    args = [self.expr(self.pick(DTYPES), scope, 1) for _ in range(self.below(3))]
    which = self.below(4)
    if which == 0:
        var = Var(self.name(), kind)
        scope.variables.append(var)
        name = self.pick(("call_extern", "call_pure_extern"))
        return [Bind(var, get_op(name)(kind, "some_symbol", *args))]
    if which == 1:
        return [Evaluate(get_op("call_packed")("some.function", *args))]
    if which == 2:
        return [Evaluate(get_op("print")("the \\ values:", *args))]
    return [Evaluate(get_op("breakpoint")())]


def odd_buffer(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """Memory with a layout, a scope or attributes of its own."""
    dims = tuple(const(self.pick((2, 4))) for _ in range(2))
    buffer = Buffer(
        self.name(),
        dims,
        self.pick(DTYPES if self.chance(2) else RARE),
        strides=self.pick((None, (const(8), const(1)))),
        elem_offset=self.pick((None, const(4))),
        scope=self.pick(("shared", "local", "shared.dyn", "wmma.matrix_a")),
        align=self.pick((0, 64, 128)),
        offset_factor=self.pick((0, 4)),
        axis_separators=self.pick(((), (1,))),
    )
    made: list[Stmt] = [AllocBuffer(buffer, Attrs({"note": (1, 2)}) if self.chance(3) else Attrs())]
    if not buffer.dtype.is_vector:
        made.append(BufferStore(buffer, (const(0), const(1)), get_op("undef")(buffer.dtype)))
    return made


def pointers(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """Addresses as values."""
    buffers = [buffer for buffer in scope.buffers if not buffer.is_scalar]
    if not buffers:
        return static_assert(self, scope, depth)
    buffer = self.pick(buffers)
    address: Expr = BufferData(buffer)
    if self.chance(2):
        address = get_op("address_of")(self.load(buffer, scope))
    var = Var(self.name(), address.dtype)
    null = Var(self.name(), BOOL)
    scope.variables.append(null)
    return [Bind(var, address), Bind(null, get_op("isnullptr")(var))]


def masked(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """A vector that is loaded and stored where a mask says so."""
    wide = [b for b in scope.targets if len(b.shape) == 1 and type(b.shape[0]) is Const and int(b.shape[0].value) >= 4]
    if not wide:
        return call_out(self, scope, depth)
    buffer = self.pick(wide)
    at = (Ramp(const(0), const(1), 4),)
    mask = Call(get_op("less"), (Ramp(const(0), const(1), 4), self.four(scope)), dtype("boolx4"))
    value = BufferLoad(buffer, at, mask if self.chance(2) else None)
    return [BufferStore(buffer, at, value, mask)]


READABLE = (attribute, launch, static_assert, call_out, odd_buffer, pointers, masked)
