"""Twice each of 14 elements: the smallest layout program."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def grow(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("grow"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] * 2


def inputs(rng, large=False):
    return rng.integers(-1000, 1000, 14, "int32"), np.zeros(14, "int32")


def reference(A, B):
    np.multiply(A, 2, out=B)


if __name__ == "__main__":
    tirscript.testing.try_example(grow, inputs, reference)
