"""The kernels of kernels_cases.py as loops for numba: fastmath, parallel, the inner loop over adjacent elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from kernels_cases import EPSILON, GELU, Case
from numba import prange

VERSION = numba.__version__
_jit = numba.njit(fastmath=True, parallel=True, boundscheck=False, error_model="numpy")
_EPSILON, _GELU, _CUBE = np.float32(EPSILON), np.float32(GELU), np.float32(0.044715)
_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
BLOCK = 128  # rows of B that stay in the cache


@_jit
def matmul(A: Any, B: Any, C: Any) -> None:
    m, k = A.shape
    n = B.shape[1]
    for block in prange((m + 3) // 4):
        first = block * 4
        if first + 4 <= m:
            C[first : first + 4] = 0
            for start in range(0, k, BLOCK):
                for p in range(start, min(start + BLOCK, k)):
                    a0, a1, a2, a3 = A[first, p], A[first + 1, p], A[first + 2, p], A[first + 3, p]
                    for j in range(n):
                        b = B[p, j]
                        C[first, j] += a0 * b
                        C[first + 1, j] += a1 * b
                        C[first + 2, j] += a2 * b
                        C[first + 3, j] += a3 * b
        else:
            for i in range(first, m):
                C[i] = 0
                for p in range(k):
                    for j in range(n):
                        C[i, j] += A[i, p] * B[p, j]


@_jit
def int8_matmul(A: Any, B: Any, C: Any) -> None:
    m, k = A.shape
    n = B.shape[1]
    for i in prange(m):
        for j in range(n):
            C[i, j] = 0
        for p in range(k):
            a = np.int32(A[i, p])
            for j in range(n):
                C[i, j] += a * np.int32(B[p, j])


@_jit
def batch_matmul(A: Any, B: Any, C: Any) -> None:
    batch, m, k = A.shape
    n = B.shape[2]
    for row in prange(batch * m):
        h, i = row // m, row % m
        for j in range(n):
            C[h, i, j] = 0
        for p in range(k):
            a = A[h, i, p]
            for j in range(n):
                C[h, i, j] += a * B[h, p, j]


@_jit
def gemv(A: Any, x: Any, y: Any) -> None:
    for i in prange(A.shape[0]):
        s = _ZERO
        for k in range(A.shape[1]):
            s += A[i, k] * x[k]
        y[i] = s


@_jit
def conv3x3(X: Any, W: Any, Y: Any) -> None:
    channels, rows, columns = X.shape
    padded = np.zeros((channels, rows + 2, columns + 2), np.float32)
    padded[:, 1:-1, 1:-1] = X
    for task in prange(W.shape[0] * rows):
        f, y = task // rows, task % rows
        for x in range(columns):
            Y[f, y, x] = 0
        for c in range(channels):
            for dy in range(3):
                for dx in range(3):
                    w = W[f, c, dy, dx]
                    for x in range(columns):
                        Y[f, y, x] += padded[c, y + dy, x + dx] * w


@_jit
def conv1x1(X: Any, W: Any, Y: Any) -> None:
    channels, rows, columns = X.shape
    flat, result = X.reshape(channels, rows * columns), Y.reshape(W.shape[0], rows * columns)
    for f in prange(W.shape[0]):
        for x in range(rows * columns):
            result[f, x] = 0
        for c in range(channels):
            w = W[f, c]
            for x in range(rows * columns):
                result[f, x] += flat[c, x] * w


@_jit
def depthwise(X: Any, W: Any, Y: Any) -> None:
    channels, rows, columns = X.shape
    for c in prange(channels):
        padded = np.zeros((rows + 2, columns + 2), np.float32)
        padded[1:-1, 1:-1] = X[c]
        for y in range(rows):
            for x in range(columns):
                s = _ZERO
                for dy in range(3):
                    for dx in range(3):
                        s += padded[y + dy, x + dx] * W[c, dy, dx]
                Y[c, y, x] = s


@_jit
def softmax(A: Any, B: Any) -> None:
    m, n = A.shape
    for i in prange(m):
        top = A[i, 0]
        for j in range(n):
            top = max(top, A[i, j])
        s = _ZERO
        for j in range(n):
            e = math.exp(A[i, j] - top)
            B[i, j] = e
            s += e
        r = _ONE / s
        for j in range(n):
            B[i, j] *= r


@_jit
def layer_norm(A: Any, weight: Any, bias: Any, B: Any) -> None:
    m, n = A.shape
    for i in prange(m):
        s = _ZERO
        q = _ZERO
        for j in range(n):
            s += A[i, j]
            q += A[i, j] * A[i, j]
        mean = s / np.float32(n)
        scale = _ONE / math.sqrt(q / np.float32(n) - mean * mean + _EPSILON)
        for j in range(n):
            B[i, j] = (A[i, j] - mean) * scale * weight[j] + bias[j]


@_jit
def fused_gelu(a: Any, b: Any, c: Any, y: Any) -> None:
    for i in prange(a.shape[0]):
        x = a[i] * b[i] + c[i]
        y[i] = _HALF * x * (_ONE + math.tanh(_GELU * (x + _CUBE * x * x * x)))


@_jit
def total(A: Any, S: Any) -> None:
    s = _ZERO
    for k in prange(A.shape[0]):
        s += A[k]
    S[0] = s


@_jit
def argmax(A: Any, at: Any) -> None:
    parts = numba.get_num_threads()
    size = (A.shape[0] + parts - 1) // parts
    best = np.empty(parts, np.float32)
    where = np.zeros(parts, np.int64)
    for part in prange(parts):
        top = A[part * size]
        for k in range(part * size, min((part + 1) * size, A.shape[0])):
            top = max(top, A[k])
        best[part] = top
        for k in range(part * size, min((part + 1) * size, A.shape[0])):
            if A[k] == top:
                where[part] = k
                break
    at[0] = where[np.argmax(best)]


@_jit
def cumsum(A: Any, B: Any) -> None:
    parts = numba.get_num_threads()
    size = (A.shape[0] + parts - 1) // parts
    sums = np.zeros(parts + 1, np.float32)
    if parts > 1:
        for part in prange(parts):
            s = _ZERO
            for k in range(part * size, min((part + 1) * size, A.shape[0])):
                s += A[k]
            sums[part + 1] = s
        for part in range(parts):
            sums[part + 1] += sums[part]
    for part in prange(parts):
        s = sums[part]
        for k in range(part * size, min((part + 1) * size, A.shape[0])):
            s += A[k]
            B[k] = s


@_jit
def transpose(A: Any, B: Any) -> None:
    n = A.shape[0]
    for block in prange(n // 16):
        for column in range(0, n, 16):
            for i in range(block * 16, block * 16 + 16):
                for j in range(column, column + 16):
                    B[i, j] = A[j, i]


@_jit
def attention(Q: Any, K: Any, V: Any, O: Any) -> None:
    heads, length, width = Q.shape
    scale = _ONE / np.sqrt(np.float32(width))
    for row in prange(heads * length):
        h, i = row // length, row % length
        score = np.empty(length, np.float32)
        top = np.float32(-np.inf)
        for j in range(length):
            s = _ZERO
            for d in range(width):
                s += Q[h, i, d] * K[h, j, d]
            score[j] = s * scale
            top = max(top, score[j])
        all_ = _ZERO
        for j in range(length):
            score[j] = math.exp(score[j] - top)
            all_ += score[j]
        for d in range(width):
            O[h, i, d] = 0
        for j in range(length):
            share = score[j] / all_
            for d in range(width):
                O[h, i, d] += share * V[h, j, d]


@_jit
def stencil(A: Any, B: Any) -> None:
    m = B.shape[0]
    for i in prange(m):
        for j in range(m):
            B[i, j] = _HALF * A[i + 1, j + 1] + np.float32(0.125) * (
                A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2]
            )


@_jit
def histogram(A: Any, H: Any) -> None:
    parts = numba.get_num_threads()
    size = (A.shape[0] + parts - 1) // parts
    own = np.zeros((parts, H.shape[0]), np.int32)
    for part in prange(parts):
        for k in range(part * size, min((part + 1) * size, A.shape[0])):
            own[part, A[k]] += 1
    for b in range(H.shape[0]):
        H[b] = 0
        for part in range(parts):
            H[b] += own[part, b]


@_jit
def gather(A: Any, at: Any, B: Any) -> None:
    for i in prange(at.shape[0]):
        row = at[i]
        for j in range(A.shape[1]):
            B[i, j] = A[row, j]


@numba.njit(fastmath=True, boundscheck=False, error_model="numpy")  # nobody would start threads for 16 elements
def call(A: Any, B: Any) -> None:
    for i in range(A.shape[0]):
        B[i] = A[i] * np.float32(2)


def prepare(case: Case, arguments: list[Any], options: dict[str, Any]) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What makes a runner of a case, by the name of the variant; the runner returns the results."""
    numba.set_num_threads(min(options["threads"], numba.config.NUMBA_NUM_THREADS))
    kernel, results = globals()[case.kind], case.results()

    def run() -> Any:
        kernel(*arguments, *results)
        return results

    run.direct = (kernel, (*arguments, *results))  # type: ignore[attr-defined]
    return {"numba": lambda: run}
