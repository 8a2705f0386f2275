"""pow and hypot of float32, computed in float64."""

from __future__ import annotations

import math

from .coefficients import EXP2
from .lanes import LOG2_E, Lanes
from .logarithm import short_log


def hypot(f: Lanes, x: str, y: str) -> str:
    """sqrt(x^2 + y^2): the squares are exact in float64, and in its range."""
    d = f.other("double")
    wide = [d.widened(value) for value in (x, y)]
    found = d.narrowed(d.sqrt(d.add(d.mul(wide[0], wide[0]), d.mul(wide[1], wide[1]))))
    infinite = f.either(*(f.test("oeq", f.abs(value), math.inf) for value in (x, y)))
    return f.select(infinite, math.inf, found)


LARGEST = 32  # the greatest whole exponent that is multiplied out


def constant_power(f: Lanes, x: str, y: float) -> str | None:
    """x raised to a constant that takes less than a general power: 1/2 or a small whole number. None for others.

    Products of more than two factors are formed in float64; of float64 itself at most three.
    """
    if y == 0.5:  # -0 gives 0, and -infinity infinity
        return f.select(f.test("oeq", x, -math.inf), math.inf, f.sqrt(f.add(x, 0.0)))
    if y == 1:
        return x
    if y == -1:
        return f.div(f.real(1.0), x)
    if y == 2:
        return f.mul(x, x)
    if f.scalar == "double":
        return f.mul(f.mul(x, x), x) if y == 3 else None
    if y != int(y) or not 0 < abs(y) <= LARGEST:
        return None
    d = f.other("double")
    found, square, left = "", d.widened(x), abs(int(y))
    while left:
        if left & 1:
            found = d.mul(found, square) if found else square
        left >>= 1
        if left:
            square = d.mul(square, square)
    return d.narrowed(found if y > 0 else d.div(d.real(1.0), found))


def pow_(f: Lanes, x: str, y: str) -> str:
    """x raised to y: 2 raised to y log2(|x|), with the special values of C's Annex F."""
    d = f.other("double")
    size, exponent_size = f.abs(x), f.abs(y)
    wide = d.widened(size)
    logarithm = d.mul(short_log(d, wide), LOG2_E)
    logarithm = d.select(d.test("oeq", wide, 0.0), -math.inf, logarithm)
    logarithm = d.select(d.test("olt", wide, math.inf), logarithm, wide)  # infinity, nan
    product = d.between(d.mul(d.widened(y), logarithm), -1000.0, 1000.0)
    n, power = d.nearest(product, None, d.format.bias)
    r = d.sub(product, n)
    found = d.mul(d.fma(d.polynomial(EXP2["short"], r), r, 1.0), d.power_of_two(power))
    result = f.narrowed(found)
    # from 2^24 on all are whole and even
    whole = f.b.op(
        f"fptosi {f.kind} {f.select(f.test('olt', exponent_size, 2.0**24), exponent_size, 2.0**24)} to {f.ikind}"
    )
    is_whole = f.either(f.test("oeq", f.from_small(whole), exponent_size), f.test("oge", exponent_size, 2.0**24))
    odd = f.both(f.itest("ne", f.iand(whole, 1), 0), is_whole)
    negative = f.itest("slt", f.bits(x), 0)
    result = f.select(f.both(negative, odd), f.negative(result), result)
    inside = f.both(f.test("olt", x, 0.0), f.test("one", size, math.inf))
    impossible = f.both(inside, f.b.op(f"xor {f.mask} {is_whole}, {'splat (i1 true)' if f.n > 1 else 'true'}"))
    result = f.select(impossible, math.nan, result)
    # 1 whatever the other operand is, nan too; -1 raised to an infinity is 1
    one = f.either(f.test("oeq", x, 1.0), f.test("oeq", y, 0.0))
    one = f.either(one, f.both(f.test("oeq", x, -1.0), f.test("oeq", exponent_size, math.inf)))
    return f.select(one, 1.0, result)


def scaled(d: Lanes, x: str, power: str, once: bool) -> str:
    """x times 2 to the power, an i64 from -40000 to 70000, rounded once; `once`: x is a float32, which one product does
    for.

    Otherwise there are up to three: those toward denormals leave 53 bits to the last one, which alone rounds.
    """
    for _ in range(0 if once else 2):
        up, down = d.itest("sgt", power, 1023), d.itest("slt", power, -1022)
        x = d.mul(x, d.select(up, 2.0**1023, d.select(down, 2.0**-969, 1.0)))
        power = d.isub(power, d.iselect(up, 1023, d.iselect(down, -969, 0)))
    power = d.iselect(d.itest("sgt", power, 1023), 1023, power)
    power = d.iselect(d.itest("slt", power, -1022), -1022, power)
    return d.mul(x, d.power_of_two(d.iadd(power, d.format.bias)))
