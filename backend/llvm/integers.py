"""Integer division and shifts: floor and truncation, any divisor, any count, without traps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.expr import Broadcast, Call, Const, Expr

from .types import scalar_type, splat, value_type, vector

if TYPE_CHECKING:
    from .codegen import Codegen


def divide(g: Codegen, call: Call, kind: str, x: str, y: str) -> str:
    """The division `call` of operands that stand in `x` and `y` as values of the LLVM type `kind`.

    The quotient by zero is 0, as in numpy, and so is the remainder; the least integer by -1 wraps. Debug builds
    report a zero divisor.
    """
    name, dtype = call.op.name, call.dtype
    n = dtype.lanes
    signed = dtype.element.kind == "int"
    over, under = g.ranges.of(call.args[0]), g.ranges.of(call.args[1])
    zero_possible = under[0] <= 0 <= under[1]
    if zero_possible and g.debug:
        g.check_divisor(call, kind, y)
    positive = under[0] > 0
    natural = not signed or (over[0] >= 0 and under[0] >= 0)
    power = _power_of_two(call.args[1])
    if power is not None and name in ("floordiv", "floormod"):
        scalar = kind if n == 1 else scalar_type(dtype)
        if name == "floordiv":
            return g.b.op(f"{'lshr' if natural else 'ashr'} {kind} {x}, {splat(scalar, str(power), n)}")
        return g.b.op(f"and {kind} {x}, {splat(scalar, str((1 << power) - 1), n)}")
    return _General(
        g, kind, n, x, y, signed and not natural, zero_possible, signed and _overflows(over, under, dtype.bits)
    ).result(name, positive)


def _overflows(over: tuple[int, int], under: tuple[int, int], bits: int) -> bool:
    return over[0] <= -(1 << (bits - 1)) and under[0] <= -1 <= under[1]


def _power_of_two(expr: Expr) -> int | None:
    if type(expr) is Broadcast:
        expr = expr.value
    if type(expr) is Const and int(expr.value) > 0 and int(expr.value) & (int(expr.value) - 1) == 0:
        return int(expr.value).bit_length() - 1
    return None


class _General:
    """Division with instructions whose operands were made safe."""

    def __init__(self, g: Codegen, kind: str, n: int, x: str, y: str, signed: bool, zero: bool, overflow: bool) -> None:
        self.b, self.kind, self.n = g.b, kind, n
        self.scalar = kind if n == 1 else kind.split(" x ")[1].rstrip(">")
        self.bits = vector("i1", n)
        self.x, self.y, self.signed, self.zero = x, y, signed, zero
        self.is_zero = self.compare("eq", y, "0") if zero else ""
        safe = y
        unsafe = self.is_zero
        if overflow:
            least = str(-(1 << (int(self.scalar[1:]) - 1)))
            both = self.b.op(f"and {self.bits} {self.compare('eq', x, least)}, {self.compare('eq', y, '-1')}")
            unsafe = self.b.op(f"or {self.bits} {unsafe}, {both}") if unsafe else both
        if unsafe:
            safe = self.b.select(unsafe, kind, self.splat("1"), y, vector_condition=n)
        self.safe = safe

    def splat(self, literal: str) -> str:
        return splat(self.scalar, literal, self.n)

    def compare(self, how: str, a: str, literal: str) -> str:
        return self.b.op(f"icmp {how} {self.kind} {a}, {self.splat(literal)}")

    def op(self, name: str, a: str, b: str) -> str:
        return self.b.op(f"{name} {self.kind} {a}, {b}")

    def result(self, name: str, positive: bool) -> str:
        sign = "s" if self.signed else "u"
        if name in ("truncmod", "floormod"):
            rest = self.op(sign + "rem", self.x, self.safe)
            if name == "truncmod" or not self.signed:
                return rest
            moved = self.op("add", rest, self.safe)
            return self.b.select(self.differs(rest, positive), self.kind, moved, rest, vector_condition=self.n)
        quotient = self.op(sign + "div", self.x, self.safe)
        if name == "floordiv" and self.signed:
            rest = self.op("srem", self.x, self.safe)
            step = self.b.op(f"sext {self.bits} {self.differs(rest, positive)} to {self.kind}")
            quotient = self.op("add", quotient, step)
        elif name == "ceildiv":
            rest = self.op(sign + "rem", self.x, self.safe)
            up = self.compare("ne", rest, "0")
            if self.signed:
                alike = self.compare("sge", self.op("xor", rest, self.safe), "0")
                up = self.b.op(f"and {self.bits} {up}, {alike}")
            quotient = self.op("add", quotient, self.b.op(f"zext {self.bits} {up} to {self.kind}"))
        if self.zero:
            quotient = self.b.select(self.is_zero, self.kind, self.splat("0"), quotient, vector_condition=self.n)
        return quotient

    def differs(self, rest: str, positive: bool) -> str:
        """Whether the remainder has another sign than the divisor."""
        if positive:
            return self.compare("slt", rest, "0")
        unlike = self.compare("slt", self.op("xor", rest, self.safe), "0")
        return self.b.op(f"and {self.bits} {self.compare('ne', rest, '0')}, {unlike}")


def shift(g: Codegen, call: Call) -> str:
    """Shifts by any count: as numpy, what is moved by the width or more is gone, down to the sign."""
    dtype = call.dtype
    kind, scalar, n = value_type(dtype), scalar_type(dtype), dtype.lanes
    x, count = g.value(call.args[0]), g.value(call.args[1])
    low, high = g.ranges.of(call.args[1])
    inside = low >= 0 and high < dtype.bits
    arithmetic = call.op.name == "shift_right" and dtype.element.kind == "int"
    name = "shl" if call.op.name == "shift_left" else "ashr" if arithmetic else "lshr"
    if inside:
        return g.b.op(f"{name} {kind} {x}, {count}")
    fits = g.b.op(f"icmp ult {kind} {count}, {splat(scalar, str(dtype.bits), n)}")
    if arithmetic:
        count = g.b.select(fits, kind, count, splat(scalar, str(dtype.bits - 1), n), vector_condition=n)
        return g.b.op(f"{name} {kind} {x}, {count}")
    moved = g.b.op(f"{name} {kind} {x}, {count}")
    return g.b.select(fits, kind, moved, splat(scalar, "0", n), vector_condition=n)
