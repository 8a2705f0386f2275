"""sin, cos and tan of float32; their inverses in float32 and float64.

Arguments are reduced by the method of Payne and Hanek: x = m 2^e with a whole number m is multiplied by 2/pi 2^e
without its multiples of 4, which a table gives for every e in two parts, the first so short that its product with m is
exact. The error is below 2^-56, and no float32 is closer than 2^-30 to a multiple of pi / 2. sin and cos do that for
large ones alone where products are added with one rounding.
"""

from __future__ import annotations

import math

from ..types import float_literal, vector
from .coefficients import ASIN, ATAN, COS, HALF_PI, HALF_PI_PARTS, SIN, TWO_OVER_PI
from .lanes import Lanes

_NAME = "tirscript_two_over_pi"
FAR = 2.0**18  # up to here multiples of the parts of pi / 2 are near enough to those of pi / 2
_EXACT = 2.0**24  # up to here the table's first entry does for every exponent


def _table(f: Lanes) -> None:
    """Pairs of parts of 2/pi 2^e modulo 4, for e from 0 to 105."""
    text = f'@"{_NAME}" = private unnamed_addr constant [{2 * len(TWO_OVER_PI)} x double] ['
    text += (
        ", ".join(f"double {float_literal(value, 'double')}" for pair in TWO_OVER_PI for value in pair) + "], align 64"
    )
    if text not in f.b.module.globals:
        f.b.module.globals.append(text)


def _entry(d: Lanes, index: str, part: int) -> str:
    """One part of the table's entry in each lane; `index` is twice the exponent, as an i64."""
    b, n = d.b, d.n
    at = d.iadd(index, part) if part else index
    pointer = b.op(f'getelementptr inbounds double, ptr @"{_NAME}", {d.ikind} {at}')
    if n == 1:
        return b.op(f"load double, ptr {pointer}, align 8, !invariant.load {b.module.node('!{}')}")
    name = f"llvm.masked.gather.v{n}f64.v{n}p0"
    kinds = [vector("ptr", n), "i32 immarg", d.mask, d.kind]
    symbol = b.module.declare(name, d.kind, kinds)
    given = [(kinds[0], pointer), ("i32", "8"), (d.mask, "splat (i1 true)"), (d.kind, "zeroinitializer")]
    return b.call(d.kind, symbol, given)


def _reduced(f: Lanes, size: str) -> tuple[str, str]:
    """size = |x| less a multiple n of pi / 2, at most pi / 4, in float64, and the lowest bits of n as an i32.

    Vectors without a large lane, and that is most of them, do without the table.
    """
    b, d = f.b, f.other("double")
    _table(f)
    if f.n == 1:
        return _quarters(d, *_looked_up(f, d, size))
    large, done = b.block("large"), b.block("reduced")
    is_large = f.any(f.test("uge", size, _EXACT))
    plain = d.widened(size), *map(d.real, TWO_OVER_PI[0])
    before = b.label
    b.branch(is_large, large, done, unlikely=True)
    b.start(large)
    found = _looked_up(f, d, size)
    after = b.label
    b.jump(done)
    b.start(done)
    return _quarters(
        d, *(b.phi(d.kind, (one, before), (other, after)) for one, other in zip(plain, found, strict=True))
    )


def _folded(f: Lanes, size: str) -> tuple[str, str]:
    """size = |x| less a multiple n of pi / 2, at most pi / 4, in float32, and the lowest bits of n as an i32.

    With fused instructions by three parts of pi / 2 (Cody and Waite): the first difference is exact, the others are
    rounded where they are. A lane from FAR on is reduced as without them, and the others stay as they are.
    """
    if not f.b.host.fuses:
        r, n = _reduced(f, size)
        return f.narrowed(r), n
    _, turns = near = f.nearest(size, 2 / math.pi)
    r = size
    for part in HALF_PI_PARTS:
        r = f.fma(f.negative(near[0]), part, r)
    b, large, done = f.b, f.b.block("large"), f.b.block("reduced")
    is_far = f.test("uge", size, FAR)
    before = b.label
    b.branch(f.any(is_far), large, done, unlikely=True)
    b.start(large)
    _table(f)
    wide, count = _quarters(f.other("double"), *_looked_up(f, f.other("double"), size))
    exact, quarters = f.select(is_far, f.narrowed(wide), r), f.iselect(is_far, count, turns)
    after = b.label
    b.jump(done)
    b.start(done)
    return (
        b.phi(f.kind, (r, before), (exact, after)),
        b.phi(f.ikind, (turns, before), (quarters, after)),
    )


def _looked_up(f: Lanes, d: Lanes, size: str) -> tuple[str, str, str]:
    """m, and the two parts of 2/pi 2^e modulo 4; what is below 2^24 is taken for m, with e = 0."""
    bits = f.bits(size)
    above = f.isub(f._iop("lshr", bits, f.format.mantissa), f.format.bias + f.format.mantissa)
    e = f.iselect(f.itest("sgt", above, 0), above, 0)
    mantissa = f.from_bits(f.isub(bits, f.shift_left(e, f.format.mantissa)))
    index = f.b.op(f"zext {f.ikind} {f.shift_left(e, 1)} to {d.ikind}")
    return d.widened(mantissa), _entry(d, index, 0), _entry(d, index, 1)


def _quarters(d: Lanes, x: str, first: str, second: str) -> tuple[str, str]:
    product, more = d.mul(x, first), d.mul(x, second)
    n, bits = d.nearest(d.add(product, more))
    turn = d.add(d.sub(product, n), more)
    return d.mul(turn, math.pi / 2), d.b.op(f"trunc {d.ikind} {bits} to {vector('i32', d.n)}")


def _sin_cos(f: Lanes, r: str, kind: str) -> tuple[str, str]:
    """The sine and the cosine of |r| <= pi / 4."""
    square = f.mul(r, r)
    sine = f.fma(f.mul(square, r), f.polynomial(SIN[kind], square), r)
    cosine = f.fma(f.mul(square, square), f.polynomial(COS[kind], square), f.fma(square, -0.5, 1.0))
    return sine, cosine


def _finite(f: Lanes, size: str, found: str) -> str:
    """nan where |x| is infinite or nan."""
    return f.select(f.test("olt", size, math.inf), found, math.nan)


def sin(f: Lanes, x: str) -> str:
    """The sine of radians."""
    size = f.abs(x)
    r, n = _folded(f, size)
    sine, cosine = _sin_cos(f, r, "float")
    found = f.select(f.itest("ne", f.iand(n, 1), 0), cosine, sine)
    return _finite(f, size, f.signed(found, f.ixor(f.shift_left(n, 30), f.bits(x))))


def cos(f: Lanes, x: str) -> str:
    """The cosine of radians."""
    size = f.abs(x)
    r, n = _folded(f, size)
    sine, cosine = _sin_cos(f, r, "float")
    found = f.select(f.itest("ne", f.iand(n, 1), 0), sine, cosine)
    return _finite(f, size, f.signed(found, f.shift_left(f.iadd(n, 1), 30)))


def tan(f: Lanes, x: str) -> str:
    """The tangent of radians: in float64 up to the quotient, since the errors of both polynomials count."""
    size = f.abs(x)
    d = f.other("double")
    r, n = _reduced(f, size)
    sine, cosine = _sin_cos(d, r, "short")
    odd = f.itest("ne", f.iand(n, 1), 0)
    above, below = d.select(odd, d.negative(cosine), sine), d.select(odd, sine, cosine)
    return _finite(f, size, f.signed(f.narrowed(d.quick_quotient(above, below)), f.bits(x)))


def _arc(f: Lanes, size: str, upper: str) -> str:
    """The angle whose sine is `size`, at most 9/16, or where `upper` its half's: sqrt((1 - size) / 2)."""
    halved = f.mul(f.sub(f.real(1.0), size), 0.5)
    square = f.select(upper, halved, f.mul(size, size))
    base = f.select(upper, f.sqrt(halved), size)
    return f.fma(f.mul(base, square), f.polynomial(ASIN[f.scalar], square), base)


def asin(f: Lanes, x: str) -> str:
    """The inverse sine; above 9/16 it is pi / 2 - 2 asin(sqrt((1 - x) / 2))."""
    size = f.abs(x)
    upper = f.test("ogt", size, 0.5625)
    angle = _arc(f, size, upper)
    high, low = HALF_PI[f.scalar]
    far = f.add(f.sub(f.real(high), f.add(angle, angle)), low)
    return f.copysign(f.select(upper, far, angle), x)


def acos(f: Lanes, x: str) -> str:
    """The inverse cosine: pi / 2 - asin(x), above 9/16 2 asin(sqrt((1 - x) / 2)), below -9/16 pi less that."""
    size = f.abs(x)
    upper, negative = f.test("ogt", size, 0.5625), f.test("olt", x, 0.0)
    angle = _arc(f, size, upper)
    signed = f.copysign(angle, x)
    high, low = HALF_PI[f.scalar]
    near = f.sub(f.real(high), f.sub(signed, low))
    double = f.add(angle, angle)
    mirrored = f.sub(f.real(2 * high), f.sub(double, 2 * low))
    return f.select(upper, f.select(negative, mirrored, double), near)


def _angle(f: Lanes, above: str, below: str) -> str:
    """atan(above / below) for 0 <= above <= below."""
    t = f.div(above, below)
    square = f.mul(t, t)
    return f.fma(f.mul(t, square), f.polynomial(ATAN[f.scalar], square), t)


def atan(f: Lanes, x: str) -> str:
    """The inverse tangent; above 1 it is pi / 2 - atan(1 / x)."""
    size = f.abs(x)
    swapped = f.test("ogt", size, 1.0)
    angle = _angle(f, f.select(swapped, 1.0, size), f.select(swapped, size, 1.0))
    high, low = HALF_PI[f.scalar]
    return f.copysign(f.select(swapped, f.sub(f.real(high), f.sub(angle, low)), angle), x)


def atan2(f: Lanes, y: str, x: str) -> str:
    """The angle of the point (x, y): that of its octant, added to or subtracted from 0, pi / 2 or pi."""
    up, along = f.abs(y), f.abs(x)
    swapped, left = f.test("ogt", up, along), f.itest("slt", f.bits(x), 0)
    above, below = f.select(swapped, along, up), f.select(swapped, up, along)
    below = f.select(f.test("oeq", below, 0.0), 1.0, below)  # 0 / 0 is 0 here
    angle = f.select(f.test("oeq", above, below), math.pi / 4, _angle(f, above, below))  # also of two infinities
    backward = f.b.op(f"xor {f.mask} {swapped}, {left}")
    angle = f.select(backward, f.negative(angle), angle)
    high, low = (f.select(swapped, half, f.select(left, 2 * half, 0.0)) for half in HALF_PI[f.scalar])
    return f.copysign(f.add(high, f.add(angle, low)), y)
