"""The coefficients of the elementary functions are those that their fits give."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirscript.backend.llvm.vector_math import coefficients

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "fit_polynomials.py"


@pytest.fixture(scope="module")
def fits() -> Any:
    spec = importlib.util.spec_from_file_location("fit_polynomials", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_coefficients_are_what_the_fits_give(fits: Any) -> None:
    for name, job in fits.FITS.items():
        table = getattr(coefficients, name)
        assert set(table) == set(job.counts)
        for kind in job.counts:
            found, error = fits.fit(name, kind)
            assert np.allclose(found, table[kind], rtol=1e-12, atol=0), (name, kind)
            assert error < 2.0 ** {"float": -26, "short": -31, "double": -53}[kind], (name, kind, error)


def test_the_best_polynomial_has_the_least_error(fits: Any) -> None:
    """Chebyshev's theorem on a case that is known: the best line for x^2 on [0, 1] is x - 1/8."""
    points = [fits.mp.mpf(k) / 200 for k in range(201)]
    found = fits._remez(points, [point**2 for point in points], [fits.mp.mpf(1)] * 201, 2)
    assert abs(found[0] + 0.125) < 1e-6 and abs(found[1] - 1) < 1e-6


def test_constants_in_two_parts(fits: Any) -> None:
    for name, (value, kinds) in fits.CONSTANTS.items():
        for kind, zeros in kinds.items():
            high, low = getattr(coefficients, name)[kind]
            assert (high, low) == fits.parts(value, kind, zeros)
            digits = fits.DIGITS[kind]
            assert abs(fits.mp.mpf(high) + fits.mp.mpf(low) - value) < value * fits.mp.mpf(2) ** (zeros - 2 * digits)
            # products of the first part with numbers of `zeros` bits are exact
            mantissa = int(fits.mp.mpf(high) * fits.mp.mpf(2) ** 80)
            assert mantissa % (1 << 80 - digits + zeros - 1) == 0 or zeros == 0


def test_the_parts_of_half_pi(fits: Any) -> None:
    parts = coefficients.HALF_PI_PARTS
    assert fits.half_pi() == parts
    assert abs(sum(map(fits.mp.mpf, parts)) - fits.mp.pi / 2) < 2.0**-75
    assert all(float(np.float32(part)) == part for part in parts)


def test_the_table_of_two_over_pi(fits: Any) -> None:
    table = coefficients.TWO_OVER_PI
    assert list(map(tuple, fits.two_over_pi())) == list(table) and len(table) == 106
    assert all(0 <= high < 4 and high * 2**27 == int(high * 2**27) and 0 <= low < 2.0**-27 for high, low in table)
    with fits.mp.workprec(300):
        for (high, low), (after, more) in itertools.pairwise(table):
            doubled = 2 * (fits.mp.mpf(high) + fits.mp.mpf(low)) - fits.mp.mpf(after) - fits.mp.mpf(more)
            assert abs(doubled - 4 * round(float(doubled / 4))) < 2.0**-78
