"""14 elements into 4x4 tiles: element i moves to [i // 4, i % 4], and what is left over becomes 0."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def pad(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        with T.block("pad"):
            vo, vi = T.axis.remap("SS", [io, ii])
            # a hint to layout passes; the program means the same without it
            T.block_attr({"preproc": "pad"})
            B[vo, vi] = T.if_then_else(vo * 4 + vi < 14, A[vo * 4 + vi], 0)


def inputs(rng, large=False):
    return rng.integers(-1000, 1000, 14, "int32"), np.ones((4, 4), "int32")


def reference(A, B):
    B.reshape(16)[:14] = A
    B.reshape(16)[14:] = 0


if __name__ == "__main__":
    tirscript.testing.try_example(pad, inputs, reference)
