"""The kernels of kernels_cases.py as plain loops in tirscript, and the schedules that examples/ holds for some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels_cases import EPSILON, GELU, Case

from tirscript.ir import PrimFunc
from tirscript.script import tir as T


def matmul(m, n, k):
    @T.prim_func
    def matmul(A: T.Buffer((m, k), "float32"), B: T.Buffer((k, n), "float32"), C: T.Buffer((m, n), "float32")):
        for i, j, p in T.grid(m, n, k):
            with T.block("C"):
                vi, vj, vp = T.axis.remap("SSR", [i, j, p])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vp] * B[vp, vj]

    return matmul


def int8_matmul(m, n, k):
    @T.prim_func
    def int8_matmul(A: T.Buffer((m, k), "int8"), B: T.Buffer((k, n), "int8"), C: T.Buffer((m, n), "int32")):
        for i, j, p in T.grid(m, n, k):
            with T.block("C"):
                vi, vj, vp = T.axis.remap("SSR", [i, j, p])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += T.cast(A[vi, vp], "int32") * T.cast(B[vp, vj], "int32")

    return int8_matmul


def batch_matmul(b, n):
    @T.prim_func
    def batch_matmul(
        A: T.Buffer((b, n, n), "float32"), B: T.Buffer((b, n, n), "float32"), C: T.Buffer((b, n, n), "float32")
    ):
        for h, i, j, p in T.grid(b, n, n, n):
            with T.block("C"):
                vh, vi, vj, vp = T.axis.remap("SSSR", [h, i, j, p])
                with T.init():
                    C[vh, vi, vj] = T.float32(0)
                C[vh, vi, vj] += A[vh, vi, vp] * B[vh, vp, vj]

    return batch_matmul


def gemv(n):
    @T.prim_func
    def gemv(A: T.Buffer((n, n), "float32"), x: T.Buffer((n,), "float32"), y: T.Buffer((n,), "float32")):
        for i, k in T.grid(n, n):
            with T.block("y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] += A[vi, vk] * x[vk]

    return gemv


def conv3x3(channels, filters, size):
    @T.prim_func
    def conv3x3(
        X: T.Buffer((channels, size, size), "float32"),
        W: T.Buffer((filters, channels, 3, 3), "float32"),
        Y: T.Buffer((filters, size, size), "float32"),
    ):
        P = T.alloc_buffer((channels, size + 2, size + 2), "float32")
        for c, y, x in T.grid(channels, size + 2, size + 2):
            with T.block("P"):
                vc, vy, vx = T.axis.remap("SSS", [c, y, x])
                P[vc, vy, vx] = T.if_then_else(
                    vy > 0 and vy <= size and vx > 0 and vx <= size, X[vc, vy - 1, vx - 1], T.float32(0)
                )
        for f, y, x, c, dy, dx in T.grid(filters, size, size, channels, 3, 3):
            with T.block("Y"):
                vf, vy, vx, vc, vdy, vdx = T.axis.remap("SSSRRR", [f, y, x, c, dy, dx])
                with T.init():
                    Y[vf, vy, vx] = T.float32(0)
                Y[vf, vy, vx] += P[vc, vy + vdy, vx + vdx] * W[vf, vc, vdy, vdx]

    return conv3x3


def conv1x1(channels, filters, size):
    @T.prim_func
    def conv1x1(
        X: T.Buffer((channels, size, size), "float32"),
        W: T.Buffer((filters, channels), "float32"),
        Y: T.Buffer((filters, size, size), "float32"),
    ):
        for f, y, x, c in T.grid(filters, size, size, channels):
            with T.block("Y"):
                vf, vy, vx, vc = T.axis.remap("SSSR", [f, y, x, c])
                with T.init():
                    Y[vf, vy, vx] = T.float32(0)
                Y[vf, vy, vx] += X[vc, vy, vx] * W[vf, vc]

    return conv1x1


def depthwise(channels, size):
    @T.prim_func
    def depthwise(
        X: T.Buffer((channels, size, size), "float32"),
        W: T.Buffer((channels, 3, 3), "float32"),
        Y: T.Buffer((channels, size, size), "float32"),
    ):
        P = T.alloc_buffer((channels, size + 2, size + 2), "float32")
        for c, y, x in T.grid(channels, size + 2, size + 2):
            with T.block("P"):
                vc, vy, vx = T.axis.remap("SSS", [c, y, x])
                P[vc, vy, vx] = T.if_then_else(
                    vy > 0 and vy <= size and vx > 0 and vx <= size, X[vc, vy - 1, vx - 1], T.float32(0)
                )
        for c, y, x, dy, dx in T.grid(channels, size, size, 3, 3):
            with T.block("Y"):
                vc, vy, vx, vdy, vdx = T.axis.remap("SSSRR", [c, y, x, dy, dx])
                with T.init():
                    Y[vc, vy, vx] = T.float32(0)
                Y[vc, vy, vx] += P[vc, vy + vdy, vx + vdx] * W[vc, vdy, vdx]

    return depthwise


def softmax(m, n):
    @T.prim_func
    def softmax(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")):
        top = T.alloc_buffer((m,), "float32")
        power = T.alloc_buffer((m, n), "float32")
        total = T.alloc_buffer((m,), "float32")
        for i, j in T.grid(m, n):
            with T.block("top"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    top[vi] = T.min_value("float32")
                top[vi] = T.max(top[vi], A[vi, vj])
        for i, j in T.grid(m, n):
            with T.block("power"):
                vi, vj = T.axis.remap("SS", [i, j])
                power[vi, vj] = T.exp(A[vi, vj] - top[vi])
        for i, j in T.grid(m, n):
            with T.block("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] += power[vi, vj]
        for i, j in T.grid(m, n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = power[vi, vj] / total[vi]

    return softmax


def layer_norm(m, n):
    epsilon = EPSILON

    @T.prim_func
    def layer_norm(
        A: T.Buffer((m, n), "float32"),
        weight: T.Buffer((n,), "float32"),
        bias: T.Buffer((n,), "float32"),
        B: T.Buffer((m, n), "float32"),
    ):
        mean = T.alloc_buffer((m,), "float32")
        square = T.alloc_buffer((m,), "float32")
        for i, j in T.grid(m, n):
            with T.block("mean"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    mean[vi] = T.float32(0)
                mean[vi] += A[vi, vj]
        for i, j in T.grid(m, n):
            with T.block("square"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    square[vi] = T.float32(0)
                square[vi] += A[vi, vj] * A[vi, vj]
        for i, j in T.grid(m, n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = (A[vi, vj] - mean[vi] / T.float32(n)) * T.rsqrt(
                    square[vi] / T.float32(n) - mean[vi] / T.float32(n) * (mean[vi] / T.float32(n)) + T.float32(epsilon)
                ) * weight[vj] + bias[vj]

    return layer_norm


def fused_gelu(n):
    gelu = GELU

    @T.prim_func
    def fused_gelu(
        a: T.Buffer((n,), "float32"),
        b: T.Buffer((n,), "float32"),
        c: T.Buffer((n,), "float32"),
        y: T.Buffer((n,), "float32"),
    ):
        x = T.alloc_buffer((n,), "float32")
        for i in range(n):
            with T.block("x"):
                vi = T.axis.spatial(n, i)
                x[vi] = a[vi] * b[vi] + c[vi]
        for i in range(n):
            with T.block("y"):
                vi = T.axis.spatial(n, i)
                y[vi] = (
                    T.float32(0.5)
                    * x[vi]
                    * (T.float32(1) + T.tanh(T.float32(gelu) * (x[vi] + T.float32(0.044715) * x[vi] * x[vi] * x[vi])))
                )

    return fused_gelu


def total(n):
    @T.prim_func
    def total(A: T.Buffer((n,), "float32"), S: T.Buffer((1,), "float32")):
        for k in range(n):
            with T.block("S"):
                vk = T.axis.reduce(n, k)
                with T.init():
                    S[0] = T.float32(0)
                S[0] += A[vk]

    return total


def argmax(n):
    @T.prim_func
    def argmax(A: T.Buffer((n,), "float32"), at: T.Buffer((1,), "int64")):
        best = T.alloc_buffer((1,), "float32")
        for k in range(n):
            with T.block("at"):
                vk = T.axis.reduce(n, k)
                with T.init():
                    at[0] = T.int64(-1)
                    best[0] = T.min_value("float32")
                better: T.bool = A[vk] > best[0]
                index: T.int64 = T.if_then_else(better, T.cast(vk, "int64"), at[0])
                value: T.float32 = T.if_then_else(better, A[vk], best[0])
                at[0] = index
                best[0] = value

    return argmax


def cumsum(n):
    @T.prim_func
    def cumsum(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for k in range(n):
            with T.block("B"):
                vk = T.axis.scan(n, k)
                B[vk] = T.if_then_else(vk == 0, T.float32(0), B[vk - 1]) + A[vk]

    return cumsum


def transpose(n):
    @T.prim_func
    def transpose(A: T.Buffer((n, n), "float32"), B: T.Buffer((n, n), "float32")):
        for i, j in T.grid(n, n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    return transpose


def attention(heads, length, width):
    scale = width**-0.5

    @T.prim_func
    def attention(
        Q: T.Buffer((heads, length, width), "float32"),
        K: T.Buffer((heads, length, width), "float32"),
        V: T.Buffer((heads, length, width), "float32"),
        O: T.Buffer((heads, length, width), "float32"),
    ):
        score = T.alloc_buffer((heads, length, length), "float32")
        top = T.alloc_buffer((heads, length), "float32")
        power = T.alloc_buffer((heads, length, length), "float32")
        total = T.alloc_buffer((heads, length), "float32")
        share = T.alloc_buffer((heads, length, length), "float32")
        for h, i, j, d in T.grid(heads, length, length, width):
            with T.block("score"):
                vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
                with T.init():
                    score[vh, vi, vj] = T.float32(0)
                score[vh, vi, vj] += Q[vh, vi, vd] * K[vh, vj, vd]
        for h, i, j in T.grid(heads, length, length):
            with T.block("top"):
                vh, vi, vj = T.axis.remap("SSR", [h, i, j])
                with T.init():
                    top[vh, vi] = T.min_value("float32")
                top[vh, vi] = T.max(top[vh, vi], score[vh, vi, vj])
        for h, i, j in T.grid(heads, length, length):
            with T.block("power"):
                vh, vi, vj = T.axis.remap("SSS", [h, i, j])
                power[vh, vi, vj] = T.exp((score[vh, vi, vj] - top[vh, vi]) * T.float32(scale))
        for h, i, j in T.grid(heads, length, length):
            with T.block("total"):
                vh, vi, vj = T.axis.remap("SSR", [h, i, j])
                with T.init():
                    total[vh, vi] = T.float32(0)
                total[vh, vi] += power[vh, vi, vj]
        for h, i, j in T.grid(heads, length, length):
            with T.block("share"):
                vh, vi, vj = T.axis.remap("SSS", [h, i, j])
                share[vh, vi, vj] = power[vh, vi, vj] / total[vh, vi]
        for h, i, d, j in T.grid(heads, length, width, length):
            with T.block("O"):
                vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
                with T.init():
                    O[vh, vi, vd] = T.float32(0)
                O[vh, vi, vd] += share[vh, vi, vj] * V[vh, vj, vd]

    return attention


def stencil(n):
    m = n - 2

    @T.prim_func
    def stencil(A: T.Buffer((n, n), "float32"), B: T.Buffer((m, m), "float32")):
        for i, j in T.grid(m, m):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.float32(0.5) * A[vi + 1, vj + 1] + T.float32(0.125) * (
                    A[vi, vj + 1] + A[vi + 2, vj + 1] + A[vi + 1, vj] + A[vi + 1, vj + 2]
                )

    return stencil


def histogram(n, bins):
    @T.prim_func
    def histogram(A: T.Buffer((n,), "int32"), H: T.Buffer((bins,), "int32")):
        for b in range(bins):
            with T.block("zero"):
                vb = T.axis.spatial(bins, b)
                H[vb] = 0
        for i in range(n):
            with T.block("count"):
                vi = T.axis.reduce(n, i)
                H[A[vi]] += 1

    return histogram


def gather(rows, width, count):
    @T.prim_func
    def gather(
        A: T.Buffer((rows, width), "float32"), at: T.Buffer((count,), "int32"), B: T.Buffer((count, width), "float32")
    ):
        for i, j in T.grid(count, width):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[at[vi], vj]

    return gather


def call():
    @T.prim_func
    def call(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * T.float32(2)

    return call


SOURCES: dict[str, Callable[..., PrimFunc]] = {
    make.__name__: make
    for make in (
        matmul,
        int8_matmul,
        batch_matmul,
        gemv,
        conv3x3,
        conv1x1,
        depthwise,
        softmax,
        layer_norm,
        fused_gelu,
        total,
        argmax,
        cumsum,
        transpose,
        attention,
        stencil,
        histogram,
        gather,
        call,
    )
}


def naive(case: Case) -> PrimFunc:
    """The plain loops of a case."""
    return SOURCES[case.kind](*case.sizes)


def by_hand(case: Case) -> PrimFunc | None:
    """The kernel of a case with the schedule that examples/ holds for it."""
    from tirscript.examples import scheduled_conv2d, scheduled_matmul, scheduled_softmax, scheduled_sum

    schedules: dict[str, Any] = {
        "matmul": lambda m, n, k: scheduled_matmul.schedule(n).func if m == n == k and n % 64 == 0 else None,
        "conv3x3": lambda channels, filters, size: (
            scheduled_conv2d.schedule(channels, filters, size).func if filters % 16 == 0 and size % 7 == 0 else None
        ),
        "softmax": lambda m, n: scheduled_softmax.schedule(m, n).func,
        "total": lambda n: scheduled_sum.schedule(n).func,
    }
    make = schedules.get(case.kind)
    return make(*case.sizes) if make is not None else None
