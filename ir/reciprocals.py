"""When vectors that are divided by one number are worth its reciprocal: what schedules and code generators agree on.

The code generator multiplies by the reciprocal and corrects the quotient to the bits of the division
(`backend/llvm/quotients.py`); the default schedule makes the vectors that it does so with.
"""

from __future__ import annotations

import math

from .dtype import DType
from .expr import Const

# bits of a vector; narrower ones are divided in less time
REGISTER = 256
# vectors that are worth to prepare what is no constant
FEWEST = 16


def others_beside(dtype: DType) -> int:
    """How many operations on floats take as long as a division of this dtype, which costs nothing beside so many."""
    return dtype.element.bits // 8


def has_exact_inverse(number: Const) -> bool:
    """Whether a float is a power of two: LLVM multiplies by its inverse."""
    return math.frexp(number.value)[0] in (0.5, -0.5)


__all__ = ["FEWEST", "REGISTER", "has_exact_inverse", "others_beside"]
