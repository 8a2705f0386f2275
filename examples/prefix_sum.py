"""Running sums. Integers wrap around, here as in numpy."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def prefix_sum(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "int32")):
    total = 0  # assigned again below, so it is a mutable scalar
    for i in range(n):
        total += A[i]
        B[i] = total


def inputs(rng, large=False):
    n = 1_000_000 if large else 500
    return rng.integers(-(2**31), 2**31 - 1, n, "int32"), np.zeros(n, "int32")


def reference(A, B):
    np.cumsum(A, dtype="int32", out=B)


if __name__ == "__main__":
    tirscript.testing.try_example(prefix_sum, inputs, reference)
