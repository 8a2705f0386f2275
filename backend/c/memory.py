"""Buffers in C: where they are, their elements, and how vectors of them are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    DeclBuffer,
    DiagnosticError,
    Expr,
    MatchBuffer,
    ScalarDecl,
    Var,
    error,
    walk,
)
from tirscript.ir.dtype import INT64

from ..llvm.state import FRAME_BUFFER, FRAME_TOTAL, Limit, internal
from ..llvm.temporaries import constant_size
from .code import CHOICE, ORDER, PLUS, TIMES, UNARY, Code, binary, cast, choice, within
from .types import c_type, declared, literal, number, pointer
from .view_limits import check_limit, limit_of

if TYPE_CHECKING:
    from .writer import Writer

_ITEMS = 12  # constants in a line


class Place(Struct, frozen=True, eq=False):
    """Where a buffer is: the pointer to its data, dimensions and strides in elements, the offset of the first element.

    `alias` says that its memory has elements of another type, too; `root` is the parameter or allocation that it is a
    part of, None where that is not known. `limit` is what a debug build compares each access of a view with.
    """

    data: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]
    offset: str
    alias: bool = False
    root: Any = None
    limit: Limit | None = None


def place(w: Writer, buffer: Buffer) -> Place:
    """Where a buffer is."""
    found = w.places.get(buffer)
    if found is None:
        raise internal(f"buffer `{buffer.name}` is used where it has no memory", w.span)
    return found


def times(a: str, b: str) -> Code:
    """The product of two sizes, folded where it is known."""
    if a == "1" or b == "0":
        return Code(b) if not isinstance(b, Code) else b
    if b == "1" or a == "0":
        return Code(a) if not isinstance(a, Code) else a
    if a.isdigit() and b.isdigit():
        return Code(str(int(a) * int(b)))
    return binary(a, "*", b, TIMES)


def plus(a: str, b: str) -> Code:
    """The sum of two offsets, folded where it is known."""
    if a == "0":
        return b if isinstance(b, Code) else Code(b)
    if b == "0":
        return a if isinstance(a, Code) else Code(a)
    if a.isdigit() and b.isdigit():
        return Code(str(int(a) + int(b)))
    return binary(a, "+", b, PLUS)


def size(w: Writer, dim: Expr) -> Code:
    """A dimension or stride as an int64."""
    if type(dim) is Const:
        return number(int(dim.value), dim.dtype)
    return w.value(dim) if dim.dtype is INT64 else cast("int64_t", w.value(dim))


def enter(
    w: Writer, buffer: Buffer, data: str, *, alias: bool = False, root: Any = None, limit: Limit | None = None
) -> None:
    """`buffer` is at `data` from here on."""
    dims = tuple(size(w, dim) for dim in buffer.shape)
    strides: list[str] = []
    if buffer.strides is not None:
        strides = [size(w, stride) for stride in buffer.strides]
    else:
        step: str = "1"
        for dim in reversed(dims):
            strides.insert(0, step)
            step = times(step, dim)
    offset = "0" if buffer.elem_offset is None else size(w, buffer.elem_offset)
    w.places[buffer] = Place(data, dims, tuple(strides), offset, alias, root, limit)


def offset_of(w: Writer, buffer: Buffer, indices: tuple[Expr, ...]) -> Code:
    """How many elements an element is behind the data pointer."""
    at = place(w, buffer)
    if len(indices) != len(at.strides):
        message = f"buffer `{buffer.name}` has {len(at.strides)} dimensions and is given {len(indices)} indices"
        raise internal(message, w.span)
    found: Code = Code(at.offset)
    for index, stride in zip(indices, at.strides, strict=True):
        text = w.index(index)
        if stride != "1" and not text.isdigit() and index.dtype.bits < 64:
            text = cast("int64_t", text)
        found = plus(found, times(text, stride))
    return found


def check_bounds(w: Writer, buffer: Buffer, indices: tuple[Expr, ...], verb: str) -> None:
    """In a debug build: say where an index is outside of its dimension."""
    from .writer import Report

    at = place(w, buffer)
    for axis, (index, dim) in enumerate(zip(indices, at.dims, strict=True)):
        low, high = w.ranges.of(index)
        extent = buffer.shape[axis]
        if low >= 0 and type(extent) is Const and high < extent.value:
            continue
        shown = ", ".join(f"{{{k}}}" for k in range(len(indices)))
        where = f", in dimension {axis}" if len(indices) > 1 else ""
        message = (
            f"{verb} of `{buffer.name}[{shown}]` is out of bounds: index {{{axis}}} is not within {{limit}}{where}"
        )
        texts = [w.once(one) for one in indices]
        end = _end(at, texts) if index.dtype.is_vector and buffer.strides is None else dim
        least = [f"{within(texts[axis], ORDER + 1)} >= 0"] if low < 0 else []
        below = f"{within(cast('int64_t', texts[axis]), ORDER + 1)} < {within(end, ORDER + 1)}"
        values = [
            *(Report("", text, one.dtype) for text, one in zip(texts, indices, strict=True)),
            Report("size", dim, INT64),
        ]
        w.check(Code(" && ".join([*least, below]), 5), "bounds", message, lambda values=values: values)  # type: ignore[misc]
    if at.limit is not None:
        check_limit(w, buffer, indices, verb, at.limit)


def _end(at: Place, indices: list[Code]) -> Code:
    """Where a vector ends at the latest: it may run on through rows that follow each other without gaps."""
    end = times(at.dims[0], at.strides[0])
    for index, stride in zip(indices[:-1], at.strides, strict=False):
        end = binary(end, "-", times(cast("int64_t", index), stride), PLUS)
    return end


def element(w: Writer, buffer: Buffer, indices: tuple[Expr, ...], lanes: int) -> Code:
    """One element, or the lane of one where `lanes` is that of the access."""
    at = place(w, buffer)
    if buffer.is_scalar:
        return Code(f"{at.data}[{w.lane}]" if buffer.dtype.is_vector else at.data)
    inner = buffer.dtype.lanes
    if inner == 1:
        return Code(f"{within(at.data, 15)}[{offset_of(w, buffer, indices)}]")
    # an element is a vector: lanes of the access are counted through it
    before, part = w.lane, f"{w.lane} % {inner}" if lanes > inner else w.lane
    w.lane = f"({before} / {inner})" if lanes > inner else before
    offset = times(offset_of(w, buffer, indices), str(inner))
    w.lane = before
    return Code(f"{within(at.data, 15)}[{plus(offset, Code(part, TIMES) if lanes > inner else part)}]")


def load(w: Writer, expr: BufferLoad) -> Code:
    """The value of `buffer[indices]`."""
    buffer, indices = expr.buffer, expr.indices
    if expr.predicate is not None:
        zero = "NULL" if expr.dtype.is_handle else literal(0, expr.dtype.element)
        plain = expr.replace(predicate=None)
        test, taken = _mask(w, expr.predicate, buffer), w.lazily(plain)
        return choice(test, taken, zero) if isinstance(taken, str) else w.branches(test, taken, zero, expr.dtype)
    if w.debug and not buffer.is_scalar:
        check_bounds(w, buffer, indices, "read")
    found = element(w, buffer, indices, expr.dtype.lanes)
    return w.keep(found, expr.dtype, "held") if w.careful else found


def _mask(w: Writer, predicate: Expr, buffer: Buffer) -> Code:
    """The predicate of the lane that is written, of which an element may have several."""
    inner = buffer.dtype.lanes
    if not predicate.dtype.is_vector or inner == 1:
        return w.value(predicate)
    before, w.lane = w.lane, f"({w.lane} / {inner})"
    found = w.value(predicate)
    w.lane = before
    return found


def store(w: Writer, stmt: BufferStore) -> None:
    """`buffer[indices] = value`; storing undef is no store."""
    from .writer import is_opaque

    value, buffer = stmt.value, stmt.buffer
    if type(value) is Call and value.op.name == "undef":
        return
    w.careful = is_opaque(value) or any(map(is_opaque, stmt.indices))
    if not value.dtype.is_vector:
        if stmt.predicate is not None:
            w.open(f"if ({w.value(stmt.predicate)})")
        _store_one(w, stmt)
        if stmt.predicate is not None:
            w.close()
        w.careful = False
        return
    lanes = value.dtype.lanes
    held = None if _is_apart(w, stmt) else w.materialized(value)

    def one() -> None:
        if stmt.predicate is not None:
            w.open(f"if ({_mask(w, stmt.predicate, buffer)})")
        if held is None:
            _store_one(w, stmt)
        else:
            if w.debug and not buffer.is_scalar:
                check_bounds(w, buffer, stmt.indices, "write")
            w.out.add(f"{element(w, buffer, stmt.indices, lanes)} = {held}[{w.lane}];")
        if stmt.predicate is not None:
            w.close()

    w.each_lane(lanes, one)
    w.careful = False


_AUGMENTED = {"add": "+=", "sub": "-=", "mul": "*="}


def _store_one(w: Writer, stmt: BufferStore) -> None:
    """One element, or one lane."""
    value, buffer = stmt.value, stmt.buffer
    if (
        type(value) is Call
        and value.op.name in _AUGMENTED
        and value.dtype.element.name in ("float32", "float64")
        and value.args[0] == BufferLoad(buffer, stmt.indices)
        and not w.debug
        and not w.careful
    ):
        text = w.value(value.args[1])
        w.out.add(f"{element(w, buffer, stmt.indices, value.dtype.lanes)} {_AUGMENTED[value.op.name]} {text};")
        return
    text = w.value(value)
    if w.careful and not text.isidentifier():
        text = w.keep(text, value.dtype, "value")
    if w.debug and not buffer.is_scalar:
        check_bounds(w, buffer, stmt.indices, "write")
    w.out.add(f"{element(w, buffer, stmt.indices, value.dtype.lanes)} = {text};")


def _is_apart(w: Writer, stmt: BufferStore) -> bool:
    """Whether a lane may be stored before the next one is read: what is read lies elsewhere, or is the same lane."""
    mine = place(w, stmt.buffer).root
    for part in (stmt.value, *stmt.indices, *(() if stmt.predicate is None else (stmt.predicate,))):
        for node in walk(part):
            if type(node) is not BufferLoad or node.buffer.is_scalar:
                continue
            root = place(w, node.buffer).root
            same = node.buffer is stmt.buffer and node.indices == stmt.indices
            if not same and (root is None or mine is None or root is mine or not w.module.noalias[w.func.name]):
                return False
    return True


def address(w: Writer, buffer: Buffer, indices: tuple[Expr, ...]) -> Code:
    """`&buffer[indices]`"""
    if buffer.is_scalar:
        at = place(w, buffer)
        return Code(at.data if buffer.dtype.is_vector else f"&{at.data}", UNARY)
    if w.debug:
        check_bounds(w, buffer, indices, "address")
    offset = times(offset_of(w, buffer, indices), str(buffer.dtype.lanes))
    data = place(w, buffer).data
    return Code(data) if offset == "0" else Code(f"&{within(data, 15)}[{offset}]", UNARY)


def first_element(w: Writer, buffer: Buffer) -> Code:
    """The address of `buffer[0, ...]`."""
    at = place(w, buffer)
    offset = times(at.offset, str(buffer.dtype.lanes))
    return Code(at.data) if offset == "0" else Code(f"&{within(at.data, 15)}[{offset}]", UNARY)


# definitions


def scalar(w: Writer, stmt: ScalarDecl) -> None:
    """`x: T.float32 = value`: a variable."""
    buffer = stmt.buffer
    given = stmt.value
    if type(given) is Call and given.op.name == "undef":
        given = None
    if buffer.dtype.is_vector:
        held = None if given is None else w.materialized(given)
        made = w.name(buffer.name)
        w.out.add(f"{declared(buffer.dtype, made)}[{buffer.dtype.lanes}];")
        if held is not None:
            w.out.add(f"memcpy({made}, {held}, sizeof {made});")
    else:
        text = None if given is None else w.value(given)
        made = w.name(buffer.name)
        w.out.add(f"{declared(buffer.dtype, made)}{'' if text is None else f' = {text}'};")
    enter(w, buffer, made, root=buffer)


def allocate(w: Writer, stmt: AllocBuffer) -> None:
    """Memory to the end of the body: an array where it is small and of known size, else from malloc."""
    from .writer import Report

    buffer = stmt.buffer
    bytes_ = constant_size(buffer)
    made = w.name(buffer.name)
    kind = c_type(buffer.dtype)
    if bytes_ is not None and bytes_ <= FRAME_BUFFER and w.module.frame + bytes_ <= FRAME_TOTAL and buffer.align <= 16:
        w.module.frame += bytes_
        w.out.add(
            f"{declared(buffer.dtype, made)}[{max(1, bytes_ // max(1, buffer.dtype.itemsize // buffer.dtype.lanes))}];"
        )
        enter(w, buffer, made, root=buffer)
        return
    if bytes_ is not None:
        text: str = f"UINT64_C({min(bytes_, (1 << 62) - 1)})"
    else:
        text = w.keep(_counted_bytes(w, buffer), INT64, f"{buffer.name}_bytes")
    got = cast(pointer(kind), f"{w.helpers.need('allocate')}({text})")
    w.out.add(f"{pointer(kind)}{made} = {got};")
    message = f"no memory for the buffer `{buffer.name}`"
    w.check(Code(f"{made} != NULL", 9), "memory", message, lambda: [Report("bytes", text, INT64)])
    w.heap[-1].append(made)
    enter(w, buffer, made, root=buffer)


def _counted_bytes(w: Writer, buffer: Buffer) -> str:
    """The bytes of a buffer of dynamic size, at least 1; more than there are where a double says that 64 bits do not
    count them, or that they are negative."""
    at_most = [_factors(w, dim) for dim in buffer.shape]
    total: str = "1"
    if buffer.strides is None:
        for dim in buffer.shape:
            total = times(total, within(cast("uint64_t", size(w, dim)), TIMES + 1))
    else:
        for dim, stride in zip(buffer.shape, buffer.strides, strict=True):
            last = cast("uint64_t", binary(size(w, dim), "-", "1", PLUS))
            reach = f"({last} * (uint64_t){within(size(w, stride), UNARY)})"
            total = plus(total, reach)
            at_most.append(cast("double", within(size(w, stride), UNARY)))
    if buffer.elem_offset is not None:
        total = plus(total, within(cast("uint64_t", size(w, buffer.elem_offset)), TIMES))
    product = " * ".join(at_most) or "1.0"
    item = buffer.dtype.itemsize
    most = float((1 << 61) // item)
    counted = Code(f"{product} >= 0.0 && {product} < {most!r}", CHOICE)  # CHOICE: it goes into brackets
    return Code(f"{within(counted, CHOICE + 1)} ? (int64_t)({within(total, TIMES)} * {item} + 1) : INT64_MAX", CHOICE)


def _factors(w: Writer, dim: Expr) -> str:
    """A dimension as a double; a product is counted factor by factor, since it may have wrapped."""
    if type(dim) is Call and dim.op.name in ("add", "sub", "mul"):
        sign = {"add": "+", "sub": "-", "mul": "*"}[dim.op.name]
        return f"({_factors(w, dim.args[0])} {sign} {_factors(w, dim.args[1])})"
    return cast("double", size(w, dim))


def constant(w: Writer, stmt: AllocateConst) -> None:
    """A table in the source."""
    import numpy as np

    buffer, array = stmt.buffer, stmt.data.array
    element_ = buffer.dtype.element
    found = w.module.constants.get((stmt.data.digest, element_.name))
    if found is None:
        found = w.module.constant_name(buffer.name)
        w.module.constants[stmt.data.digest, element_.name] = found
        flat = np.ascontiguousarray(array).reshape(-1)
        with np.errstate(invalid="ignore"):  # of nan that signals
            plain = flat.astype("float64") if element_.is_float else flat
        texts = [literal(value, element_) for value in plain]
        rows = [", ".join(texts[at : at + _ITEMS]) for at in range(0, len(texts), _ITEMS)]
        body = ",\n  ".join(rows) or "0"
        w.module.tables.append(f"static {c_type(element_)} const {found}[{max(1, len(texts))}] = {{\n  {body}\n}};")
    name = w.name(buffer.name)
    kind = c_type(buffer.dtype)
    w.out.add(f"{pointer(f'const {kind}')}{name} = {found};")
    enter(w, buffer, name, root=buffer)


def declare(w: Writer, stmt: DeclBuffer) -> None:
    """A view of memory that exists."""
    buffer, data = stmt.buffer, stmt.data
    root, base, alias = root_of(w, data), None, False
    limit = limit_of(w, stmt) if w.debug else None
    if type(data) is BufferData:
        base = data.buffer
    elif type(data) is Call and data.op.name == "address_of" and type(data.args[0]) is BufferLoad:
        base = data.args[0].buffer
    if base is not None:
        alias = place(w, base).alias or base.dtype.element is not buffer.dtype.element
    elif data.dtype.pointee is not None and data.dtype.pointee.kind != "void":
        alias = data.dtype.pointee.element is not buffer.dtype.element
    if type(data) is BufferData and not alias and buffer.elem_offset is None:
        # the same memory in another shape keeps its name
        enter(w, buffer, place(w, data.buffer).data, root=root, limit=limit)
        return
    text = w.value(data)
    kind = c_type(buffer.dtype)
    word = pointer(w.module.alias_type(kind) if alias else kind)
    made = w.name(buffer.name)
    w.out.add(f"{word}{made} = {cast(word, text)};")
    enter(w, buffer, made, alias=alias, root=root, limit=limit)


def match(w: Writer, stmt: MatchBuffer) -> None:
    """The shape of a handle parameter."""
    if not isinstance(stmt.source, Var):
        message = f"`{stmt.buffer.name}` matches a region, which must be lowered before code generation"
        hint = "run the pass that lowers match_buffer"
        raise DiagnosticError([error("T401", message, stmt.span, hint=hint)])
    enter(w, stmt.buffer, w.values[stmt.source], root=stmt.source)


def root_of(w: Writer, value: Expr) -> Any:
    """The allocation or parameter that an address lies in; None where that is not known."""
    found: set[Any] = set()
    for node in walk(value):
        if type(node) is BufferData or type(node) is BufferLoad:
            found.add(place(w, node.buffer).root)
        elif type(node) is Var and node.dtype.is_handle:
            found.add(w.module.roots.get(node))
    return found.pop() if len(found) == 1 else None


__all__ = ["Place", "address", "allocate", "constant", "declare", "element", "enter", "first_element", "load", "match"]
