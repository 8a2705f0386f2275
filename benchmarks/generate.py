"""Kernels of many kinds as text, the same in our dialect and in that of apache-tvm 0.27."""

from __future__ import annotations

from collections.abc import Iterator

# the words in which the two dialects differ
WORDS = {
    "tirscript": {"decorator": "@T.prim_func", "block": "T.block", "alloc": "T.alloc_buffer", "attr": "T.block_attr"},
    "tvm": {
        "decorator": "@T.prim_func(s_tir=True)",
        "block": "T.sblock",
        "alloc": "T.sblock_alloc_buffer",
        "attr": "T.sblock_attr",
    },
}

MATMUL = """\
{decorator}
def matmul_{id}(A: T.Buffer(({m}, {k}), "float32"), B: T.Buffer(({k}, {n}), "float32"), C: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{"global_symbol": "matmul_{id}", "tir.noalias": True}})
    for i, j, k in T.grid({m}, {n}, {k}):
        with {block}("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({m}, {n}):
        with {block}("post"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = T.if_then_else(vi * 2 + vj < 77, T.exp(C[vi, vj]) * T.float32(0.5), T.max(C[vi, vj], T.float32(0)))
"""

TILED = """\
{decorator}
def tiled_{id}(A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{"global_symbol": "tiled_{id}", "tir.noalias": True}})
    for i_0, j_0 in T.grid({m4}, {n8}):
        for i_1 in T.unroll(4):
            for j_1 in T.vectorized(8):
                with {block}("scale"):
                    vi = T.axis.spatial({m}, i_0 * 4 + i_1)
                    vj = T.axis.spatial({n}, j_0 * 8 + j_1)
                    T.reads(A[vi, vj])
                    T.writes(B[vi, vj])
                    {attr}({{"pragma_{id}": {id}}})
                    B[vi, vj] = T.tanh(A[vi, vj] * T.float32(1.5) + T.float32({id})) - T.cast(vi * {n} + vj, "float32")
"""

CONV = """\
{decorator}
def conv_{id}(X: T.Buffer((1, {c}, {h}, {h}), "float32"), W: T.Buffer(({o}, {c}, 3, 3), "float32"), Y: T.Buffer((1, {o}, {h}, {h}), "float32")):
    T.func_attr({{"global_symbol": "conv_{id}", "tir.noalias": True}})
    with {block}("root"):
        T.reads(X[0, 0:{c}, 0:{h}, 0:{h}], W[0:{o}, 0:{c}, 0:3, 0:3])
        T.writes(Y[0, 0:{o}, 0:{h}, 0:{h}])
        P = {alloc}((1, {c}, {h2}, {h2}))
        for n, c, y, x in T.grid(1, {c}, {h2}, {h2}):
            with {block}("pad"):
                vn, vc, vy, vx = T.axis.remap("SSSS", [n, c, y, x])
                T.reads(X[vn, vc, vy - 1, vx - 1])
                T.writes(P[vn, vc, vy, vx])
                P[vn, vc, vy, vx] = T.if_then_else(1 <= vy and vy < {h1} and 1 <= vx and vx < {h1}, X[vn, vc, vy - 1, vx - 1], T.float32(0))
        for n, o, y, x, c, dy, dx in T.grid(1, {o}, {h}, {h}, {c}, 3, 3):
            with {block}("conv"):
                vn, vo, vy, vx, vc, vdy, vdx = T.axis.remap("SSSSRRR", [n, o, y, x, c, dy, dx])
                T.reads(P[vn, vc, vy + vdy, vx + vdx], W[vo, vc, vdy, vdx])
                T.writes(Y[vn, vo, vy, vx])
                with T.init():
                    Y[vn, vo, vy, vx] = T.float32(0)
                Y[vn, vo, vy, vx] = Y[vn, vo, vy, vx] + P[vn, vc, vy + vdy, vx + vdx] * W[vo, vc, vdy, vdx]
"""

SOFTMAX = """\
{decorator}
def softmax_{id}(A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{"global_symbol": "softmax_{id}"}})
    with {block}("root"):
        T.reads(A[0:{m}, 0:{n}])
        T.writes(B[0:{m}, 0:{n}])
        top = {alloc}(({m},))
        total = {alloc}(({m},))
        for i, k in T.grid({m}, {n}):
            with {block}("top"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(top[vi])
                with T.init():
                    top[vi] = T.float32(-1e30)
                top[vi] = T.max(top[vi], A[vi, vk])
        for i, k in T.grid({m}, {n}):
            with {block}("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk], top[vi])
                T.writes(total[vi])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + T.exp(A[vi, vk] - top[vi])
        for i, j in T.grid({m}, {n}):
            with {block}("normalize"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj], top[vi], total[vi])
                T.writes(B[vi, vj])
                B[vi, vj] = T.exp(A[vi, vj] - top[vi]) / total[vi]
"""

GATHER = """\
{decorator}
def gather_{id}(A: T.Buffer(({m}, {n}), "float16"), index: T.Buffer(({k},), "int32"), B: T.Buffer(({k}, {n}), "float16")):
    T.func_attr({{"global_symbol": "gather_{id}"}})
    for i in T.parallel({k}):
        for j in range({n}):
            with {block}("gather"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(i * {n} + j < {limit})
                T.reads(A[0:{m}, vj], index[vi])
                T.writes(B[vi, vj])
                B[vi, vj] = A[T.min(T.max(index[vi], 0), {m} - 1), vj] * T.float16(0.5)
"""

LOOPS = """\
{decorator}
def loops_{id}(A: T.Buffer(({n},), "int32"), B: T.Buffer(({n},), "int32"), C: T.Buffer(({k},), "int32")):
    T.func_attr({{"global_symbol": "loops_{id}"}})
    for i in range({n}):
        if A[i] % 3 == 0:
            B[i] = A[i] * 3 + {id}
        else:
            B[i] = T.shift_right(A[i], 2) + T.bitwise_and(A[i], 255) - (B[i] + 1) // 2
        for j in range({k}):
            C[j] = C[j] + T.Select(B[i] < j, B[i] - j, j - B[i]) * T.min(A[i], j)
"""

SHARED = """\
{decorator}
def shared_{id}(A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({n}, {m}), "float32")):
    T.func_attr({{"global_symbol": "shared_{id}", "tir.noalias": True}})
    with {block}("root"):
        T.reads(A[0:{m}, 0:{n}])
        T.writes(B[0:{n}, 0:{m}])
        tile = {alloc}(({m}, {n}), scope="shared")
        for bx in T.thread_binding({m4}, thread="blockIdx.x"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                for j in range({n}):
                    with {block}("load"):
                        vi = T.axis.spatial({m}, bx * 4 + tx)
                        vj = T.axis.spatial({n}, j)
                        T.reads(A[vi, vj])
                        T.writes(tile[vi, vj])
                        tile[vi, vj] = A[vi, vj] + T.float32({id})
                for j in range({n}):
                    with {block}("store"):
                        vi = T.axis.spatial({m}, bx * 4 + tx)
                        vj = T.axis.spatial({n}, j)
                        T.reads(tile[vi, vj])
                        T.writes(B[vj, vi])
                        B[vj, vi] = T.sqrt(T.fabs(tile[vi, vj])) * T.float32(0.25)
"""

KINDS = (MATMUL, TILED, CONV, SOFTMAX, GATHER, LOOPS, SHARED)


def numbers(at: int) -> dict[str, int]:
    """The sizes of the kernel number `at`."""
    m, n, k = 16 * (1 + at % 5), 32 * (1 + at % 3), 8 + at % 7
    h, c, o = 14 + at % 4, 3 + at % 5, 8 + at % 6
    sizes = {"m": m, "n": n, "k": k, "m4": m // 4, "n8": n // 8, "limit": k * n - 3}
    return sizes | {"h": h, "h1": h + 1, "h2": h + 2, "c": c, "o": o, "id": at}


def kernel(at: int, dialect: str = "tirscript") -> str:
    """The text of the kernel number `at`."""
    return KINDS[at % len(KINDS)].format(**WORDS[dialect], **numbers(at))


def kernels(lines: int, dialect: str = "tirscript") -> list[str]:
    """Texts of kernels, about `lines` lines together."""
    return list(_until(lines, dialect))


def _until(lines: int, dialect: str) -> Iterator[str]:
    at = 0
    while lines > 0:
        text = kernel(at, dialect)
        lines -= text.count("\n")
        at += 1
        yield text
