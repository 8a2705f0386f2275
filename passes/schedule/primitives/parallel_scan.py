"""parallel_scan: a scan by several threads, block by block, so that the caches hold what is read again."""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, const
from tirscript.ir.op import get_op
from tirscript.ir.op_sets import LAZY
from tirscript.ir.rewrite import refresh, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, Evaluate, For, Stmt

from ..blocks import inferred
from ..edit import Edit
from ..primitive import LoopAt, primitive
from .blocked_scan import Pieces, Scan, scan_alone, without

# the sum of a part is made in so many vectors: one addition need not wait for another
VECTORS = 4


@primitive
def parallel_scan(edit: Edit, loop: LoopAt, lanes: int, parts: int, size: int) -> None:
    """Compute a scan in blocks of so many parts: their sums in parallel, what comes before each, and then their scans.

    before:                                    after `parallel_scan("k", 16, 8, 512)`:
        for k in range(5000):                      with T.block("B"):
            with T.block("B"):                         carry[0] = 0
                vk = T.axis.scan(5000, k)              for block in range(1):
                B[vk] = T.if_then_else(                    for part in T.parallel(8):
                    vk == 0, 0, B[vk - 1]                      total[part] = sum of A[block * 4096 + part * 512 : ...]
                ) + A[vk]                                  for part in range(8):
                                                               before[part] = carry[0]
                                                               carry[0] = carry[0] + total[part]
                                                           for part in T.parallel(8):
                                                               own[0] = before[part]
                                                               as blocked_scan does, `size` elements with `own`
                                                       as blocked_scan does, 904 elements with `carry`

    A block has `parts` times `size` elements and is read twice, the second time from the caches if it fits them, while
    the next block is prefetched; what is left after the last block is computed by one thread. The result does not
    depend on the number of threads. The combiner must be known to be commutative and associative: sums of floats are
    rounded in another order (Blelloch 1990, "Prefix sums and their applications").
    """
    block, scan, stop = scan_alone(edit, loop, lanes, "a scan in parts")
    assert type(stop) is Const
    count = int(stop.value)
    if parts < 2:
        edit.wrong(f"`parts` is {parts}, and one thread needs no parts")
    if size < lanes or size % lanes:
        edit.wrong(f"`size` is {size}; it must be a multiple of the {lanes} lanes")
    if count < parts * size:
        edit.refuse(f"the loop `{loop.stmt.var.name}` has {count} iterations, and a block {parts * size}", (loop, ""))
    body = _Parts(scan, lanes, parts, size, count).body()
    edit.replace(loop, inferred(block.replace(axes=without(block, scan), body=body)))


class _Parts(Pieces):
    """The statements of a scan in parts."""

    def __init__(self, scan: Scan, lanes: int, parts: int, size: int, count: int) -> None:
        super().__init__(scan, lanes)
        self.parts, self.size, self.count = parts, size, count
        self.carry = self.buffer("carry", 1)
        self.total, self.before = (self.buffer(name, parts, "global") for name in ("total", "before"))

    def buffer(self, name: str, size: int, scope: str = "local") -> Buffer:
        return Buffer(name, (const(size, self.kind),), self.dtype, scope=scope)

    def body(self) -> tuple[Stmt, ...]:
        whole, count = self.parts * self.size, self.count
        block, done = Var("block", self.kind), count - count % whole
        rest = self.run(self.carry, const(done, self.kind), const(count - done, self.kind)) if count > done else ()
        return (
            AllocBuffer(self.carry),
            AllocBuffer(self.total),
            AllocBuffer(self.before),
            BufferStore(self.carry, (self.zero,), self.scan.start),
            For(block, self.zero, const(count // whole, self.kind), self.block(block * whole)),
            *refresh(rest),
        )

    def block(self, start: Expr) -> tuple[Stmt, ...]:
        summed, between, scanned = (Var("part", self.kind) for _ in range(3))
        own, kept = self.buffer("own", 1), BufferLoad(self.carry, (self.zero,))
        sums = self.sums(start + summed * self.size, summed)
        ordered = (
            BufferStore(self.before, (between,), kept),
            self.carried(kept, BufferLoad(self.total, (between,))),
        )
        scans = (
            AllocBuffer(own),
            BufferStore(own, (self.zero,), BufferLoad(self.before, (scanned,))),
            *self.run(own, start + scanned * self.size, const(self.size, self.kind), self.ahead),
        )
        return (
            self.each(summed, sums, "parallel"),
            self.each(between, ordered, "serial"),
            self.each(scanned, scans, "parallel"),
        )

    def ahead(self, at: Expr) -> tuple[Stmt, ...]:
        """Brings near what the next block reads: memory would wait while this one is in the caches."""
        nodes = list(walk(self.scan.value))
        if any(type(node) is Call and node.op in LAZY for node in nodes):
            return ()  # not all that stands there is read
        loads = [node for node in nodes if type(node) is BufferLoad]
        places = {(load.buffer, load.indices): load for load in loads if uses(load.indices, self.scan.axis.var)}
        whole = self.parts * self.size
        later = get_op("min")(at, const(self.count - 1 - whole, self.kind)) + whole  # which does not overflow
        found = [substitute(load, {self.scan.axis.var: later}) for load in places.values()]
        return tuple(Evaluate(get_op("prefetch")(get_op("address_of")(load), 0, 2, 1)) for load in found)

    def each(self, part: Var, body: tuple[Stmt, ...], kind: str) -> For:
        return For(part, self.zero, const(self.parts, self.kind), refresh(body), kind=kind)

    def sums(self, start: Expr, part: Var) -> tuple[Stmt, ...]:
        """What a part's elements are together: in lanes that begin with elements, and not with 0, then by halves."""
        wide = next(wide for wide in (VECTORS * self.lanes, self.lanes) if self.size % wide == 0)
        sums, lane, later = self.buffer("sums", wide), Var("lane", self.kind), Var("k_0", self.kind)
        own = BufferLoad(sums, (lane,))
        stmts: list[Stmt] = [
            AllocBuffer(sums),
            _lanes(lane, wide, BufferStore(sums, (lane,), self.value(start + lane))),
        ]
        if self.size > wide:
            further = self.combined(own, self.value(start + later * wide + lane))
            body = (_lanes(lane, wide, BufferStore(sums, (lane,), further)),)
            stmts.append(For(later, const(1, self.kind), const(self.size // wide, self.kind), body))
        while wide > 1:
            wide //= 2
            halves = self.combined(own, BufferLoad(sums, (lane + wide,)))
            stmts.append(_lanes(lane, wide, BufferStore(sums, (lane,), halves)))
        return (*stmts, BufferStore(self.total, (part,), BufferLoad(sums, (self.zero,))))


def _lanes(lane: Var, count: int, store: BufferStore) -> For:
    """A vectorized loop with a variable of its own."""
    own = lane.replace()
    body = (substitute(store, {lane: own}),)
    return For(own, const(0, lane.dtype), const(count, lane.dtype), body, kind="vectorized")


__all__ = ["parallel_scan"]
