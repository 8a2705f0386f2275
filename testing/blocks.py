"""Random blocks: spatial ones and reductions, opaque ones, and regions matched to buffers."""

from __future__ import annotations

from tirscript.ir import (
    AllocBuffer,
    Attrs,
    Axis,
    Block,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    Expr,
    For,
    MatchBuffer,
    Range,
    Stmt,
    Var,
    const,
    get_op,
    walk,
)

from .expressions import ARITHMETIC, BITS, Scope
from .statements import Statements
from .values import DTYPES, INT32

ANNOTATIONS = Attrs({"preproc": "pad", "postproc": ("crop", 0), "deep": Attrs({"x": (1, 2.5, None)})})


def block_nest(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """Loops around a block that writes each element of a buffer once, or reduces into it."""
    targets = [buffer for buffer in scope.targets if buffer.shape and buffer.constant_shape() is not None]
    if not targets:
        return opaque_block(self, scope, depth)
    target = self.pick(targets)
    loops: list[Var] = []
    extents: list[Expr] = []
    axes: list[Axis] = []
    predicate: Expr | None = None
    for dim in target.shape:
        assert type(dim) is Const
        value: Expr
        if predicate is None and self.chance(4):  # split by 4: the last tile may be partly outside
            outer, inner = Var("io", INT32), Var("ii", INT32)
            loops += (outer, inner)
            extents += (const(-(-int(dim.value) // 4)), const(4))
            value = outer * 4 + inner
            predicate = value < int(dim.value)
        else:
            value = Var(self.pick(("i", "j")), dim.dtype)
            loops.append(value)
            extents.append(dim)
        axes.append(Axis(Var(self.pick(("vi", "vj", "v")), dim.dtype), "spatial", const(0, dim.dtype), dim, value))
    reduces = self.chance(2)
    if reduces:
        extent = const(self.number(1, 4))
        loop = Var("k", INT32)
        loops.append(loop)
        extents.append(extent)
        axes.append(Axis(Var("vk", INT32), "reduce", const(0), extent, loop))
    block = fill(self, scope, target, tuple(axes), reduces, predicate)
    body: tuple[Stmt, ...] = (block,)
    for var, stop in zip(reversed(loops), reversed(extents), strict=True):
        body = (For(var, const(0, stop.dtype), stop, body, kind=self.pick(("serial", "serial", "serial", "unroll"))),)
    return list(body)


def fill(
    self: Statements, scope: Scope, target: Buffer, axes: tuple[Axis, ...], reduces: bool, predicate: Expr | None
) -> Block:
    """The block inside the loops."""
    inner = scope.without(target)
    inner.variables = [var for var in inner.variables if var not in self.loop_vars]
    spatial = tuple(axis.var for axis in axes if axis.kind == "spatial")
    init: tuple[Stmt, ...] | None = None
    if reduces:
        init = (BufferStore(target, spatial, self.expr(target.dtype, inner, 0)),)
    inner.variables += [axis.var for axis in axes]
    value = self.expr(target.dtype, inner, 2)
    if reduces:
        names = BITS if target.dtype.is_bool else ARITHMETIC
        value = get_op(self.pick(names))(BufferLoad(target, spatial), value)
    store = BufferStore(target, spatial, value)
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    if self.chance(3):
        loaded = {node.buffer for node in walk(value, BufferLoad) if node.buffer is not target}
        ordered = [buffer for buffer in inner.buffers if buffer in loaded]
        reads = tuple(BufferRegion(b, tuple(Range(const(0, d.dtype), d) for d in b.shape)) for b in ordered if b.shape)
        if len(reads) < len(ordered):
            reads = None
        writes = (BufferRegion(target, tuple(map(Range, spatial))),)
    name = self.pick(("update", "compute", "block"))
    annotations = ANNOTATIONS if self.chance(8) else Attrs()
    return Block(name, axes, (store,), init, predicate, reads, writes, annotations)


def opaque_block(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """A block without axes; what it defines is not seen outside."""
    inner = scope.inner(loop=False)
    inner.leave = False
    head: list[Stmt] = []
    if self.chance(2):
        buffer = Buffer(self.name(), (const(self.number(1, 4)),), self.pick(DTYPES))
        value = self.expr(buffer.dtype, scope, 1)
        head = [AllocBuffer(buffer), self.nest(buffer, lambda indices: [BufferStore(buffer, indices, value)])]
        inner.buffers.append(buffer)
        inner.targets.append(buffer)
    return [Block(self.pick(("root", "opaque")), (), (*head, *self.body(inner, depth - 1)))]


def match_block(self: Statements, scope: Scope, depth: int) -> list[Stmt]:
    """A block that names the first rows of a buffer as a buffer of their own."""
    rows = [buffer for buffer in scope.targets if buffer.shape and buffer.constant_shape() is not None]
    if not rows:
        return opaque_block(self, scope, depth)
    whole = self.pick(rows)
    first = whole.shape[0]
    assert type(first) is Const
    count = const(self.number(1, int(first.value)), first.dtype)
    shape = (count, *whole.shape[1:])
    part = Buffer(self.name(), shape, whole.dtype, scope=whole.scope)
    region = BufferRegion(whole, tuple(Range(const(0, dim.dtype), dim) for dim in shape))
    inner = scope.inner(loop=False)
    inner.leave = False
    inner.buffers.append(part)
    inner.targets.append(part)
    self.shared |= {whole, part}
    body = self.body(inner, depth - 1)
    return [Block("part", (), (MatchBuffer(part, region), *body))]
