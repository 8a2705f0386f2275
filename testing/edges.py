"""Numbers of each type that are worth trying."""

from __future__ import annotations

import math
from functools import cache

from tirscript.ir import dtype

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
SMALLEST = {"float16": 5.960464477539063e-08, "bfloat16": 9.183549615799121e-41, "float32": 1.401298464324817e-45}


@cache
def integers(name: str) -> tuple[int, ...]:
    """Integers of a type worth trying."""
    low, high = dtype(name).int_range()
    return tuple(n for n in (0, 1, 2, 3, 5, 7, 13, -1, -2, -7, 100, high, high - 1, low, low + 1) if low <= n <= high)


@cache
def floats(name: str) -> tuple[float, ...]:
    """Floats of a type worth trying: signed zeros, the ends of the range, subnormals, infinities and nan."""
    largest = LARGEST.get(name, 1.7976931348623157e308)
    smallest = SMALLEST.get(name, 5e-324)
    usual = (0.0, 1.0, 2.0, 0.5, -1.0, 3.5, 0.1, -2.5, 1e-3, 100.0)
    return (*usual, -0.0, largest, -largest, smallest, -smallest, math.inf, -math.inf, math.nan)
