"""Elementary functions of float32 as plain arithmetic without branches, so that loops of them become vector code.

Each is within 2 units in the last place of the true value over the whole range, and right at zeros, infinities, nan
and denormals. The coefficients are least-squares fits (weighted by the relative error) of the series' remainders on
the reduced ranges.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from .builder import FunctionText
from .types import float_literal, splat, vector

# exp(r) = 1 + r + r^2 P(r) for |r| <= ln(2) / 2
_EXP = (0.5, 0.166665181517601, 0.04166620597243309, 0.008368954062461853, 0.0013950599823147058)
# tanh(a) = a + a z Q(z) with z = a^2, for a <= 0.625
_TANH = (-0.33333271741867065, 0.13331152498722076, -0.05371410399675369, 0.020551711320877075, -0.00560390530154109)
# log(1 + f) = f - f^2 / 2 + f^3 R(f) for sqrt(1/2) <= 1 + f < sqrt(2)
_LOG = (
    0.3333333134651184,
    -0.250008225440979,
    0.20001232624053955,
    -0.16623297333717346,
    0.14201557636260986,
    -0.13160595297813416,
    0.1276330053806305,
    -0.07635588198900223,
)
# ln(2) in two parts: multiples of the first by exponents are exact
_LN2 = (0.693359375, math.log(2) - 0.693359375)
_ROUND = 12582912.0  # adding it leaves the nearest integer in the low bits of the sum


class _Lanes:
    """float32 arithmetic on `n` lanes."""

    def __init__(self, b: FunctionText, n: int) -> None:
        self.b, self.n = b, n
        self.f32, self.i32 = vector("float", n), vector("i32", n)

    def real(self, value: float) -> str:
        return splat("float", float_literal(value, "float"), self.n)

    def whole(self, value: int) -> str:
        return splat("i32", str(value), self.n)

    def op(self, name: str, x: str, y: str) -> str:
        return self.b.op(f"{name} {self.f32} {x}, {y}")

    def iop(self, name: str, x: str, y: int | str) -> str:
        return self.b.op(f"{name} {self.i32} {x}, {self.whole(y) if isinstance(y, int) else y}")

    def fma(self, x: str, y: str, z: str) -> str:
        """x * y + z, rounded once where the machine does that."""
        return self.b.intrinsic("llvm.fmuladd", [self.f32], self.f32, [(self.f32, x), (self.f32, y), (self.f32, z)])

    def polynomial(self, coefficients: tuple[float, ...], x: str) -> str:
        total = self.real(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.real(coefficient))
        return total

    def select(self, how: str, x: str, limit: float, yes: str, no: str) -> str:
        """`yes` where the comparison of x with the limit holds."""
        return self.b.select(
            self.b.op(f"fcmp {how} {self.f32} {x}, {self.real(limit)}"), self.f32, yes, no, vector_condition=self.n
        )

    def bits(self, x: str) -> str:
        return self.b.op(f"bitcast {self.f32} {x} to {self.i32}")

    def from_bits(self, bits: str) -> str:
        return self.b.op(f"bitcast {self.i32} {bits} to {self.f32}")

    def intrinsic(self, name: str, *args: str) -> str:
        return self.b.intrinsic(name, [self.f32], self.f32, [(self.f32, arg) for arg in args])

    def between(self, x: str, low: float, high: float) -> str:
        """x within the limits; nan stays nan."""
        bounded = self.select("olt", x, low, self.real(low), x)
        return self.select("ogt", bounded, high, self.real(high), bounded)

    def nearest(self, x: str) -> tuple[str, str]:
        """The nearest integer to x as a float and as an int."""
        sum_ = self.op("fadd", x, self.real(_ROUND))
        base = int.from_bytes(float_bytes(_ROUND), "little")
        return self.op("fsub", sum_, self.real(_ROUND)), self.iop("sub", self.bits(sum_), base)

    def scaled(self, r: str, power: str) -> str:
        """exp(r) times 2 to the power, in two steps so that results beyond the normal range come out right."""
        series = self.fma(self.op("fmul", r, r), self.polynomial(_EXP, r), r)
        result = self.op("fadd", series, self.real(1.0))
        half = self.iop("ashr", power, 1)
        for part in (half, self.iop("sub", power, half)):
            result = self.op("fmul", result, self.from_bits(self.iop("shl", self.iop("add", part, 127), 23)))
        return result


def float_bytes(value: float) -> bytes:
    """The bytes of a float32."""
    return struct.pack("<f", value)


def exp(b: FunctionText, x: str, n: int) -> str:
    """e raised to x."""
    f = _Lanes(b, n)
    x = f.between(x, -105.0, 90.0)
    whole, power = f.nearest(f.op("fmul", x, f.real(1 / math.log(2))))
    negated = f.op("fsub", f.real(-0.0), whole)
    r = f.fma(negated, f.real(_LN2[1]), f.fma(negated, f.real(_LN2[0]), x))
    return f.scaled(r, power)


def exp2(b: FunctionText, x: str, n: int) -> str:
    """2 raised to x."""
    f = _Lanes(b, n)
    x = f.between(x, -152.0, 129.0)
    whole, power = f.nearest(x)
    return f.scaled(f.op("fmul", f.op("fsub", x, whole), f.real(math.log(2))), power)


def log(b: FunctionText, x: str, n: int) -> str:
    """The natural logarithm."""
    f = _Lanes(b, n)
    tiny = b.op(f"fcmp olt {f.f32} {x}, {f.real(2.0**-126)}")
    normal = b.select(tiny, f.f32, f.op("fmul", x, f.real(2.0**23)), x, vector_condition=n)
    middle = int.from_bytes(float_bytes(math.sqrt(0.5)), "little")
    bits = f.bits(normal)
    power = f.iop("ashr", f.iop("sub", bits, middle), 23)
    mantissa = f.from_bits(f.iop("sub", bits, f.iop("shl", power, 23)))
    shift = b.select(tiny, f.i32, f.whole(23), f.whole(0), vector_condition=n)
    exponent = b.op(f"sitofp {f.i32} {f.iop('sub', power, shift)} to {f.f32}")
    part = f.op("fsub", mantissa, f.real(1.0))
    square = f.op("fmul", part, part)
    rest = f.fma(square, f.op("fmul", part, f.polynomial(_LOG, part)), f.op("fmul", exponent, f.real(_LN2[1])))
    rest = f.fma(square, f.real(-0.5), rest)
    found = f.fma(exponent, f.real(_LN2[0]), f.op("fadd", part, rest))
    found = f.select("oeq", x, math.inf, x, found)
    found = f.select("ult", x, 0.0, f.real(math.nan), found)  # negative, or nan
    return f.select("oeq", x, 0.0, f.real(-math.inf), found)


def tanh(b: FunctionText, x: str, n: int) -> str:
    """The hyperbolic tangent."""
    f = _Lanes(b, n)
    size = f.intrinsic("llvm.fabs", x)
    square = f.op("fmul", size, size)
    near = f.fma(f.op("fmul", size, square), f.polynomial(_TANH, square), size)
    power = exp(b, f.op("fadd", size, size), n)
    far = f.op("fsub", f.real(1.0), f.op("fdiv", f.real(2.0), f.op("fadd", power, f.real(1.0))))
    return f.intrinsic("llvm.copysign", f.select("olt", size, 0.625, near, far), x)


# by the names of the operators
FLOAT32: dict[str, Callable[[FunctionText, str, int], str]] = {"exp": exp, "exp2": exp2, "log": log, "tanh": tanh}
