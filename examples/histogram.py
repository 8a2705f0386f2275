"""How often each value occurs: an index that is data. Values outside the bins are not counted."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def histogram(A: T.Buffer(("n",), "int32"), counts: T.Buffer(("bins",), "int32")):
    for b in range(bins):
        counts[b] = 0
    for i in range(n):
        value = A[i]
        if 0 <= value < bins:
            counts[value] += 1


def inputs(rng, large=False):
    n, bins = (1_000_000, 256) if large else (500, 16)
    return rng.integers(-3, bins + 3, n, "int32"), np.zeros(bins, "int32")


def reference(A, counts):
    counts[:] = np.bincount(A[(A >= 0) & (A < len(counts))], minlength=len(counts))


if __name__ == "__main__":
    tirscript.testing.try_example(histogram, inputs, reference)
