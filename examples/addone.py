"""One more than each of 14 elements, in 4x4 tiles: the padding is computed too, and never looked at."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def addone(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        with T.block("addone"):
            vo, vi = T.axis.remap("SS", [io, ii])
            B[vo, vi] = A[vo, vi] + 1


def inputs(rng, large=False):
    return rng.integers(-1000, 1000, (4, 4), "int32"), np.zeros((4, 4), "int32")


def reference(A, B):
    np.add(A, 1, out=B)


if __name__ == "__main__":
    tirscript.testing.try_example(addone, inputs, reference)
