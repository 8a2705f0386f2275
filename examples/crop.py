"""4x4 tiles back to the 14 elements they hold; the loops run over the tiles, a predicate leaves the padding out."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def crop(A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
    for io, ii in T.grid(4, 4):
        with T.block("crop"):
            T.where(io * 4 + ii < 14)
            vo, vi = T.axis.remap("SS", [io, ii])
            T.block_attr({"postproc": ["crop", 0]})
            B[vo * 4 + vi] = A[vo, vi]


def inputs(rng, large=False):
    return rng.integers(-1000, 1000, (4, 4), "int32"), np.zeros(14, "int32")


def reference(A, B):
    B[:] = A.reshape(16)[:14]


if __name__ == "__main__":
    tirscript.testing.try_example(crop, inputs, reference)
