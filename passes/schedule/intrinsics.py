"""The tensor intrinsics that come with the package: products of small matrices of float32, and dot products of int8.

They are written as arithmetic on vectors, which LLVM turns into what the processor has, or name its instruction.
"""

from __future__ import annotations

from functools import partial

from tirscript.ir.func import PrimFunc

from .tensor_intrin import BUILT_IN

# rows, columns and depth of the tiles: the columns are vectors, rows times columns the accumulators
FMA_TILES = ((4, 4, 4), (4, 8, 8), (6, 16, 16), (8, 16, 16), (4, 32, 16))

_FMA_DESC = """
@T.prim_func
def desc(A: T.Buffer(({m}, {k}), "float32"), B: T.Buffer(({k}, {n}), "float32"), C: T.Buffer(({m}, {n}), "float32")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
_FMA_IMPL = """
@T.prim_func
def impl(A: T.Buffer(({m}, {k}), "float32"), B: T.Buffer(({k}, {n}), "float32"), C: T.Buffer(({m}, {n}), "float32")):
    tile = T.alloc_buffer(({m}, {n}), "float32", scope="local")
    for i in T.unroll({m}):
        for j in T.vectorized({n}):
            tile[i, j] = C[i, j]
    for k in range({k}):
        for i in T.unroll({m}):
            for j in T.vectorized({n}):
                tile[i, j] = T.fma(A[i, k], B[k, j], tile[i, j])
    for i in T.unroll({m}):
        for j in T.vectorized({n}):
            C[i, j] = tile[i, j]
"""
_DOT_DESC = """
@T.prim_func
def desc(A: T.Buffer((4,), "{a}"), B: T.Buffer(({n}, 4), "int8"), C: T.Buffer(({n},), "int32")):
    for i, k in T.grid({n}, 4):
        with T.block("update"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")
"""
_DOT_IMPL = """
@T.prim_func
def impl(A: T.Buffer((4,), "{a}"), B: T.Buffer(({n}, 4), "int8"), C: T.Buffer(({n},), "int32")):
    for i in T.vectorized({n}):
        C[i] = C[i] + (
            T.cast(A[0], "int32") * T.cast(B[i, 0], "int32")
            + T.cast(A[1], "int32") * T.cast(B[i, 1], "int32")
            + T.cast(A[2], "int32") * T.cast(B[i, 2], "int32")
            + T.cast(A[3], "int32") * T.cast(B[i, 3], "int32")
        )
"""


_VNNI_IMPL = """
@T.prim_func
def impl(
    A: T.Buffer((4,), "uint8", strides=(1,)),
    B: T.Buffer((16, 4), "int8", strides=(4, 1)),
    C: T.Buffer((16,), "int32", strides=(1,)),
):
    lines = T.decl_buffer((64,), "int8", data=T.address_of(B[0, 0]))
    C[0:16] = T.call_llvm_pure_intrin(
        "int32x16",
        "llvm.x86.avx512.vpdpbusd.512",
        C[0:16],
        T.reinterpret("uint8x64", T.broadcast(T.reinterpret("int32", A[0:4]), 16)),
        lines[0:64],
    )
"""


def _made(desc: str, impl: str, **sizes: object) -> tuple[PrimFunc, PrimFunc]:
    from tirscript.script import parse

    made = [parse(text.format(**sizes)) for text in (desc, impl)]
    assert isinstance(made[0], PrimFunc) and isinstance(made[1], PrimFunc)
    return made[0], made[1]


for _m, _n, _k in FMA_TILES:
    BUILT_IN[f"fma_f32_{_m}x{_n}x{_k}"] = partial(_made, _FMA_DESC, _FMA_IMPL, m=_m, n=_n, k=_k)
# dot_4x4_i8i8s32 and dot_16x4_vnni have the shapes and dtypes of TVM's intrinsics of these names; the latter is the
# instruction vpdpbusd, and refused where the processor has none, dot_16x4_u8i8s32 is the same by operators
BUILT_IN["dot_4x4_i8i8s32"] = partial(_made, _DOT_DESC, _DOT_IMPL, a="int8", n=4)
BUILT_IN["dot_16x4_u8i8s32"] = partial(_made, _DOT_DESC, _DOT_IMPL, a="uint8", n=16)
BUILT_IN["dot_16x4_vnni"] = partial(_made, _DOT_DESC, _VNNI_IMPL, a="uint8", n=16)

__all__ = ["FMA_TILES"]
