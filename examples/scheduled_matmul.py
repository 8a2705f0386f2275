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


def schedule(n, rows=6, columns=64, lanes=16, unrolled=4):
    """The steps; each can be printed, undone, and replayed on another matrix product."""
    sch = Schedule(matmul(n))
    # A and C in whole tiles of rows; rows of A that are 4,096 bytes apart would share a line of the cache
    sch.pad_einsum("C", [rows, 1, 1])
    if n % rows:
        sch.storage_align("A_pad", 0, -2, 256, lanes)
        sch.vectorize(sch.split(sch.get_loops("A_pad")[-1], factors=[None, lanes])[1])
    else:
        sch.cache_write("C", 0, "local")
    (write_back,) = sch.get_consumers("C")
    # B in panels of as many columns as a tile has, which stay in the cache while all rows pass by
    packed = sch.cache_read("C", "B", "global")
    # rows times columns results at once: 24 vector registers, 4 more for a line of B, one for an element of A
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, rows])
    j0, j1 = sch.split(j, factors=[None, columns])
    sch.reorder(j0, i0, k, i1, j1)
    sch.compute_at(packed, j0)
    sch.reverse_compute_at(write_back, i0)
    sch.set_scope("C", 0, "local")
    k0, k1 = sch.split(k, factors=[None, unrolled])
    sch.unroll(k1)
    sch.decompose_reduction("C", k0)
    for block in (packed, write_back, "C_init", "C_update"):
        column, lane = sch.split(sch.get_loops(block)[-1], factors=[None, lanes])
        sch.unroll(column)
        sch.vectorize(lane)
    for block in ("C_init", "C_update"):
        sch.unroll(sch.get_loops(block)[-3])
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
