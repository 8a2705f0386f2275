"""Reductions down the columns of a large matrix: a vector times a matrix, sums over its first dimension.

for k_0 in range(K // 8):
    for j_0 in range(N // 16):
        a vector of results += eight lines of the matrix, where the vector is

Memory is read line by line, some lines at once; a tile that went down all of them would come to another page with each
line. The results so far stay in the near caches. Each element is still reduced in the order of the loops.
"""

from __future__ import annotations

from .nests import Nest, stride_of
from .work import Work

# lines that are read at once, the better numbers first
DEPTHS = (8, 16, 12, 10, 9, 7, 6, 5, 4)
# bytes of a line from which on they are pages apart, of all lines, and of the results at most
LINE, LARGE, RESULTS = 2 << 10, 1 << 20, 256 << 10


def down_columns(work: Work, nest: Nest) -> bool:
    """Schedule a reduction that reads across the lines of a large matrix; False for others."""
    if len(nest.reduced) != 1 or not nest.spatial or not nest.store.indices:
        return False
    (line,), columns = nest.reduced, nest.dim(nest.store.indices[-1])
    if columns is None or columns.reduces or columns is not nest.spatial[-1]:
        return False
    loads = nest.loads()
    if any(stride_of(load, columns.var) not in (0, 1) for load in loads):
        return False
    lines = [load for load in loads if list(load.indices[-2:]) == [line.var, columns.var]]
    width = columns.extent * max((load.dtype.itemsize for load in lines), default=0)
    if width < LINE or width * line.extent <= LARGE or columns.extent * nest.dtype.itemsize > RESULTS:
        return False
    depth = next((size for size in DEPTHS if line.divides(size)), 0)
    outer = [dim.loop for dim in nest.spatial if dim is not columns]
    lanes, parts = work.facts.lanes(nest.dtype.bits), 1 if outer else work.facts.threads
    vectors = next((count for count in (2, 1) if columns.divides(parts * count * lanes)), 0)
    if not depth or not vectors:
        return False
    sch, name = work.sch, nest.name
    k_0, k_1 = sch.split(line.loop, [None, depth])
    part, j_0, j_1 = sch.split(columns.loop, [parts, None, vectors * lanes])
    sch.reorder(*outer, part, k_0, j_0, k_1, j_1)
    sch.unroll(k_1)
    sch.decompose_reduction(name, k_0)
    for block in (f"{name}_init", f"{name}_update"):
        work.vectorize(block, lanes)
    work.contract(f"{name}_update")
    work.parallel([*outer, part], nest.work)
    work.done |= {name, f"{name}_init", f"{name}_update"}
    return True


__all__ = ["down_columns"]
