"""The elementary functions written as arithmetic: accurate over all of float32, and vector code in loops."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.native import run
from helpers.script import function

from tirscript.backend.llvm import emit_ir
from tirscript.backend.llvm.vector_math import FLOAT32

EXACT = {"exp": np.exp, "exp2": np.exp2, "log": np.log, "tanh": np.tanh}


def samples() -> np.ndarray:  # type: ignore[type-arg]
    """Floats of all sizes, and more of the usual ones."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, 300_000, dtype=np.uint32).view(np.float32)
    usual = rng.uniform(-110, 95, 300_000).astype(np.float32)
    small = rng.uniform(-1.5, 1.5, 200_000).astype(np.float32)
    near_one = (1 + rng.uniform(-1e-3, 1e-3, 50_000)).astype(np.float32)
    edges = np.array(
        [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            1e-45,
            -1e-45,
            1.1754944e-38,
            3.4e38,
            88.72283,
            88.7229,
            -103.97,
            -104.0,
            -87.3,
            1.0,
            128.0,
            -150.0,
        ],
        np.float32,
    )
    return np.concatenate([bits, usual, small, near_one, edges])


@pytest.mark.parametrize("name", FLOAT32)
def test_functions_are_accurate_to_two_places(name: str) -> None:
    func = function(
        f"for i in range(n):\n    B[i] = T.{name}(A[i])",
        'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")',
    )
    values = samples()
    got = np.zeros_like(values)
    run(func, values, got)
    with np.errstate(all="ignore"):
        true = EXACT[name](values.astype(np.float64))
        want = true.astype(np.float32)
    special = ~np.isfinite(want) | ~np.isfinite(got)
    assert np.array_equal(got[special], want[special], equal_nan=True)
    normal = ~special
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(want[normal])).astype(np.float64)
    error = np.abs(got[normal].astype(np.float64) - true[normal]) / unit
    assert error.max() < 2, (name, values[normal][error.argmax()], error.max())
    assert np.array_equal(np.signbit(got[normal]), np.signbit(want[normal]))


@pytest.mark.parametrize("name", [*FLOAT32, "sigmoid"])
def test_loops_of_functions_are_vector_code(name: str) -> None:
    text = emit_ir(
        function(
            f"for i in range(n):\n    B[i] = T.{name}(A[i])",
            'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")',
        )
    )
    assert re.search(r"fmul <\d+ x float>", text) and not re.search(rf"call .*@(llvm\.)?{name}", text)
