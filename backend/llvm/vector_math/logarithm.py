"""log and its relatives: log2, log10, log1p in float32 and float64; asinh, acosh, atanh of float32.

x is m 2^e with sqrt(1/2) <= m < sqrt(2), so that log(x) is log(m), a polynomial of f = m - 1, plus e log(2).
"""

from __future__ import annotations

import math

from .coefficients import LN2, LOG, LOG2, LOG2_OF_E, LOG10, LOG10_2, LOG10_OF_E
from .lanes import Lanes


def _split(f: Lanes, x: str) -> tuple[str, str]:
    """The bits of x less those of the middle of the mantissas, and m's exponent e."""
    middle = f.format.bits_of(math.sqrt(0.5))
    bits = f.bits(x)
    return bits, f.shift_right(f.isub(bits, middle), f.format.mantissa)


def _mantissa(f: Lanes, x: str) -> tuple[str, str]:
    """m - 1 and e, of a normal number."""
    bits, e = _split(f, x)
    return f.sub(f.from_bits(f.isub(bits, f.shift_left(e, f.format.mantissa))), 1.0), e


def _mantissa_of_any(f: Lanes, x: str) -> tuple[str, str]:
    """m - 1 and e as a float; denormals count."""
    lift = f.format.mantissa + 1
    tiny = f.test("olt", x, 2.0 ** (1 - f.format.bias))
    part, e = _mantissa(f, f.select(tiny, f.mul(x, 2.0**lift), x))
    return part, f.from_small(f.iselect(tiny, f.isub(e, lift), e))


def _edges(f: Lanes, x: str, found: str) -> str:
    """The logarithm of zero, of negative numbers, infinity and nan."""
    zero = f.select(f.test("oeq", x, 0.0), -math.inf, math.nan)
    special = f.select(f.test("ogt", x, 0.0), x, zero)
    usual = f.both(f.test("ogt", x, 0.0), f.test("olt", x, math.inf))
    return f.select(usual, found, special)


def log(f: Lanes, x: str) -> str:
    """The natural logarithm."""
    part, e = _mantissa_of_any(f, x)
    high, low = LN2[f.scalar]
    square = f.mul(part, part)
    rest = f.fma(square, f.mul(part, f.polynomial(LOG[f.scalar], part)), f.mul(e, low))
    return _edges(f, x, f.fma(e, high, f.add(part, f.fma(square, -0.5, rest))))


def log2(f: Lanes, x: str) -> str:
    """The logarithm to base 2."""
    part, e = _mantissa_of_any(f, x)
    high, low = LOG2_OF_E[f.scalar]
    small = f.mul(part, f.fma(part, f.polynomial(LOG2[f.scalar], part), low))
    return _edges(f, x, f.add(e, f.fma(part, high, small)))


def log10(f: Lanes, x: str) -> str:
    """The logarithm to base 10."""
    part, e = _mantissa_of_any(f, x)
    high, low = LOG10_OF_E[f.scalar]
    first, second = LOG10_2[f.scalar]
    small = f.fma(part, f.fma(part, f.polynomial(LOG10[f.scalar], part), low), f.mul(e, second))
    return _edges(f, x, f.fma(e, first, f.fma(part, high, small)))


def log1p(f: Lanes, x: str) -> str:
    """log(1 + x), exact near zero: the mantissa of 1 + x, less 1, is x 2^-e + (2^-e - 1)."""
    sum_ = f.add(x, 1.0)
    _, e = _split(f, sum_)
    most = f.format.bias - 1  # where 2^-e is too small to count
    capped = f.iselect(f.itest("sgt", e, most), most, e)
    lowered = f.from_bits(f.isub(f.bits(x), f.shift_left(e, f.format.mantissa)))
    inverse = f.power_of_two(f._iop("sub", f.whole(f.format.bias), capped))
    part = f.add(lowered, f.sub(inverse, 1.0))
    power = f.from_small(e)
    high, low = LN2[f.scalar]
    square = f.mul(part, part)
    rest = f.fma(square, f.mul(part, f.polynomial(LOG[f.scalar], part)), f.mul(power, low))
    found = f.fma(power, high, f.add(part, f.fma(square, -0.5, rest)))
    return f.select(f.test("oeq", x, 0.0), x, _edges(f, sum_, found))


def short_log(d: Lanes, x: str) -> str:
    """The logarithm in float64 of positive normal numbers, to 36 bits."""
    part, e = _mantissa(d, x)
    high, low = LN2["double"]
    cubic = d.mul(part, d.polynomial(LOG["short"], part))
    found = d.fma(d.mul(part, part), d.add(cubic, -0.5), part)
    return d.fma(d.from_small(e), high + low, found)


def asinh(f: Lanes, x: str) -> str:
    """The inverse hyperbolic sine: log(x + sqrt(x^2 + 1)), computed in float64."""
    d = f.other("double")
    size = d.widened(f.abs(x))
    square = d.mul(size, size)
    far = short_log(d, d.add(size, d.sqrt(d.add(square, 1.0))))
    near = d.fma(d.mul(size, square), -1 / 6, size)
    found = d.narrowed(d.select(d.test("olt", size, 2.0**-9), near, far))
    return f.copysign(f.select(f.test("olt", f.abs(x), math.inf), found, f.abs(x)), x)


def acosh(f: Lanes, x: str) -> str:
    """The inverse hyperbolic cosine: log(x + sqrt(x^2 - 1)), computed in float64."""
    d = f.other("double")
    wide = d.widened(x)
    root = d.sqrt(d.sub(d.mul(wide, wide), 1.0))
    found = d.narrowed(short_log(d, d.add(wide, root)))
    below = f.select(f.test("oge", x, 1.0), x, math.nan)  # infinity stays
    inside = f.both(f.test("oge", x, 1.0), f.test("olt", x, math.inf))
    return f.select(inside, found, below)


def atanh(f: Lanes, x: str) -> str:
    """The inverse hyperbolic tangent: log((1 + x) / (1 - x)) / 2, computed in float64."""
    d = f.other("double")
    size = d.widened(f.abs(x))
    quotient = d.quick_quotient(d.add(size, 1.0), d.sub(d.real(1.0), size))
    far = d.mul(short_log(d, quotient), 0.5)
    near = d.fma(d.mul(size, d.mul(size, size)), 1 / 3, size)
    found = d.narrowed(d.select(d.test("olt", size, 2.0**-9), near, far))
    at_one = f.select(f.test("oeq", f.abs(x), 1.0), math.inf, math.nan)
    return f.copysign(f.select(f.test("olt", f.abs(x), 1.0), found, at_one), x)
