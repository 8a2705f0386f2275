"""A matrix product scheduled by hand: a packed operand, a tile of results in registers, fused multiply-adds."""

import numpy as np

import tirscript.testing
from tirscript import Schedule
from tirscript.script import tir as T


def matmul(n):
    """The product of two n by n matrices, as the definition says it."""

    @T.prim_func
    def main(A: T.Buffer((n, n), "float32"), B: T.Buffer((n, n), "float32"), C: T.Buffer((n, n), "float32")):
        for i, j, k in T.grid(n, n, n):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vk] * B[vk, vj]

    return main


def schedule(n, rows=4, columns=64, lanes=16, unrolled=8):
    """The steps; each can be printed, undone, and replayed on another matrix product."""
    sch = Schedule(matmul(n))
    # B in panels of as many columns as a tile has, which stay in the cache while all rows pass by
    packed = sch.cache_read("C", "B", "global")
    sch.transform_layout(packed, ("write", 0), lambda k, j: (j // columns, k, j % columns))
    k, j = sch.get_loops(packed)
    panel, column = sch.split(j, factors=[None, columns])
    sch.reorder(panel, k, column)
    sch.vectorize(column)
    sch.parallel(panel)
    # rows times columns results at once: 16 vector registers, 4 more for a line of B, one for an element of A
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, rows])
    j0, j1, j2 = sch.split(j, factors=[None, columns // lanes, lanes])
    k0, k1 = sch.split(k, factors=[None, unrolled])
    sch.reorder(j0, i0, k0, k1, i1, j1, j2)
    tile = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(tile, i0)
    row, column = sch.get_loops(tile)[-2:]
    sch.unroll(row)
    sch.vectorize(sch.split(column, factors=[None, lanes])[1])
    sch.decompose_reduction("C", k0)
    for block in ("C_init", "C_update"):
        i1, j1, j2 = sch.get_loops(block)[-3:]
        sch.unroll(i1)
        sch.unroll(j1)
        sch.vectorize(j2)
    sch.unroll(k1)
    sch.contract("C_update")
    sch.parallel(j0)
    return sch


scheduled_matmul = schedule(32, columns=32).func


def inputs(rng, large=False):
    return rng.random((32, 32), "float32"), rng.random((32, 32), "float32"), np.zeros((32, 32), "float32")


def reference(A, B, C):
    np.matmul(A, B, out=C)


if __name__ == "__main__":
    matmul(32).show()
    print(schedule(32, columns=32).trace)
    tirscript.testing.try_example(scheduled_matmul, inputs, reference)
