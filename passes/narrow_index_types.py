"""Indices are computed in 32 bits where all that is computed fits them.

before:                                            after:
    for i in range(T.int64(128)):                      for i in range(128):
        B[i * 4] = A[i * 4 + 1]                            B[i * 4] = A[i * 4 + 1]

with int64 numbers before and int32 numbers after. Loops, block axes, bound names, indices and comparisons get the
narrower dtype where every value that is computed on the way is proved to fit it, so that nothing wraps. What is stored
keeps its dtype. `bits` is 32, 16 or 8.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import Broadcast, BufferLoad, BufferRegion, Call, Const, Expr, Ramp, Range, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS, cast
from tirscript.ir.op_sets import CHOICES, COMPARISONS
from tirscript.ir.rewrite import map_except_buffers
from tirscript.ir.stmt import Axis, Bind, Block, BufferStore, For

from .pipeline import prim_func_pass

_ARITHMETIC = ("add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "negative")
_KEEPING = frozenset(OPS[name] for name in _ARITHMETIC)
_CAST = OPS["cast"]


@prim_func_pass()
def narrow_index_types(func: PrimFunc, *, bits: int = 32) -> PrimFunc:
    """`for i in range(T.int64(128)): B[i * 4] = 0.0` becomes `for i in range(128): B[i * 4] = 0.0`."""
    if bits not in (8, 16, 32):
        raise DiagnosticError([error("T404", f"option `bits` of pass `narrow_index_types` is 8, 16 or 32, not {bits}")])
    return _Narrow(bits).function(func)


class _Narrow(Scoped):
    """Gives names a narrower dtype, and indices and comparisons that are made of them."""

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits = bits
        self.renamed: dict[Var, Var] = {}

    def visit(self, node: Any) -> Any:
        rule = _RULES.get(type(node))
        return self.descend(node) if rule is None else rule(self, node)

    def target(self, kind: DType) -> DType:
        return dtype(f"{kind.element.kind}{self.bits}").with_lanes(kind.lanes, kind.scalable)

    def narrow(self, expr: Expr) -> Expr | None:
        """The value in the narrower dtype; None where something on the way may not fit it."""
        kind: DType = expr.dtype
        if not kind.is_int:
            return None
        to = self.target(kind)
        if kind.bits <= self.bits:
            return self.visit(expr) if kind is to else None
        if not self.fits(expr, to):
            return None
        found = _NARROW.get(type(expr))
        made = None if found is None else found(self, expr, to)
        if made is not None:
            return made
        return cast(self.visit(expr), to)

    def fits(self, expr: Expr, to: DType) -> bool:
        if expr.dtype.is_vector:
            return self.fits_vector(expr, to.element)
        low, high = self.analyzer.const_int_bound(expr)
        least, greatest = to.int_range()
        return least <= low and high <= greatest

    def fits_vector(self, expr: Expr, to: DType) -> bool:
        if type(expr) is Broadcast:
            return self.fits(expr.value, to)
        if type(expr) is Ramp and not expr.scalable:
            last = expr.base + expr.stride * Const(expr.lanes - 1, expr.stride.dtype)
            return all(self.fits(part, to) for part in (expr.base, expr.stride, last))
        return False

    def narrow_const(self, expr: Const, to: DType) -> Expr:
        return Const(expr.value, to, span=expr.span)

    def narrow_var(self, var: Var, to: DType) -> Expr:
        new = self.renamed.get(var)
        return cast(var, to) if new is None else new

    def narrow_call(self, expr: Call, to: DType) -> Expr | None:
        if expr.dtype.is_vector:
            return None
        if expr.op in _KEEPING:
            args = [self.narrow(arg) for arg in expr.args]
        elif expr.op in CHOICES:
            args = [self.visit(expr.args[0]), *(self.narrow(arg) for arg in expr.args[1:])]
        elif expr.op is _CAST and expr.args[0].dtype.is_int:
            inner = expr.args[0]
            if inner.dtype.bits > self.bits or inner.dtype.kind != expr.dtype.kind:
                return None
            return cast(self.visit(inner), to)
        else:
            return None
        if any(arg is None for arg in args):
            return None
        return expr.replace(args=tuple(args), dtype=to)

    def narrow_vector(self, expr: Any, to: DType) -> Expr | None:
        if type(expr) is Broadcast:
            value = self.narrow(expr.value)
            return None if value is None else expr.replace(value=value)
        base, stride = self.narrow(expr.base), self.narrow(expr.stride)
        return None if base is None or stride is None else expr.replace(base=base, stride=stride)

    # uses

    def use(self, var: Var) -> Expr:
        """A name where its own dtype is wanted."""
        new = self.renamed.get(var)
        return var if new is None else cast(new, var.dtype)

    def index(self, expr: Expr) -> Expr:
        """An index, whose dtype may be any."""
        found = self.narrow(expr) if expr.dtype.bits > self.bits else None
        return self.visit(expr) if found is None or not self.gains(found) else found

    def gains(self, found: Expr) -> bool:
        """Whether something is computed in the narrower dtype, and not only converted to it at the end."""
        return not (type(found) is Call and found.op is _CAST and found.args[0].dtype.bits > self.bits)

    def access(self, node: Any) -> Any:
        indices = tuple(self.index(index) for index in node.indices)
        new = map_except_buffers(node, self.visit) if type(node) is BufferStore else node
        if node.predicate is not None:
            new = new.replace(predicate=self.visit(node.predicate))
        same = are_same(indices, node.indices)
        return new if same and new.indices is node.indices else new.replace(indices=indices)

    def region(self, node: BufferRegion) -> BufferRegion:
        return node.replace(ranges=tuple(self.range(one) for one in node.ranges))

    def range(self, one: Range) -> Range:
        start = self.narrow(one.start)
        stop = None if one.stop is None else self.narrow(one.stop)
        if start is None or (one.stop is not None and stop is None):
            return map_except_buffers(one, self.visit)
        return one.replace(start=start, stop=stop)

    def compare(self, node: Call) -> Any:
        if node.op not in COMPARISONS or not node.args[0].dtype.is_int or node.dtype.is_vector:
            return self.descend(node)
        if node.args[0].dtype.bits <= self.bits:
            return self.descend(node)
        sides = [self.narrow(arg) for arg in node.args]
        if any(side is None or not self.gains(side) for side in sides):
            return self.descend(node)
        return node.replace(args=tuple(sides))

    # definitions

    def run(self, loop: For) -> Any:
        ends = [loop.start, loop.stop, *(() if loop.step is None else (loop.step,))]
        sides = [self.narrow(end) for end in ends] if self.may_rename(loop.var) else [None]
        if None in sides:
            return self.loop(loop)
        start, stop, *step = sides
        var = self.rename(loop.var)
        with self.analyzer.scope():
            self.analyzer.enter_loop(loop)
            self.forget_written(loop.body)
            body = self.sequence(loop.body)
        return loop.replace(var=var, start=start, stop=stop, step=step[0] if step else None, body=body)

    def may_rename(self, var: Var) -> bool:
        return var.dtype.is_int and not var.dtype.is_vector and var.dtype.bits > self.bits

    def rename(self, var: Var) -> Var:
        new = self.renamed[var] = var.replace(dtype=self.target(var.dtype))
        return new

    def bind(self, stmt: Bind) -> Any:
        value = self.narrow(stmt.value) if self.may_rename(stmt.var) and stmt.value.dtype is stmt.var.dtype else None
        if value is None:
            return self.descend(stmt)
        return stmt.replace(var=self.rename(stmt.var), value=value)

    def part(self, block: Block) -> Any:
        """A block with narrower axes where all of them can be."""
        axes = tuple([self.axis(axis) for axis in block.axes])
        new = self.block(block)
        return new if are_same(axes, block.axes) else new.replace(axes=axes)

    def axis(self, axis: Axis) -> Axis:
        """An axis with a narrower variable, or with what it is bound to brought to its own dtype."""
        parts = (axis.start, axis.stop, axis.value)
        sides = [self.narrow(part) for part in parts] if self.may_rename(axis.var) else [None]
        if None in sides:
            sides = [self.visit(part) for part in parts]
            return axis if are_same(sides, parts) else axis.replace(start=sides[0], stop=sides[1], value=sides[2])
        return axis.replace(var=self.rename(axis.var), start=sides[0], stop=sides[1], value=sides[2])


_NARROW: dict[type, Any] = {
    Const: _Narrow.narrow_const,
    Var: _Narrow.narrow_var,
    Call: _Narrow.narrow_call,
    Ramp: _Narrow.narrow_vector,
    Broadcast: _Narrow.narrow_vector,
}
_RULES: dict[type, Any] = {
    Var: _Narrow.use,
    BufferLoad: _Narrow.access,
    BufferStore: _Narrow.access,
    BufferRegion: _Narrow.region,
    Call: _Narrow.compare,
    For: _Narrow.run,
    Bind: _Narrow.bind,
    Block: _Narrow.part,
}
