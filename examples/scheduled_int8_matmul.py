"""A matrix product of bytes scheduled by hand: the four products that AVX512-VNNI adds up in one instruction."""

import numpy as np

import tirscript.testing
from tirscript import Schedule
from tirscript.backend.llvm import host
from tirscript.script import tir as T


def matmul(n):
    """The product of two n by n matrices of 8-bit integers, exact in 32 bits."""

    @T.prim_func
    def main(A: T.Buffer((n, n), "uint8"), B: T.Buffer((n, n), "int8"), C: T.Buffer((n, n), "int32")):
        for i, j, k in T.grid(n, n, n):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")

    return main


def dot_product():
    """The tensor intrinsic for this processor: the instruction, or the same sums by operators."""
    return "dot_16x4_vnni" if "+avx512vnni" in host().features.split(",") else "dot_16x4_u8i8s32"


def schedule(n, rows=4, columns=64, lanes=16, unrolled=4):
    """The steps; each can be printed, undone, and replayed on another matrix product."""
    sch = Schedule(matmul(n))
    # B in panels, in which four elements of a column stand beside each other
    packed = sch.cache_read("C", "B", "global")
    sch.transform_layout(packed, ("write", 0), lambda k, j: (j // columns, k // 4, j % columns, k % 4))
    k, j = sch.get_loops(packed)
    panel, column = sch.split(j, factors=[None, columns])
    k0, k1 = sch.split(k, factors=[None, 4])
    sch.reorder(panel, k0, column, k1)
    sch.unroll(k1)
    sch.parallel(panel)
    # rows times columns results at once, in vector registers
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, rows])
    j0, j1, j2 = sch.split(j, factors=[None, columns // lanes, lanes])
    k0, k1, k2 = sch.split(k, factors=[None, unrolled, 4])
    sch.reorder(j0, i0, k0, k1, i1, j1, j2, k2)
    tile = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(tile, i0)
    row, column = sch.get_loops(tile)[-2:]
    sch.unroll(row)
    sch.vectorize(sch.split(column, factors=[None, lanes])[1])
    sch.decompose_reduction("C", k0)
    i1, j1, j2 = sch.get_loops("C_init")[-3:]
    sch.unroll(i1)
    sch.unroll(j1)
    sch.vectorize(j2)
    k1, i1, j1, j2, _ = sch.get_loops("C_update")[-5:]
    sch.tensorize(j2, dot_product())
    for loop in (k1, i1, j1):
        sch.unroll(loop)
    sch.parallel(j0)
    return sch


scheduled_int8_matmul = schedule(32, columns=32).func


def inputs(rng, large=False):
    return (
        rng.integers(0, 256, (32, 32), "uint8"),
        rng.integers(-128, 128, (32, 32), "int8"),
        np.zeros((32, 32), "int32"),
    )


def reference(A, B, C):
    np.matmul(A.astype("int32"), B.astype("int32"), out=C)


if __name__ == "__main__":
    matmul(32).show()
    print(schedule(32, columns=32).trace)
    tirscript.testing.try_example(scheduled_int8_matmul, inputs, reference)
