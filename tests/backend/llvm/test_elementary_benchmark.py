"""What `python benchmarks math` measures errors with: the errors it finds are those that were put there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.elementary import BOUNDS

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def elementary() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("elementary", FOLDER / "elementary.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


def test_every_function_is_measured(elementary: Any) -> None:
    assert set(elementary.FUNCTIONS) == set(BOUNDS)


def test_errors_are_counted_in_units_of_the_last_place(elementary: Any) -> None:
    tiny, most = 2.0**-149, float(np.finfo(np.float32).max)
    rows = [
        (1.0, 1.0, 0.0),
        (1.0, 1.0 + 2.0**-24, 0.5),
        (1.0 + 2.0**-23, 1.0, 1.0),
        (-3.0, -3.0 - 2.0**-21, 2.0),
        (np.nextafter(np.float32(2), np.float32(1)), 2.0, 0.5),
        (tiny, 0.25 * tiny, 0.75),
        (0.0, 0.4 * tiny, 0.4),
        (np.inf, 2.0**128, 0.0),
        (np.inf, 1e300, 0.0),
        (most, 1e300, 1.0),
        (np.inf, most, 1.0),
        (np.inf, np.inf, 0.0),
        (np.nan, np.nan, 0.0),
        (most, np.inf, np.inf),
        (-np.inf, np.inf, np.inf),
        (np.nan, 1.0, np.inf),
        (1.0, np.nan, np.inf),
        (-0.0, 0.0, np.inf),
        (0.0, -0.0, np.inf),
        (-0.0, -0.0, 0.0),
        (-0.0, -0.2 * tiny, 0.2),
        (0.0, -0.2 * tiny, np.inf),
    ]
    got, true, errors = np.ones(elementary.CHUNK, np.float32), np.ones(elementary.CHUNK), np.empty(elementary.CHUNK)
    got[: len(rows)], true[: len(rows)] = [row[0] for row in rows], [row[1] for row in rows]
    elementary.kernels("exp")["compare"](got, true, errors)
    for row, found in zip(rows, errors, strict=False):
        assert found == pytest.approx(row[2], abs=1e-6), (row, found)


def test_a_walk_finds_the_greatest_error_and_where_it_is(elementary: Any) -> None:
    found = elementary.walk("log", 1_000_003, 2)
    assert 0.5 <= found["ulp"] <= BOUNDS["log"][1] and found["wrong"] == 0
    assert found["inputs"] == -(-(1 << 32) // 1_000_003)
    x = np.float32(found["at"])
    unit = np.spacing(np.abs(np.float32(np.log(np.float64(x)))))
    values = np.full(elementary.CHUNK, x)
    got = np.empty_like(values)
    elementary.kernels("log")["values"](values, got)
    assert abs(float(got[0]) - np.log(np.float64(x))) / float(unit) == pytest.approx(found["ulp"], abs=1e-6)


def test_instructions_have_a_digest(elementary: Any) -> None:
    digests = {name: elementary.digest(name) for name in elementary.FUNCTIONS if name not in ("sqrt", "rsqrt")}
    assert len(set(digests.values())) == len(digests) and digests["exp"] == elementary.digest("exp")
