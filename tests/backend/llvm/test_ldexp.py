"""ldexp rounds once, where results are denormal too, and stays vector code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from helpers.native import call, compiled, run
from helpers.script import function
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.backend.llvm import emit_assembly
from tirscript.ir import PrimFunc

COUNT = 16


def program(kind: str, lanes: int, power: str = "int32") -> PrimFunc:
    index = "i" if lanes == 1 else f"T.ramp(i * {lanes}, 1, {lanes})"
    return function(
        f"for i in range({COUNT // lanes}):\n    R[{index}] = T.ldexp(A[{index}], N[{index}])",
        f'A: T.Buffer(({COUNT},), "{kind}"), N: T.Buffer(({COUNT},), "{power}"), R: T.Buffer(({COUNT},), "{kind}")',
    )


KINDS = ("float16", "float32", "float64")
MODULES = {(kind, lanes): compiled(program(kind, lanes)) for kind in KINDS for lanes in (1, 8)}
POWERS = st.one_of(
    st.integers(-2200, 2200), st.sampled_from([-(2**31), 2**31 - 1, -1022, -1023, 1023, 1024, -1075, -969])
)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_ldexp_is_exact_or_rounded_once(data: Any, kind: str) -> None:
    width = np.dtype(kind).itemsize * 8
    x = np.array([data.draw(st.floats(width=width)) for _ in range(COUNT)], kind)
    powers = np.array([data.draw(POWERS) for _ in range(COUNT)], np.int32)
    with np.errstate(all="ignore"):
        want = np.array([np.ldexp(np.float64(a), int(n)) for a, n in zip(x, powers, strict=True)]).astype(kind)
    for lanes in (1, 8):
        got = np.zeros(COUNT, kind)
        call(MODULES[kind, lanes], "f", x, powers, got)
        assert np.array_equal(got, want, equal_nan=True), list(zip(x, powers, got, want, strict=True))
        assert np.array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("power", ["int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"])
def test_powers_of_every_integer_dtype(power: str) -> None:
    info = np.iinfo(power)
    powers = np.resize(np.array([info.min, info.max, 0, 1, 3, 100, max(-100, info.min)], power), COUNT)
    for kind in ("float32", "float64"):
        x = np.linspace(-3, 3, COUNT).astype(kind)
        got = np.zeros(COUNT, kind)
        run(program(kind, 1, power), x, powers, got)
        with np.errstate(all="ignore"):
            want = np.array([np.ldexp(a, max(-9999, min(9999, int(n)))) for a, n in zip(x, powers, strict=True)], kind)
        assert np.array_equal(got, want)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_called(kind: str) -> None:
    for lanes in (1, 16):
        assert not re.search(r"\bcall", emit_assembly(program(kind, lanes)))
