"""Products of bytes by instructions that add up neighbours in lanes: the instructions, and what is made of kernels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.bytes import BYTES, KERNELS, product, words
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.backend.llvm.host import host
from tirscript.ir import Target
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.default_cpu import DOTS
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled
from tirscript.passes.schedule.tensor_intrin import TensorIntrin
from tirscript.script import tir as T

FEATURES = set(host().features.split(","))
KINDS = [(bits, kind) for bits, kinds in DOTS.items() for kind, _ in kinds]


def here(bits: int, kind: str) -> bool:
    """Whether this processor has the instructions."""
    return any(set(wanted) <= FEATURES for wanted in dict(DOTS[bits])[kind])


def facts(bits: int, kind: str) -> CpuFacts:
    return CpuFacts(vector_bits=bits, threads=2, dots=kind)


@pytest.mark.parametrize(("bits", "kind"), KINDS)
@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_the_instructions_are_what_is_described(left: str, right: str, bits: int, kind: str) -> None:
    lanes = bits // 32
    intrin = TensorIntrin.get(f"dot_{lanes}x4_{left}_{right}_{kind}")
    rng = np.random.default_rng(1)
    whole = {"int8": (-128, 128), "uint8": (0, 256)}
    native = tirscript.build(intrin.impl) if here(bits, kind) else None
    for extreme in (False, True):
        A = rng.integers(*whole[left], 4, left)
        B = rng.integers(*whole[right], (lanes, 4), right)
        if extreme:
            A[:], B[::2] = whole[left][0] or 255, whole[right][0] or 255
        start = rng.integers(-(1 << 31), 1 << 31, lanes).astype("int32")
        start[:2] = (1 << 31) - 1, -(1 << 31)  # sums wrap
        results = [start.copy() for _ in range(3)]
        interpret(intrin.desc, A, B, results[0])
        interpret(intrin.impl, A, B, results[1])
        (native or (lambda *given: interpret(intrin.impl, *given)))(A, B, results[2])
        assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


@pytest.mark.parametrize(
    ("name", "bits", "kind"),
    [*((name, 512, "vnni") for name in KERNELS), *(("odd", *how) for how in KINDS[1:]), ("linear", 256, "madd")],
)
def test_products_of_bytes_are_lanes(name: str, bits: int, kind: str) -> None:
    kernel = KERNELS[name]
    made = default_schedule(kernel, facts(bits, kind)).func
    assert {"vnni": "vpdpbusd", "madd": "pmadd"}[kind] in words(made)
    rng = np.random.default_rng(1)
    given = [
        rng.integers(0, 256, (*buffer.constant_shape(), buffer.dtype.bits // 8), "uint8").view(str(buffer.dtype))[
            ..., 0
        ]
        for buffer in kernel.param_buffers
    ]
    wanted, found = ([one.copy() for one in given] for _ in range(2))
    tirscript.build(kernel, pipeline=DEFAULT_LOWERING)(*wanted)
    if here(bits, kind):
        tirscript.build(made, pipeline=DEFAULT_LOWERING)(*found)
    else:
        interpret(made, *found)
    assert all(map(np.array_equal, wanted, found))


@settings(max_examples=8, deadline=None)
@given(
    st.integers(4, 40),
    st.integers(4, 70),
    st.integers(16, 90),
    st.sampled_from(BYTES),
    st.sampled_from(BYTES),
    st.sampled_from([one for one in KINDS if here(*one)] or KINDS),
)
def test_products_of_any_size(m: int, n: int, k: int, left: str, right: str, how: tuple[int, str]) -> None:
    kernel = product(m, n, k, left, right)
    made = default_schedule(kernel, facts(*how)).func
    rng = np.random.default_rng(m * n * k)
    A, B = (rng.integers(0, 256, size).astype("uint8").view(kind) for size, kind in (((m, k), left), ((k, n), right)))
    C = np.full((m, n), -1, "int32")
    if here(*how):
        tirscript.build(made, pipeline=DEFAULT_LOWERING)(A, B, C)
    else:
        interpret(made, A, B, C)
    assert np.array_equal(C, A.astype("int32") @ B.astype("int32"))


@pytest.mark.parametrize(("left", "right"), list(itertools.product(BYTES, BYTES)))
def test_rows_whose_number_only_the_call_knows(left: str, right: str) -> None:
    @T.prim_func
    def kernel(A: T.Buffer(("b", "n", 32), left), W: T.Buffer((32, 40), right), C: T.Buffer(("b", "n", 40), "int32")):
        for h, i, j, p in T.grid(b, n, 40, 32):
            with T.block("C"):
                vb, vi, vj, vp = T.axis.remap("SSSR", [h, i, j, p])
                with T.init():
                    C[vb, vi, vj] = 0
                C[vb, vi, vj] += T.cast(A[vb, vi, vp], "int32") * T.cast(W[vp, vj], "int32")

    made = default_schedule(kernel, facts(512, "vnni")).func
    assert "vpdpbusd" in words(made)
    assert "T.cast(T.ramp" not in words(DEFAULT_LOWERING(made))  # four bytes are one load
    native = tirscript.build(made, pipeline=DEFAULT_LOWERING) if here(512, "vnni") else None
    rng = np.random.default_rng(1)
    for b, n in ((1, 1), (2, 3), (1, 4), (3, 9), (0, 4), (2, 0)):
        A = rng.integers(0, 256, (b, n, 32)).astype("uint8").view(left)
        W = rng.integers(0, 256, (32, 40)).astype("uint8").view(right)
        C = np.full((b, n, 40), -1, "int32")
        (native or (lambda *given: interpret(made, *given)))(A, W, C)
        np.testing.assert_array_equal(C, A.astype("int32") @ W.astype("int32"))


@pytest.mark.long
@pytest.mark.parametrize(("bits", "kind"), KINDS)
@pytest.mark.parametrize(("left", "right"), [("uint8", "int8"), ("int8", "int8")])
def test_sizes_that_only_the_call_knows(left: str, right: str, bits: int, kind: str) -> None:
    @T.prim_func
    def kernel(A: T.Buffer(("n", "k"), left), W: T.Buffer(("k", "m"), right), C: T.Buffer(("n", "m"), "int32")):
        for i, j in T.grid(n, m):
            C[i, j] = 0
            for p in range(k):
                C[i, j] += T.cast(A[i, p], "int32") * T.cast(W[p, j], "int32")

    made = scheduled(kernel, facts(bits, kind))
    assert {"vnni": "vpdpbusd", "madd": "pmadd"}[kind] in words(made)
    assert "if n < 4" in made.script()  # fewer rows than those of a tile are not worth the copy
    native = tirscript.build(made, pipeline=DEFAULT_LOWERING) if here(bits, kind) else None
    rng = np.random.default_rng(1)
    for n, m, k in ((1, 9, 20), (4, 64, 16), (5, 67, 37), (9, 1, 3), (6, 5, 0), (0, 5, 6), (6, 0, 5)):
        A = rng.integers(0, 256, (n, k)).astype("uint8").view(left)
        W = rng.integers(0, 256, (k, m)).astype("uint8").view(right)
        C = np.full((n, m), -1, "int32")
        (native or (lambda *given: interpret(made, *given)))(A, W, C)
        np.testing.assert_array_equal(C, A.astype("int32") @ W.astype("int32"))


def test_other_products_are_not() -> None:
    for kernel in (
        product(3, 64, 512),  # too few rows for the copy of the other operand
        product(64, 8, 512),
        product(256, 64, 15),
        product(64, 64, 64, "int16", "int8"),
    ):
        assert "llvm.x86" not in words(default_schedule(kernel, facts(512, "vnni")).func)
    assert "llvm.x86" not in words(default_schedule(KERNELS["whole"], facts(512, "")).func)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("llvm -mcpu=icelake-server", "vpdpbusd.512"),
        ("llvm -mcpu=alderlake", "vpdpbusd.256"),
        ("llvm -mcpu=znver4", "vpdpbusd.512"),
        ("llvm -mcpu=skylake-avx512", "avx512.pmaddw.d.512"),
        ("llvm -mcpu=haswell", "avx2.pmadd.wd"),
        ("llvm -mcpu=sapphirerapids", "tdpbssd"),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", None),
    ],
)
def test_the_target_says_which(target: str, instruction: str | None) -> None:
    kernel = product(32, 64, 128)
    with Target.parse(target):
        text = words(get_pass("default_cpu")(kernel))
    assert instruction in text if instruction is not None else "llvm.x86" not in text


@pytest.mark.parametrize(("bits", "kind"), KINDS)
def test_symbolic_rows_that_are_whole_tiles_are_not_rounded_up(bits: int, kind: str) -> None:
    @T.prim_func
    def by_eights(n: T.int64, k: T.int64, a: T.handle, w: T.handle, c: T.handle):
        A = T.match_buffer(a, (n * 8, k), "int8")
        W = T.match_buffer(w, (64, k), "int8")
        C = T.match_buffer(c, (n * 8, 64), "int32")
        for i, j, l in T.grid(n * 8, 64, k):
            with T.block("C"):
                vi, vj, vl = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += T.cast(A[vi, vl], "int32") * T.cast(W[vj, vl], "int32")

    made = scheduled(by_eights, facts(bits, kind))
    assert "C_pad" not in made.script() and "tensorize" in str(default_schedule(by_eights, facts(bits, kind)).trace)
    built = tirscript.build(made) if here(bits, kind) else None
    rng = np.random.default_rng(2)
    for n, k in ((1, 5), (2, 16), (0, 3), (1, 0)):
        A, W = rng.integers(-128, 128, (n * 8, k), "int8"), rng.integers(-128, 128, (64, k), "int8")
        found = np.full((n * 8, 64), 7, "int32")
        (built or (lambda *given: interpret(made, *given)))(n, k, A, W, found)
        np.testing.assert_array_equal(found, A.astype("int32") @ W.T.astype("int32"))
