"""Every stage of the lowering of real kernels: verified, printed and parsed back, and with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.passes import program

from tirscript.backend.interpreter import interpret
from tirscript.ir import DType, PrimFunc
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING, PassContext, RoundTripEach, get_pass

KERNELS = {
    "matmul": """
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((5, 4), "float32")):
        for i, j, k in T.grid(5, 4, 6):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    """,
    "matmul of tiles through a cache": """
    def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        D = T.alloc_buffer((8, 8), "float32")
        for io, jo in T.grid(2, 2):
            for ko, ii, ji, ki in T.grid(2, 4, 4, 4):
                with T.block("D"):
                    vi = T.axis.spatial(8, io * 4 + ii)
                    vj = T.axis.spatial(8, jo * 4 + ji)
                    vk = T.axis.reduce(8, ko * 4 + ki)
                    with T.init():
                        D[vi, vj] = T.float32(0)
                    D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
            for ii in range(4):
                for ji in T.vectorized(4):
                    with T.block("C"):
                        vi = T.axis.spatial(8, io * 4 + ii)
                        vj = T.axis.spatial(8, jo * 4 + ji)
                        C[vi, vj] = D[vi, vj] + T.float32(1)
    """,
    "softmax": """
    def f(A: T.Buffer((4, 7), "float32"), B: T.Buffer((4, 7), "float32")):
        top = T.alloc_buffer((4,), "float32")
        total = T.alloc_buffer((4,), "float32")
        for i, j in T.grid(4, 7):
            with T.block("top"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    top[vi] = T.min_value("float32")
                top[vi] = T.max(top[vi], A[vi, vj])
        for i, j in T.grid(4, 7):
            with T.block("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + T.exp(A[vi, vj] - top[vi])
        for i, j in T.grid(4, 7):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj] - top[vi]) / total[vi]
    """,
    "conv2d with padding": """
    def f(X: T.Buffer((1, 2, 6, 6), "float32"), W: T.Buffer((3, 2, 3, 3), "float32"), Y: T.Buffer((1, 3, 6, 6), "float32")):
        P = T.alloc_buffer((1, 2, 8, 8), "float32")
        for n, c, h, w in T.grid(1, 2, 8, 8):
            with T.block("P"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                P[vn, vc, vh, vw] = T.if_then_else(
                    1 <= vh and vh < 7 and 1 <= vw and vw < 7, X[vn, vc, vh - 1, vw - 1], T.float32(0))
        for n, o, h, w, c, y, x in T.grid(1, 3, 6, 6, 2, 3, 3):
            with T.block("Y"):
                vn, vo, vh, vw, vc, vy, vx = T.axis.remap("SSSSRRR", [n, o, h, w, c, y, x])
                with T.init():
                    Y[vn, vo, vh, vw] = T.float32(0)
                Y[vn, vo, vh, vw] = Y[vn, vo, vh, vw] + P[vn, vc, vh + vy, vw + vx] * W[vo, vc, vy, vx]
    """,
    "pad and crop": """
    def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
        P = T.alloc_buffer((4, 4), "int32")
        for i, j in T.grid(4, 4):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = T.if_then_else(vi * 4 + vj < 14, A[vi * 4 + vj], 0)
        for i, j in T.grid(4, 4):
            with T.block("B"):
                v = T.axis.spatial(14, i * 4 + j)
                T.where(i * 4 + j < 14)
                B[v] = P[v // 4, v % 4] + 1
    """,
    "reduction over nothing and two axes": """
    def f(A: T.Buffer((3, 4), "int64"), B: T.Buffer((1,), "int64")):
        for i, j in T.grid(3, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("RR", [i, j])
                with T.init():
                    B[0] = T.int64(0)
                B[0] = B[0] + A[vi, vj]
    """,
    "nested blocks with matched regions": """
    def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for io, jo in T.grid(2, 2):
            with T.block("outer"):
                vi, vj = T.axis.remap("SS", [io, jo])
                T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
                T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
                X = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32")
                Y = T.match_buffer(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32")
                for i, j in T.grid(4, 4):
                    with T.block("inner"):
                        wi, wj = T.axis.remap("SS", [i, j])
                        Y[wi, wj] = X[wj, wi] * T.float32(2)
    """,
    "an allocation in a loop": """
    def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in range(4):
            row = T.alloc_buffer((8,), "float32")
            for j in range(8):
                row[j] = A[i, j] * T.float32(2)
            for j in T.vectorized(8):
                B[i, j] = row[7 - j]
    """,
    "cached rows": """
    def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        C = T.alloc_buffer((4, 8), "float32")
        for i in range(4):
            for j in range(8):
                C[i, j] = A[i, j] + T.float32(1)
            for j in range(8):
                B[i, j] = C[i, 7 - j]
    """,
    "carried over iterations": """
    def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        s = T.alloc_buffer((1,), "int32")
        for i in range(6):
            if i == 0:
                s[0] = 0
            s[0] = s[0] + A[i]
            B[i] = s[0]
    """,
    "symbolic sizes": """
    def f(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("m", "n"), "float32")):
        for i, j in T.grid(B.shape[0], B.shape[1]):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]
    """,
    "declared strides": """
    def f(A: T.Buffer((3, 4), "float32", strides=(1, 3)), B: T.Buffer((3, 4), "float32")):
        for i in range(3):
            for j in T.vectorized(4):
                B[i, j] = A[i, j]
    """,
    "unrolled and scalars": """
    def f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            s: T.int32 = 0
            for j in T.unroll(4):
                t = A[i, j] * 3
                s = s + t
            B[i] = s
    """,
    "vectors with conditions": """
    def f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
        for i in T.vectorized(16):
            if i % 3 == 1:
                B[i] = A[i] + n
            else:
                B[i] = T.if_then_else(i < 15, A[i + 1], 0 - n)
    """,
    "vectors of scalars": """
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.vectorized(16):
            s: T.float32 = A[i]
            for k in range(3):
                if s < T.float32(0.5):
                    s = s * T.float32(2) + T.float32(0.1)
            t = T.exp(s)
            B[15 - i] = t + s
    """,
    "vectors of a gather": """
    def f(A: T.Buffer((16,), "float32"), I: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
        for i in T.vectorized(8):
            B[i] = A[I[i] % 16] + A[i * 2 + 1]
    """,
    "no vectors where lanes meet": """
    def f(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        B[0] = 0
        for i in T.vectorized(15):
            A[i + 1] = A[i] + 1
        for i in T.vectorized(16):
            B[0] = B[0] + A[i]
    """,
    "long vectors": """
    def f(A: T.Buffer((192,), "int64"), B: T.Buffer((192,), "int64")):
        for i in T.vectorized(192):
            B[i] = A[i] * T.cast(i, "int64")
    """,
    "histogram": """
    def f(A: T.Buffer((20,), "int32"), H: T.Buffer((4,), "int32")):
        for i in range(4):
            H[i] = 0
        for i in range(20):
            with T.block("H"):
                v = T.axis.opaque(20, i)
                b = T.axis.opaque(4, A[i] % 4)
                H[b] = H[b] + 1
    """,
    "an axis that reads what its block writes": """
    def f(P: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("P"):
                w = T.axis.opaque(4, i)
                v = T.axis.opaque(4, P[i] % 4)
                P[w] = 3 - w
                B[v] = w + v
    """,
    "arithmetic that wraps": """
    def f(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8"), C: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = (A[i] + T.int8(100)) + T.int8(100) - T.int8(3)
            C[i] = T.cast((A[i] * T.int8(4) + T.int8(1)) // T.int8(4), "int32") + (i * 4 + 1) // 4
    """,
}


def arguments(func: PrimFunc, seed: int) -> list[object]:
    """Arrays and numbers that the function takes."""
    rng = np.random.default_rng(seed)
    sizes = {symbol: 3 + at for at, symbol in enumerate(func.symbols)}
    found: list[object] = []
    for param in func.params:
        if isinstance(param.dtype, DType) and not hasattr(param, "shape"):
            found.append(5)
            continue
        shape = tuple(int(sizes.get(dim, getattr(dim, "value", 0))) for dim in param.shape)
        kind = np.dtype(param.dtype.name)
        values = rng.integers(-100, 100, shape) if kind.kind == "i" else rng.random(shape)
        array = values.astype(kind)
        if param.strides is not None:
            array = np.asfortranarray(array)
        found.append(array)
    return found


def run(func: PrimFunc, seed: int) -> list[object]:
    args = arguments(func, seed)
    interpret(func, *args)
    return args


@pytest.mark.parametrize("name", KERNELS)
def test_every_stage_gives_the_same_numbers(name: str) -> None:
    func = program(KERNELS[name])
    wanted = run(func, 1)
    with PassContext(instruments=[RoundTripEach()]):
        for entry in (get_pass("infer_regions"), *DEFAULT_LOWERING):
            func = entry(func)
            assert verify(func) == [], entry
            for one, other in zip(wanted, run(func, 1), strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{entry}\n{func.script()}")
    assert DEFAULT_LOWERING(func) is func
