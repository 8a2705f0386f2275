"""The transpose of a matrix of any size."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def transpose(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    for i, j in T.grid(n, m):
        with T.block("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


def inputs(rng, large=False):
    m, n = (1024, 512) if large else (13, 9)
    return rng.random((m, n), "float32"), np.zeros((n, m), "float32")


def reference(A, B):
    np.copyto(B, A.T)


if __name__ == "__main__":
    tirscript.testing.try_example(transpose, inputs, reference)
