"""Regions matched in a block or body become accesses of the buffer they are regions of.

before:                                                            after:
    for i in range(4):                                                 for i in range(4):
        B = T.match_buffer(A[i * 4:i * 4 + 4, 0:8], (4, 8))                for j, k in T.grid(4, 8):
        for j, k in T.grid(4, 8):                                              A[i * 4 + j, k] = 0.0
            B[j, k] = 0.0

Variables in the shape, strides and elem_offset of the matched buffer are bound to what they are in the source. A use of
the address, `B.data`, becomes the address of the region's first element, or, where elem_offset is a variable, `A.data`.

With `checked` an access of B that is not proved to be within the region is checked before, as what it becomes may be
within A.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.linear import constant_difference
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, Label, error
from tirscript.ir.dtype import INT32, INT64, DType
from tirscript.ir.expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    CallFunction,
    Const,
    Expr,
    Ramp,
    Range,
    Var,
    is_const,
)
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.op import cast, get_op
from tirscript.ir.rewrite import defined_by, uses, walk
from tirscript.ir.stmt import AllocBuffer, Assert, Bind, BufferStore, MatchBuffer, Stmt

from ..bounds_check import with_checked_regions
from ..layout import never_wraps, row_major_strides
from ..pipeline import prim_func_pass
from ..simplify import simplified
from ..statements import equal, keep_comments, map_except_buffers


def _is_region_match(node: Node) -> bool:
    return type(node) is MatchBuffer and type(node.source) is BufferRegion


@prim_func_pass(removes=(_is_region_match, "matched buffer regions"))
def lower_match_buffer(func: PrimFunc, *, checked: bool = False) -> PrimFunc:
    """`B = T.match_buffer(A[i * 4:i * 4 + 4], (4,)); B[j] = 0.0` becomes `A[i * 4 + j] = 0.0`."""
    if checked:
        func = with_checked_regions(func)
    return _Lowering(func).visit(func)


def _moved(index: Expr, by: Expr) -> Expr:
    """An index further on; lanes at regular distances stay that, of a wider dtype too, as they are in the region."""
    dtype = _sum_dtype(by.dtype, index.dtype.element)
    by = cast(by, dtype)
    if not index.dtype.is_vector:
        return simplified(by + cast(index, dtype))
    if type(index) is Broadcast:
        return index.replace(value=simplified(by + cast(index.value, dtype)))
    if type(index) is Ramp and (index.base.dtype is dtype or never_wraps(index)):
        return index.replace(base=simplified(by + cast(index.base, dtype)), stride=cast(index.stride, dtype))
    lanes, scalable = index.dtype.lanes, index.dtype.scalable
    return simplified(Broadcast(by, lanes, scalable) + cast(index, dtype.with_lanes(lanes, scalable)))


def _sum_dtype(a: DType, b: DType) -> DType:
    """The integer type of a sum of two indices: theirs where they share one of at least 32 bits."""
    if a is b and a.bits >= 32:
        return a
    return INT64 if any(one.bits > 32 or (one.bits == 32 and one.kind == "uint") for one in (a, b)) else INT32


class _Match:
    """What a matched buffer stands for: a source, the region's start, and the source dimension of each of its own."""

    def __init__(self, stmt: MatchBuffer, region: BufferRegion) -> None:
        self.buffer, self.source, self.ranges = stmt.buffer, region.buffer, region.ranges
        self.starts = tuple(one.start for one in region.ranges)
        self.dims = _dimensions(stmt, region)
        self.extents = tuple(_extent(region.ranges[dim]) for dim in self.dims)

    def index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices of the matched buffer as indices of the source."""
        out = list(self.starts)
        for dim, index in zip(self.dims, indices, strict=True):
            start = out[dim]
            out[dim] = index if is_const(start, 0) else _moved(index, start)
        return tuple(out)

    def region(self, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
        """A region of the matched buffer as one of the source."""
        out = [Range(start) for start in self.starts]
        for dim, one in zip(self.dims, ranges, strict=True):
            start = self.starts[dim]
            out[dim] = Range(_moved(one.start, start), None if one.stop is None else _moved(one.stop, start))
        return tuple(out)


def _extent(one: Range) -> Expr:
    if one.stop is None:
        return Const(1, one.start.dtype)
    return simplified(one.stop - one.start)


def _dimensions(stmt: MatchBuffer, region: BufferRegion) -> tuple[int, ...]:
    count, rank = stmt.buffer.ndim, len(region.ranges)
    single = [dim for dim, one in enumerate(region.ranges) if one.stop is None]
    if rank - len(single) == count:
        return tuple(dim for dim in range(rank) if dim not in single)
    ones = [
        dim
        for dim, one in enumerate(region.ranges)
        if constant_difference(_extent(one), Const(1, one.start.dtype)) == 0
    ]
    drop = rank - count
    if drop < 0 or len(ones) < drop:
        raise _refuse(
            stmt,
            f"a region of {rank} dimensions, {len(ones)} of them of one element, cannot be a buffer of {count}",
            region,
        )
    gone = set(ones[:drop])
    return tuple(dim for dim in range(rank) if dim not in gone)


def _refuse(stmt: MatchBuffer, why: str, region: BufferRegion) -> DiagnosticError:
    notes: list[str | Label] = []
    if region.buffer.span is not None:
        notes.append(Label(region.buffer.span, f"buffer `{region.buffer.name}` is declared here"))
    return DiagnosticError([error("T207", f"cannot match `{stmt.buffer.name}`: {why}", stmt.span, notes=notes)])


class _Lowering:
    """Top down, so that a region of a matched buffer is one of its source before it is matched again."""

    def __init__(self, func: PrimFunc) -> None:
        # the strides and offsets that matches name are bound here, each by the first that names it
        self.known: set[Any] = {
            binder for node in walk(func) if type(node) is not MatchBuffer for binder in defined_by(node)
        }
        self.matches: dict[Buffer, _Match] = {}
        self.rules: dict[type, Any] = {
            BufferLoad: self.access,
            BufferStore: self.access,
            BufferRegion: self.subregion,
            BufferData: self.data,
            CallFunction: self.call,
        }

    def visit(self, node: Any) -> Any:
        if type(node) is MatchBuffer and type(node.source) is BufferRegion:
            return node  # handled with the body it stands in, since its variables are bound only where used
        if isinstance(node, tuple):
            return self.body(node)
        new = self.fields(node)
        rule = self.rules.get(type(new))
        return new if rule is None else rule(new)

    def fields(self, node: Any) -> Any:
        changed = {}
        for name in ("body", "init", "then", "orelse"):
            value = getattr(node, name, None)
            if isinstance(value, tuple) and any(_is_region_match(stmt) for stmt in value):
                changed[name] = self.body(value)
        return map_except_buffers(node.replace(**changed) if changed else node, self.visit)

    def body(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A body with bindings of variables in the place of region matches; the caller visits the rest."""
        out: list[Stmt] = []
        for at, stmt in enumerate(stmts):
            if type(stmt) is not MatchBuffer or type(stmt.source) is not BufferRegion:
                out.append(stmt)
                continue
            region = self.visit(stmt.source)
            match = self.matches[stmt.buffer] = _Match(stmt, region)
            out += keep_comments(stmt, tuple(self.bindings(stmt, match, region, stmts[at + 1 :])))
        return tuple(out)

    def bindings(self, stmt: MatchBuffer, match: _Match, region: BufferRegion, rest: tuple[Stmt, ...]) -> list[Stmt]:
        buffer, source = match.buffer, match.source
        strides = source.strides if source.strides is not None else row_major_strides(source.shape)
        found: list[Stmt] = []

        def bind(wanted: Expr, value: Expr, what: str) -> None:
            if type(wanted) is Var and wanted not in self.known:
                self.known.add(wanted)
                found.append(Bind(wanted, cast(value, wanted.dtype), span=stmt.span))
                return
            same = constant_difference(simplified(cast(value, wanted.dtype)), wanted)
            if same == 0:
                return
            if same is not None:
                raise _refuse(
                    stmt,
                    f"{what} is {wanted.script(fragment=True)}, that of the region {value.script(fragment=True)}",
                    region,
                )
            found.append(
                Assert(
                    equal(wanted, cast(value, wanted.dtype)), f"{what} of {buffer.name} does not match", span=stmt.span
                )
            )

        for dim, (wanted, extent) in enumerate(zip(buffer.shape, match.extents, strict=True)):
            bind(wanted, extent, f"dimension {dim}")
        if buffer.strides is not None:
            for dim, wanted in enumerate(buffer.strides):
                bind(wanted, strides[match.dims[dim]], f"stride {dim}")
        if type(buffer.elem_offset) is Var:
            dtype = buffer.elem_offset.dtype
            offset = cast(source.elem_offset, dtype) if source.elem_offset is not None else Const(0, dtype)
            for start, stride in zip(match.starts, strides, strict=True):
                offset = offset + cast(start, dtype) * cast(stride, dtype)
            bind(buffer.elem_offset, simplified(offset), "elem_offset")
        # a variable that nothing uses once the accesses are rewritten needs no binding
        asserted = [one for one in found if type(one) is Assert]
        return [one for one in found if type(one) is not Bind or _mentions((*rest, *asserted), one.var)]

    def access(self, node: Any) -> Any:
        match = self.matches.get(node.buffer)
        return node if match is None else node.replace(buffer=match.source, indices=match.index(node.indices))

    def subregion(self, node: BufferRegion) -> BufferRegion:
        match = self.matches.get(node.buffer)
        return node if match is None else node.replace(buffer=match.source, ranges=match.region(node.ranges))

    def data(self, node: BufferData) -> Expr:
        match = self.matches.get(node.buffer)
        if match is None:
            return node
        if type(match.buffer.elem_offset) is Var:
            return BufferData(match.source, span=node.span)
        return get_op("address_of")(BufferLoad(match.source, match.starts, span=node.span)).replace(span=node.span)

    def call(self, node: CallFunction) -> CallFunction:
        if not any(type(arg) is Buffer and arg in self.matches for arg in node.args):
            return node
        args = [
            BufferRegion(self.matches[arg].source, self.matches[arg].ranges)
            if type(arg) is Buffer and arg in self.matches
            else arg
            for arg in node.args
        ]
        return node.replace(args=tuple(args))


def _mentions(root: tuple[Stmt, ...], var: Var) -> bool:
    """Whether `var` is used other than in the declaration of a matched buffer."""
    seen = False

    def visit(node: Any) -> Any:
        nonlocal seen
        seen = seen or node is var
        if type(node) is AllocBuffer:
            seen = seen or uses(node.buffer, var)
        return node if seen else map_except_buffers(node, visit)

    for stmt in root:
        visit(stmt)
    return seen
