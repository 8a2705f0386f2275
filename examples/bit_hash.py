"""A hash of each number, shifts and multiplications that wrap, and one digest of all of them."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def bit_hash(A: T.Buffer(("n",), "uint32"), H: T.Buffer(("n",), "uint32"), digest: T.Buffer((1,), "uint32")):
    digest[0] = 0x2545F491
    for i in range(n):
        x = A[i]
        x ^= x >> 16
        x *= 0x9E3779B1
        x ^= x >> 13
        x *= 0x85EBCA6B
        x ^= x >> 16
        H[i] = x
        digest[0] ^= x


def inputs(rng, large=False):
    n = 1_000_000 if large else 500
    return rng.integers(0, 2**32 - 1, n, "uint32"), np.zeros(n, "uint32"), np.zeros(1, "uint32")


def reference(A, H, digest):
    np.bitwise_xor(A, A >> 16, out=H)
    H *= np.uint32(0x9E3779B1)
    H ^= H >> 13
    H *= np.uint32(0x85EBCA6B)
    H ^= H >> 16
    digest[0] = np.bitwise_xor.reduce(H) ^ np.uint32(0x2545F491)


if __name__ == "__main__":
    tirscript.testing.try_example(bit_hash, inputs, reference)
