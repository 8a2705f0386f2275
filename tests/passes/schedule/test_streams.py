"""Results that are written past the caches: which are, in which form, and that they are the same results."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import PrimFunc, Target
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

# everything is larger than these caches
NONE = CpuFacts(vector_bits=512, threads=2, cache=1)


def kernel(body: str, params: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def stencil(n: int, m: int, dtype: str = "float32") -> PrimFunc:
    body = f"""
for i, j in T.grid({n}, {m}):
    B[i, j] = A[i, j + 1] * T.cast(2, "{dtype}") + A[i + 1, j] - A[i + 2, j + 2]
"""
    return kernel(body, f'A: T.Buffer(({n + 2}, {m + 2}), "{dtype}"), B: T.Buffer(({n}, {m}), "{dtype}")')


def streams(func: PrimFunc, facts: CpuFacts = NONE) -> bool:
    return "pragma_nontemporal" in default_schedule(func, facts).func.script()


def test_what_the_caches_hold_is_left_in_them() -> None:
    func = stencil(8, 64)
    size = 8 * 64 * 4
    assert streams(func, CpuFacts(512, 1, cache=size)) and not streams(func, CpuFacts(512, 1, cache=size + 1))
    assert not streams(func, CpuFacts(512, 1))


@pytest.mark.parametrize(
    ("body", "params"),
    [
        ("for i, j in T.grid(8, 64):\n    A[i, j] = A[i, j] + B[i, j]", ""),  # what it reads is in the caches
        ("for i, j in T.grid(8, 64):\n    A[i, j] = B[i, 63 - j]", ""),  # backward
        (
            "C = T.alloc_buffer((8, 64))\nfor i, j in T.grid(8, 64):\n    C[i, j] = B[i, j] + A[0, 0]\n"
            "for i, j in T.grid(8, 64):\n    A[i, j] = A[i, j] + C[7 - i, 63 - j]",
            "",
        ),  # stays in the function
        ("for i, j in T.grid(8, 64):\n    A[i, j] = B[i, j]", ', strides=("s", 2)'),
    ],
)
def test_what_is_not_written_in_lines_does_not(body: str, params: str) -> None:
    where = f'A: T.Buffer((8, 64), "float32"{params}), B: T.Buffer((8, 64), "float32")'
    assert not streams(kernel(body, where))


def test_how_it_is_written() -> None:
    made = default_schedule(stencil(40, 75), NONE)
    text = made.func.script()
    assert text.count('T.block_attr({"pragma_nontemporal": True})') == 2
    assert "in T.vectorized(64)" in text and "in T.vectorized(64, 75)" in text and "T.where" not in text
    whole = kernel(
        "for i in range(1 << 17):\n    B[i] = T.exp(A[i])",
        'A: T.Buffer((1 << 17,), "float32"), B: T.Buffer((1 << 17,), "float32")',
    )
    text = default_schedule(whole, NONE).func.script()
    assert "in T.parallel(4096)" in text and "in T.vectorized(32)" in text
    # no row ends in a single element, which would go into its line another way
    assert "T.vectorized(64, 97)" in default_schedule(stencil(4, 97), CpuFacts(512, 1, cache=1)).func.script()


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(16, 200),
    st.sampled_from(("float32", "float64", "float16", "int8", "uint16", "int64")),
    st.integers(0, 9),
    st.sampled_from((128, 256, 512)),
)
def test_it_is_the_same_result_at_any_address(n: int, m: int, dtype: str, offset: int, bits: int) -> None:
    func = stencil(n, m, dtype)
    made = default_schedule(func, CpuFacts(bits, 2, cache=1)).func
    random = np.random.default_rng(n * m)
    given = random.integers(0, 50, (n + 2, 2 * m + 4)).astype(dtype)[:, 1 : m + 3].copy()
    wanted, memory = np.zeros((n, m), dtype), np.zeros(n * m + offset + 3, dtype)
    interpret(func, given, wanted)
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(given, memory[offset : offset + n * m].reshape(n, m))
    assert (memory[offset : offset + n * m].reshape(n, m) == wanted).all()
    assert not memory[:offset].any() and not memory[offset + n * m :].any()


def test_a_gather_goes_past_the_caches_too() -> None:
    func = kernel(
        "for i, j in T.grid(30, 40):\n    B[i, j] = A[at[i], j]",
        'A: T.Buffer((9, 40), "float32"), at: T.Buffer((30,), "int32"), B: T.Buffer((30, 40), "float32")',
    )
    assert streams(func)
    made = default_schedule(func, NONE).func
    a, at = np.random.default_rng(0).random((9, 40), "float32"), np.arange(30, dtype="int32") * 7 % 9
    b = np.zeros((30, 40), "float32")
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(a, at, b)
    assert (b == a[at]).all()


def test_the_caches_are_those_of_the_target() -> None:
    func = stencil(1 << 12, 1 << 11)  # 32 MiB
    run = get_pass("default_cpu")

    def held(target: str) -> bool:
        with Target.parse(target):
            return "pragma_nontemporal" not in run(func).script()

    assert not held("llvm -l2-cache=2097152 -l3-cache=503316480")  # the third may be that of many others
    assert held("llvm -l2-cache=16777216 -l3-cache=503316480")
    assert not held("llvm -l2-cache=16777216 -l3-cache=16777216")
    assert not held("llvm")
    assert "pragma_nontemporal" not in get_pass("default_cpu", cache=1 << 26)(func).script()


def test_the_trace_says_it() -> None:
    trace = str(default_schedule(stencil(8, 64), NONE).trace)
    assert "'pragma_nontemporal', True" in trace
    assert_same_result(stencil(8, 64), default_schedule(stencil(8, 64), NONE).func)


@pytest.mark.parametrize(
    "body",
    [
        "for i, j in T.grid(512, 512):\n    B[i, j] = T.exp(A[i, j])",
        "for i, j in T.grid(512, 512):\n    B[i, j] = A[j, i]",
        "S = T.alloc_buffer((512,))\nfor i, j in T.grid(512, 512):\n    with T.block('S'):\n"
        "        vi, vj = T.axis.remap('SR', [i, j])\n        with T.init():\n            S[vi] = 0\n"
        "        S[vi] += A[vi, vj]\nfor i, j in T.grid(512, 512):\n    with T.block('B'):\n"
        "        vi, vj = T.axis.remap('SS', [i, j])\n        B[vi, vj] = A[vi, vj] / S[vi]",
    ],
    ids=["elementwise", "transposed", "rows"],
)
def test_what_handles_point_to_is_given_as_buffers_are(body: str) -> None:
    buffers = kernel(body, ", ".join(f'{name}: T.Buffer((512, 512), "float32")' for name in "AB"))
    matches = "".join(f'{name} = T.match_buffer({name.lower()}, (512, 512), "float32")\n' for name in "AB")
    handles = kernel(matches + body, "a: T.handle, b: T.handle")
    facts = CpuFacts(512, 2, cache=1 << 20)
    found = default_schedule(handles, facts)
    assert str(found.trace) == str(default_schedule(buffers, facts).trace)
    assert "pragma_nontemporal" in found.func.script() or "prefetch" in found.func.script()
    # of numbers whose sums do not cancel
    shape = (512, 512)
    assert_same_result(
        handles, found.func, inputs=lambda rng: [rng.random(shape, "float32"), np.zeros(shape, "float32")], runs=1
    )


# a tile of squares
TILED = re.compile(r"'transpose_\w+_\d+x\d{3,}'")


def permutation(shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> PrimFunc:
    made, names = tuple(shape[at] for at in order), "ijkl"[: len(shape)]
    read = [names[order.index(at)] for at in range(len(shape))]
    body = f"for {', '.join(names)} in T.grid{made}:\n    B[{', '.join(names)}] = A[{', '.join(read)}]"
    return kernel(body, f'A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({made}, "{dtype}")')


@pytest.mark.parametrize(
    ("shape", "dtype", "tile"),
    [
        ((256, 64), "float32", "64x240"),
        ((256, 319), "float32", "256x240"),  # 63 are left
        ((256, 320), "float32", "64x240"),
        ((300, 130), "float32", "64x256"),
        ((256, 1000), "float32", "64x240"),
        ((256, 800), "float32", "256x240"),
        ((256, 280), "float64", "128x120"),
        ((512, 1024), "float16", "512x480"),
        ((1024, 2048), "int8", "256x960"),
        # lines of 64 bytes that are whole wherever a row begins: 63, 127, 255, 249 and 124
        ((1024, 64), "float32", "64x144"),
        ((2048, 64), "float32", "64x224"),
        ((4096, 64), "float32", "64x240"),
        ((4000, 64), "float32", "64x128"),
        ((2010, 64), "float32", "64x256"),  # rows begin inside of lines at different places
    ],
)
def test_the_largest_tile_that_leaves_little(shape: tuple[int, int], dtype: str, tile: str) -> None:
    trace = str(default_schedule(permutation(shape, (1, 0), dtype), NONE).trace)
    assert f"'transpose_{dtype}_{tile}'" in trace


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "tiled"),
    [
        ((256, 64), (1, 0), "float32", True),
        ((300, 130), (1, 0), "float32", True),  # with a rest of each side
        ((256, 67), (1, 0), "int32", True),
        ((257, 519), (1, 0), "float32", True),
        ((513, 1030), (1, 0), "float16", True),
        ((259, 64), (1, 0), "float32", True),
        ((3, 257, 65), (0, 2, 1), "float32", True),
        ((257, 2, 67), (2, 1, 0), "float32", False),  # the sides of its tiles are not beside each other
        ((257, 63), (1, 0), "float32", False),  # narrower than a tile
        ((255, 64), (1, 0), "float32", False),
        ((128, 33), (1, 0), "float64", True),
        ((131, 35), (1, 0), "int64", True),
        ((513, 129), (1, 0), "float16", True),
        ((1025, 257), (1, 0), "int8", True),
        ((1024, 256), (1, 0), "uint8", True),
        ((256, 64), (1, 0), "uint32", True),
    ],
)
def test_large_matrices_are_transposed_by_tiles(
    shape: tuple[int, ...], order: tuple[int, ...], dtype: str, tiled: bool
) -> None:
    func = permutation(shape, order, dtype)
    made = default_schedule(func, NONE)
    assert bool(TILED.search(str(made.trace))) == tiled
    given = np.random.default_rng(1).integers(0, 120, shape).astype(dtype)
    wanted = given.transpose(order)
    # a result that no vector is aligned to
    memory = np.zeros(given.size + 9, dtype)
    found = memory[3 : given.size + 3].reshape(wanted.shape)
    built = tirscript.build(made.func, pipeline=DEFAULT_LOWERING)
    built(given, found)
    assert (found == wanted).all()
    assert not memory[:3].any() and not memory[given.size + 3 :].any()


@pytest.mark.parametrize(
    ("loops", "stored", "read"),
    [
        ("i, j in T.grid(257, 67)", "j, i", "i, j"),
        ("b, i, j in T.grid(2, 257, 67)", "b, j, i", "b, i, j"),
        ("i, j, b in T.grid(257, 67, 2)", "b, j, i", "b, i, j"),
        ("j, b, i in T.grid(67, 2, 257)", "b, j, i", "b, i, j"),
    ],
)
def test_transpositions_are_tiled_in_whatever_order_they_are_written(loops: str, stored: str, read: str) -> None:
    shapes = ("(2, 257, 67)", "(2, 67, 257)") if "b" in loops else ("(257, 67)", "(67, 257)")
    params = f'A: T.Buffer({shapes[0]}, "float32"), B: T.Buffer({shapes[1]}, "float32")'
    func = kernel(f"for {loops}:\n    B[{stored}] = A[{read}]", params)
    made = default_schedule(func, NONE)
    assert "'transpose_float32_64x256'" in str(made.trace)  # rows of 257
    assert_same_result(func, made.func)


@pytest.mark.parametrize("before", [0, 1, 4, 15])
def test_tiles_begin_where_lines_of_memory_do(before: int) -> None:
    built = tirscript.build(default_schedule(permutation((256, 70), (1, 0), "float32"), NONE).func)
    memory = np.zeros(70 * 256 + 32, "float32")
    start = -memory.ctypes.data % 64 // 4 + before
    given, found = np.random.default_rng(1).random((256, 70), "float32"), memory[start : start + 70 * 256]
    built(given, found.reshape(70, 256))
    assert (found.reshape(70, 256) == given.T).all()
    assert not memory[:start].any() and not memory[start + 70 * 256 :].any()


def test_rows_of_views_begin_at_different_places() -> None:
    for stride, alike in ((304, True), (300, False)):
        params = f'A: T.Buffer((300, 64), "float32"), B: T.Buffer((64, 300), "float32", strides=({stride}, 1))'
        func = kernel("for i, j in T.grid(64, 300):\n    B[i, j] = A[j, i]", params)
        made = default_schedule(func, NONE)
        assert ("T.address_of(B[0, 0])" in str(made.trace)) == alike
        given, found = np.random.default_rng(1).random((300, 64), "float32"), np.zeros((64, stride), "float32")
        tirscript.build(made.func, pipeline=DEFAULT_LOWERING)(given, found[:, :300])
        assert (found[:, :300] == given.T).all() and not found[:, 300:].any()


def test_what_is_more_than_a_transposition_is_no_tile() -> None:
    params = 'A: T.Buffer((256, 64), "float32"), B: T.Buffer((64, 256), "float32")'
    for value in ("A[j, i] + T.float32(1)", "A[j, 63 - i]", "A[255 - j, i]"):
        func = kernel(f"for i, j in T.grid(64, 256):\n    B[i, j] = {value}", params)
        made = default_schedule(func, NONE)
        assert not TILED.search(str(made.trace))
        assert_same_result(func, made.func)
    square = permutation((256, 64), (1, 0), "float32")
    assert not TILED.search(str(default_schedule(square, CpuFacts(256, 1, cache=1)).trace))  # 16 registers
    strided = params.replace('"float32"), B', '"float32", strides=(128, 2)), B')
    made = default_schedule(kernel("for i, j in T.grid(64, 256):\n    B[i, j] = A[j, i]", strided), NONE)
    assert not TILED.search(str(made.trace))
    small = permutation((256, 64), (1, 0), "float32")
    held = 2 * 64 * 256 * 4
    assert TILED.search(str(default_schedule(small, CpuFacts(512, 1, cache=held)).trace))
    assert not TILED.search(str(default_schedule(small, CpuFacts(512, 1, cache=held + 1)).trace))


def test_the_schedule_does_not_depend_on_where_objects_lie() -> None:
    kept, texts = [], set()
    for _ in range(16):
        func = kernel(
            "for i, j in T.grid(4096, 1024):\n    E[i, j] = T.exp(A[i, j]) * B[i, j] + C[i, j] + D[i, j]",
            ", ".join(f'{name}: T.Buffer((4096, 1024), "float32")' for name in "ABCDE"),
        )
        kept.append([object() for _ in range(101)])
        texts.add(default_schedule(func, NONE).func.script())
    (text,) = texts
    at = ["".join(text.split()).index(f"T.prefetch(T.address_of({name}[") for name in "ABCD"]
    assert at == sorted(at)
