"""The temporaries of a function share one arena: what is not alive at once may be at one place.

before:                                    after:
    h = T.alloc_buffer((64,), "int32")         arena = T.alloc_buffer((512,), "uint8", align=64)
    cls.first(x, h)                            h = T.decl_buffer((64,), "int32", data=arena.data)
    k = T.alloc_buffer((64,), "int32")         cls.first(x, h)
    cls.second(h, k)                           k = T.decl_buffer((64,), "int32", data=T.address_of(arena[256]))
    m = T.alloc_buffer((64,), "int32")         cls.second(h, k)
    cls.third(k, m)                            m = T.decl_buffer((64,), "int32", data=arena.data)
    cls.last(m, y)                             cls.third(k, m)
                                               cls.last(m, y)

A temporary is alive from the first statement of the function's body that names it, or a view of it, to the last. The
largest are placed first, each in the smallest gap that the others alive with it leave (Pisarchyk and Lee, "Efficient
memory management for deep neural net inference", 2020). A function may say how large its symbolic dimensions get,
`T.func_attr({"tir_var_upper_bound": {"n": 128}})` (graph functions, too): then sizes that follow from them are planned
as at their largest, and a call with a larger one fails. Other symbolic sizes stay allocations of their own, and so does
what no call of a function gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import dtype
from tirscript.ir.expr import Call, CallFunction, Const, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocBuffer, Assert, DeclBuffer, Stmt

from ..arenas import ALIGN, address_in, aligned, number_of
from ..pipeline import prim_func_pass

UPPER_BOUND = "tir_var_upper_bound"


class Lifetime(Struct, frozen=True, eq=False):
    """A temporary: its size in bytes, and the first and the last statement of the body that use it."""

    buffer: Buffer
    bytes: int
    first: int
    last: int


class MemoryPlan(Struct, frozen=True, eq=False):
    """Where the temporaries of a function are in its arena.

    offsets: in bytes, by buffer; total: the size of the arena, all that is alive at the worst moment and what lies
    between; separate: the sum of all, which is what they take one by one; live: the least that any plan needs
    """

    offsets: dict[Buffer, int]
    total: int
    separate: int
    live: int


def upper_bounds(func: PrimFunc) -> dict[Var, int]:
    """How large the symbolic dimensions of `func` get, as its attribute says; other names in it bound nothing.

    Raises DiagnosticError for a bound that is no size.
    """
    told = func.attrs.get(UPPER_BOUND, {})
    if not isinstance(told, Mapping):
        message = f"`{UPPER_BOUND}` is {told!r}, and not a dict of sizes by their names"
        hint = f'such as `T.func_attr({{"{UPPER_BOUND}": {{"n": 128}}}})`'
        raise DiagnosticError([error("T401", message, func.span, hint=hint)])
    symbols = {var.name: var for var in walk(tuple(func.params), Var) if var.dtype.is_int}
    found = {}
    for name, bound in told.items():
        worth = bound.value if isinstance(bound, Const) else bound
        if not isinstance(worth, int) or isinstance(worth, bool) or worth < 0:
            message = f"`{UPPER_BOUND}` says of `{name}` {worth!r}, which is no size"
            raise DiagnosticError([error("T401", message, func.span, hint="a size is an int that is not negative")])
        if name in symbols:
            found[symbols[name]] = worth
    return found


def lifetimes(func: PrimFunc) -> list[Lifetime]:
    """The temporaries that the body of `func` allocates with sizes that are known or bounded, in their order."""
    known = Analyzer({var: (0, bound) for var, bound in upper_bounds(func).items()})
    sizes: dict[Buffer, int] = {}
    uses: dict[Buffer, list[int]] = {}
    roots: dict[Buffer, Buffer] = {}
    for at, stmt in enumerate(func.body):
        if type(stmt) is AllocBuffer:
            size = _bytes(stmt, known)
            if size is not None:
                sizes[stmt.buffer] = size
                roots[stmt.buffer] = stmt.buffer
                uses[stmt.buffer] = []
                continue
        for buffer in _buffers(stmt):
            root = roots.get(buffer)
            if root is not None:
                uses[root].append(at)
        if type(stmt) is DeclBuffer:
            lies_in = next((roots[b] for b in _buffers(stmt.data) if b in roots), None)
            if lies_in is not None:
                roots[stmt.buffer] = lies_in
    return [Lifetime(buffer, sizes[buffer], min(at), max(at)) for buffer, at in uses.items() if at]


def plan(temporaries: Iterable[Lifetime]) -> MemoryPlan:
    """Places for temporaries, none of which overlaps another one that is alive with it."""
    given = list(temporaries)
    placed: list[tuple[int, Lifetime]] = []
    offsets: dict[Buffer, int] = {}
    for one in sorted(given, key=lambda one: (-one.bytes, one.first)):
        taken = sorted(
            (start, start + other.bytes)
            for start, other in placed
            if other.first <= one.last and one.first <= other.last
        )
        best, gap, end = None, None, 0
        for start, stop in taken:
            room = start - end
            if room >= one.bytes and (gap is None or room < gap):
                best, gap = end, room
            end = max(end, aligned(stop))
        offset = end if best is None else best
        placed.append((offset, one))
        offsets[one.buffer] = offset
    total = max((offset + aligned(one.bytes) for offset, one in placed), default=0)
    separate = sum(aligned(one.bytes) for one in given)
    moments = {one.first for one in given}
    live = max((sum(aligned(o.bytes) for o in given if o.first <= at <= o.last) for at in moments), default=0)
    return MemoryPlan(offsets, total, separate, live)


@prim_func_pass(opt_level=1)
def static_memory_plan(func: PrimFunc) -> PrimFunc:
    """`h = T.alloc_buffer((64,), "float32")` becomes `h = T.decl_buffer((64,), "float32", data=arena.data)`."""
    passed = _passed(func)
    found = [one for one in lifetimes(func) if one.buffer in passed]
    if len(found) < 2:
        return func
    made = plan(found)
    arena = Buffer("arena", (number_of(made.total),), dtype("uint8"), align=ALIGN)
    body: list[Stmt] = []
    for var, bound in upper_bounds(func).items():
        message = f"{var.name} is above {bound}, its `{UPPER_BOUND}`"
        body.append(Assert(get_op("less_equal")(var, const(bound, var.dtype)), message, span=func.span))
    body.append(AllocBuffer(arena))
    for stmt in func.body:
        if type(stmt) is AllocBuffer and stmt.buffer in made.offsets:
            address = address_in(arena, made.offsets[stmt.buffer])
            stmt = DeclBuffer(stmt.buffer, address, trivia=stmt.trivia, span=stmt.span)
        body.append(stmt)
    return func.replace(body=tuple(body))


def _passed(func: PrimFunc) -> set[Buffer]:
    """The buffers that calls of functions get. Those of a kernel's own work are for its schedule to place."""
    calls = [node for node in walk(func.body) if type(node) is CallFunction or _is_library_call(node)]
    roots = {stmt.buffer: _buffers(stmt.data) for stmt in func.body if type(stmt) is DeclBuffer}
    found = {buffer for call in calls for buffer in _buffers(call)}
    while True:
        more = found.union(*(roots[buffer] for buffer in found if buffer in roots))
        if more == found:
            return found
        found = more


def _is_library_call(node: Node) -> bool:
    return type(node) is Call and node.op is OPS["call_packed"]


def _bytes(stmt: AllocBuffer, known: Analyzer) -> int | None:
    """The size of an allocation that may be planned, at most."""
    buffer = stmt.buffer
    plain = buffer.strides is None and buffer.elem_offset is None and not buffer.allocated_addr
    if not plain or buffer.scope != "global" or stmt.annotations or buffer.align > ALIGN:
        return None
    count = 1
    for size in buffer.shape:
        variables = set(walk(size, Var))
        if not variables <= known.known.keys():
            return None
        count *= max(0, known.const_int_bound(size)[1])
    return count * buffer.dtype.itemsize


def _buffers(node: Node) -> set[Buffer]:
    return set(walk(node, Buffer))


__all__ = [
    "UPPER_BOUND",
    "Lifetime",
    "MemoryPlan",
    "lifetimes",
    "plan",
    "static_memory_plan",
    "upper_bounds",
]
