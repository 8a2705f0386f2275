"""When vectors that are divided by one number are worth its reciprocal: what schedules and code generators agree on.

The code generator multiplies by the reciprocal and corrects the quotient to the bits of the division
(`backend/llvm/quotients.py`); the default schedule makes the vectors that it does so with.
"""

from __future__ import annotations

import math

from tirscript.ir.dtype import DType
from tirscript.ir.expr import Const

# bits of a vector; narrower ones are divided in less time
REGISTER = 256
# vectors that are worth to prepare what is no constant
FEWEST = 16
# the powers of two between which a divisor, its reciprocal and what both are scaled to are normal, by the bits of the
# float that is computed in
USUAL = {32: (-102, 126), 64: (-969, 1022)}


def others_beside(dtype: DType) -> int:
    """How many operations on floats take as long as a division of this dtype, which costs nothing beside so many."""
    return dtype.element.bits // 8


def has_reciprocal(number: Const) -> bool:
    """Whether vectors are divided by a constant so: by no power of two, by whose inverse LLVM multiplies, and by no
    extreme number, by which the code generator divides."""
    mantissa, exponent = math.frexp(number.value)
    least, beyond = USUAL[max(number.dtype.element.bits, 32)]
    return abs(mantissa) not in (0, 0.5) and math.isfinite(mantissa) and least < exponent <= beyond


__all__ = ["FEWEST", "REGISTER", "USUAL", "has_reciprocal", "others_beside"]
