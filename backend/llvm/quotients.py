"""Loops that divide by what stays the same: by the reciprocal, corrected until the bits are those of the division.

    for j in range(n): B[j] = A[j] / d         becomes         if d is no extreme number:
                                                                   for j in range(n): B[j] = quick(A[j])
                                                               if d was one, or some quotient was:
                                                                   for j in range(n): B[j] = A[j] / d

With D = d s, a power of two times d, r = 1 / D and X = x s: q = X r is the quotient but for a unit or two, and
q - (q D - X) r is nearer. From then on q D - X is exact, and once more rounds correctly (Markstein 1990) where the
quotient is normal or 0. For float32 the first time is enough: the quotients so near the middle of two numbers that the
error counts are known (A 2^k - B M is at most 6, for A, B of 24 bits and M of 25), and each was tried. All this takes a
third of the time of a division. The loop runs again where any quotient is denormal, infinite or nan; it reads nothing
that it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from tirscript.ir.dtype import DType
from tirscript.ir.expr import BufferLoad, Call, CallFunction, Expr, Var
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import BufferStore, For

from .memory import place
from .vector_math.lanes import Lanes

if TYPE_CHECKING:
    from .codegen import Codegen

LEAST = 512  # iterations that are worth another loop
FLOATS = {"float32": "float", "float64": "double"}
CORRECTIONS = {"float": 1, "double": 2}


class Divisor(Struct, frozen=True, eq=False):
    """What a loop divides by: the expression, and the operands s, D, r of above; `greatest` and `least` are where the
    bits of the extreme quotients so far are."""

    expr: Expr
    scale: str
    scaled: str
    inverse: str
    greatest: str
    least: str


def divisor_of(g: Codegen, stmt: For, count: int | None) -> Expr | None:
    """What all iterations of an innermost loop divide by, where they may run twice; None where there is no such."""
    store = stmt.body[0] if len(stmt.body) == 1 else None
    if type(store) is not BufferStore or store.predicate is not None or store.value.dtype.is_vector:
        return None
    if stmt.kind != "serial" or count is None or count < LEAST or g.debug or g.flags or not g.b.host.fuses:
        return None
    if not g.state.noalias[g.func.name] or not all(_harmless(g, store, node) for node in walk(store)):
        return None
    found = [node.args[1] for node in walk(store.value) if type(node) is Call and _divides(node)]
    return next((expr for expr in found if _constant(expr) and not uses(expr, stmt.var)), None)


def _divides(node: Call) -> bool:
    return node.op is OPS["div"] and node.dtype.name in FLOATS


def _constant(expr: Expr) -> bool:
    """Whether an expression is a variable or an element at a place that is known before the loop."""
    if type(expr) is BufferLoad:
        return expr.predicate is None and not any(type(node) is BufferLoad for node in walk(expr.indices))
    return type(expr) is Var


def _harmless(g: Codegen, store: BufferStore, node: object) -> bool:
    """Whether a part of the statement does nothing else, and reads memory that the statement does not write."""
    if type(node) is CallFunction:
        return False
    if type(node) is Call:
        return node.op.effect == "pure"
    if type(node) is BufferLoad:
        mine, its = place(g, store.buffer).root, place(g, node.buffer).root
        return mine is not None and its is not None and mine is not its
    return True


def prepare(g: Codegen, expr: Expr) -> tuple[Divisor, str]:
    """The operands for a divisor, before the loop, and whether it is positive and of no extreme size."""
    f = Lanes(g.b, FLOATS[expr.dtype.name], 1)
    mantissa, twice = f.format.mantissa, 2 * f.format.bias
    value = g.value(expr)
    bits = f.bits(value)
    # D is in [2^top, 2^(top + 1)), so that its last bit is worth 2; s is normal where d is 2^(top - bias) or more
    top = mantissa + 1
    fits = f.itest("ult", f.isub(bits, top << mantissa), (twice + 1 - top) << mantissa)
    exponent = f.iand(bits, (twice + 1) << mantissa)
    scale = f.from_bits(f.isub(f.whole((twice + top) << mantissa), exponent))
    scaled = f.mul(value, scale)
    slots = [g.b.alloca(f.integer, 8, word) for word in ("greatest", "least")]
    for slot, start in zip(slots, (0, -1), strict=True):
        g.b.do(f"store {f.integer} {start}, ptr {slot}, align 8")
    return Divisor(expr, scale, scaled, f.div(f.real(1.0), scaled), *slots), fits


def extreme(g: Codegen, by: Divisor) -> str:
    """Whether a quotient was denormal, infinite or nan. Sizes less 1 are compared, so that 0 is none of these."""
    f = Lanes(g.b, FLOATS[by.expr.dtype.name], 1)
    greatest, least = (g.b.op(f"load {f.integer}, ptr {slot}, align 8") for slot in (by.greatest, by.least))
    exponent = f.format.mantissa + 1
    above = f.itest("uge", greatest, -1 << exponent)
    return f.either(above, f.itest("ult", least, (1 << exponent) - 1))


def quotient(g: Codegen, x: str, dtype: DType, by: Divisor) -> str:
    """x divided, and a note where that has to be done again."""
    f = Lanes(g.b, FLOATS[dtype.name], 1)
    lifted = f.mul(x, by.scale)
    found = f.mul(lifted, by.inverse)
    for _ in range(CORRECTIONS[f.scalar]):
        rest = f.call("llvm.fma", found, by.scaled, f.negative(lifted))
        found = f.call("llvm.fma", f.negative(rest), by.inverse, found)
    size = f.shift_left(f.bits(found), 1)  # without the sign
    for slot, way, value in ((by.greatest, "umax", size), (by.least, "umin", f.isub(size, 1))):
        known = g.b.op(f"load {f.integer}, ptr {slot}, align 8")
        kept = g.b.intrinsic(f"llvm.{way}", [f.integer], f.integer, [(f.integer, known), (f.integer, value)])
        g.b.do(f"store {f.integer} {kept}, ptr {slot}, align 8")
    return found


def loop(g: Codegen, stmt: For, count: int | None, write: Callable[[], None]) -> bool:
    """Write a loop that divides by what stays the same, `write` once in each way; False where it is none."""
    expr = divisor_of(g, stmt, count)
    if expr is None:
        return False
    b = g.b
    by, fits = prepare(g, expr)
    quick, slow, end = b.block("quick"), b.block("slow"), b.block("divided")
    b.branch(fits, quick, slow)
    b.start(quick)
    g.divisor = by
    write()
    g.divisor = None
    b.branch(extreme(g, by), slow, end)
    b.start(slow)
    write()
    b.jump(end)
    b.start(end)
    return True
