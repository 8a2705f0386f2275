"""Random products of float16 and bfloat16 with the default schedule, by tiles and without, beside numpy's in float64: of
numbers of all exponents, nan, infinities and denormal ones among them."""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
from helpers.processor import has
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 12
HERE = has("amx-bf16")
KINDS: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def operand(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], low: int, spread: int, odd: float) -> Any:
    """Numbers of exponents around 2^low; some of them are special where `odd` is more than 0."""
    exponents = low + rng.integers(0, spread + 1, shape)
    made = (rng.standard_normal(shape) * 2.0**exponents).astype(KINDS[dtype])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-39, -3e-40, 6e-8]).astype(KINDS[dtype])
    which = rng.random(shape) < odd
    made[which] = rng.choice(special, which.sum())
    made[~np.isfinite(made) & ~which] = 1
    return made


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_products(data: st.DataObject) -> None:
    m, n, k = (data.draw(st.sampled_from([1, 7, 8, 13, 16, 31, 32, 33, 47, 64, 97, 130])) for _ in range(3))
    dtype, turned = data.draw(st.sampled_from([*KINDS, "bfloat16"])), data.draw(st.booleans())
    result = data.draw(st.sampled_from(["float32", dtype]))
    facts = CpuFacts(
        512, data.draw(st.sampled_from([1, 2])), float_tiles=data.draw(st.sampled_from(["amx", "avx512", ""]))
    )
    right, shape = ("B[j, p]", (n, k)) if turned else ("B[p, j]", (k, n))
    kernel = parse(f"""
@T.prim_func
def main(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer({shape}, "{dtype}"), C: T.Buffer(({m}, {n}), "{result}")):
    for i, j in T.grid({m}, {n}):
        total: T.float32 = 0.0
        for p in range({k}):
            total += T.cast({right}, "float32") * T.cast(A[i, p], "float32")
        C[i, j] = T.cast(total, "{result}")
""")
    assert isinstance(kernel, PrimFunc)
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    lows = st.sampled_from([0, -3, -20, -45, -58, -60, -62, -75, -110, -125, 30] if dtype == "bfloat16" else [0, -12])
    spreads, odds = st.sampled_from([0, 4, 12]), st.sampled_from([0.0, 0.0, 0.0, 1e-3, 0.02])
    A = operand(rng, dtype, (m, k), data.draw(lows), data.draw(spreads), data.draw(odds))
    B = operand(rng, dtype, shape, data.draw(lows), data.draw(spreads), data.draw(odds))
    C = np.full((m, n), -1).astype(KINDS.get(result, np.float32))
    made = default_schedule(kernel, facts).func
    if HERE or "llvm.x86" not in made.script():
        tirscript.build(made, pipeline=DEFAULT_LOWERING)(A, B, C)
    else:
        interpret(made, A, B, C)
    a, b = A.astype("float64"), (B.T if turned else B).astype("float64")
    with np.errstate(all="ignore"):
        wanted, scale = a @ b, np.abs(a) @ np.abs(b)
        plain = np.isfinite(wanted) & (scale < 1e37)
        rounded = wanted.astype("float32").astype(C.dtype).astype("float64")
        unsure = (
            k * 2.0**-149
            + scale * 1e-5
            + np.abs(rounded) * 2.0 ** {"float32": -22, "float16": -9, "bfloat16": -6}[result]
        )
        if result == "float16":
            plain &= np.abs(wanted) < 60000
            unsure += 2.0**-23
        found = C.astype("float64")
        assert (np.abs(found - rounded) <= unsure)[plain].all()
    special = ~np.isfinite(wanted)
    np.testing.assert_array_equal(found[special], wanted[special])
