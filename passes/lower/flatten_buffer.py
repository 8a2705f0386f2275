"""Buffers of many dimensions become flat memory.

before:                                            after:
    def f(A: T.Buffer((4, 8), "int8")):                def f(A: T.Buffer((4, 8), "int8")):
        B = T.alloc_buffer((4, 8), "int8")                 A_1 = T.decl_buffer((32,), "int8", data=A.data)
        for i, j in T.grid(4, 8):                          B = T.alloc_buffer((32,), "int8")
            B[i, j] = A[i, j]                              for i, j in T.grid(4, 8):
                                                               B[i * 8 + j] = A_1[i * 8 + j]

Declared strides give the offsets. Offsets are counted in int64 where they might not fit int32. Parameters keep their
signature and are seen through a flat view, which begins at their lowest address where strides may be less than zero; so
is what is passed whole to another function. Mutable scalars and buffers that are flat already stay. Array descriptors,
which TVM passes to libraries, become the buffers that they describe.

With `checked` an access keeps its indices where one of them is not proved to lie in its dimension, for code that checks
each of them: that of a flat place would take an index behind the end of a row for one in the next.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import DType
from tirscript.ir.expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Const,
    Expr,
    Ramp,
    is_const,
)
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node, recursion_room
from tirscript.ir.op import OPS, cast
from tirscript.ir.rewrite import Rule, map_except_buffers, map_tuple, rewrite, substitute, walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, BufferStore, DeclBuffer, MatchBuffer, Stmt

from ..bounds_check import unproved_accesses
from ..layout import flat_size, is_contiguous, never_wraps, offset_dtype, row_major_strides, span
from ..pipeline import prim_func_pass
from ..simplify import simplified
from .array_descriptors import without_descriptors


def _is_deep(node: Node) -> bool:
    return type(node) in (BufferLoad, BufferStore) and len(node.indices) > 1  # type: ignore[attr-defined]


@prim_func_pass(requires=("lower_blocks", "lower_match_buffer"), removes=(_is_deep, "accesses of more than one index"))
def flatten_buffer(func: PrimFunc, *, checked: bool = False) -> PrimFunc:
    """`A[i, j]` of a (4, 8) buffer becomes `A_1[i * 8 + j]`, where `A_1 = T.decl_buffer((32,), data=A.data)`."""
    func = without_descriptors(func)
    if not checked:
        return _Flattening(func).run()
    deep, kept = _set_apart(func)
    made = _Flattening(deep, frozenset(kept.values())).run()
    return made.replace(body=substitute(made.body, kept)) if kept else made


def _set_apart(func: PrimFunc) -> tuple[PrimFunc, dict[Any, Any]]:
    """The function with accesses that keep their indices in buffers of their own, and what these stand for."""
    unproved, kept, apart = unproved_accesses(func), dict[Any, Any](), dict[Buffer, Buffer]()

    def visit(node: Any) -> Any:
        new = map_except_buffers(node, visit)
        if id(node) not in unproved or _is_flat(node.buffer):
            return new
        if node.buffer not in apart:
            apart[node.buffer] = node.buffer.replace()
            kept[apart[node.buffer]] = node.buffer
        return new.replace(buffer=apart[node.buffer])

    with recursion_room():
        return func.replace(body=map_tuple(func.body, visit)), kept


class _Flattening:
    def __init__(self, func: PrimFunc, kept: frozenset[Buffer] = frozenset()) -> None:
        self.func = func
        self.flat: dict[Buffer, Buffer] = {}
        self.whole = _passed_whole(func) | kept
        self.accessed = {node.buffer for node in walk(func.body) if type(node) in (BufferLoad, BufferStore)}  # type: ignore[attr-defined]
        self.lowest: dict[Buffer, Expr] = {}  # how far the first place of a flat view is from the first element
        self.head: dict[Buffer, Stmt] = {}  # the views of parameters
        for buffer in func.param_buffers:
            if buffer in self.accessed and not _is_flat(buffer):
                self.head[buffer] = self.view(buffer)

    def view(self, buffer: Buffer) -> DeclBuffer:
        """The declaration of a flat view of a buffer that stays."""
        return DeclBuffer(self.flattened(buffer), BufferData(buffer), span=buffer.span)

    def flattened(self, buffer: Buffer) -> Buffer:
        """The buffer as flat memory, which begins at its lowest address."""
        size, offset, factor = flat_size(buffer), buffer.elem_offset, buffer.offset_factor
        if buffer.strides is not None and any(
            type(stride) is not Const or stride.value < 0 for stride in buffer.strides
        ):
            size, lowest = span(buffer)
            if not is_const(lowest, 0):
                self.lowest[buffer] = lowest
                offset = lowest if offset is None else simplified(cast(offset, lowest.dtype) + lowest)
                factor = 0
        flat = self.flat[buffer] = buffer.replace(
            shape=(size,), strides=None, elem_offset=offset, offset_factor=factor, axis_separators=()
        )
        return flat

    def run(self) -> PrimFunc:
        rules: dict[type, Rule] = {
            AllocBuffer: self.allocation,
            AllocateConst: self.allocation,
            DeclBuffer: self.declaration,
        }
        body = rewrite(self.func.body, rules)
        if self.flat:
            body = rewrite(body, {BufferLoad: self.access, BufferStore: self.access, BufferData: self.data})
        if not self.head:
            return self.func if body is self.func.body else self.func.replace(body=body)
        # a view's own `data` names the buffer that stays, so it is put in after the rewriting
        return self.func.replace(body=self.with_head(body))

    def with_head(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The body with the views of parameters: behind the matches that it begins with, or behind a later one."""
        at = next((place for place, stmt in enumerate(body) if type(stmt) is not MatchBuffer), len(body))
        later = {stmt.buffer for stmt in body[at:] if type(stmt) is MatchBuffer}
        out = [*body[:at], *(view for buffer, view in self.head.items() if buffer not in later)]
        for stmt in body[at:]:
            out.append(stmt)
            if type(stmt) is MatchBuffer and stmt.buffer in self.head:
                out.append(self.head[stmt.buffer])
        return tuple(out)

    def allocation(self, stmt: AllocBuffer | AllocateConst) -> Any:
        buffer = stmt.buffer
        if _is_flat(buffer):
            return stmt
        if buffer in self.whole:
            return (stmt, self.view(buffer)) if buffer in self.accessed else stmt
        flat = self.flat[buffer] = buffer.replace(
            shape=(flat_size(buffer),), strides=None, elem_offset=None, axis_separators=()
        )
        return stmt.replace(buffer=flat)

    def declaration(self, stmt: DeclBuffer) -> Any:
        buffer = stmt.buffer
        if _is_flat(buffer):
            return stmt
        if buffer in self.whole:
            return (stmt, self.view(buffer)) if buffer in self.accessed else stmt
        return stmt.replace(buffer=self.flattened(buffer))

    def access(self, node: Any) -> Any:
        buffer = node.buffer
        flat = self.flat.get(buffer)
        if flat is None:
            return node
        index = flat_index(buffer, node.indices, self.lowest.get(buffer))
        return node.replace(buffer=flat, indices=(index,))

    def data(self, node: BufferData) -> BufferData:
        flat = self.flat.get(node.buffer)
        keeps = node.buffer in self.whole or any(buffer is node.buffer for buffer in self.func.param_buffers)
        return node if flat is None or keeps else node.replace(buffer=flat)


def _is_flat(buffer: Buffer) -> bool:
    if buffer.is_scalar:
        return True
    return buffer.ndim == 1 and is_contiguous(buffer)


def _passed_whole(func: PrimFunc) -> frozenset[Buffer]:
    """Buffers that other functions get with their shape, those of libraries among them."""
    found: set[Buffer] = set()
    for node in walk(func.body):
        if type(node) is CallFunction:
            for arg in node.args:
                if type(arg) is Buffer:
                    found.add(arg)
                elif type(arg) is BufferRegion:
                    found.add(arg.buffer)
        elif type(node) is Call and node.op is OPS["call_packed"]:
            found.update(arg.buffer for arg in node.args if type(arg) is BufferData)
    return frozenset(found)


def flat_index(buffer: Buffer, indices: tuple[Expr, ...], start: Expr | None = None) -> Expr:
    """The offset of `buffer[indices]` from the buffer's first element, or from `start` elements behind it; a vector
    where the last index is one."""
    strides = buffer.strides if buffer.strides is not None else row_major_strides(buffer.shape)
    dtype = offset_dtype(buffer)
    for index in indices:
        if index.dtype.element.bits > dtype.bits:
            dtype = index.dtype.element
    total: Expr = Const(0, dtype) if start is None else -cast(start, dtype)
    last = indices[-1] if indices and indices[-1].dtype.is_vector else None
    for index, stride in zip(indices, strides, strict=True):
        if index is last:
            break
        if index.dtype.is_vector:
            message = f"a vector may only be the last index of `{buffer.name}`"
            raise DiagnosticError([error("T401", message, index.span)])
        total = total + cast(index, dtype) * cast(stride, dtype)
    if last is None:
        return simplified(total)
    return _vector_offset(simplified(total), last, cast(strides[-1], dtype), dtype)


def _vector_offset(offset: Expr, last: Expr, stride: Expr, dtype: DType) -> Expr:
    if type(last) is Ramp and (last.base.dtype is dtype or never_wraps(last)):
        base = simplified(offset + cast(last.base, dtype) * stride)
        return Ramp(base, simplified(cast(last.stride, dtype) * stride), last.lanes, last.scalable, span=last.span)
    if type(last) is Broadcast:
        return Broadcast(
            simplified(offset + cast(last.value, dtype) * stride), last.lanes, last.scalable, span=last.span
        )
    lanes, scalable = last.dtype.lanes, last.dtype.scalable
    wide: DType = dtype.with_lanes(lanes, scalable)
    scaled = cast(last, wide) * Broadcast(stride, lanes, scalable)
    return Broadcast(offset, lanes, scalable) + scaled
