"""Comparing results: exact for integers, relative to the array for floats."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirscript.testing import copies, largest_error, tolerance


@pytest.mark.parametrize(
    ("left", "right", "error"),
    [
        (np.array([1, 2]), np.array([1, 2]), 0.0),
        (np.array([1, 2]), np.array([1, 5]), 3.0),
        (np.array([2**64 - 1], "uint64"), np.array([0], "uint64"), float(2**64 - 1)),
        (np.array([True]), np.array([False]), 1.0),
        (np.array([1.0, 4.0]), np.array([1.5, 4.0]), 0.125),
        (np.array([0.25]), np.array([0.5]), 0.25),
        (np.array([math.nan]), np.array([math.nan]), 0.0),
        (np.array([math.nan, 1.0]), np.array([0.0, 1.0]), math.inf),
        (np.array([math.inf, 1.0]), np.array([math.inf, 1.5]), 1 / 3),
        (np.array([math.inf]), np.array([-math.inf]), math.inf),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([3.0], ml_dtypes.bfloat16), 2 / 3),
        (np.zeros(2), np.zeros(3), math.inf),
        (np.zeros(2), np.zeros(2, "float32"), math.inf),
    ],
)
def test_largest_error(left: Any, right: Any, error: float) -> None:
    assert largest_error([left, 3], [right, 3]) == pytest.approx(error)


def test_the_loosest_type_decides_the_tolerance() -> None:
    assert tolerance([np.zeros(1, "int32"), 5]) == 0
    assert tolerance([np.zeros(1, "float64"), np.zeros(1, "float16")]) > tolerance([np.zeros(1, "float32")]) > 0


def test_copies_are_apart() -> None:
    array = np.zeros(2)
    copy, number = copies([array, 5])
    copy[0] = 1
    assert array[0] == 0 and number == 5
