"""Results that are larger than the caches: each line of memory is written whole, and without being read before.

An ordinary store reads the line that it changes part of, and keeps it; a result that no cache can hold until somebody
reads it is moved once more for nothing. Stores past the caches need vectors, so these are made here and not by LLVM.

for i in T.parallel(n // 16):
    with T.block("B"):
        T.block_attr({"pragma_nontemporal": True})
        B[i * 16 : i * 16 + 16] = ...
"""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, BufferLoad
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import BufferStore, DeclBuffer, MatchBuffer

from ..primitive import LoopHandle
from .nests import Nest, heavy, stride_of
from .work import Work

NONTEMPORAL = "pragma_nontemporal"
# the widest vectors: those of T.vectorized
LANES = 64
# bytes of all arrays together between what is computed on and what is prefetched, and of each at least
AHEAD, LEAST_AHEAD = 2048, 512
# rows of so few vectors end before the next ones are read
SHORT = 16


def past_caches(work: Work, nest: Nest) -> bool:
    """Write the large result of an elementwise block past the caches; False where it is not large, or not in lines."""
    if nest.reduced or not leaves(work, nest):
        return False
    column = nest.dim(nest.store.indices[-1])
    lanes = work.facts.lanes(nest.dtype.bits)
    if column is None or nest.dims[-1] is not column or column.extent < lanes:
        return False
    if any(stride_of(load, column.var) not in (0, 1) for load in nest.loads()):
        return False
    in_lines(work, nest.name, column.loop, min(LANES, _vectors(nest, column.extent // lanes) * lanes))
    ahead(work, nest)
    outer = work.sch.get_loops(nest.name)[:-1] if len(nest.dims) == 1 else [dim.loop for dim in nest.dims[:-1]]
    work.parallel(outer, nest.work * (8 if heavy(nest.value) else 1))
    return True


def _vectors(nest: Nest, count: int) -> int:
    """How many vectors are computed at once: several in short rows, and where one operation waits for another."""
    return 4 if count <= SHORT else 2 if heavy(nest.value) else 1


def leaves(work: Work, nest: Nest, part: int = 1) -> bool:
    """Whether what a block makes is a parameter of the function that it does not read, and no cache can hold it.

    Lines that the block has read are in the caches already. With `part`, that part of the caches cannot hold it.
    """
    buffer = nest.store.buffer
    if buffer.dtype.is_vector or buffer.dtype.bits < 8 or not nest.store.indices:
        return False
    if nest.instances * buffer.dtype.itemsize * part < work.facts.cache or all(
        one is not buffer for one in parameters(work)
    ):
        return False
    if stride_of(BufferLoad(buffer, nest.store.indices), nest.store.indices[-1]) != 1:  # type: ignore[arg-type]
        return False
    return all(load.buffer is not buffer for load in nest.loads())


def ahead(work: Work, nest: Nest) -> None:
    """Prefetch what the vectors of a block read of the parameters, each element of which is read once or so.

    The processor's own prefetching falls behind where several arrays are read, or much is computed on each element.
    """
    loops = work.sch.get_loops(nest.name)
    if len(loops) < 2:
        return  # a vector is all there is
    *_, along, vector = loops
    lanes = int(work.sch.get(vector).stop.value)
    read = [buffer for buffer in parameters(work) if _read_whole(nest, buffer)]
    for buffer in read:
        distance = max(LEAST_AHEAD, AHEAD // len(read)) // (lanes * buffer.dtype.itemsize)
        work.prefetch(nest.name, buffer, along, max(1, distance))


def _read_whole(nest: Nest, buffer: Buffer) -> bool:
    """Whether each element that a block computes is made of others of a buffer."""
    indices = [index for load in nest.loads() if load.buffer is buffer for index in load.indices]
    return all(any(uses(index, dim.var) for index in indices) for dim in nest.dims)


def parameters(work: Work) -> tuple[Buffer, ...]:
    """The buffers that the function is given, by themselves or as what a handle points to, and views of them."""
    func = work.sch.func
    given = [param for param in func.params if isinstance(param, Buffer)]
    for stmt in func.body:
        matched = type(stmt) is MatchBuffer and stmt.source in func.params
        if matched or (type(stmt) is DeclBuffer and type(stmt.data) is BufferData and stmt.data.buffer in given):
            given.append(stmt.buffer)  # type: ignore[attr-defined]
    return tuple(given)


def in_lines(work: Work, name: str, loop: LoopHandle, lanes: int) -> None:
    """Run the innermost loop of a block in vectors of so many lanes that go past the caches, and one for the rest."""
    sch, extent = work.sch, work.extent(loop) or 0
    # a single element left would be stored into a line of which all else goes past the caches
    lanes = next((size for size in range(lanes, LANES + 1, lanes) if extent % size != 1), lanes)
    sch.annotate(sch.get_block(name), NONTEMPORAL, True)
    in_vectors(work, name, loop, lanes)


def in_vectors(work: Work, name: str, loop: LoopHandle, lanes: int) -> None:
    """Run the innermost loop of a block in vectors of so many lanes, and one for the rest."""
    sch, extent = work.sch, work.extent(loop)
    work.done.add(name)
    if extent is None:
        _in_whole_vectors(work, loop, lanes)
        return
    if extent > lanes and extent % lanes:
        loop, rest = sch.loop_partition(loop, [extent - extent % lanes, None])
        work.done |= {block.name for block in sch.get_child_blocks(rest)}
        if extent % lanes > 1:
            sch.vectorize(rest)
    if extent >= 2 * lanes:
        _, loop = sch.split(loop, [None, lanes])
    sch.vectorize(loop)


def _in_whole_vectors(work: Work, loop: LoopHandle, lanes: int) -> None:
    """In vectors where only the call knows how many iterations there are, and a loop of its own for the rest.

    That is a vector some lanes of which do nothing: all vectors may be such where much would be written twice. Where a
    line is read again what is stored so would have to reach the cache first, for the next line begins in that vector.
    """
    sch, stmt = work.sch, work.sch.get(loop)
    stores = list(walk(stmt.body, BufferStore))
    if not any(heavy(store.value) for store in stores):
        size = const(lanes, stmt.stop.dtype)
        whole = get_op("mul")(get_op("floordiv")(stmt.stop, size), size)
        loop, rest = sch.loop_partition(loop, [whole, None])
        work.done |= {block.name for block in sch.get_child_blocks(rest)}
        if not any(type(node) is BufferLoad and node.buffer is stores[0].buffer for node in walk(stores[0].value)):
            sch.vectorize(sch.split(rest, [None, lanes])[1])
    sch.vectorize(sch.split(loop, [None, lanes])[1])


__all__ = ["in_lines", "leaves", "parameters", "past_caches"]
