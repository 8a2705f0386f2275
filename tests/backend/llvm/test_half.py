"""float16 on processors that have no instructions for it: LLVM would call functions that the process does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm.host import Host, host
from tirscript.backend.llvm.machine import architecture
from tirscript.passes import DEFAULT_LOWERING

here = pytest.mark.skipif(architecture(host().triple) != "x86-64", reason="names processors of x86-64")
OLD = "llvm -mcpu=x86-64"
WIDEN = """
@T.prim_func
def widen(A: T.Buffer((65536,), "float16"), B: T.Buffer((65536,), "float32"), C: T.Buffer((65536,), "float64")):
    for i in range(65536):
        B[i] = T.cast(A[i], "float32")
        C[i] = T.cast(A[i], "float64")
"""
NARROW = """
@T.prim_func
def narrow(A: T.Buffer((N,), "{}"), B: T.Buffer((N,), "float16")):
    for i in range(N):
        B[i] = T.cast(A[i], "float16")
"""
HALVES = np.arange(65536, dtype="uint16").view("float16")


def same(found: Any, wanted: Any) -> bool:
    nan = np.isnan(wanted)
    kind = f"u{wanted.itemsize}"
    return bool(np.isnan(found[nan]).all() and (found.view(kind)[~nan] == wanted.view(kind)[~nan]).all())


@here
@pytest.mark.parametrize("pipeline", [DEFAULT_LOWERING, "default"])
def test_every_half_becomes_wide(pipeline: Any) -> None:
    made = tirscript.build(tirscript.parse(WIDEN), target=OLD, pipeline=pipeline)
    single, double = np.zeros(65536, "float32"), np.zeros(65536, "float64")
    made(HALVES, single, double)
    assert same(single, HALVES.astype("float32")) and same(double, HALVES.astype("float64"))


@here
@pytest.mark.parametrize("pipeline", [DEFAULT_LOWERING, "default"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_others_are_rounded_once(dtype: str, pipeline: Any) -> None:
    """All values between two halves that matter: themselves, the middle, and beside it; and those of no half."""
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(dtype))
    middles = (finite[1:] + finite[:-1]) / 2
    odd = np.array([65519.996, 65520, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 2.0**-25, 2.0**-126], dtype)
    given = np.concatenate(
        [finite, middles, np.nextafter(middles, -np.inf, dtype=dtype), np.nextafter(middles, np.inf, dtype=dtype), odd]
    )
    made = tirscript.build(
        tirscript.parse(NARROW.format(dtype).replace("N", str(len(given)))), target=OLD, pipeline=pipeline
    )
    found = np.zeros(len(given), "float16")
    made(given, found)
    with np.errstate(over="ignore"):
        assert same(found, given.astype("float16"))


@here
def test_whatever_is_computed_calls_no_compilers_library() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16"), C: T.Buffer((64,), "float16"),
      D: T.Buffer((64,), "int32")):
    for i in range(64):
        C[i] = T.max(T.exp(A[i]), T.abs(-B[i])) + T.if_then_else(A[i] < B[i], T.sqrt(B[i]), A[i] / B[i])
        D[i] = T.cast(A[i] * B[i], "int32") + T.cast(T.isnan(A[i]), "int32")
        C[i] = C[i] + T.cast(D[i], "float16") + T.cast(T.cast(A[i], "float8_e4m3fn"), "float16")
"""
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.5, 4, 64).astype("float16") for _ in range(2)]
    results = []
    for target in (OLD, "llvm"):
        results.append((np.zeros(64, "float16"), np.zeros(64, "int32")))
        made = tirscript.build(tirscript.parse(text), target=target)
        assert "__" not in made.assembly()
        made(*given, *results[-1])
    assert (results[0][0] == results[1][0]).all() and (results[0][1] == results[1][1]).all()


def test_which_processors_convert() -> None:
    assert Host("aarch64-linux-gnu", "generic", "").converts_half
    assert Host("x86_64-linux-gnu", "haswell", "+avx2,+f16c").converts_half
    assert not Host("x86_64-linux-gnu", "x86-64-v2", "+sse4.2").converts_half
    assert not Host("riscv64-linux-gnu", "generic-rv64", "+64bit,+v").converts_half
