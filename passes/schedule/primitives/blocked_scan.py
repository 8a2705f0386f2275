"""blocked_scan: a scan whose elements wait for each other once a vector, not once an element."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Broadcast, BufferLoad, Call, Const, Expr, Ramp, Shuffle, Var, const, is_const
from tirscript.ir.op import OPS, Op, cast
from tirscript.ir.rewrite import refresh, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, Stmt

from ...statements import same_indices
from ..blocks import inferred
from ..dataflow import check_own_memory
from ..edit import Edit
from ..loops import plain
from ..primitive import LoopAt, primitive
from ..reducers import IDENTITIES, neutral

_CHOICE = OPS["if_then_else"]  # T.Select would read the element before the first


class Scan(Struct, frozen=True, eq=False):
    """`store.buffer[.., k, ..] = op(start if k == 0 else store.buffer[.., k - 1, ..], value)`, over the axis `k`."""

    axis: Axis
    store: BufferStore
    op: Op
    start: Expr
    value: Expr


def scan_of(block: Block) -> Scan | None:
    """The scan that a block is, None where it is something else."""
    axes = [axis for axis in block.axes if axis.kind == "scan"]
    store = block.body[0] if len(block.body) == 1 else None
    if len(axes) != 1 or type(store) is not BufferStore or block.init is not None or block.predicate is not None:
        return None
    axis, value = axes[0], store.value
    if store.predicate is not None or not is_const(axis.start, 0) or store.buffer.dtype.is_vector:
        return None
    if type(value) is not Call or value.op not in IDENTITIES or sum(one is axis.var for one in store.indices) != 1:
        return None
    for before, other in (value.args, value.args[::-1]):
        start = _start(before, store, axis)
        if start is not None and not any(_touches(part, store) for part in (other, start)):
            return Scan(axis, store, value.op, start, other)
    return None


def _start(before: Expr, store: BufferStore, axis: Axis) -> Expr | None:
    """What the scan begins with, where `before` is that for the first element and else the element before."""
    if type(before) is not Call or before.op is not _CHOICE:
        return None
    first, start, last = before.args
    if type(first) is not Call or first.op is not OPS["equal"] or uses(start, axis.var):
        return None
    if not any(a is axis.var and is_const(b, 0) for a, b in (first.args, first.args[::-1])):
        return None
    wanted = tuple(index - 1 if index is axis.var else index for index in store.indices)
    if type(last) is not BufferLoad or last.buffer is not store.buffer or last.predicate is not None:
        return None
    return start if same_indices(last.indices, wanted) else None


def _touches(expr: Expr, store: BufferStore) -> bool:
    """Whether an expression reads what the scan writes, or has effects."""
    return any(
        (type(node) is BufferLoad and node.buffer is store.buffer)
        or (type(node) is Call and node.op.effect == "opaque")
        for node in walk(expr)
    )


@primitive
def blocked_scan(edit: Edit, loop: LoopAt, lanes: int) -> None:
    """Compute a scan in pieces of so many lanes, each by itself, to which the sum of all before is added.

    before:                                    after `blocked_scan("k", 2)`:
        for k in range(9):                         with T.block("B"):
            with T.block("B"):                         carry[0] = 0
                vk = T.axis.scan(9, k)                 for k_0 in range(4):
                B[vk] = T.if_then_else(                    piece[0:2] = A[k_0 * 2 : k_0 * 2 + 2]
                    vk == 0, 0, B[vk - 1]                  piece[0:2] = piece[0:2] + (0, piece[0])
                ) + A[vk]                                  B[k_0 * 2 : k_0 * 2 + 2] = carry[0] + piece[0:2]
                                                           carry[0] = carry[0] + piece[1]
                                                       carry[0] = carry[0] + A[8]
                                                       B[8] = carry[0]

    The lanes of a piece are combined in steps of 1, 2, 4, ... (Hillis and Steele 1986). The combiner must be known to
    be commutative and associative: sums of floats are rounded in another order, with fewer roundings in a chain, and
    it depends on the order what of a nan and a number is the greater.
    """
    block, scan, count = scan_alone(edit, loop, lanes, "a scan in pieces", symbolic=True)
    pieces = Pieces(scan, lanes)
    carry = Buffer("carry", (const(1, scan.axis.var.dtype),), scan.store.buffer.dtype, scope="local")
    body = (
        AllocBuffer(carry),
        BufferStore(carry, (pieces.zero,), scan.start),
        *pieces.run(carry, pieces.zero, count),
    )
    edit.replace(loop, inferred(block.replace(axes=without(block, scan), body=body)))


def scan_alone(edit: Edit, loop: LoopAt, lanes: int, what: str, *, symbolic: bool = False) -> tuple[Block, Scan, Expr]:
    """The block that a loop holds, its scan over that loop, and its iterations; refused where it is something else.

    The iterations are a number, unless the scan may be `symbolic`.
    """
    stmt = plain(edit, loop, what)
    block = stmt.body[0] if len(stmt.body) == 1 else None
    if type(block) is not Block:
        edit.refuse(f"the loop `{stmt.var.name}` does not hold a block alone", loop)
    scan = scan_of(block)
    if scan is None:
        edit.refuse(
            f"the block `{block.name}` is no scan: one store, over one axis of the kind `scan`, that combines the "
            "element before with a value",
            (block, ""),
            hint="it reads `T.if_then_else(vk == 0, start, B[vk - 1]) + value`, and `value` does not read `B`",
        )
    if lanes < 2 or lanes & (lanes - 1):
        edit.wrong(f"`lanes` is {lanes}; it must be a power of two from 2 on")
    count: Expr = stmt.stop
    if scan.axis.value is not stmt.var or any(uses(axis.value, stmt.var) for axis in without(block, scan)):
        edit.refuse(f"the loop `{stmt.var.name}` is not the axis `{scan.axis.var.name}` alone", (loop, ""))
    known = int(count.value) >= lanes if type(count) is Const else symbolic
    if not known or not is_const(stmt.start, 0) or scan.axis.stop != cast(count, scan.axis.stop.dtype):
        edit.refuse(f"the loop `{stmt.var.name}` does not run from 0 to a number of {lanes} or more", (loop, ""))
    check_own_memory(edit, loop, (scan.store.buffer,))  # elements are read before those in front of them are stored
    return block, scan, scan.axis.stop


def without(block: Block, scan: Scan) -> tuple[Axis, ...]:
    """The axes of a block but that of its scan."""
    return tuple(axis for axis in block.axes if axis is not scan.axis)


class Pieces:
    """The statements of a scan in pieces of so many lanes."""

    def __init__(self, scan: Scan, lanes: int) -> None:
        self.scan, self.lanes = scan, lanes
        self.kind, self.dtype = scan.axis.var.dtype, scan.store.buffer.dtype
        self.zero = const(0, self.kind)
        self.whole = (Ramp(self.zero, const(1, self.kind), lanes),)

    def run(
        self, carry: Buffer, start: Expr, count: Expr, beside: Callable[[Expr], tuple[Stmt, ...]] = lambda at: ()
    ) -> tuple[Stmt, ...]:
        """The scan of `count` elements from `start` on; `carry` holds the sum of all before, and then of these too.

        `beside` tells what else is done for the piece that begins at an element.
        """
        lanes = self.lanes
        outer, inside, last = (Var(f"k_{word}", self.kind) for word in ("0", "1", "2"))
        again, known = Var("k_3", self.kind), Analyzer()
        whole = known.simplify(count // lanes)
        piece = Buffer("piece", (const(lanes, self.kind),), self.dtype, scope="local")
        here, kept = self.after(start, outer * lanes), BufferLoad(carry, (self.zero,))
        stored = self.result(here + last, self.combined(kept, BufferLoad(piece, (last,))))
        loop = (
            *beside(here),
            self.over(inside, BufferStore(piece, (inside,), self.value(here + inside))),
            *(self.step(piece, 1 << power) for power in range(lanes.bit_length() - 1)),
            self.over(last, stored),
            self.carried(kept, BufferLoad(piece, (const(lanes - 1, self.kind),))),
        )
        stmts: list[Stmt] = [AllocBuffer(piece), For(outer, self.zero, whole, loop)]
        if not known.prove_equal(count % lanes, self.zero):
            at = self.after(start, again)
            one = refresh((self.carried(kept, self.value(at)), self.result(at, kept)))
            stmts.append(For(again, known.simplify(whole * lanes), count, one))
        return tuple(stmts)

    def after(self, start: Expr, distance: Expr) -> Expr:
        return distance if is_const(start, 0) else start + distance

    def value(self, at: Expr) -> Expr:
        """What an element is combined with."""
        return substitute(self.scan.value, {self.scan.axis.var: at})

    def combined(self, a: Expr, b: Expr) -> Expr:
        return Call(self.scan.op, (a, b), a.dtype)

    def carried(self, kept: BufferLoad, value: Expr) -> BufferStore:
        return BufferStore(kept.buffer, kept.indices, self.combined(kept, value))

    def over(self, var: Var, store: BufferStore) -> For:
        return For(var, self.zero, const(self.lanes, var.dtype), (store,), kind="vectorized")

    def result(self, at: Expr, value: Expr) -> BufferStore:
        store = self.scan.store
        return store.replace(indices=substitute(store.indices, {self.scan.axis.var: at}), value=value)

    def step(self, into: Buffer, distance: int) -> BufferStore:
        """Each lane takes in the lane so far before it."""
        piece = BufferLoad(into, self.whole)
        none = neutral(self.scan.op, self.dtype)
        moved = tuple(lane - distance + self.lanes if lane >= distance else lane for lane in range(self.lanes))
        shifted = Shuffle((Broadcast(none, self.lanes), piece), moved)
        return BufferStore(into, self.whole, self.combined(shifted, piece))
