"""The elementary functions of float64 beside the C library's long doubles, and erf beside 30 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from helpers.elementary import errors, host_fuses, loop, samples, true_values
from helpers.native import run

from tirscript.backend.llvm import Host, host
from tirscript.backend.llvm.vector_math import INLINE

# units of the last place; fused multiplication and addition, and without
BOUNDS = {
    "exp": (1.0, 1.3),
    "exp2": (1.0, 1.3),
    "exp10": (1.05, 1.4),
    "expm1": (1.9, 2.0),
    "log": (0.9, 1.0),
    "log2": (1.0, 2.0),
    "log10": (1.0, 2.0),
    "log1p": (1.5, 1.6),
    "tanh": (1.0, 1.2),
    "sigmoid": (1.6, 1.8),
    "sinh": (1.8, 2.0),
    "cosh": (1.5, 1.8),
    "asin": (1.6, 1.7),
    "acos": (1.3, 1.4),
    "atan": (1.75, 1.9),
}


def test_every_function_of_one_argument_is_here() -> None:
    assert set(BOUNDS) | {"atan2", "erf"} == set(INLINE["double"])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long doubles are no longer than doubles here")
@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("fused", [True, False])
def test_float64_is_accurate(name: str, fused: bool) -> None:
    if not fused and not host().triple.startswith("x86_64"):
        pytest.skip("names the oldest processor of this kind")
    x = samples(name, np.float64)[::2].copy()
    got = np.zeros_like(x)
    run(loop(name, "float64"), x, got, target=None if fused else Host(host().triple, "x86-64", ""))
    found = errors(got, true_values(name, x.astype(np.longdouble)))
    at = found.argmax()
    assert found[at] <= BOUNDS[name][0 if fused and host_fuses() else 1], (name, found[at], x[at])


def test_erf_of_float64_is_accurate() -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-6.5, 6.5, 3000), rng.uniform(0.97, 1.03, 1500), rng.normal(0, 1e-3, 300)])
    got = np.zeros_like(x)
    run(loop("erf", "float64"), x, got)
    with mpmath.workdps(30):
        worst = max(
            float(abs(mpmath.mpf(float(mine)) - mpmath.erf(mpmath.mpf(float(value))))) / np.spacing(abs(mine))
            for mine, value in zip(got, x, strict=True)
        )
    assert worst <= (1.1 if host_fuses() else 1.5)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long doubles are no longer than doubles here")
def test_atan2_of_float64_is_accurate() -> None:
    rng = np.random.default_rng(4)
    y, x = (np.concatenate([rng.normal(0, 1, 40_000), np.exp(rng.uniform(-700, 700, 20_000))]) for _ in "yx")
    got = np.zeros_like(x)
    run(loop("atan2", "float64", 1, 2), y, x, got)
    assert errors(got, true_values("atan2", y.astype(np.longdouble), x.astype(np.longdouble))).max() <= 1.9
