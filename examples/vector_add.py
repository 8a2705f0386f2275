"""The sum of two vectors of any length."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def vector_add(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    # `n` is bound by A at the call, and checked against B and C
    for i in range(n):
        C[i] = A[i] + B[i]


def inputs(rng, large=False):
    n = 1_000_000 if large else 1_000
    return rng.random(n, "float32"), rng.random(n, "float32"), np.zeros(n, "float32")


def reference(A, B, C):
    np.add(A, B, out=C)


if __name__ == "__main__":
    tirscript.testing.try_example(vector_add, inputs, reference)
