"""Products of matrices of bytes, added up in 32 bits."""

from __future__ import annotations

from tirscript.ir import PrimFunc
from tirscript.script import tir as T

BYTES = ("int8", "uint8")


def product(m: int, n: int, k: int, left: str = "int8", right: str = "int8") -> PrimFunc:
    @T.prim_func
    def product(A: T.Buffer((m, k), left), B: T.Buffer((k, n), right), C: T.Buffer((m, n), "int32")):
        for i, j, p in T.grid(m, n, k):
            with T.block("C"):
                vi, vj, vp = T.axis.remap("SSR", [i, j, p])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += T.cast(A[vi, vp], "int32") * T.cast(B[vp, vj], "int32")

    return product


@T.prim_func
def linear(
    X: T.Buffer((2, 17, 70), "uint8"),
    W: T.Buffer((20, 70), "int8"),
    bias: T.Buffer((20,), "int32"),
    Y: T.Buffer((2, 17, 20), "int32"),
):
    for b, i, j in T.grid(2, 17, 20):
        total: T.int32 = 0
        for k in range(70):
            total += T.cast(W[j, k], "int32") * T.cast(X[b, i, k], "int32")
        Y[b, i, j] = T.max(total + bias[j], 0)


KERNELS = {
    "whole": product(32, 16, 128),
    "odd": product(33, 18, 67),
    "few": product(9, 66, 64, "uint8", "int8"),
    "signs": product(17, 16, 130, "int8", "uint8"),
    "unsigned": product(32, 17, 65, "uint8", "uint8"),
    "linear": linear,
}


def words(program: PrimFunc) -> str:
    return program.script()
