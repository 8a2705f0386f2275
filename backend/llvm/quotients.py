"""Vectors divided by what stays the same: by the reciprocal, corrected until the bits are those of the division.

    for j in range(n // 16):                      becomes     r = 1 / d, once, where d is no extreme number
        B[j * 16 : 16] = A[j * 16 : 16] / d                   for j in range(n // 16):
                                                                  q = quick(A[j * 16 : 16])
                                                                  B[j * 16 : 16] = q if q is no extreme else A[...] / d

With D = |d| s, a power of two times the divisor, r = 1 / D, and X = x s with the sign of d: q = X r is the quotient but
for a unit or two, and q - (q D - X) r is nearer. From then on q D - X is exact, and once more rounds correctly
(Markstein 1990) where the quotient is normal or 0. For float32 the first time is enough: the quotients so near the
middle of two numbers that the error counts are known (A 2^k - B M is at most 6, for A, B of 24 bits and M of 25), and
each was tried. All this takes half of the time of a division, or less. A vector with a quotient that is denormal,
infinite or nan is divided.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tirscript.ir.dtype import DType
from tirscript.ir.effects import is_prefetch
from tirscript.ir.expr import Broadcast, BufferLoad, Call, CallFunction, Const, Expr, Var
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import holds, uses, walk
from tirscript.ir.stmt import Bind, BufferStore, For, Stmt
from tirscript.passes.reciprocals import FEWEST, REGISTER, USUAL, has_reciprocal, others_beside

from .builder import FunctionText
from .convert import compute_dtype, narrow, widen
from .memory import all_lanes_there, place
from .types import scalar_type
from .vector_math.lanes import Lanes

if TYPE_CHECKING:
    from .codegen import Codegen

CORRECTIONS = {"float": 1, "double": 2}


def loop(g: Codegen, stmt: For, write: Callable[[], None]) -> None:
    """Write a loop; twice where only the call knows whether it divides enough vectors to prepare that."""
    before, found = g.steady, _steady(g, stmt)
    constants = tuple([(divisor, number) for divisor, number in found if type(number) is Const])
    least, most = _iterations(g, stmt) if found != constants else (FEWEST, FEWEST)
    g.steady = found if most >= FEWEST else constants
    forks = stmt.kind == "parallel" and not g.in_part  # which takes longer than to prepare a divisor
    if least >= FEWEST or most < FEWEST or forks:
        write()
    else:
        b = g.b
        quick, plain, end = b.block("quick"), b.block("plain"), b.block("done")
        count = b.op(f"sub i64 {g.wide(stmt.stop)}, {g.wide(stmt.start)}")
        b.branch(b.op(f"icmp sge i64 {count}, {FEWEST}"), quick, plain)
        b.start(quick)
        write()
        b.jump(end)
        b.start(plain)
        g.steady = constants
        write()
        b.start(end)
    g.steady = before


def _iterations(g: Codegen, stmt: For) -> tuple[int, int]:
    """How many there are, at least and at most."""
    start, stop = g.ranges.of(stmt.start), g.ranges.of(stmt.stop)
    return stop[0] - start[1], stop[1] - start[0]


def _steady(g: Codegen, stmt: For) -> tuple[tuple[Expr, Expr], ...]:
    """What vectors are divided by in all iterations of an innermost loop, and LLVM can load before it: each divisor,
    and the number in all of its lanes."""
    if g.flags or not g.b.host.fuses or g.b.host.register_bits < REGISTER or stmt.step is not None:
        return ()
    body = tuple([inner for inner in stmt.body if not is_prefetch(inner)])
    if not all(type(inner) is BufferStore or type(inner) is Bind for inner in body):
        return ()
    floats = [node for node in walk(body, Call) if node.dtype.is_float]
    divisors = [node.args[1] for node in floats if node.op is OPS["div"]]
    if len(floats) - len(divisors) >= sum(others_beside(one.dtype) for one in divisors):
        return ()
    pairs = [(one, number) for one in divisors if (number := _number(g, one)) is not None]
    return tuple([(one, number) for one, number in pairs if _stays(g, number, stmt.var, body)])


def _number(g: Codegen, divisor: Expr) -> Expr | None:
    """The float that all lanes of a vector are, where it can be read whichever lanes are asked for."""
    dtype: DType = divisor.dtype
    if not dtype.is_float or dtype.lanes * max(dtype.element.bits, 32) % REGISTER:
        return None
    if type(divisor) is Broadcast:
        return divisor.value
    if type(divisor) is not BufferLoad or divisor.buffer.dtype.is_vector or not all_lanes_there(g, divisor):
        return None
    indices = [index.value if type(index) is Broadcast else index for index in divisor.indices]
    if any(index.dtype.is_vector for index in indices):
        return None
    return BufferLoad(divisor.buffer, tuple(indices), span=divisor.span)


def _stays(g: Codegen, number: Expr, var: Var, body: tuple[Stmt, ...]) -> bool:
    """Whether a number is a constant, a variable or an element of memory that a loop over `var` does not write, at a
    place that is known before."""
    if type(number) is Const:
        return has_reciprocal(number)
    changing = [var, *(stmt.var for stmt in body if type(stmt) is Bind)]
    if type(number) not in (Var, BufferLoad) or any(uses(number, one) for one in changing):
        return False
    if type(number) is not BufferLoad:
        return True
    root = place(g, number.buffer).root
    written = [place(g, stmt.buffer).root for stmt in body if type(stmt) is BufferStore]
    if root is None or not g.state.noalias[g.func.name] or any(one in (None, root) for one in written):
        return False
    return not holds(number.indices, BufferLoad) and not holds(body, CallFunction)


def divided(g: Codegen, call: Call, number: Expr) -> str:
    """A vector divided by a number that stays the same."""
    scalar, lanes = scalar_type(compute_dtype(call.dtype.element)), call.dtype.lanes
    x, divisor = widen(g.b, g.value(call.args[0]), call.dtype), widen(g.b, g.value(number), number.dtype)
    return narrow(g.b, _quotient(g.b, x, divisor, scalar, lanes), call.dtype)


def _quotient(b: FunctionText, x: str, divisor: str, scalar: str, lanes: int) -> str:
    f = Lanes(b, scalar, lanes)
    scale, scaled, inverse = (b.broadcast(scalar, value, lanes) for value in _prepared(Lanes(b, scalar, 1), divisor))
    lifted = f.mul(x, scale)
    found = f.mul(lifted, inverse)
    for _ in range(CORRECTIONS[scalar]):
        rest = f.call("llvm.fma", found, scaled, f.negative(lifted))
        found = f.call("llvm.fma", f.negative(rest), inverse, found)
    quick, slow, end = b.label, b.block("extreme"), b.block("divided")
    b.branch(_maybe_strange(f, found), slow, end, unlikely=True)
    ways = [(found, quick)]
    b.start(slow)
    if not _classifies(f):
        divide, before = b.block("divide"), b.label
        b.branch(_strange(f, found), divide, end)
        ways.append((found, before))
        b.start(divide)
    ways.append((f.div(x, b.broadcast(scalar, divisor, lanes)), b.label))
    b.jump(end)
    b.start(end)
    return b.phi(f.kind, *ways)


def _prepared(f: Lanes, divisor: str) -> tuple[str, str, str]:
    """s with the sign, D and r of above; where the divisor is of extreme size r is nan, and so is all that it makes.

    LLVM moves it before the loop. The division, which takes longest, waits for nothing: 1 / d is normal.
    """
    mantissa, twice = f.format.mantissa, 2 * f.format.bias
    size = f.abs(divisor)
    bits = f.bits(size)
    # D is in [2^top, 2^(top + 1)), so that its last bit is worth 2; s, 1 / s and 1 / d are normal
    top = mantissa + 1
    least, beyond = (f.format.bias + power for power in USUAL[f.format.bits])
    fits = f.itest("ult", f.isub(bits, least << mantissa), (beyond - least) << mantissa)
    exponent = f.iand(bits, (twice + 1) << mantissa)
    scale = f.from_bits(f.isub(f.whole((twice + top) << mantissa), exponent))
    unscale = f.from_bits(f.isub(exponent, top << mantissa))
    inverse = f.mul(f.div(f.real(1.0), size), unscale)
    return f.copysign(scale, divisor), f.mul(size, scale), f.select(fits, inverse, math.nan)


# of what is neither normal nor 0: quiet and signalling nan, both infinities and denormal numbers
_STRANGE = "185"


def _classifies(f: Lanes) -> bool:
    """Whether one instruction looks for all kinds of numbers in such a vector."""
    return f.b.host.classifies and f.n * f.format.bits in (256, 512)


def _maybe_strange(f: Lanes, x: str) -> str:
    """Whether some lane is neither normal nor 0, or perhaps 0 where no instruction classifies."""
    bits = f.n * f.format.bits
    if _classifies(f):
        name = f"llvm.x86.avx512.fpclass.p{'s' if f.scalar == 'float' else 'd'}.{bits}"
        symbol = f.b.module.declare(name, f.mask, [f.kind, "i32 immarg"])
        return f.any(f.b.call(f.mask, symbol, [(f.kind, x), ("i32", _STRANGE)]))
    # the bits without the sign, moved so that normal numbers are the least: all vectors compare with sign
    least, half = 1 << (f.format.mantissa + 1), 1 << (f.format.bits - 1)
    beyond = 2 * half - 2 * least - half
    return f.any(f.itest("sge", f.iadd(f.shift_left(f.bits(x), 1), half - least), beyond))


def _strange(f: Lanes, x: str) -> str:
    """Whether some lane is neither normal nor 0."""
    size = f.abs(x)
    small = f.both(f.test("olt", size, 2.0 ** (1 - f.format.bias)), f.test("une", size, 0.0))
    return f.any(f.either(small, f.test("ueq", size, float("inf"))))
