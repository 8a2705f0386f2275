"""Arithmetic without branches on the lanes of a value, which the elementary functions are written in."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from msgspec import Struct

from ..builder import FunctionText
from ..types import float_literal, splat, vector


class Format(Struct, frozen=True):
    """A float type as arithmetic on its bits needs it."""

    scalar: str
    integer: str
    bits: int
    mantissa: int  # bits after the point
    bias: int
    packed: str  # for `struct`, the float and its bits

    def bits_of(self, value: float) -> int:
        """The bits of a number of this type."""
        found: int = struct.unpack(self.packed[1], struct.pack(self.packed[0], value))[0]
        return found

    @property
    def magic(self) -> float:
        """Added to a number, it leaves the nearest integer in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa


FORMATS = {
    "float": Format("float", "i32", 32, 23, 127, "fi"),
    "double": Format("double", "i64", 64, 52, 1023, "dq"),
}


class Lanes:
    """Arithmetic on `n` lanes of float or double, and on the integers of their width."""

    def __init__(self, b: FunctionText, scalar: str, n: int) -> None:
        self.b, self.n = b, n
        self.format = FORMATS[scalar]
        self.scalar, self.integer = scalar, self.format.integer
        self.kind, self.ikind = vector(scalar, n), vector(self.integer, n)
        self.mask = vector("i1", n)

    def other(self, scalar: str) -> Lanes:
        """As many lanes of the other type."""
        return Lanes(self.b, scalar, self.n)

    # constants

    def real(self, value: float) -> str:
        return splat(self.scalar, float_literal(value, self.scalar), self.n)

    def whole(self, value: int) -> str:
        return splat(self.integer, str(value), self.n)

    # floats

    def _op(self, name: str, x: str, y: str | float) -> str:
        return self.b.op(f"{name} {self.kind} {x}, {y if isinstance(y, str) else self.real(y)}")

    def add(self, x: str, y: str | float) -> str:
        return self._op("fadd", x, y)

    def sub(self, x: str, y: str | float) -> str:
        return self._op("fsub", x, y)

    def mul(self, x: str, y: str | float) -> str:
        return self._op("fmul", x, y)

    def div(self, x: str, y: str | float) -> str:
        return self._op("fdiv", x, y)

    def fma(self, x: str, y: str | float, z: str | float) -> str:
        """x * y + z, rounded once where the machine does that."""
        operands = [x, *(operand if isinstance(operand, str) else self.real(operand) for operand in (y, z))]
        return self.call("llvm.fmuladd", *operands)

    def quick_quotient(self, x: str, y: str) -> str:
        """x / y of doubles to 46 bits, from the reciprocal of y as a float, which takes a quarter of the time."""
        single = self.other("float")
        inverse = self.widened(single.div(single.real(1.0), self.narrowed(y)))
        found = self.mul(x, inverse)
        return self.fma(self.fma(self.negative(found), y, x), inverse, found)

    def negative(self, x: str) -> str:
        return self.b.op(f"fneg {self.kind} {x}")

    def abs(self, x: str) -> str:
        return self.call("llvm.fabs", x)

    def sqrt(self, x: str) -> str:
        return self.call("llvm.sqrt", x)

    def copysign(self, x: str, sign: str) -> str:
        return self.call("llvm.copysign", x, sign)

    def call(self, name: str, *args: str) -> str:
        """An intrinsic of floats."""
        return self.b.intrinsic(name, [self.kind], self.kind, [(self.kind, arg) for arg in args])

    def polynomial(self, coefficients: Sequence[float], x: str) -> str:
        """By Horner's rule, from the lowest power on."""
        total = self.real(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, coefficient)
        return total

    def minimum(self, x: str, limit: float) -> str:
        """x, or the limit where x is above it; nan stays nan."""
        return self.select(self.test("ogt", x, limit), self.real(limit), x)

    def maximum(self, x: str, limit: float) -> str:
        """x, or the limit where x is below it; nan stays nan."""
        return self.select(self.test("olt", x, limit), self.real(limit), x)

    def between(self, x: str, low: float, high: float) -> str:
        """x within the limits; nan stays nan."""
        return self.minimum(self.maximum(x, low), high)

    def narrowed(self, x: str) -> str:
        """Doubles as floats."""
        return self.b.op(f"fptrunc {vector('double', self.n)} {x} to {vector('float', self.n)}")

    def widened(self, x: str) -> str:
        """Floats as doubles."""
        return self.b.op(f"fpext {vector('float', self.n)} {x} to {vector('double', self.n)}")

    # choice

    def test(self, how: str, x: str, y: str | float) -> str:
        """A comparison of floats."""
        return self._op(f"fcmp {how}", x, y)

    def itest(self, how: str, x: str, y: str | int) -> str:
        """A comparison of integers."""
        return self._iop(f"icmp {how}", x, y)

    def either(self, a: str, b: str) -> str:
        return self.b.op(f"or {self.mask} {a}, {b}")

    def both(self, a: str, b: str) -> str:
        return self.b.op(f"and {self.mask} {a}, {b}")

    def select(self, condition: str, yes: str | float, no: str | float) -> str:
        """`yes` where the condition holds, else `no`."""
        yes, no = (value if isinstance(value, str) else self.real(value) for value in (yes, no))
        return self.b.select(condition, self.kind, yes, no, vector_condition=self.n)

    def iselect(self, condition: str, yes: str | int, no: str | int) -> str:
        """Of integers."""
        yes, no = (value if isinstance(value, str) else self.whole(value) for value in (yes, no))
        return self.b.select(condition, self.ikind, yes, no, vector_condition=self.n)

    def any(self, condition: str) -> str:
        """Whether the condition holds in some lane."""
        if self.n == 1:
            return condition
        return self.b.intrinsic("llvm.vector.reduce.or", [self.mask], "i1", [(self.mask, condition)])

    # integers and bits

    def _iop(self, name: str, x: str, y: int | str) -> str:
        return self.b.op(f"{name} {self.ikind} {x}, {self.whole(y) if isinstance(y, int) else y}")

    def iadd(self, x: str, y: int | str) -> str:
        return self._iop("add", x, y)

    def isub(self, x: str, y: int | str) -> str:
        return self._iop("sub", x, y)

    def iand(self, x: str, y: int | str) -> str:
        return self._iop("and", x, y)

    def ixor(self, x: str, y: int | str) -> str:
        return self._iop("xor", x, y)

    def signed(self, x: str, bits: str) -> str:
        """x, negated where the highest of the bits is set."""
        sign = self.iand(bits, -(1 << (self.format.bits - 1)))
        return self.from_bits(self.ixor(self.bits(x), sign))

    def shift_left(self, x: str, count: int) -> str:
        return self._iop("shl", x, count)

    def shift_right(self, x: str, count: int) -> str:
        """With the sign's copies."""
        return self._iop("ashr", x, count)

    def bits(self, x: str) -> str:
        return self.b.op(f"bitcast {self.kind} {x} to {self.ikind}")

    def from_bits(self, bits: str) -> str:
        return self.b.op(f"bitcast {self.ikind} {bits} to {self.kind}")

    def from_small(self, x: str) -> str:
        """Small integers as floats, by arithmetic: few machines convert vectors of 64-bit integers."""
        if self.scalar == "float":
            return self.b.op(f"sitofp {self.ikind} {x} to {self.kind}")
        sum_ = self.from_bits(self.iadd(x, self.format.bits_of(self.format.magic)))
        return self.sub(sum_, self.format.magic)

    def nearest(self, x: str, scale: float | None = None, offset: int = 0) -> tuple[str, str]:
        """The nearest integer to x (times `scale`), and it plus `offset` as the low bits of an integer."""
        magic = self.format.magic + offset
        sum_ = self.add(x, magic) if scale is None else self.fma(x, scale, magic)
        return self.sub(sum_, magic), self.bits(sum_)

    def scaled(self, x: str, power: str) -> str:
        """x times 2 raised to a small integer, rounded once, where the processor `scales`."""
        narrow = vector("i32", self.n)
        if self.integer != "i32":
            power = self.b.op(f"trunc {self.ikind} {power} to {narrow}")
        return self.b.intrinsic("llvm.ldexp", [self.kind, narrow], self.kind, [(self.kind, x), (narrow, power)])

    def power_of_two(self, exponent: str) -> str:
        """2 raised to the low bits of an integer, of which the bias is already a part."""
        return self.from_bits(self.shift_left(exponent, self.format.mantissa))


LOG2_E, LOG2_10 = 1 / math.log(2), math.log2(10)
