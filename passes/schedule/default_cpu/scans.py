"""Scans along memory, such as running sums: pieces of a vector, of which only the last sum is waited for.

One by one, each element waits for the addition of the element before: about four cycles.

for i in T.parallel(n):
    for k_0 in range(m // 16): the sums inside A[i, k_0 * 16 : k_0 * 16 + 16], in four steps; plus that of all before

One long scan is done by all threads, a block after the other: the sums of its parts, and then their scans.
"""

from __future__ import annotations

import math

from tirscript.ir.expr import BufferLoad
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import walk

from ..primitives.blocked_scan import scan_of
from .nests import stride_of
from .streams import NONTEMPORAL, parameters
from .work import Work

# scans of fewer vectors are done before pieces pay
SHORT = 4
# one long scan is cut into blocks that the second caches hold, these into parts for threads: so many for each thread
# where there are BLOCKS of them. Parts have always so many bytes, so that results do not depend on threads
PARTS, PART, BLOCKS = 32, 1 << 14, 2


def pieces(work: Work, name: str) -> bool:
    """Schedule a scan along memory; False where the block is none.

    Of floats, sums alone: a product of a piece may overflow where that of the whole is 0, and the order decides what of
    a nan and a number is the greater.
    """
    sch, block = work.sch, work.block(name)
    scan, loops = scan_of(block), sch.get_loops(name)
    if scan is None or not loops or any(len(sch.get(loop).body) != 1 for loop in loops):
        return False
    buffer, lanes = scan.store.buffer, work.facts.lanes(scan.store.buffer.dtype.bits)
    if buffer.dtype.is_float and not (work.facts.reassociate and scan.op is OPS["add"]):
        return False
    if not (buffer.dtype.is_float or buffer.dtype.is_int) or buffer.dtype.bits < 8 or lanes < 2:
        return False
    loads = [node for node in walk(scan.value, BufferLoad) if node.indices]
    if any(stride_of(load, scan.axis.var) not in (0, 1) for load in loads):
        return False
    if stride_of(BufferLoad(buffer, scan.store.indices), scan.axis.var) != 1:
        return False
    extents = [work.extent(loop) for loop in loops]
    if extents[-1] is not None and extents[-1] < SHORT * lanes:
        return False
    size = PART // buffer.dtype.itemsize
    count = math.prod(extent or 1 for extent in extents)
    pairs = min(work.facts.threads // 2, count // (BLOCKS * 2 * PARTS * size))
    if pairs and count == extents[-1]:
        sch.parallel_scan(loops[-1], lanes, pairs * 2 * PARTS, size)
    else:
        sch.blocked_scan(loops[-1], lanes)
    work.done.add(name)
    if count * buffer.dtype.itemsize >= work.facts.cache and any(one is buffer for one in parameters(work)):
        sch.annotate(sch.get_block(name), NONTEMPORAL, True)
    work.parallel(loops[:-1], float(count) if None not in extents else math.inf)
    return True


__all__ = ["pieces"]
