"""`T.parallel` loops: their bodies as functions of their own, which the pool's threads call with a range of iterations.

    for i in T.parallel(n): body      becomes      tirscript_parallel(run, closure, n, grain, unit, rouse, piece, error)

    i32 part(begin, end, error, failed, number, captured...)      the iterations from begin to end
    i32 run(closure, begin, end, error, failed, number)           reads what is captured and calls `part`

What the body uses of the code around it is captured when it is used: values, places of buffers, and scalar variables by
their value, since no iteration writes them. A part that can fail looks before each iteration whether one below it has
failed. Loops of little work are written as ordinary loops, as are those within a parallel one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.backend.runtime.threads import PARALLEL
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import BufferLoad, Call, Const, Var
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import For, While
from tirscript.passes.lower.serialize_races import needs_order

from . import divisions
from .lookups import one_by_one
from .parallel_cost import Cost, body_cost
from .state import Limit, Place, Targets
from .types import lane_bytes, memory_type, value_type

if TYPE_CHECKING:
    from .codegen import Codegen

WORK = 4_000.0  # the least that is worth a thread that is awake, in the unit of parallel_cost: some microseconds
ROUSE = 20 * WORK  # the least that is worth to wake a thread
PIECE = 10 * WORK  # the least that is worth to be dealt out by itself
UNIT = 256  # iterations: a part of a small loop begins where vectors and cache lines do
FEW = 96  # iterations that are enough work for a thread: where it takes more than these, it is given UNIT of them
UNROLLED = 128  # iterations that loops inside may have for LLVM to unroll them and vectorize what is around
NATURAL = f"range(i64 0, {-1 << 63})"  # else LLVM fears that addresses wrap around, and gathers what lies in a row
_LOOSE = frozenset(("fast", "reassoc", "arcp", "afn"))  # flags by which vectors may differ from scalars


def loop(g: Codegen, stmt: For, step: int | None, count: int | None) -> bool:
    """Write a parallel loop, of `count` iterations where that is known; False where it has to be an ordinary loop."""
    bits, signed = stmt.var.dtype.bits, stmt.var.dtype.kind == "int"
    if (
        g.in_part
        or not g.state.target.threads
        or step is None
        or not (bits < 64 or (signed and step == 1))
        or count == 1
    ):
        return False
    asked = _asked_grain(stmt)
    cost = body_cost(g, stmt)
    grain = _iterations(g, cost, WORK) if asked is None else asked
    unit = _unit(g, stmt, grain)
    if isinstance(grain, int):
        grain = max(grain, unit)
        if count is not None and count < 2 * grain:
            return False
    if needs_order(stmt, g.func):
        return False
    rouse = _iterations(g, cost, ROUSE) if asked is None else 0
    piece = _iterations(g, cost, PIECE)
    _Part(g, stmt, step).write((str(grain), str(unit), str(rouse), str(piece)), unit, count)
    return True


def _asked_grain(stmt: For) -> int | None:
    """What the annotation "grain" of the loop says."""
    asked = stmt.annotations.get("grain") if stmt.annotations else None
    if asked is None:
        return None
    value = asked.value if type(asked) is Const else asked
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 62:
        message = f'the annotation "grain" of the loop over `{stmt.var.name}` is {value!r}'
        hint = "it is the least number of iterations that a thread is given, an int from 1"
        raise DiagnosticError([error("T404", message, stmt.span, hint=hint)])
    return value


def _iterations(g: Codegen, cost: Cost, work: float) -> int | str:
    """How many iterations of a cost are so much work."""
    if isinstance(cost, float):
        return int(work / max(cost, 1e-3)) + 1
    least = g.b.intrinsic("llvm.maxnum", ["double"], "double", [("double", cost), ("double", "1.0")])
    share = g.b.op(f"fdiv double {work!r}, {least}", "share")
    return g.b.op(f"add i64 {g.b.op(f'fptoui double {share} to i64')}, 1", "grain")


def _unit(g: Codegen, stmt: For, grain: int | str) -> int:
    """What the first iteration of a part is a multiple of.

    LLVM makes vectors of the iterations of small loops and runs the last ones one by one. Where fast-math flags let
    these differ in bits, an iteration must be among the last ones whatever the number of threads.
    """
    trips = 1.0
    for node in walk(stmt.body):
        if type(node) is For:
            fixed = type(node.start) is Const and type(node.stop) is Const
            trips *= abs(node.stop.value - node.start.value) if fixed else math.inf  # type: ignore[attr-defined]
        elif type(node) is While or (type(node) is Call and node.op.effect == "opaque"):
            trips = math.inf
    if trips > UNROLLED:
        return 1
    loose = any(flag in _LOOSE for flag in g.flags.split())
    return UNIT if loose or (isinstance(grain, int) and grain >= FEW) else 1


class _Captured(dict[Any, Any]):
    """A table of the code around, of which what is looked up is captured."""

    def __init__(self, outer: dict[Any, Any], capture: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.outer = outer
        self.capture = capture
        self.hidden: set[Any] = set()

    def __missing__(self, key: Any) -> Any:
        if key in self.hidden:
            raise KeyError(key)
        value = self.capture(key, self.outer[key])
        self[key] = value
        return value

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (key in self.outer and key not in self.hidden)

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 it captures

    def pop(self, key: Any, *default: Any) -> Any:
        self.hidden.add(key)
        return super().pop(key, *default)


class _Value(Struct, frozen=True, eq=False):
    """What a part is given: its LLVM type, the operand outside, the parameter's name, and for pointers their root."""

    kind: str
    outer: str
    inner: str
    root: Any = None


class _Part:
    """One parallel loop: the function of its parts, and the call that runs them."""

    def __init__(self, g: Codegen, stmt: For, step: int) -> None:
        self.g, self.stmt, self.step = g, stmt, step
        self.captured: dict[str, _Value] = {}
        part = self.part = g.another()
        part.in_part, part.nontemporal, part.steady = True, g.nontemporal, g.steady
        part.ranges, part.roots, part.copies, part.span = g.ranges, dict(g.roots), g.copies, g.span
        part.loop_vars = list(g.loop_vars)
        part.depth = self.capture("i32", g.depth)
        part.values = _Captured(g.values, self.value)
        part.wides = _Captured(g.wides, lambda var, operand: self.capture("i64", operand))
        part.places = _Captured(g.places, self.place)

    def capture(self, kind: str, operand: str, root: Any = None) -> str:
        """The operand inside of the part for one outside."""
        if not operand.startswith("%"):
            return operand
        found = self.captured.get(operand)
        if found is None:
            found = self.captured[operand] = _Value(kind, operand, f"%captured.{len(self.captured)}", root)
        return found.inner

    def value(self, var: Var, operand: str) -> str:
        if var in self.g.wides and operand.startswith("%"):
            wide = self.part.wides[var]
            return wide if var.dtype.bits == 64 else self.early(f"trunc i64 {wide} to {value_type(var.dtype)}")
        return self.capture(value_type(var.dtype), operand, self.g.roots.get(var) if var.dtype.is_handle else None)

    def early(self, text: str) -> str:
        """An instruction before the loop."""
        name = self.part.b.name("early")
        self.part.b.allocas.append(f"  {name} = {text}")
        return name

    def place(self, buffer: Buffer, at: Place) -> Place:
        if buffer.is_scalar:
            kind, align = memory_type(buffer.dtype), lane_bytes(buffer.dtype)
            value = self.capture(kind, self.g.b.op(f"load {kind}, ptr {at.data}, align {align}"))
            slot = self.part.b.alloca(kind, align, "slot")
            self.part.b.allocas.append(f"  store {kind} {value}, ptr {slot}, align {align}")
            return Place(slot, (), (), "0", align, buffer)
        dims, strides = (tuple(self.capture("i64", size) for size in sizes) for sizes in (at.dims, at.strides))
        data, offset = self.capture("ptr", at.data, at.root), self.capture("i64", at.offset)
        limit = at.limit
        if limit is not None:
            base, size = self.capture("ptr", limit.base, at.root), self.capture("i64", limit.size)
            limit = Limit(base, size, limit.owner)
        return Place(data, dims, strides, offset, at.align, at.root, limit)

    def write(self, sizes: Sequence[str], unit: int, count: int | None) -> None:
        """The functions, and the call; `sizes` are the grain, the unit and so on that the pool asks for."""
        g, b, state = self.g, self.g.b, self.g.state
        start = g.wide(self.stmt.start)
        number = str(count) if count is not None else self.count(start)
        fails = self.body(start, unit) or bool(self.part.b.prologue)
        values = list(self.captured.values())
        symbol, position = state.symbols[g.func.name], len(state.text.functions)
        part, run = (f'@"{symbol}.{what}.{position}"' for what in ("part", "run"))
        head = [f"i64 {NATURAL} %begin", f"i64 {NATURAL} %end", "ptr noalias %error", "ptr %failed", "i32 %number"]
        private = self.disjoint(values)
        head += [f"{value.kind}{' noalias' if value.outer in private else ''} {value.inner}" for value in values]
        state.text.functions.append(
            self.part.b.text(f"define internal i32 {part}({', '.join(head)}) {self.part.group}")
        )
        slots, size = _layout(values)
        state.text.functions.append(self.runner(part, run, values, slots))
        closure = b.alloca(f"[{size} x i64]", 64, "closure") if size else "null"
        for value, slot in zip(values, slots, strict=True):
            where = b.op(f"getelementptr inbounds i64, ptr {closure}, i64 {slot}")
            b.do(f"store {value.kind} {value.outer}, ptr {where}, align 8")
        g.state.externs.setdefault(PARALLEL, None)
        pool = b.module.declare(PARALLEL, "i32", ["ptr", "ptr", *["i64"] * (1 + len(sizes)), "ptr"])
        args = [("ptr", run), ("ptr", closure), *(("i64", size) for size in (number, *sizes))]
        status = b.call("i32", pool, [*args, ("ptr", "%error")])
        if fails:
            g.passes(status)

    def count(self, start: str) -> str:
        """How many iterations the loop has, where that is known when it runs."""
        g, b, step = self.g, self.g.b, self.step
        first, last = (start, g.wide(self.stmt.stop)) if step > 0 else (g.wide(self.stmt.stop), start)
        some = b.op(f"icmp slt i64 {first}, {last}")
        distance = b.op(f"sub i64 {last}, {first}")
        if abs(step) > 1:
            distance = b.op(f"udiv i64 {b.op(f'add i64 {distance}, {abs(step) - 1}')}, {abs(step)}")
        return b.select(some, "i64", distance, "0")

    def body(self, start: str, unit: int) -> bool:
        """The loop over the iterations of a part, which begins at a multiple of `unit`; whether it can fail."""
        part, b, var = self.part, self.part.b, self.stmt.var
        first = self.capture("i64", start)
        begin, going, after, end = b.block("loop"), b.block("go"), b.block("next"), b.block("done")
        # the bits that are zero tell LLVM what `i % 4` is of vectors
        origin = "%begin" if unit == 1 else b.op(f"and i64 %begin, {-unit}", "origin")
        with divisions.ahead(part, self.stmt):
            b.branch(b.op(f"icmp ult i64 {origin}, %end"), begin, end)
            entered = b.label
            b.start(begin)
            at, following = b.name("at"), b.name("at_next")
            b.lines.append(f"  {at} = phi i64 [{origin}, %{entered}], [{following}, %{after}]")
            look = len(b.lines)
            b.start(going)
            moved = at if self.step == 1 else b.op(f"mul nsw i64 {at}, {self.step}")
            counter = moved if first == "0" else b.op(f"add nsw i64 {moved}, {first}", "counter")
            part.wides[var] = counter
            bits = var.dtype.bits
            part.values[var] = counter if bits == 64 else b.op(f"trunc i64 {counter} to {value_type(var.dtype)}")
            part.loops.append(Targets(end, after, 0))
            part.loop_vars.append(var)
            part.body(self.stmt.body)
            b.start(after)
            b.lines.append(f"  {following} = add nuw nsw i64 {at}, 1")
            again = b.op(f"icmp ult i64 {following}, %end")
            found = divisions.without_vectors(part, self.stmt) or one_by_one(b.module, self.stmt)
            hints = "".join(f", {hint}" for hint in found)
            node = b.module.node(f"distinct !{{!{len(b.module.metadata)}{hints}}}")
            b.end(f"br i1 {again}, label %{begin}, label %{end}, !llvm.loop {node}")
            b.start(end)
        b.end("ret i32 0")
        if b.fails:
            least, over = b.name("least"), b.name("over")
            b.lines[look] = "\n".join(
                (
                    f"  {least} = load atomic i32, ptr %failed monotonic, align 4",
                    f"  {over} = icmp ult i32 {least}, %number",
                    f"  br i1 {over}, label %{end}, label %{going}, !prof {b.module.unlikely()}",
                )
            )
        return b.fails

    def disjoint(self, values: list[_Value]) -> set[str]:
        """The pointers of which nothing else that the part uses can point into the same memory."""
        if any(type(node) is BufferLoad and node.dtype.is_handle for node in walk(self.stmt.body)):
            return set()
        roots = [value.root for value in values if value.kind == "ptr"]
        if any(root is None for root in roots):
            return set()
        g, params = self.g, set(self.g.func.params)
        promised = g.state.noalias[g.func.name]
        return {
            value.outer
            for value in values
            if value.kind == "ptr" and roots.count(value.root) == 1 and (promised or value.root not in params)
        }

    def runner(self, part: str, run: str, values: list[_Value], slots: list[int]) -> str:
        """The function that the pool calls."""
        b = self.g.another().b
        given = [("i64", "%begin"), ("i64", "%end"), ("ptr", "%error"), ("ptr", "%failed"), ("i32", "%number")]
        # what the parameters of the part promise is forgotten where LLVM inlines it
        words = [f"{kind} {NATURAL}" if kind == "i64" else kind for kind, _ in given]
        head = ", ".join(
            ["ptr noalias %closure", *(f"{word} {name}" for word, (_, name) in zip(words, given, strict=True))]
        )
        for value, slot in zip(values, slots, strict=True):
            where = b.op(f"getelementptr inbounds i64, ptr %closure, i64 {slot}")
            given.append((value.kind, b.op(f"load {value.kind}, ptr {where}, align 8")))
        b.end(f"ret i32 {b.call('i32', part, given)}")
        return b.text(f"define internal i32 {run}({head}) {self.g.state.group}")


_SIZE = re.compile(r"(?:<(\d+) x )?(?:i(\d+)|(half|bfloat|float|double|ptr))>?")
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}


def _layout(values: list[_Value]) -> tuple[list[int], int]:
    """Where each value is in the closure, in words of 8 bytes, and how many there are."""
    slots, size = [], 0
    for value in values:
        match = _SIZE.fullmatch(value.kind)
        assert match is not None, value.kind
        bits = int(match[2]) if match[2] else _BITS[match[3]]
        slots.append(size)
        size += -(-int(match[1] or 1) * bits // 64)
    return slots, size
