"""The tensor intrinsics that come with the package: small products and transpositions, dot products of int8.

They are written as arithmetic on vectors, which LLVM turns into what the processor has, or name its instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

from tirscript.ir.func import PrimFunc

from .tensor_intrin import BUILT_IN

# rows, columns and depth of the tiles: the columns are vectors, rows times columns the accumulators
FMA_TILES = ((4, 4, 4), (4, 8, 8), (6, 16, 16), (8, 16, 16), (4, 32, 16))

# the lines of 64 bytes that a row of a transposed tile has: some that leave few of whatever number
TILE_LINES = (16, 15, 14, 9, 8)

# the dtypes of transpositions, and their bits
TRANSPOSED = {
    "float32": 32,
    "int32": 32,
    "float64": 64,
    "int64": 64,
    "uint32": 32,
    "uint64": 64,
    "float16": 16,
    "bfloat16": 16,
    "int16": 16,
    "uint16": 16,
    "int8": 8,
    "uint8": 8,
}

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
def desc(A: T.Buffer((4,), "{a}"), B: T.Buffer(({n}, 4), "{b}"), C: T.Buffer(({n},), "int32")):
    for i, k in T.grid({n}, 4):
        with T.block("update"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")
"""
_DOT_IMPL = """
@T.prim_func
def impl(A: T.Buffer((4,), "{a}"), B: T.Buffer(({n}, 4), "{b}"), C: T.Buffer(({n},), "int32")):
    for i in T.vectorized({n}):
        C[i] = C[i] + (
            T.cast(A[0], "int32") * T.cast(B[i, 0], "int32")
            + T.cast(A[1], "int32") * T.cast(B[i, 1], "int32")
            + T.cast(A[2], "int32") * T.cast(B[i, 2], "int32")
            + T.cast(A[3], "int32") * T.cast(B[i, 3], "int32")
        )
"""


_LANES_HEAD = """
@T.prim_func
def impl(
    A: T.Buffer((4,), "{a}", strides=(1,)),
    B: T.Buffer(({n}, 4), "{b}", strides=(4, 1)),
    C: T.Buffer(({n},), "int32", strides=(1,)),
):
    lines = T.decl_buffer(({bytes},), "{b}", data=T.address_of(B[0, 0]))
"""
# Four elements of A are one number, which all lanes have. One operand is unsigned and the other is not: where they are
# alike, 128 is added to those of B (which turns their highest bits), and what the sums are too large by is taken off.
_VNNI_IMPL = """
    quads = T.reinterpret("{a}x{bytes}", T.broadcast(T.reinterpret("int32", A[0:4]), {n}))
    C[0:{n}] = T.call_llvm_pure_intrin(
        "int32x{n}", "llvm.x86.avx512.vpdpbusd.{bits}", C[0:{n}], {operands}
    )
"""
_VNNI_ALIKE_IMPL = """
    quads = T.reinterpret("{a}x{bytes}", T.broadcast(T.reinterpret("int32", A[0:4]), {n}))
    turned = T.reinterpret("{other}x{bytes}", T.bitwise_xor(lines[0:{bytes}], T.broadcast(T.{b}({top}), {bytes})))
    more = T.call_llvm_pure_intrin(
        "int32x{n}", "llvm.x86.avx512.vpdpbusd.{bits}", T.broadcast(T.int32(0), {n}), {constant}
    )
    C[0:{n}] = (
        T.call_llvm_pure_intrin("int32x{n}", "llvm.x86.avx512.vpdpbusd.{bits}", C[0:{n}], {operands}) - more
    )
"""
# the bytes at even and at odd places, each as 16 bits
_PAIRS_IMPL = """
    quads = T.broadcast(T.reinterpret("int32", A[0:4]), {n})
    b = T.reinterpret("{wide_b}x{words}", lines[0:{bytes}])
    a = T.reinterpret("{wide_a}x{words}", quads)
    by_a, by_b = T.broadcast(T.{wide_a}(8), {words}), T.broadcast(T.{wide_b}(8), {words})
    C[0:{n}] = (
        C[0:{n}]
        + T.call_llvm_pure_intrin("int32x{n}", "{madd}", {even})
        + T.call_llvm_pure_intrin("int32x{n}", "{madd}", {odd})
    )
"""
_MADD = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}


def _vnni(n: int, a: str, b: str) -> str:
    """The sums of four products in a lane by one instruction, of n lanes; the unsigned operand comes first."""
    size = 4 * n
    if a != b:
        line = f"lines[0:{size}]"
        return _LANES_HEAD + _VNNI_IMPL.replace("{operands}", f"quads, {line}" if b == "int8" else f"{line}, quads")
    if a == "int8":
        texts = {"operands": "turned, quads", "constant": f"T.broadcast(T.uint8(128), {size}), quads"}
        texts |= {"other": "uint8", "top": "-128"}
    else:
        texts = {"operands": "quads, turned", "constant": f"quads, T.broadcast(T.int8(-128), {size})"}
        texts |= {"other": "int8", "top": "128"}
    text = _LANES_HEAD + _VNNI_ALIKE_IMPL
    for name, value in texts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _in_pairs(n: int, a: str, b: str) -> str:
    """The same by two instructions, which add up two products of 16 bits in a lane."""

    def half(name: str, kind: str, odd: bool) -> str:
        inner = name if odd else f"T.shift_left({name}, by_{name})"
        moved = f"T.shift_right({inner}, by_{name})"
        return moved if kind == "int8" else f'T.reinterpret("int16x{2 * n}", {moved})'

    pairs = {name: f"{half('a', a, odd)}, {half('b', b, odd)}" for name, odd in (("even", False), ("odd", True))}
    wide = {"int8": "int16", "uint8": "uint16"}
    text = _LANES_HEAD + _PAIRS_IMPL.replace("{even}", pairs["even"]).replace("{odd}", pairs["odd"])
    return text.replace("{wide_a}", wide[a]).replace("{wide_b}", wide[b]).replace("{madd}", _MADD[n])


_TILE_DESC = """
@T.prim_func
def desc(A: T.Buffer((16, 64), "{a}"), B: T.Buffer((16, 16, 4), "{b}"), C: T.Buffer((256,), "int32")):
    for i, j, k in T.grid(16, 16, 64):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi * 16 + vj] = C[vi * 16 + vj] + T.cast(A[vi, vk], "int32") * T.cast(B[vk // 4, vj, vk % 4], "int32")
"""
_TILE_IMPL = """
@T.prim_func
def impl(
    A: T.Buffer((16, 64), "{a}", strides=(64, 1)),
    B: T.Buffer((16, 16, 4), "{b}", strides=(64, 4, 1)),
    C: T.Buffer((256,), "int32", strides=(1,)),
):
    rows = T.decl_buffer((1024,), "{a}", data=T.address_of(A[0, 0]))
    lines = T.decl_buffer((1024,), "{b}", data=T.address_of(B[0, 0, 0]))
    C[0:256] = T.call_llvm_pure_intrin(
        "int32x256",
        "llvm.x86.tdpb{signs}d.internal",
        T.int16(16),
        T.int16(64),
        T.int16(64),
        C[0:256],
        rows[0:1024],
        lines[0:1024],
    )
"""
_FLOAT_TILE_DESC = """
@T.prim_func
def desc(
    A: T.Buffer((16, 32), "bfloat16"), B: T.Buffer((16, 16, 2), "bfloat16"), C: T.Buffer((256,), "float32")
):
    for i, j, k in T.grid(16, 16, 32):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi * 16 + vj] = (
                C[vi * 16 + vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk // 2, vj, vk % 2], "float32")
            )
"""
_FLOAT_TILE_IMPL = """
@T.prim_func
def impl(
    A: T.Buffer((16, 32), "bfloat16", strides=(32, 1)),
    B: T.Buffer((16, 16, 2), "bfloat16", strides=(32, 2, 1)),
    C: T.Buffer((256,), "float32", strides=(1,)),
):
    rows = T.decl_buffer((512,), "bfloat16", data=T.address_of(A[0, 0]))
    lines = T.decl_buffer((512,), "bfloat16", data=T.address_of(B[0, 0, 0]))
    C[0:256] = T.call_llvm_pure_intrin(
        "float32x256",
        "llvm.x86.tdpbf16ps.internal",
        T.int16(16),
        T.int16(64),
        T.int16(64),
        C[0:256],
        rows[0:512],
        lines[0:512],
    )
"""
# the same in sixteen vectors, a pair of terms at a time: a pair of a row is one number, which all lanes have
_FLOAT_LANES_IMPL = """
@T.prim_func
def impl(
    A: T.Buffer((16, 32), "bfloat16", strides=(32, 1)),
    B: T.Buffer((16, 16, 2), "bfloat16", strides=(32, 2, 1)),
    C: T.Buffer((256,), "float32", strides=(1,)),
):
    rows = T.decl_buffer((512,), "bfloat16", data=T.address_of(A[0, 0]))
    lines = T.decl_buffer((512,), "bfloat16", data=T.address_of(B[0, 0, 0]))
    for k in range(16):
        for i in T.unroll(16):
            C[i * 16 : i * 16 + 16] = T.call_llvm_pure_intrin(
                "float32x16",
                "llvm.x86.avx512bf16.dpbf16ps.512",
                C[i * 16 : i * 16 + 16],
                lines[k * 32 : k * 32 + 32],
                T.reinterpret(
                    "bfloat16x32", T.broadcast(T.reinterpret("int32", rows[i * 32 + k * 2 : i * 32 + k * 2 + 2]), 16)
                ),
            )
"""
_INTERLEAVE_DESC = """
@T.prim_func
def desc(A: T.Buffer((4, 16), "{dtype}"), B: T.Buffer((16, 4), "{out}")):
    for i, j in T.grid(4, 16):
        with T.block("interleave"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = {element}
"""
_INTERLEAVE_IMPL = """
@T.prim_func
def impl(A: T.Buffer((4, 16), "{dtype}"), B: T.Buffer((16, 4), "{out}", strides=(4, 1))):
    quads = T.decl_buffer((64,), "{out}", data=T.address_of(B[0, 0]))
    upper = T.Shuffle([A[0, 0:16], A[1, 0:16]], {pairs})
    lower = T.Shuffle([A[2, 0:16], A[3, 0:16]], {pairs})
    mixed = T.Shuffle([upper, lower], {quads})
    quads[0:64] = {vector}
"""
_INTERLEAVE_PAIRS_DESC = """
@T.prim_func
def desc(A: T.Buffer((2, 16), "{dtype}"), B: T.Buffer((16, 2), "{dtype}")):
    for i, j in T.grid(2, 16):
        with T.block("interleave"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj]
"""
_INTERLEAVE_PAIRS_IMPL = """
@T.prim_func
def impl(A: T.Buffer((2, 16), "{dtype}"), B: T.Buffer((16, 2), "{dtype}", strides=(2, 1))):
    pairs = T.decl_buffer((32,), "{dtype}", data=T.address_of(B[0, 0]))
    pairs[0:32] = T.Shuffle([A[0, 0:16], A[1, 0:16]], {pairs})
"""
# the places of what is taken in turn from two vectors, one element or two at once
_PAIRS = [at for lane in range(16) for at in (lane, 16 + lane)]
_QUADS = [at for lane in range(0, 32, 2) for at in (lane, lane + 1, 32 + lane, 33 + lane)]


_TRANSPOSE_DESC = """
@T.prim_func
def desc(A: T.Buffer(({m}, {n}), "{dtype}"), B: T.Buffer(({n}, {m}), "{dtype}")):
    for i, j in T.grid({n}, {m}):
        with T.block("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""


def _square(n: int, read: str, write: str) -> list[str]:
    """A square in n registers: blocks of n/2, n/4, ... 1 change places across the diagonal (Eklundh 1972)."""
    lines = [f"    r{row}_0 = {read.format(row=row)}" for row in range(n)]
    step, distance = 0, n // 2
    while distance:
        for low in (row for row in range(n) if not row & distance):
            pair = f"[r{low}_{step}, r{low + distance}_{step}]"
            upper = [lane if not lane & distance else n + lane - distance for lane in range(n)]
            lower = [lane + distance if not lane & distance else n + lane for lane in range(n)]
            lines.append(f"    r{low}_{step + 1} = T.Shuffle({pair}, {upper})")
            lines.append(f"    r{low + distance}_{step + 1} = T.Shuffle({pair}, {lower})")
        step, distance = step + 1, distance // 2
    return lines + [f"    {write.format(row=row)} = r{row}_{step}" for row in range(n)]


def _transpose(n: int, dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """A square through registers, stored by one statement: of many, each pair would be looked at where loops around
    it are run in parallel."""
    lines = [f'    lines = T.alloc_buffer(({n}, {n}), "{{dtype}}", scope="local")']
    lines += _square(n, f"A[{{row}}, 0:{n}]", f"lines[{{row}}, 0:{n}]")
    lines += [f"    for i in range({n}):", f"        B[i, 0:{n}] = lines[i, 0:{n}]"]
    impl = _TRANSPOSE_DESC.partition("    for")[0].replace("def desc", "def impl") + "\n".join(lines) + "\n"
    return _made(_TRANSPOSE_DESC, impl, n=n, m=n, dtype=dtype)


def _transpose_lines(rows: int, columns: int, n: int, dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """A tile in squares of n, put together in a buffer from which whole lines go past the caches."""
    lines = ['    lines = T.alloc_buffer(({n}, {m}), "{dtype}", scope="local")']
    lines += [f"    for j in range({columns // n}):", f"        for i in range({rows // n}):"]
    # no processor follows the lines of a square by itself: two squares further they are asked for
    later = f"T.min(i * {n} + {2 * n}, {rows - n})"
    lines += [f"            T.prefetch(T.address_of(A[j * {n} + {row}, {later}]))" for row in range(n)]
    square = _square(
        n, f"A[j * {n} + {{row}}, i * {n}:i * {n} + {n}]", f"lines[i * {n} + {{row}}, j * {n}:j * {n} + {n}]"
    )
    lines += [f"        {line}" for line in square]
    lines += [
        f"    for i in range({rows}):",
        f'        for j in T.serial({columns // n}, annotations={{{{"pragma_nontemporal": True}}}}):',
        f"            B[i, j * {n}:j * {n} + {n}] = lines[i, j * {n}:j * {n} + {n}]",
    ]
    impl = _TRANSPOSE_DESC.partition("    for")[0].replace("def desc", "def impl") + "\n".join(lines) + "\n"
    return _made(_TRANSPOSE_DESC, impl, n=rows, m=columns, dtype=dtype)


def _made(desc: str, impl: str, **sizes: object) -> tuple[PrimFunc, PrimFunc]:
    from tirscript.script import parse

    made = [parse(text.format(**sizes)) for text in (desc, impl)]
    assert isinstance(made[0], PrimFunc) and isinstance(made[1], PrimFunc)
    return made[0], made[1]


def _interleave(dtype: str, out: str) -> tuple[PrimFunc, PrimFunc]:
    """Four rows of bytes beside each other, as bytes of the other sign with their highest bits turned."""
    element, vector = "A[vi, vj]", "mixed"
    if out != dtype:
        top = f"T.{dtype}({-128 if dtype == 'int8' else 128})"
        element = f'T.reinterpret("{out}", T.bitwise_xor({element}, {top}))'
        vector = f'T.reinterpret("{out}x64", T.bitwise_xor({vector}, T.broadcast({top}, 64)))'
    texts = {"dtype": dtype, "out": out, "element": element, "vector": vector}
    return _made(_INTERLEAVE_DESC, _INTERLEAVE_IMPL, pairs=_PAIRS, quads=_QUADS, **texts)


def _dot(text: Callable[[int, str, str], str], **sizes: Any) -> tuple[PrimFunc, PrimFunc]:
    return _made(_DOT_DESC, text(sizes["n"], sizes["a"], sizes["b"]), **sizes)


for _m, _n, _k in FMA_TILES:
    BUILT_IN[f"fma_f32_{_m}x{_n}x{_k}"] = partial(_made, _FMA_DESC, _FMA_IMPL, m=_m, n=_n, k=_k)
# dot_4x4_i8i8s32 and dot_16x4_vnni have the shapes and dtypes of TVM's intrinsics of these names; the latter is the
# instruction vpdpbusd, and refused where the processor has none, dot_16x4_u8i8s32 is the same by operators
BUILT_IN["dot_4x4_i8i8s32"] = partial(_made, _DOT_DESC, _DOT_IMPL, a="int8", b="int8", n=4)
BUILT_IN["dot_16x4_u8i8s32"] = partial(_made, _DOT_DESC, _DOT_IMPL, a="uint8", b="int8", n=16)
# the tiles of AMX: 16 rows of 64 bytes times 64 lines of 16, of which four lines lie in turn in one
for _signs in ("ss", "su", "us", "uu"):
    _left, _right = ("int8" if sign == "s" else "uint8" for sign in _signs)
    BUILT_IN[f"dot_16x16x64_{_left}_{_right}_amx"] = partial(
        _made, _TILE_DESC, _TILE_IMPL, a=_left, b=_right, signs=_signs
    )
    # four products in each of n lanes, by what processors without tiles have
    for _n in _MADD:
        for _kind, _text in (("vnni", _vnni), ("madd", _in_pairs)):
            BUILT_IN[f"dot_{_n}x4_{_left}_{_right}_{_kind}"] = partial(
                _dot, _text, n=_n, a=_left, b=_right, bits=32 * _n, bytes=4 * _n, words=2 * _n
            )
BUILT_IN["dot_16x16x32_bfloat16_amx"] = partial(_made, _FLOAT_TILE_DESC, _FLOAT_TILE_IMPL)
BUILT_IN["dot_16x16x32_bfloat16_avx512"] = partial(_made, _FLOAT_TILE_DESC, _FLOAT_LANES_IMPL)
BUILT_IN["dot_16x4_vnni"] = BUILT_IN["dot_16x4_uint8_int8_vnni"]
for _dtype, _other in (("int8", "uint8"), ("uint8", "int8")):
    BUILT_IN[f"interleave_4x16_{_dtype}"] = partial(_interleave, _dtype, _dtype)
    BUILT_IN[f"interleave_4x16_{_dtype}_{_other}"] = partial(_interleave, _dtype, _other)
BUILT_IN["interleave_2x16_bfloat16"] = partial(
    _made, _INTERLEAVE_PAIRS_DESC, _INTERLEAVE_PAIRS_IMPL, dtype="bfloat16", pairs=_PAIRS
)
for _dtype, _lanes in (("float32", 16), ("float64", 8)):
    BUILT_IN[f"transpose_f{_dtype[5:]}_{_lanes}x{_lanes}"] = partial(_transpose, _lanes, _dtype)


def square_side(dtype: str, vector_bits: int) -> int:
    """The rows of the square of a dtype that is transposed in registers of so many bits; below 4 there is none.

    Registers narrower than 512 bits are sixteen, which hold eight rows beside what is made of them.
    """
    bits = TRANSPOSED.get(dtype, 128)
    return min(16 if bits == 8 or vector_bits >= 512 else 8, vector_bits // bits)


def transposed_rows(dtype: str) -> list[int]:
    """The rows of the tiles that transpositions of a dtype are made of, the most first: what is read are lines of 256
    bytes or 1 KiB. A tile has 512 KiB at most, which the second cache of every processor with so wide vectors holds.
    """
    size = TRANSPOSED[dtype] // 8
    return [line // size for line in (1024, 256) if line * 1024 // size <= 1 << 19]


for _dtype, _bits in TRANSPOSED.items():
    for _side in sorted({square_side(_dtype, _width) for _width in (128, 256, 512)} - {2}):
        BUILT_IN[f"transpose_{_dtype}_{_side}x{_side}"] = partial(_transpose, _side, _dtype)
    for _rows, _lines in product(transposed_rows(_dtype), TILE_LINES):
        _columns = _lines * 512 // _bits
        BUILT_IN[f"transpose_{_dtype}_{_rows}x{_columns}"] = partial(
            _transpose_lines, _rows, _columns, min(16, 512 // _bits), _dtype
        )

__all__ = ["FMA_TILES", "TILE_LINES", "TRANSPOSED", "square_side", "transposed_rows"]
