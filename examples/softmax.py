"""Softmax of each row."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def softmax(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m", "n"), "float32")):
    for i in range(m):
        # the greatest element of the row, so that exp cannot overflow
        top: T.float32 = T.min_value("float32")
        for j in range(n):
            top = T.max(top, A[i, j])

        total: T.float32 = T.float32(0)
        for j in range(n):
            B[i, j] = T.exp(A[i, j] - top)
            total += B[i, j]

        for j in range(n):
            B[i, j] = B[i, j] / total


def inputs(rng, large=False):
    m, n = (512, 1024) if large else (7, 33)
    return rng.standard_normal((m, n), "float32"), np.zeros((m, n), "float32")


def reference(A, B):
    np.exp(A - A.max(axis=1, keepdims=True), out=B)
    B /= B.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    tirscript.testing.try_example(softmax, inputs, reference)
