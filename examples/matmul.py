"""The product of two matrices of any size, as the definition says it."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def matmul(
    A: T.Buffer(("m", "k"), "float32"),
    B: T.Buffer(("k", "n"), "float32"),
    C: T.Buffer(("m", "n"), "float32"),
):
    for i, p, j in T.grid(m, k, n):
        with T.block("matmul"):
            vi, vp, vj = T.axis.remap("SRS", [i, p, j])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vp] * B[vp, vj]


def inputs(rng, large=False):
    m, n, k = (256, 256, 256) if large else (17, 19, 23)
    return rng.random((m, k), "float32"), rng.random((k, n), "float32"), np.zeros((m, n), "float32")


def reference(A, B, C):
    np.matmul(A, B, out=C)


if __name__ == "__main__":
    tirscript.testing.try_example(matmul, inputs, reference)
