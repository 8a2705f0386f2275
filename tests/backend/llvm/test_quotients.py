"""Vectors divided by what stays the same have the bits of the division, whatever is divided by what."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.programs import prim_func
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.llvm import Host, emit_ir
from tirscript.ir import Attrs, PrimFunc
from tirscript.passes import DEFAULT_LOWERING

N = 520
BITS = {"float32": "uint32", "float64": "uint64"}


def divided(dtype: str = "float32", value: str = "A[j] / D[0]", n: int = N, lanes: int = 8) -> PrimFunc:
    return prim_func(f"""
@T.prim_func
def divided(A: T.Buffer(({n},), "{dtype}"), D: T.Buffer((1,), "{dtype}"), B: T.Buffer(({n},), "{dtype}")):
    for j_0 in range({n // lanes}):
        for j_1 in T.vectorized({lanes}):
            j = j_0 * {lanes} + j_1
            B[j] = {value}
""")


FUSED = Host("x86_64-unknown-linux-gnu", "haswell", "+avx,+avx2,+fma")


def is_quick(func: PrimFunc, target: Host = FUSED) -> bool:
    """Whether the function corrects quotients."""
    return "\nextreme" in emit_ir(DEFAULT_LOWERING(func), target=target, optimized=False)


# whose numbers are classified by an instruction where the processor has it, and by comparisons
TARGETS = ("llvm", "llvm -mattr=-avx512dq")


@cache
def built(dtype: str, target: str) -> Any:
    return tirscript.build(divided(dtype), target=target)


def check(dtype: str, x: Any, d: Any) -> None:
    x = np.resize(np.asarray(x, dtype), N)
    with np.errstate(all="ignore"):
        wanted = x / np.array(d, dtype)
    for target in TARGETS:
        found = np.zeros(N, dtype)
        built(dtype, target)(x, np.array([d], dtype), found)
        same = (found.view(BITS[dtype]) == wanted.view(BITS[dtype])) | (np.isnan(found) & np.isnan(wanted))
        assert same.all(), (target, x[~same][:3], d, found[~same][:3], wanted[~same][:3])


def edges(dtype: str) -> list[float]:
    """Numbers at which something changes, of both signs."""
    info = np.finfo(dtype)
    top = info.nmant + 1
    least = float(info.smallest_normal)
    sizes = [0.0, float(info.smallest_subnormal), 3 * float(info.smallest_subnormal), least / 2, least]
    sizes += [least * 2.0**k for k in (1, top - 2, top - 1, top)] + [1 / 3, 1.0, 1.5, 2.0 - float(info.eps), 3.0, 7.0]
    sizes += [2.0**top, 2.0 ** (info.maxexp - top - 1), 2.0 ** (info.maxexp - 1), float(info.max)]
    return [*sizes, *(-size for size in sizes), float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize("dtype", BITS)
def test_numbers_at_all_edges(dtype: str) -> None:
    values = edges(dtype)
    for d in values:
        check(dtype, values, d)
        for x in values:  # alone, so that the others do not make the loop run again
            check(dtype, x, d)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(BITS)), st.integers(0, 1 << 32), st.integers(-60, 60), st.booleans())
def test_any_mantissas(dtype: str, seed: int, exponent: int, near: bool) -> None:
    """Quotients of random numbers; of those that are near the middle of two numbers, too, which are hard to round."""
    random = np.random.default_rng(seed)
    eps = np.finfo(dtype).eps
    d = np.array(1 + random.random(), dtype)
    x = (1 + random.random(N)).astype(dtype)
    if near:
        middle = (1 + random.random(N)).astype(dtype) + np.asarray(eps / 2, "longdouble")
        x = (middle * d.astype("longdouble")).astype(dtype)
    check(dtype, np.ldexp(x, exponent), np.ldexp(d, -exponent))


def hard(b: int) -> list[int]:
    """The float32 mantissas a of which a / b is nearest to the middle of two numbers: a 2^k - b m is at most 6."""
    found = []
    even = (b & -b).bit_length() - 1
    for k in (24, 25):  # quotients from 1 on, and below
        size = 1 << (k - even)
        inverse = pow(b >> even, -1, size)
        for left in (left for left in range(-6, 7) if left and left % (1 << even) == 0):
            first = -(left >> even) * inverse % size
            for m in range(first + -(-max(0, (1 << 24) - first) // size) * size, 1 << 25, size):
                if m % 2 and (b * m + left) % (1 << k) == 0:
                    a = (b * m + left) >> k
                    if max(1 << 23, b if k == 24 else 0) <= a < (1 << 24 if k == 24 else b):
                        found.append(a)
    return found


def test_quotients_nearest_to_the_middle_of_two_numbers() -> None:
    """`TIRSCRIPT_CASES` is how many divisors; with 2^23 it is all of them."""
    cases = int(os.environ.get("TIRSCRIPT_CASES", "300"))
    tried = 0
    for b in np.linspace(1 << 23, (1 << 24) - 1, cases).astype("int64").tolist():
        numbers = hard(b)
        tried += len(numbers)
        if numbers:
            check("float32", numbers, b)
    assert tried > cases


@pytest.mark.parametrize("dtype", BITS)
def test_quotients_about_to_be_denormal_or_infinite(dtype: str) -> None:
    random, info = np.random.default_rng(3), np.finfo(dtype)
    for limit in (float(info.smallest_subnormal), float(info.smallest_normal), float(info.max) / 8):
        for d in (3.0, 0.7, 1e-20, 1e20):
            with np.errstate(all="ignore"):
                check(dtype, (random.random(N) * 4).astype(dtype) * np.array(limit, dtype) * np.array(d, dtype), d)
            # halves of the least denormal number: ties
            check(dtype, np.arange(N) * d * float(info.smallest_subnormal), 2 * d)


@pytest.mark.parametrize(
    ("value", "quick"),
    [
        ("A[j] / D[0]", True),
        ("T.exp(A[j]) / D[0] + A[j] / D[0]", True),
        ("B[j] / D[0]", True),
        ("A[j] / T.float32(3)", True),
        ("A[j] / T.float32(-3)", True),
        ("A[j] / T.float32(4)", False),  # times 0.25
        ("A[j] / T.float32(0)", False),
        ("A[j] / T.float32('inf')", False),
        ("A[j] / T.float32('nan')", False),
        ("A[j] / T.float32(1.1754944e-38 * 3)", False),  # the inverse of its square is no number
        ("A[j] / T.float32(3e38)", False),  # its inverse is denormal
        ("A[j] / (D[0] + T.float32(1))", False),  # what is computed in each iteration
        ("D[0] / A[j]", False),
        ("A[j] / A[j // 2]", False),
        ("A[j] / A[T.cast(D[0], 'int32') % 5]", False),  # where the divisor is, is read
        ("A[j] / B[0]", False),  # what is written
        ("A[j] / A[j_0]", False),
        ("T.cast(T.cast(A[j], 'float16') / T.cast(D[0], 'float16'), 'float32')", False),
        ("A[j] * D[0]", False),
    ],
)
def test_which_values(value: str, quick: bool) -> None:
    assert is_quick(divided(value=value)) is quick


def test_which_functions_and_processors() -> None:
    func = divided()
    assert is_quick(func)
    assert is_quick(divided("float64", lanes=4))
    assert not is_quick(divided(lanes=4))  # too narrow
    assert not is_quick(func, Host("aarch64-unknown-linux-gnu", "generic", "+neon"))
    assert not is_quick(func, Host("x86_64-unknown-linux-gnu", "x86-64", "+sse4.2"))
    assert not is_quick(func, Host("x86_64-unknown-linux-gnu", "sandybridge", "+avx"))
    assert not is_quick(func.replace(attrs=Attrs({"tir.noalias": False})))
    assert not is_quick(func.replace(attrs=Attrs({"fastmath": "arcp"})))  # LLVM takes the reciprocal


@pytest.mark.parametrize("d", [3.0, -3.0, 1e-30, -8e37])
def test_usual_divisors_of_both_signs_have_reciprocals(d: float) -> None:
    """nan is that of extreme ones, which are divided by after all; LLVM computes those of constants."""
    text = emit_ir(DEFAULT_LOWERING(divided(value=f"A[j] / T.float32({d!r})")), target=FUSED)
    assert "@llvm.fma.v8f32" in text and "0x7FF8" not in text


def test_the_divisor_is_prepared_before_the_loop() -> None:
    lines = emit_ir(DEFAULT_LOWERING(divided()), target=FUSED).splitlines()
    scalar = [at for at, line in enumerate(lines) if "fdiv float" in line]
    loop = next(at for at, line in enumerate(lines) if "phi i64" in line)
    assert len(scalar) == 1 and scalar[0] < loop
    assert any("fdiv <8 x float>" in line for line in lines[loop:])


def test_lanes_that_a_mask_takes_out() -> None:
    """They are 0, whatever is behind the end of the array, and what all are divided by is read for none of them."""
    func = tirscript.build(
        prim_func("""
@T.prim_func
def divided(A: T.Buffer(("n",), "float32"), D: T.Buffer((1,), "float32"), B: T.Buffer(("n",), "float32")):
    for j_0 in range((n + 7) // 8):
        for j_1 in T.vectorized(8):
            if j_0 * 8 + j_1 < n:
                B[j_0 * 8 + j_1] = A[j_0 * 8 + j_1] / D[0]
""")
    )
    for n in (0, 1, 7, 8, 9, 23):
        x, found, d = (
            np.linspace(-3, 5, n + 8).astype("float32"),
            np.full(n + 8, 9, "float32"),
            np.full(1, 3, "float32"),
        )
        func(x[:n], d, found[:n])
        assert np.array_equal(found[:n], x[:n] / d) and (found[n:] == 9).all()


def test_vectors_with_extreme_quotients() -> None:
    x = np.linspace(1, 2, N)
    for dtype, tiny in (("float32", 1e-42), ("float64", 1e-320)):
        for strange in (tiny, np.inf, np.nan):
            for at in (0, 17, N - 1):
                x[at] = strange
                check(dtype, x, 3.0)
                x[at] = 0.0
                check(dtype, x, 3.0)


def test_results_over_the_operands() -> None:
    """No quotient of a quotient, where the program says that its arrays may overlap."""
    func = tirscript.build(divided().replace(attrs=Attrs({"tir.noalias": False})))
    x = np.linspace(-3, 5, N).astype("float32")
    x[7] = 1e-44
    d = np.array([3], "float32")
    wanted = x / d
    func(x, d, x)
    assert np.array_equal(x, wanted)


@pytest.mark.parametrize("kind", ["range", "T.parallel"])
def test_a_loop_that_may_run_a_few_times_divides_then(kind: str) -> None:
    """What only the call knows; a parallel loop prepares the divisor anyway, which takes less time than to share it."""
    func = prim_func(f"""
@T.prim_func
def divided(A: T.Buffer(("n", 8), "float32"), D: T.Buffer((1,), "float32"), B: T.Buffer(("n", 8), "float32")):
    for i in {kind}(n):
        for j in T.vectorized(8):
            B[i, j] = A[i, j] / D[0]
""")
    text = emit_ir(DEFAULT_LOWERING(func), target=FUSED, optimized=False)
    assert text.count("\nextreme") == 1
    assert len(re.findall("fdiv <8 x float>", text)) == (1 if kind == "T.parallel" else 2)
    kernel = tirscript.build(func, pipeline=DEFAULT_LOWERING)
    for n in (0, 1, 15, 16, 5000):
        x, d = np.random.default_rng(n).standard_normal((n, 8)).astype("float32"), np.full(1, 3, "float32")
        found = np.zeros_like(x)
        kernel(x, d, found)
        assert np.array_equal(found, x / d)
