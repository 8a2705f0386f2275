"""A matrix product scheduled by hand: tiles for caches and registers, a packed operand, vectors and threads."""

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


def schedule(n, rows=8, lanes=16, depth=64):
    """The steps; each can be printed, undone, and replayed on another matrix product."""
    sch = Schedule(matmul(n))
    # B in panels as wide as a vector, which the inner loop reads line by line
    packed = sch.cache_read("C", "B", "global")
    sch.transform_layout(packed, ("write", 0), lambda k, j: (j // lanes, k, j % lanes))
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, rows])
    j0, j1 = sch.split(j, factors=[None, lanes])
    k0, k1 = sch.split(k, factors=[None, depth])
    sch.reorder(i0, j0, k0, k1, i1, j1)
    # a tile of results stays in registers while k runs
    tile = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(tile, j0)
    sch.decompose_reduction("C", k0)
    for block in ("C_init", "C_update", "C_local"):
        sch.vectorize(sch.get_loops(block)[-1])
    sch.unroll(i1)
    sch.parallel(i0)
    return sch


scheduled_matmul = schedule(32, depth=16).func


def inputs(rng, large=False):
    return rng.random((32, 32), "float32"), rng.random((32, 32), "float32"), np.zeros((32, 32), "float32")


def reference(A, B, C):
    np.matmul(A, B, out=C)


if __name__ == "__main__":
    matmul(32).show()
    print(schedule(32, depth=16).trace)
    tirscript.testing.try_example(scheduled_matmul, inputs, reference)
