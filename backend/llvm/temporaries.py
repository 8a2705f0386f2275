"""Temporaries of the heap.

Those of constant size are blocks that a call allocates once, and that buffers share whose lifetimes are apart (`plan`,
`block`). Those of a size that only the call knows, or larger than `LARGEST`, are allocated where the program comes to
them (`from_heap`); in a loop once, for all iterations, where the size is known before it (`kept`).

A lifetime is the stretch of the program from the first use of a buffer to the last, in the order of the text; a buffer
from outside of a loop that is used in it lives as long as the loop. One whose address is taken lives as long as its
body, since the address may be kept. Blocks are separate allocations, so LLVM knows that they do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import BufferData, BufferRegion, Call, CallFunction, Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import nodes_in
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocBuffer, Attr, For, If, Stmt, While

from .builder import WAY
from .sites import ERROR_TYPE, Report, Site
from .state import FAILED
from .symbols import ALLOCATE

if TYPE_CHECKING:
    from .codegen import Codegen

LARGEST = 1 << 28  # bytes; what is larger is allocated only where the program comes to it


class Slot(Struct, frozen=True, eq=False):
    """A block that buffers share: its number, size and alignment in bytes."""

    number: int
    size: int
    align: int


def slot_of(g: Codegen, buffer: Buffer, needs: Callable[[Buffer], tuple[int, int] | None]) -> Slot | None:
    """The block of a buffer; None where it has none."""
    plans = g.state.temporaries
    if g.func.name not in plans:
        plans[g.func.name] = plan(g.func, needs)
    found: Slot | None = plans[g.func.name].get(buffer)
    return found


def block(g: Codegen, slot: Slot, buffer: Buffer) -> str:
    """The address of a block, which is allocated when the function begins and freed on every way out."""
    pointer = f"%block.{slot.number}"
    if pointer not in g.blocks:
        declare_heap(g)
        state, prologue = g.state, g.b.prologue
        message = f"no memory for the buffer `{buffer.name}`"
        state.sites.append(Site("memory", message, g.func.name, g.span, ("bytes",), (INT64,), 0, None, buffer))
        got, there, none = (f"{word}.{slot.number}" for word in ("got", "there", "none"))
        prologue += [
            f"  {pointer} = call ptr @{ALLOCATE}(i64 {slot.align}, i64 {slot.size})",
            f"  %{got} = icmp eq ptr {pointer}, null",
            f"  br i1 %{got}, label %{none}, label %{there}, !prof {g.b.module.unlikely()}",
            f"{none}:",
            f"  store i32 {len(state.sites) - 1}, ptr %error, align 8",
            f"  %count.{slot.number} = getelementptr inbounds {ERROR_TYPE}, ptr %error, i64 0, i32 1",
            f"  store i32 1, ptr %count.{slot.number}, align 4",
            f"  %bytes.{slot.number} = getelementptr inbounds {ERROR_TYPE}, ptr %error, i64 0, i32 2",
            f"  store i64 {slot.size}, ptr %bytes.{slot.number}, align 8",
            *(f"  call void @free(ptr {other})" for other in g.blocks),
            f"  ret i32 {FAILED}",
            f"{there}:",
        ]
        g.blocks.append(pointer)
        g.b.before_return.append(f"call void @free(ptr {pointer})")
    return pointer


def kept(g: Codegen, buffer: Buffer, allocate: Callable[[], str]) -> str:
    """The address of what `allocate` allocates when the program first comes to a buffer of a loop; the next iterations
    find it there. The end of the outermost loop frees it, and every way out."""
    b = g.b
    if buffer not in g.kept:
        slot = g.kept[buffer] = b.alloca("ptr", 8, "kept")
        b.prologue.append(f"  store ptr null, ptr {slot}, align 8")
        last = f"%left.{slot[1:]}.{WAY}"
        b.before_return += [f"{last} = load ptr, ptr {slot}, align 8", f"call void @free(ptr {last})"]
    slot = g.kept[buffer]
    first, there = b.block("first"), b.block("there")
    known = b.op(f"load ptr, ptr {slot}, align 8")
    before = b.label
    b.branch(b.op(f"icmp eq ptr {known}, null"), first, there)
    b.start(first)
    made = allocate()
    b.do(f"store ptr {made}, ptr {slot}, align 8")
    after = b.label
    b.jump(there)
    b.start(there)
    return b.phi("ptr", (known, before), (made, after))


def free_kept(g: Codegen) -> None:
    """Free what the loop kept that ends here, if no other is around it: the next loop has room for its own."""
    if g.loops:
        return
    for slot in g.kept.values():
        g.b.do(f"call void @free(ptr {g.b.op(f'load ptr, ptr {slot}, align 8')})")
        g.b.do(f"store ptr null, ptr {slot}, align 8")
    g.kept.clear()


def from_heap(g: Codegen, buffer: Buffer, align: int) -> str:
    """The address of memory that is allocated for a buffer."""
    size = constant_size(buffer)
    if size is not None:
        # what 64 bits cannot count would wrap to a small size, and be written far beyond its end
        size_text = str(min(-(-max(1, size) // align) * align, (1 << 63) - align))
    else:
        elements = _elements(g, buffer)
        bytes_ = g.b.op(f"mul i64 {elements}, {buffer.dtype.itemsize}")
        padded = g.b.op(f"add i64 {bytes_}, {2 * align - 1 if buffer.strides is None else 2 * align}")
        fitting = g.b.op(f"and i64 {padded}, {-align}")
        # as above; a double counts what 64 bits cannot
        number = _elements_counted(g, buffer)
        message = f"the buffer `{buffer.name}` has a negative number of elements"
        none_or_more = g.b.op(f"fcmp oge double {number}, 0.0")
        g.check(none_or_more, "memory", message, lambda: [Report("elements", elements, INT64)])
        counted = g.b.op(f"fcmp olt double {number}, {float((1 << 62) // buffer.dtype.itemsize)!r}")
        size_text = g.b.op(f"select i1 {counted}, i64 {fitting}, i64 {(1 << 63) - align}")
    declare_heap(g)
    slot = g.b.call("ptr", f"@{ALLOCATE}", [("i64", str(align)), ("i64", size_text)])
    got = g.b.op(f"icmp ne ptr {slot}, null")
    g.check(got, "memory", f"no memory for the buffer `{buffer.name}`", lambda: [Report("bytes", size_text, INT64)])
    return slot


def constant_size(buffer: Buffer) -> int | None:
    """The bytes from the data pointer to the end of the last element; None where they are not numbers."""
    dims = buffer.constant_shape()
    if dims is None or (buffer.elem_offset is not None and type(buffer.elem_offset) is not Const):
        return None
    offset = int(buffer.elem_offset.value) if type(buffer.elem_offset) is Const else 0
    if buffer.strides is None:
        return (math.prod(dims) + offset) * buffer.dtype.itemsize
    strides = [int(stride.value) for stride in buffer.strides if type(stride) is Const]
    if len(strides) < len(dims):
        return None
    last = sum((dim - 1) * stride for dim, stride in zip(dims, strides, strict=True))
    return (max(0, last) + 1 + offset) * buffer.dtype.itemsize


def _elements(g: Codegen, buffer: Buffer) -> str:
    """How many elements a buffer of dynamic size spans, where 64 bits can count them; nothing is promised of that."""
    total = "1"
    for at, dim in enumerate(buffer.shape):
        size = g.wide(dim)
        if buffer.strides is not None:
            last = g.b.op(f"add i64 {size}, -1")
            span = g.b.op(f"mul i64 {last}, {g.wide(buffer.strides[at])}")
            total = g.b.op(f"add i64 {total}, {span}")
        else:
            total = g.b.op(f"mul i64 {total}, {size}")
    return total if buffer.elem_offset is None else g.b.op(f"add i64 {total}, {g.wide(buffer.elem_offset)}")


_COUNTED = {"add": "fadd", "sub": "fsub", "mul": "fmul"}


def _elements_counted(g: Codegen, buffer: Buffer) -> str:
    """How many elements a buffer of dynamic size spans, about, as a double, which does not wrap.

    A lowered shape is the product of dimensions, which may have wrapped: its factors are counted.
    """

    def counted(expr: Expr) -> str:
        if type(expr) is Call and expr.op.name in _COUNTED:
            first, second = map(counted, expr.args)
            return g.b.op(f"{_COUNTED[expr.op.name]} double {first}, {second}")
        return g.b.op(f"sitofp i64 {g.wide(expr)} to double")

    total = "1.0"
    for at, dim in enumerate(buffer.shape):
        size = counted(dim)
        if buffer.strides is not None:
            span = g.b.op(f"fmul double {size}, {counted(buffer.strides[at])}")
            total = g.b.op(f"fadd double {total}, {span}")
        else:
            total = g.b.op(f"fmul double {total}, {size}")
    return total if buffer.elem_offset is None else g.b.op(f"fadd double {total}, {counted(buffer.elem_offset)}")


def declare_heap(g: Codegen) -> None:
    """The functions of C that allocate and free."""
    g.b.module.declare(
        ALLOCATE,
        "noalias ptr",
        ["i64 allocalign", "i64"],
        'nounwind allockind("alloc,uninitialized,aligned") allocsize(1) "alloc-family"="malloc"',
    )
    g.b.module.declare(
        "free", "void", ["ptr allocptr captures(none)"], 'nounwind allockind("free") "alloc-family"="malloc"'
    )


class _Life(Struct, eq=False):
    """The lifetime of one buffer."""

    size: int
    align: int
    loops: tuple[int, ...]  # around its allocation
    first: int = -1
    last: int = -1


def plan(func: PrimFunc, needs: Callable[[Buffer], tuple[int, int] | None]) -> dict[Buffer, Slot]:
    """The block of every large temporary of `func`: `needs` gives bytes and alignment, None where it needs no block."""
    lives = _Lifetimes(needs).of(func)
    ends: list[int] = []  # of what is in each block so far
    sizes: list[int] = []
    aligns: list[int] = []
    numbers: dict[Buffer, int] = {}
    for buffer, life in sorted(lives.items(), key=lambda item: item[1].first):
        free = [number for number, end in enumerate(ends) if end < life.first]
        if not free:
            free = [len(ends)]
            ends.append(0)
            sizes.append(life.size)
            aligns.append(life.align)
        number = min(free, key=lambda number: (abs(sizes[number] - life.size), number))
        ends[number], sizes[number] = life.last, max(sizes[number], life.size)
        aligns[number] = max(aligns[number], life.align)
        numbers[buffer] = number
    return {buffer: Slot(number, sizes[number], aligns[number]) for buffer, number in numbers.items()}


class _Lifetimes:
    """Counts statements, and notes where buffers are used."""

    def __init__(self, needs: Callable[[Buffer], tuple[int, int] | None]) -> None:
        self.needs = needs
        self.lives: dict[Buffer, _Life] = {}
        self.now = 0
        self.loops: list[int] = []
        self.begins: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.inside: list[tuple[_Life, int]] = []  # lives in a loop that their buffers are from outside of
        self.kept: set[Buffer] = set()

    def of(self, func: PrimFunc) -> dict[Buffer, _Life]:
        """The lives of the buffers that need a block."""
        self.body(func.body)
        for life, loop in self.inside:
            life.first, life.last = min(life.first, self.begins[loop]), max(life.last, self.ends[loop])
        return {buffer: life for buffer, life in self.lives.items() if life.first >= 0}

    def body(self, stmts: tuple[Stmt, ...]) -> None:
        begin, mine = self.now, []
        for stmt in stmts:
            self.now += 1
            if type(stmt) is AllocBuffer:
                needed = self.needs(stmt.buffer)
                if needed is not None and needed[0] <= LARGEST:
                    self.lives[stmt.buffer] = _Life(*needed, tuple(self.loops))
                    mine.append(stmt.buffer)
                continue
            self.stmt(stmt)
        for buffer in mine:
            life = self.lives[buffer]
            if buffer in self.kept:
                life.first, life.last = begin, max(life.last, self.now)

    def stmt(self, stmt: Stmt) -> None:
        looping = type(stmt) in (For, While)
        if looping:
            self.loops.append(self.now)
            self.begins[self.now] = self.now
        if type(stmt) in (For, While, If, Attr):
            for part in _heads(stmt):
                self.uses(part)
            for name in ("then", "orelse", "body"):
                nested = getattr(stmt, name, ())
                if nested:
                    self.body(nested)
        else:
            self.uses(stmt)
        if looping:
            self.ends[self.loops.pop()] = self.now

    def uses(self, part: Any) -> None:
        for node in walk(part):
            if isinstance(node, Buffer):
                if node in self.lives:
                    self.use(node)
            elif isinstance(node, (BufferData, BufferRegion)):
                self.kept.add(node.buffer)
            elif isinstance(node, Call) and node.op.name == "address_of":
                self.kept.add(node.args[0].buffer)  # type: ignore[attr-defined]
            elif isinstance(node, CallFunction):
                self.kept.update(arg for arg in node.args if isinstance(arg, Buffer))

    def use(self, buffer: Buffer) -> None:
        life = self.lives[buffer]
        life.first = self.now if life.first < 0 else min(life.first, self.now)
        life.last = max(life.last, self.now)
        entered = self.loops[len(life.loops) :]
        if entered:
            self.inside.append((life, entered[0]))


def _heads(stmt: Any) -> list[Any]:
    if type(stmt) is For:
        return [part for part in (stmt.start, stmt.stop, stmt.step) if part is not None]
    return [*nodes_in(stmt.target), *nodes_in(stmt.value)] if type(stmt) is Attr else [stmt.condition]
