"""Buffers in memory: addresses, loads and stores of scalars and vectors, allocations, views."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import Broadcast, BufferData, BufferLoad, Call, Const, Expr, Ramp, Var
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, DeclBuffer, MatchBuffer, ScalarDecl

from . import streams, strided, temporaries
from .builder import mangle
from .sites import Report
from .state import FRAME_BUFFER, FRAME_TOTAL, Limit, Place, internal
from .temporaries import constant_size
from .types import lane_bytes, memory_scalar, memory_type, scalar_type, splat, value_type, vector
from .view_limits import check_limit, limit_of

if TYPE_CHECKING:
    from .codegen import Codegen

HEAP_ALIGN = 64


def place(g: Codegen, buffer: Buffer) -> Place:
    """Where a buffer is."""
    found = g.places.get(buffer)
    if found is None:
        raise internal(f"buffer `{buffer.name}` is used where it has no memory", g.span)
    return found


def multiply(g: Codegen, a: str, b: str) -> str:
    """The product of two i64 operands that cannot overflow, folded where it is known."""
    if a == "1" or b == "0":
        return b
    if b == "1" or a == "0":
        return a
    if not a.startswith("%") and not b.startswith("%"):
        return str(int(a) * int(b))
    return g.b.op(f"mul nsw i64 {a}, {b}")


def add(g: Codegen, a: str, b: str) -> str:
    """The sum of two i64 operands that cannot overflow, folded where it is known."""
    if a == "0":
        return b
    if b == "0":
        return a
    if not a.startswith("%") and not b.startswith("%"):
        return str(int(a) + int(b))
    return g.b.op(f"add nsw i64 {a}, {b}")


def enter_buffer(g: Codegen, buffer: Buffer, data: str, align: int, root: Any, limit: Limit | None = None) -> None:
    """`buffer` is at `data` from here on."""
    dims = tuple(g.wide(dim) for dim in buffer.shape)
    strides: list[str] = []
    if buffer.strides is not None:
        strides = [g.wide(stride) for stride in buffer.strides]
    else:
        step = "1"
        for dim in reversed(dims):
            strides.insert(0, step)
            step = multiply(g, step, dim)
        # the product of all dims is not needed for an address
    offset = "0" if buffer.elem_offset is None else g.wide(buffer.elem_offset)
    g.places[buffer] = Place(data, dims, tuple(strides), offset, align, root, limit)


def is_there(g: Codegen, load: BufferLoad) -> bool:
    """Whether an element is known to be in memory, so that it may be read where its value is not needed."""
    buffer, at = load.buffer, g.places.get(load.buffer)
    if at is None or g.debug or load.dtype.is_vector or load.predicate is not None:
        return False
    if buffer is not at.root and not _holds(g, at.root, buffer):
        return False
    return all(map(g.ranges.inside, load.indices, buffer.shape))


def _holds(g: Codegen, root: Any, view: Buffer) -> bool:
    """Whether memory holds all of a view that begins where it does, both of known sizes."""
    if not isinstance(root, Buffer) or root not in g.places:
        return False
    whole, part, there, seen = constant_size(root), constant_size(view), g.places[root], g.places[view]
    return whole is not None and part is not None and part <= whole and there.data == seen.data


def _numbers(indices: tuple[Expr, ...]) -> str:
    """The indices of an access in a message, which refers to values that are reported."""
    return ", ".join(f"{{{k}}}" for k in range(len(indices)))


def first_element(g: Codegen, buffer: Buffer) -> str:
    """The address of `buffer[0, ...]`."""
    at = place(g, buffer)
    return pointer_to(g, buffer.dtype, at.data, at.offset)


def pointer_to(g: Codegen, dtype: DType, base: str, index: str) -> str:
    """The address `index` elements after `base`."""
    index = multiply(g, index, str(dtype.lanes))
    return base if index == "0" else g.b.op(f"getelementptr inbounds {memory_scalar(dtype)}, ptr {base}, i64 {index}")


class Access:
    """One access of a buffer: where it is and how many lanes, in elements of the buffer."""

    def __init__(
        self, g: Codegen, buffer: Buffer, indices: tuple[Expr, ...], predicate: Expr | None, verb: str
    ) -> None:
        self.g, self.buffer, self.predicate = g, buffer, predicate
        self.place = place(g, buffer)
        if len(indices) != len(self.place.strides):
            raise internal(
                f"buffer `{buffer.name}` has {len(self.place.strides)} dimensions and is given {len(indices)} indices",
                g.span,
            )
        self.vector = indices[-1] if indices and indices[-1].dtype.is_vector else None
        self.lanes = 1 if self.vector is None else self.vector.dtype.lanes
        if g.debug:
            self._check(indices, verb)
        index = self.place.offset
        scalars = indices if self.vector is None else indices[:-1]
        for expr, stride in zip(scalars, self.place.strides, strict=False):
            index = add(g, index, multiply(g, g.wide(expr), stride))
        self.stride: str | None = "0"  # of the lanes; None: they are at the offsets `self.offsets`
        self.offsets = ""
        if self.vector is not None:
            step = self.place.strides[-1]
            form = lane_form(g, self.vector, None if predicate is None else buffer.shape[-1])
            if form is not None:
                index = add(g, index, multiply(g, form[0], step))
                self.stride = multiply(g, form[1], step)
            else:
                self.stride = None
                self.offsets = g.wide_lanes(self.vector)
                if step != "1":
                    kind = vector("i64", self.lanes)
                    self.offsets = g.b.op(f"mul {kind} {self.offsets}, {g.b.broadcast('i64', step, self.lanes)}")
        self.pointer = pointer_to(g, buffer.dtype, self.place.data, index)
        self.dtype = buffer.dtype.with_lanes(buffer.dtype.lanes * self.lanes)
        self.contiguous = self.vector is None or self.stride == "1"
        self.align = min(self.place.align, lane_bytes(buffer.dtype))
        if self.place.limit is not None and predicate is None:
            check_limit(self, self.place.limit, f"{verb} of `{buffer.name}[{_numbers(indices)}]`", indices)

    def _check(self, indices: tuple[Expr, ...], verb: str) -> None:
        """In a debug build: report an index outside of its dimension."""
        g = self.g
        shown = _numbers(indices)
        for axis, (expr, dim) in enumerate(zip(indices, self.place.dims, strict=True)):
            low, high = g.ranges.of(expr)
            size = self.buffer.shape[axis]
            if low >= 0 and type(size) is Const and high < size.value:
                continue
            where = f", in dimension {axis}" if len(indices) > 1 else ""
            reason = f"index {{{axis}}} is not within {{limit}}{where}"
            message = f"{verb} of `{self.buffer.name}[{shown}]` is out of bounds: {reason}"
            end = self._end(indices) if expr is self.vector else None
            inside = g.b.op(f"xor i1 {self._outside(expr, end or dim)}, true")
            g.check(inside, "bounds", message, partial(self.shown, indices, dim, end), buffer=self.buffer)

    def _end(self, indices: tuple[Expr, ...]) -> str:
        """Where a vector ends at the latest: it may run on through rows that follow each other without gaps."""
        dims, strides = self.place.dims, self.place.strides
        if len(dims) == 1 or self.buffer.strides is not None:
            return dims[-1]
        b, end = self.g.b, multiply(self.g, dims[0], strides[0])
        for expr, stride in zip(indices[:-1], strides, strict=False):
            row = b.op(f"mul i64 {self.g.wide(expr)}, {stride}")  # may wrap where no lane is on
            end = b.op(f"sub i64 {end}, {row}")
        return end

    def _outside(self, expr: Expr, end: str) -> str:
        g = self.g
        if expr.dtype.is_vector:
            return self._any(self._lanes_outside(expr, end))
        outside = g.b.op(f"icmp uge i64 {g.wide(expr)}, {end}")
        if self.predicate is None or not self.predicate.dtype.is_vector:
            return outside
        return g.b.op(f"and i1 {outside}, {self._any(g.value(self.predicate))}")

    def _any(self, mask: str) -> str:
        """Whether a bit of a mask is set."""
        kind = vector("i1", self.lanes)
        return self.g.b.intrinsic("llvm.vector.reduce.or", [kind], "i1", [(kind, mask)])

    def _lanes_outside(self, expr: Expr, dim: str) -> str:
        g = self.g
        bits = vector("i1", self.lanes)
        mask = g.b.op(
            f"icmp uge {vector('i64', self.lanes)} {g.wide_lanes(expr)}, {g.b.broadcast('i64', dim, self.lanes)}"
        )
        return mask if self.predicate is None else g.b.op(f"and {bits} {mask}, {g.value(self.predicate)}")

    def shown(self, indices: tuple[Expr, ...], dim: str, end: str | None) -> list[Report]:
        """The indices, of a vector the first lane that is not before `end`, and the size that they exceed."""
        g, kind, integer = self.g, vector("i64", self.lanes), f"i{self.lanes}"
        reports = []
        for expr in indices:
            if not expr.dtype.is_vector:
                reports.append(Report("", g.wide(expr), INT64))
                continue
            lane = "0"
            if end is not None:
                bits = g.b.op(f"bitcast {vector('i1', self.lanes)} {self._lanes_outside(expr, end)} to {integer}")
                lane = g.b.intrinsic("llvm.cttz", [integer], integer, [(integer, bits), ("i1", "false")])
                wrap = f"urem {integer} {lane}, {self.lanes}"
                if self.lanes & (self.lanes - 1) == 0:
                    wrap = f"and {integer} {lane}, {self.lanes - 1}"
                lane = g.b.op(wrap)
            reports.append(Report("", g.b.op(f"extractelement {kind} {g.wide_lanes(expr)}, {integer} {lane}"), INT64))
        return [*reports, Report("size", dim, INT64)]

    def pointers(self) -> str:
        """The addresses of all lanes (of scalars: those of a vector element follow each other)."""
        g, inner = self.g, self.buffer.dtype.lanes
        kind = vector("i64", self.lanes)
        if self.stride is not None:
            counts = f"<{', '.join(f'i64 {k}' for k in range(self.lanes))}>"
            offsets = g.b.op(f"mul {kind} {g.b.broadcast('i64', self.stride, self.lanes)}, {counts}")
        else:
            offsets = self.offsets
        total = self.lanes * inner
        if inner > 1:
            wide = vector("i64", total)
            repeat = ", ".join(f"i32 {k // inner}" for k in range(total))
            spread = g.b.op(f"shufflevector {kind} {offsets}, {kind} poison, <{total} x i32> <{repeat}>")
            scaled = g.b.op(f"mul {wide} {spread}, {splat('i64', str(inner), total)}")
            offsets = g.b.op(f"add {wide} {scaled}, <{', '.join(f'i64 {k % inner}' for k in range(total))}>")
        return g.b.op(
            f"getelementptr inbounds {memory_scalar(self.dtype)}, ptr {self.pointer}, {vector('i64', total)} {offsets}"
        )

    def mask(self) -> str:
        """The predicate of every scalar."""
        g, inner, total = self.g, self.buffer.dtype.lanes, self.dtype.lanes
        if self.predicate is None:
            return splat("i1", "true", total)
        value = g.value(self.predicate)
        if not self.predicate.dtype.is_vector:
            return g.b.broadcast("i1", value, total)
        if inner == 1 or self.predicate.dtype.lanes == total:
            return value
        repeat = ", ".join(f"i32 {k // inner}" for k in range(total))
        kind = vector("i1", self.lanes)
        return g.b.op(f"shufflevector {kind} {value}, {kind} poison, <{total} x i32> <{repeat}>")


def lane_form(g: Codegen, index: Expr, masked: Expr | None = None) -> tuple[str, str] | None:
    """A vector of indices as (first, stride), or None where it is not that regular.

    Where a predicate takes out lanes, `masked` is the size of the dimension that the others are in.
    """
    kind = type(index)
    if kind is Ramp:
        if not (g.ranges.exact(index) or _leaves(index, masked)):  # type: ignore[arg-type]
            return None
        return g.wide(index.base), g.wide(index.stride)  # type: ignore[attr-defined]
    if kind is Broadcast:
        return g.wide(index.value), "0"  # type: ignore[attr-defined]
    if kind is Call and index.op.name in ("add", "sub") and g.ranges.exact(index):  # type: ignore[attr-defined]
        a, b = index.args  # type: ignore[attr-defined]
        if type(b) is Broadcast or (type(a) is Broadcast and index.op.name == "add"):  # type: ignore[attr-defined]
            whole, constant = (a, b) if type(b) is Broadcast else (b, a)
            form = lane_form(g, whole, masked)
            if form is None:
                return None
            return g.b.op(f"{index.op.name} nsw i64 {form[0]}, {g.wide(constant.value)}"), form[1]  # type: ignore[attr-defined]
    if kind is Call and index.op.name == "mul" and g.ranges.exact(index):  # type: ignore[attr-defined]
        a, b = index.args  # type: ignore[attr-defined]
        whole, factor = (a, b) if type(b) is Broadcast else (b, a)
        form = lane_form(g, whole, masked) if type(factor) is Broadcast else None
        if form is None:
            return None
        times = g.wide(factor.value)
        return multiply(g, form[0], times), multiply(g, form[1], times)
    return None


def _leaves(ramp: Ramp, masked: Expr | None) -> bool:
    """Whether a ramp that wraps around is out of bounds there: one of signed integers is, as its next lane would be
    further away than any two indices; but that lane may be masked, and a later one come back."""
    dtype = ramp.dtype.element
    if dtype.kind == "uint":
        return False
    if masked is None or dtype.bits == 64:  # offsets wrap as the index does
        return True
    if type(ramp.stride) is not Const:
        return False
    reach, above = int(ramp.stride.value) * (ramp.lanes - 1), 1 << (dtype.bits - 1)
    if reach >= 0:
        return reach < above  # to less than nothing
    return type(masked) is Const and masked.value <= above + reach


def load(g: Codegen, expr: BufferLoad) -> str:
    """The value of `buffer[indices]`."""
    if expr.predicate is not None and not expr.dtype.is_vector:
        plain = expr.replace(predicate=None)
        return g.choose(
            g.value(expr.predicate), value_type(expr.dtype), lambda: load(g, plain), lambda: "zeroinitializer"
        )
    with g.pointing(expr.span):
        at = Access(g, expr.buffer, expr.indices, expr.predicate, "read")
    kind = memory_type(at.dtype)
    if at.contiguous:
        if at.predicate is None:
            value = g.b.op(f"load {kind}, ptr {at.pointer}, align {at.align}")
        else:
            total = at.dtype.lanes
            args = [
                ("ptr", at.pointer),
                ("i32", str(at.align)),
                (vector("i1", total), at.mask()),
                (kind, "zeroinitializer"),
            ]
            value = g.b.intrinsic("llvm.masked.load", [kind, "ptr"], kind, args)
    elif at.stride == "0" and expr.buffer.dtype.lanes == 1:
        value = strided.shared(g, at, at.predicate is None or all_lanes_there(g, expr))
    elif (near := strided.load(g, at) or strided.repeated(g, at)) is not None:
        value = near
    else:
        total = at.dtype.lanes
        pointers = vector("ptr", total)
        args = [
            (pointers, at.pointers()),
            ("i32", str(at.align)),
            (vector("i1", total), at.mask()),
            (kind, "zeroinitializer"),
        ]
        value = g.b.call(
            kind,
            g.b.module.declare(
                f"llvm.masked.gather.{mangle(kind)}.v{total}p0",
                kind,
                [pointers, "i32 immarg", vector("i1", total), kind],
            ),
            args,
        )
    if at.dtype.element.is_bool:
        return g.b.op(f"icmp ne {kind} {value}, {splat('i8', '0', at.dtype.lanes)}")
    return value


def all_lanes_there(g: Codegen, expr: BufferLoad) -> bool:
    """Whether the element that all lanes load is in its buffer, whichever of them do."""
    places = [index.value if type(index) is Broadcast else index for index in expr.indices]
    return all(g.ranges.inside(place, size) for place, size in zip(places, expr.buffer.shape, strict=True))


def in_memory(g: Codegen, value: str, dtype: DType) -> str:
    """A value as it is stored: bools are bytes."""
    return g.b.op(f"zext {value_type(dtype)} {value} to {memory_type(dtype)}") if dtype.element.is_bool else value


def store(g: Codegen, stmt: BufferStore) -> None:
    """`buffer[indices] = value`. Storing undef is no store."""
    value = stmt.value
    if type(value) is Call and value.op.name == "undef":
        return
    if (
        stmt.predicate is not None
        and not (stmt.indices and stmt.indices[-1].dtype.is_vector)
        and not stmt.predicate.dtype.is_vector
    ):
        plain = stmt.replace(predicate=None)

        def then() -> str:
            store(g, plain)
            return ""

        g.choose(g.value(stmt.predicate), "void", then, lambda: "")
        return
    operand = in_memory(g, g.value(value), value.dtype)
    at = Access(g, stmt.buffer, stmt.indices, stmt.predicate, "write")
    kind = memory_type(at.dtype)
    if at.dtype is not value.dtype and not (at.dtype.is_handle and value.dtype.is_handle):
        raise internal(
            f"a value of {value.dtype} is stored where `{stmt.buffer.name}` takes {at.dtype}", stmt.span or g.span
        )
    if at.contiguous and at.predicate is None:
        if not streams.store(g, at, operand):
            g.b.do(f"store {kind} {operand}, ptr {at.pointer}, align {at.align}")
        return
    total = at.dtype.lanes
    if at.contiguous:
        args = [(kind, operand), ("ptr", at.pointer), ("i32", str(at.align)), (vector("i1", total), at.mask())]
        g.b.intrinsic("llvm.masked.store", [kind, "ptr"], "void", args)
        return
    if strided.store(g, at, operand):
        return
    pointers = vector("ptr", total)
    name = g.b.module.declare(
        f"llvm.masked.scatter.{mangle(kind)}.v{total}p0", "void", [kind, pointers, "i32 immarg", vector("i1", total)]
    )
    g.b.call(
        "void",
        name,
        [(kind, operand), (pointers, at.pointers()), ("i32", str(at.align)), (vector("i1", total), at.mask())],
    )


def address_of(g: Codegen, expr: Expr) -> str:
    """`T.address_of(buffer[indices])`."""
    assert isinstance(expr, BufferLoad)
    with g.pointing(expr.span):
        return Access(g, expr.buffer, expr.indices, None, "address").pointer


def elements_after(g: Codegen, buffer: Buffer, pointer: str) -> str:
    """How many elements of a buffer there are from an address in it to its end."""
    b = g.b
    last = place(g, buffer)
    reach = "0"
    for dim, stride in zip(last.dims, last.strides, strict=True):
        reach = add(g, reach, multiply(g, add(g, dim, "-1"), stride))
    begin = b.op(f"ptrtoint ptr {first_element(g, buffer)} to i64")
    distance = b.op(f"sub i64 {b.op(f'ptrtoint ptr {pointer} to i64')}, {begin}")
    done = b.op(f"sdiv i64 {distance}, {buffer.dtype.itemsize}")
    return b.op(f"sub i64 {add(g, reach, '1')}, {done}")


# definitions


def scalar(g: Codegen, stmt: ScalarDecl) -> None:
    """`x: T.float32 = value`: a slot of the frame, which LLVM makes a register."""
    buffer = stmt.buffer
    value = None if stmt.value is None else in_memory(g, g.value(stmt.value), stmt.value.dtype)
    slot = g.slots.get(buffer)
    kind = memory_type(buffer.dtype)
    if slot is None:
        slot = g.slots[buffer] = g.b.alloca(
            kind, buffer.dtype.itemsize if buffer.dtype.itemsize in (1, 2, 4, 8, 16, 32, 64) else 64, "slot"
        )
    enter_buffer(g, buffer, slot, lane_bytes(buffer.dtype), buffer)
    if value is not None and not (type(stmt.value) is Call and stmt.value.op.name == "undef"):
        g.b.do(f"store {kind} {value}, ptr {slot}, align {lane_bytes(buffer.dtype)}")


def allocate(g: Codegen, stmt: AllocBuffer) -> None:
    """Memory to the end of the body: in the frame where it is small and of known size, else on the heap, where
    buffers of known sizes share blocks."""
    buffer = stmt.buffer
    align = max(HEAP_ALIGN, buffer.align)
    slot = g.slots.get(buffer)
    size = constant_size(buffer)
    if slot is None and size is not None and size <= FRAME_BUFFER and g.frame + size <= FRAME_TOTAL:
        g.frame += size
        slot = g.slots[buffer] = g.b.alloca(f"[{max(1, size)} x i8]", align, "local")
    planned = temporaries.slot_of(g, buffer, _needs_block) if slot is None else None
    if planned is not None:
        slot = temporaries.block(g, planned, buffer)
    if slot is None and _stays(g, buffer):
        slot = temporaries.kept(g, buffer, lambda: temporaries.from_heap(g, buffer, align))
    elif slot is None:
        slot = temporaries.from_heap(g, buffer, align)
        g.scopes[-1].append(slot)
    enter_buffer(g, buffer, slot, align, buffer)


def _stays(g: Codegen, buffer: Buffer) -> bool:
    """Whether a buffer is in a loop that allocates it again and again, always of one size."""
    if not g.loops:
        return False
    known = {*g.func.symbols, *g.func.params}
    size = (*buffer.shape, *(buffer.strides or ()), *(() if buffer.elem_offset is None else (buffer.elem_offset,)))
    return all(type(node) in (Const, Call) or node in known for node in walk(size))


def _needs_block(buffer: Buffer) -> tuple[int, int] | None:
    """The bytes and the alignment of the block of a buffer; None where it needs none."""
    size, align = constant_size(buffer), max(HEAP_ALIGN, buffer.align)
    return None if size is None or size <= FRAME_BUFFER else (-(-size // align) * align, align)


def declare(g: Codegen, stmt: DeclBuffer) -> None:
    """A view of memory that exists."""
    buffer = stmt.buffer
    align = lane_bytes(buffer.dtype)
    for node in walk(stmt.data):
        if type(node) is BufferData or type(node) is BufferLoad:
            align = min(align, lane_bytes(node.buffer.dtype))
    limit = limit_of(g, stmt) if g.debug else None
    enter_buffer(g, buffer, g.value(stmt.data), align, root_of(g, stmt.data), limit)


def match(g: Codegen, stmt: MatchBuffer) -> None:
    """The shape of a handle parameter."""
    if not isinstance(stmt.source, Var):
        raise DiagnosticError(
            [
                error(
                    "T401",
                    f"`{stmt.buffer.name}` matches a region, which must be lowered before code generation",
                    stmt.span,
                    hint="run the pass that lowers match_buffer",
                )
            ]
        )
    enter_buffer(g, stmt.buffer, g.value(stmt.source), lane_bytes(stmt.buffer.dtype), g.roots.get(stmt.source))


def root_of(g: Codegen, value: Expr) -> Any:
    """The allocation or parameter that an address lies in; None where that is not known."""
    found: set[Any] = set()
    for node in walk(value):
        if type(node) is BufferData or type(node) is BufferLoad:
            found.add(place(g, node.buffer).root)
        elif type(node) is Var and node.dtype.is_handle:
            found.add(g.roots.get(node))
    return found.pop() if len(found) == 1 else None


__all__ = [
    "address_of",
    "allocate",
    "declare",
    "first_element",
    "load",
    "match",
    "place",
    "root_of",
    "scalar",
    "scalar_type",
    "store",
]
