"""exp and its relatives: exp2, exp10, expm1, sinh, cosh, tanh, sigmoid, in float32 and float64.

x is n log(2) + r with |r| <= log(2) / 2, so that exp(x) is exp(r), a polynomial, times 2^n, by an instruction where
the processor has one, else made of bits.
"""

from __future__ import annotations

import math

from .coefficients import EXP, EXP2, EXP10, LN2, LOG10_2, SINH, TANH
from .lanes import LOG2_10, LOG2_E, Lanes


def _reduce(f: Lanes, x: str, offset: int) -> tuple[str, str]:
    """r, and n + offset in the low bits of an integer."""
    n, bits = f.nearest(x, LOG2_E, offset)
    high, low = LN2[f.scalar]
    minus = f.negative(n)
    return f.fma(minus, low, f.fma(minus, high, x)), bits


def _expm1_series(f: Lanes, r: str) -> str:
    """exp(r) - 1."""
    return f.fma(f.mul(r, r), f.polynomial(EXP[f.scalar], r), r)


def _scaled(f: Lanes, value: str, exponent: str, x: str, denormal: float) -> str:
    """`value` times 2 to the exponent, rounded once: without an instruction for it in two steps where x is below
    `denormal`, so that what is below the normal range is, too."""
    if f.b.host.scales:
        return f.scaled(value, f.isub(exponent, f.format.bits_of(f.format.magic) + f.format.bias))
    shift = 2 * f.format.mantissa + 18
    small = f.test("olt", x, denormal)
    power = f.shift_left(exponent, f.format.mantissa)
    lifted = f.iadd(power, shift << f.format.mantissa)
    found = f.mul(value, f.from_bits(f.iselect(small, lifted, power)))
    return f.select(small, f.mul(found, 2.0**-shift), found)


# where results are beyond the largest number, at most denormal, and zero
_RANGE = {"float": (89.0, -86.0, -105.0), "double": (710.0, -707.0, -746.0)}
_RANGE2 = {"float": (129.0, -124.0, -152.0), "double": (1025.0, -1020.0, -1080.0)}
_RANGE10 = {"float": (38.6, -37.0, -46.0), "double": (308.4, -307.0, -324.5)}


def exp(f: Lanes, x: str) -> str:
    """e raised to x."""
    high, denormal, low = _RANGE[f.scalar]
    x = f.between(x, low, high)
    # twice the series and half the power: 2^128 would be no float
    r, exponent = _reduce(f, x, f.format.bias - 1)
    series = f.fma(r, f.polynomial([2 * c for c in EXP[f.scalar]], r), 2.0)
    return _scaled(f, f.fma(series, r, 2.0), exponent, x, denormal)


def exp2(f: Lanes, x: str) -> str:
    """2 raised to x."""
    high, denormal, low = _RANGE2[f.scalar]
    x = f.between(x, low, high)
    n, exponent = f.nearest(x, None, f.format.bias - 1)
    r = f.sub(x, n)
    return _scaled(f, f.fma(f.polynomial([2 * c for c in EXP2[f.scalar]], r), r, 2.0), exponent, x, denormal)


def exp10(f: Lanes, x: str) -> str:
    """10 raised to x."""
    limit, denormal, low = _RANGE10[f.scalar]
    x = f.between(x, low, limit)
    n, exponent = f.nearest(x, LOG2_10, f.format.bias - 1)
    first, second = LOG10_2[f.scalar]
    minus = f.negative(n)
    r = f.fma(minus, second, f.fma(minus, first, x))
    return _scaled(f, f.fma(f.polynomial([2 * c for c in EXP10[f.scalar]], r), r, 2.0), exponent, x, denormal)


def expm1(f: Lanes, x: str) -> str:
    """exp(x) - 1, exact near zero: 2^n (exp(r) - 1) + (2^n - 1)."""
    bounded = f.between(x, -(f.format.mantissa + 3) * math.log(2), _RANGE[f.scalar][0])
    r, exponent = _reduce(f, bounded, f.format.bias - 1)
    part = _expm1_series(f, r)
    half = f.power_of_two(exponent)
    found = f.fma(half, part, f.sub(half, 0.5))
    tiny = f.test("olt", f.abs(x), 2.0 ** -(f.format.mantissa + 2))  # halves of denormals would be rounded
    return f.select(tiny, x, f.add(found, found))


def half_exp(f: Lanes, x: str) -> str:
    """exp(x) / 2 of 0 <= x, which leaves the range later than exp does."""
    high = _RANGE[f.scalar][0] + 1
    r, exponent = _reduce(f, f.minimum(x, high), f.format.bias - 2)
    series = f.fma(r, f.polynomial([2 * c for c in EXP[f.scalar]], r), 2.0)
    return f.mul(f.fma(series, r, 2.0), f.power_of_two(exponent))


def sinh(f: Lanes, x: str) -> str:
    """The hyperbolic sine: (exp(x) - exp(-x)) / 2, near zero a polynomial."""
    size = f.abs(x)
    square = f.mul(size, size)
    near = f.fma(f.mul(size, square), f.polynomial(SINH[f.scalar], square), size)
    half = half_exp(f, size)
    far = f.sub(half, f.div(f.real(0.25), half))
    return f.copysign(f.select(f.test("olt", size, 1.0), near, far), x)


def cosh(f: Lanes, x: str) -> str:
    """The hyperbolic cosine."""
    half = half_exp(f, f.abs(x))
    return f.add(half, f.div(f.real(0.25), half))


def tanh(f: Lanes, x: str) -> str:
    """The hyperbolic tangent: 1 - 2 / (exp(2 x) + 1), near zero a polynomial."""
    size = f.abs(x)
    square = f.mul(size, size)
    near = f.fma(f.mul(size, square), f.polynomial(TANH[f.scalar], square), size)
    double = f.minimum(f.add(size, size), 2.0 * (f.format.mantissa + 3) * math.log(2))
    r, exponent = _reduce(f, double, f.format.bias)
    part, power = _expm1_series(f, r), f.power_of_two(exponent)
    far = f.sub(f.real(1.0), f.div(f.real(2.0), f.fma(part, power, f.add(power, 1.0))))
    return f.copysign(f.select(f.test("olt", size, 31 / 32), near, far), x)


def sigmoid(f: Lanes, x: str) -> str:
    """1 / (1 + exp(-x)), from the exponential that does not overflow, corrected for what two sums lost."""
    _, denormal, low = _RANGE[f.scalar]
    minus = f.maximum(f.negative(f.abs(x)), low)
    r, exponent = _reduce(f, minus, f.format.bias)
    part = _expm1_series(f, r)
    series = f.add(part, 1.0)
    lost = f.sub(part, f.sub(series, 1.0))
    power = _scaled(f, series, exponent, minus, denormal)
    below = f.add(power, 1.0)
    rounded = f.sub(power, f.sub(below, 1.0))
    is_negative = f.test("olt", x, 0.0)
    found = f.div(f.select(is_negative, power, 1.0), below)
    inverse = f.select(is_negative, f.sub(f.real(1.0), found), found)
    change = f.sub(f.select(is_negative, lost, 0.0), f.mul(rounded, inverse))
    return f.fma(found, change, found)
