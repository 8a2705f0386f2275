"""What every operator of the table computes, on one lane.

Values: integers and bools are Python's int and bool within their dtype's range, floats are numpy (ml_dtypes) scalars
of exactly their dtype,
a handle is a Pointer or None. `scalar_rule` gives the function of an operator for the dtypes of a call.

The choices that a backend must share:
- An elementary function of float16, bfloat16 or float8 is that of float32, rounded to the dtype; `fma` is rounded
  once in every dtype.
- A float becomes an integer by truncation, saturated at the limits, nan becomes 0. A nonzero float or integer, nan
  too, is True as a bool.
- float64 becomes bfloat16 or float8 with one rounding; an integer becomes a float narrower than 32 bits through
  float32.
- A shift by the width or more, or by a negative count, gives 0, or -1 where a negative number is shifted right.
- `x // y` and `x % y` of floats are numpy's: the quotient is floor((x - x % y) / y), the remainder has the divisor's
  sign.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np

from tirscript.ir import Call, Const, DiagnosticError, DType, Expr, Span, Var, error, walk
from tirscript.ir.arith.folding import truncdiv
from tirscript.ir.op import OPS, Op

from ..runtime.arrays import numpy_dtype

Fn = Callable[..., Any]
# an operator's maker: the element dtypes of the arguments and of the result -> the function
Maker = Callable[[tuple[DType, ...], DType], Fn]


@cache
def scalar_rule(entry: Op, args: tuple[DType, ...], result: DType) -> Fn:
    """The function that computes `entry` on single values of the element dtypes `args`, giving `result`."""
    maker = MAKERS.get(entry.name)
    if maker is not None:
        return maker(args, result)
    if not args:
        raise KeyError(f"the interpreter does not run `T.{entry.name}`")
    kind = args[0]
    if entry.numpy is None or not kind.is_float:
        raise KeyError(f"the interpreter does not run `T.{entry.name}` of {kind}")
    return _through(kind, getattr(np, entry.numpy), result)


# -- integers


@cache
def wrap_to(kind: DType) -> Fn:
    """The function that wraps any integer into the dtype, in two's complement."""
    low = kind.int_range()[0]
    if kind.is_bool:
        return bool
    mask = (1 << kind.bits) - 1
    if low == 0:
        return lambda x: x & mask
    return lambda x: ((x - low) & mask) + low


def _wrapped(function: Fn) -> Callable[[DType], Fn]:
    def make(kind: DType) -> Fn:
        low, high = kind.int_range()
        wrap = wrap_to(kind)

        def run(*args: int) -> int:
            value = function(*args)
            return value if low <= value <= high else wrap(value)

        return run

    return make


def _by_kind(ints: Callable[[DType], Fn], floats: Callable[[DType], Fn]) -> Maker:
    return lambda args, result: floats(args[0]) if args[0].is_float else ints(args[0])


def _float(function: Fn) -> Maker:
    return lambda args, result: _through(args[0], function, result)


def _ints(make: Callable[[DType], Fn]) -> Maker:
    return lambda args, result: make(args[0])


def _shift_left(kind: DType) -> Fn:
    bits, wrap = kind.bits, wrap_to(kind)
    return lambda a, b: wrap(a << b) if 0 <= b < bits else 0


def _shift_right(kind: DType) -> Fn:
    bits = kind.bits
    return lambda a, b: a >> b if 0 <= b < bits else -1 if a < 0 else 0


def _popcount(kind: DType) -> Fn:
    mask = (1 << kind.bits) - 1
    return lambda a: (a & mask).bit_count()


def _clz(kind: DType) -> Fn:
    bits, mask = kind.bits, (1 << kind.bits) - 1
    return lambda a: bits - (a & mask).bit_length()


def _invert(kind: DType) -> Fn:
    return operator.not_ if kind.is_bool else _wrapped(operator.invert)(kind)


# -- floats


@cache
def float_type(kind: DType) -> Any:
    """The scalar class of a float dtype."""
    return numpy_dtype(kind).type


def is_narrow(kind: DType) -> bool:
    """Whether functions of the dtype are computed in float32."""
    return kind.is_float and kind.bits < 32


def _through(kind: DType, function: Fn, result: DType) -> Fn:
    """`function` of numpy scalars for the dtype: by way of float32 for the narrow ones."""
    if result.is_bool:
        return (
            (lambda *args: bool(function(*map(np.float32, args))))
            if is_narrow(kind)
            else lambda *args: bool(function(*args))
        )
    if not is_narrow(kind):
        return function
    narrow = float_type(kind)
    return lambda *args: narrow(function(*map(np.float32, args)))


def _floats(function: Fn) -> Callable[[DType], Fn]:
    return lambda kind: _through(kind, function, kind)


def _native(function: Fn) -> Callable[[DType], Fn]:
    """A function that rounds correctly in every dtype itself."""
    return lambda kind: function


def _in_double(function: Callable[..., float]) -> Maker:
    """A function of Python floats, rounded to the dtype."""

    def make(args: tuple[DType, ...], result: DType) -> Fn:
        to = float_type(result)
        if is_narrow(result):
            return lambda *args: to(np.float32(function(*map(float, args))))
        return lambda *args: to(function(*map(float, args)))

    return make


def _round_half_away(x: Any) -> Any:
    whole = np.trunc(x)
    return whole + np.copysign(type(x)(1), x) if abs(x - whole) >= 0.5 else whole


def _sigmoid(x: Any) -> Any:
    one = type(x)(1)
    power = np.exp(-abs(x))  # the exponential that does not overflow
    return (power if x < 0 else one) / (one + power)


def _rsqrt(x: Any) -> Any:
    return type(x)(1) / np.sqrt(x)


def _exp10(x: Any) -> Any:
    return np.power(type(x)(10), x)


def _pow(x: float, y: float) -> float:
    """C's pow; numpy's has other last places and, for an exponent of a half, other zeros and infinities."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and abs(math.fmod(y, 2)) == 1 else math.inf
    except ValueError:
        if x == 0:
            return math.copysign(math.inf, x) if abs(math.fmod(y, 2)) == 1 else math.inf  # `y % 2` would round to 1
        return math.nan


def _ldexp(args: tuple[DType, ...], result: DType) -> Fn:
    kind = args[0]

    def run(x: Any, n: Any) -> Any:
        return np.ldexp(x, max(-100_000, min(100_000, int(n))))

    if not is_narrow(kind):
        return run
    narrow = float_converter(result)  # in float64 nothing is rounded before the end
    return lambda x, n: narrow(run(np.float64(x), n))


def _fma(args: tuple[DType, ...], result: DType) -> Fn:
    to = float_converter(result)
    if result.bits < 64:
        return lambda a, b, c: to(_sum_to_odd(float(a) * float(b), float(c)))

    def run(a: Any, b: Any, c: Any) -> Any:
        x, y, z = float(a), float(b), float(c)
        if math.isfinite(x) and math.isfinite(y) and not math.isfinite(z):
            return to(z)  # whatever the product, which must not overflow here
        if not (math.isfinite(x) and math.isfinite(y)):
            return to(x * y + z)
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        return to(x * y + z if exact == 0 else _nearest(exact))  # the sum has the sign of zero

    return run


def _sum_to_odd(x: float, y: float) -> float:
    """x + y as a float64 rounded to odd, so that rounding once more to fewer bits is exact.

    The rounding error is found as by Knuth (TwoSum); a product of two numbers of 32 bits or fewer has none.
    """
    near = x + y
    back = near - x
    error = (x - (near - back)) + (y - back)
    if error == 0 or not math.isfinite(near) or _BITS.unpack(_DOUBLE.pack(near))[0] & 1:
        return near
    return math.nextafter(near, math.inf if error > 0 else -math.inf)


_DOUBLE, _BITS = struct.Struct("<d"), struct.Struct("<q")


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _float32_to_odd(x: float) -> Any:
    """A float64 as float32 rounded to odd."""
    with np.errstate(all="ignore"):
        near = np.float32(x)
    if float(near) == x or not np.isfinite(near) or near.view(np.int32) & 1:
        return near
    return np.nextafter(near, np.float32(math.inf if x > float(near) else -math.inf))


@cache
def float_converter(to: DType) -> Fn:
    """The function that rounds a float (Python's or numpy's, of any width) once to the dtype."""
    target = float_type(to)
    if to.name in ("float16", "float32", "float64"):
        return lambda x: target(x)
    return lambda x: target(_float32_to_odd(float(x)) if isinstance(x, float) else np.float32(x))


# -- comparisons and choice


def _compare(function: Fn) -> Maker:
    return lambda args, result: lambda a, b: bool(function(a, b))


def _address(value: Any) -> int:
    return 0 if value is None else value.address


def _equality(function: Fn) -> Maker:
    def make(args: tuple[DType, ...], result: DType) -> Fn:
        if args[0].is_handle:
            return lambda a, b: bool(function(_address(a), _address(b)))
        return lambda a, b: bool(function(a, b))

    return make


# -- conversions


def _from_int(to: DType) -> Fn:
    def run(x: int) -> Any:
        wide = np.uint64(x) if x > 0x7FFFFFFFFFFFFFFF else np.int64(x)
        return wide.astype(first) if target is first else target(wide.astype(first))

    target = float_type(to)
    first: Any = np.float32 if is_narrow(to) else target
    return run


def _to_int(to: DType) -> Fn:
    low, high = to.int_range()

    def run(x: Any) -> int:
        value = float(x)
        if value != value:
            return 0
        if value <= low:
            return low
        if value >= high:
            return high
        return int(value)

    return run


def _cast(args: tuple[DType, ...], result: DType) -> Fn:
    have = args[0]
    if result.is_bool:
        return lambda x: bool(x != 0)
    if result.is_float:
        if have.is_float:
            return float_converter(result)
        return _from_int(result)
    if result.is_int:
        if have.is_float:
            return _to_int(result)
        wrap = wrap_to(result)
        return lambda x: wrap(int(x))
    return lambda x: x


MAKERS: dict[str, Maker] = {
    "add": _by_kind(_wrapped(operator.add), _native(operator.add)),
    "sub": _by_kind(_wrapped(operator.sub), _native(operator.sub)),
    "mul": _by_kind(_wrapped(operator.mul), _native(operator.mul)),
    "div": lambda args, result: operator.truediv,
    "floordiv": _by_kind(_wrapped(operator.floordiv), _floats(np.floor_divide)),
    "floormod": _by_kind(_wrapped(operator.mod), _floats(np.remainder)),
    "negative": _by_kind(_wrapped(operator.neg), _native(operator.neg)),
    "truncdiv": _ints(_wrapped(truncdiv)),
    "truncmod": _by_kind(_wrapped(lambda a, b: a - truncdiv(a, b) * b), _floats(np.fmod)),
    "ceildiv": _ints(_wrapped(lambda a, b: -(-a // b))),
    "min": lambda args, result: lambda a, b: a if a < b else b,
    "max": lambda args, result: lambda a, b: a if a > b else b,
    "abs": _by_kind(_wrapped(abs), _native(abs)),
    "fma": _fma,
    "bitwise_and": _ints(_native(operator.and_)),
    "bitwise_or": _ints(_native(operator.or_)),
    "bitwise_xor": _ints(_native(operator.xor)),
    "bitwise_not": _ints(_invert),
    "shift_left": _ints(_shift_left),
    "shift_right": _ints(_shift_right),
    "popcount": _ints(_popcount),
    "clz": _ints(_clz),
    "equal": _equality(operator.eq),
    "not_equal": _equality(operator.ne),
    "less": _compare(operator.lt),
    "less_equal": _compare(operator.le),
    "greater": _compare(operator.gt),
    "greater_equal": _compare(operator.ge),
    "logical_and": lambda args, result: lambda a, b: a and b,
    "logical_or": lambda args, result: lambda a, b: a or b,
    "logical_not": lambda args, result: operator.not_,
    "if_then_else": lambda args, result: lambda c, a, b: a if c else b,
    "Select": lambda args, result: lambda c, a, b: a if c else b,
    "likely": lambda args, result: lambda c: c,
    "pow": _in_double(_pow),
    "rsqrt": _float(_rsqrt),
    "sigmoid": _float(_sigmoid),
    "exp10": _float(_exp10),
    "erf": _in_double(math.erf),
    "round": _float(_round_half_away),
    # of two equal values the second, as C has it; numpy before 2.5 gives the first of two equal float16
    "nextafter": lambda args, result: lambda a, b: b if a == b else np.nextafter(a, b),
    "ldexp": _ldexp,
    "cast": _cast,
    "isnullptr": lambda args, result: lambda p: p is None,
}

# operators that are no function of values: expressions.py and calls.py have their rules
NOT_SCALAR = frozenset(
    [
        *("reinterpret", "undef", "call_extern", "call_pure_extern", "call_packed", "address_of", "print"),
        *("breakpoint", "call_llvm_intrin", "call_llvm_pure_intrin", "prefetch"),
    ]
)


def constant(node: Const) -> Any:
    """The value of a constant as the interpreter holds it."""
    return float_converter(node.dtype)(node.value) if node.dtype.is_float else node.value


def evaluate(expr: Expr, values: dict[Var, Any]) -> Any:
    """The value of a scalar expression of constants, variables and operators; KeyError(var) where a variable has
    none."""
    cls = type(expr)
    if cls is Const:
        return constant(expr)  # type: ignore[arg-type]
    if cls is Var:
        return values[expr]  # type: ignore[index]
    if cls is Call and expr.op.name not in NOT_SCALAR:  # type: ignore[attr-defined]
        args = expr.args  # type: ignore[attr-defined]
        rule = scalar_rule(expr.op, tuple(arg.dtype for arg in args), expr.dtype)  # type: ignore[attr-defined]
        return rule(*[evaluate(arg, values) for arg in args])
    raise TypeError(f"a {cls.__name__} has no value outside of a running function")


def evaluator(expr: Expr) -> Callable[[dict[Any, Any]], Any]:
    """What gives the value of a scalar expression of the values of its variables: `evaluate`, looked up once."""
    cls = type(expr)
    if cls is Const:
        value = constant(expr)  # type: ignore[arg-type]
        return lambda values: value
    if cls is Var:
        return itemgetter(expr)
    if cls is Call and expr.op.name not in NOT_SCALAR:  # type: ignore[attr-defined]
        args = expr.args  # type: ignore[attr-defined]
        rule = scalar_rule(expr.op, tuple(arg.dtype for arg in args), expr.dtype)  # type: ignore[attr-defined]
        parts = [evaluator(arg) for arg in args]
        if len(parts) == 2:
            a, b = parts
            return lambda values: rule(a(values), b(values))
        return lambda values: rule(*[one(values) for one in parts])
    raise TypeError(f"a {cls.__name__} has no value outside of a running function")


def number(expr: Expr, values: dict[Var, Any], span: Span | None) -> Any:
    """`evaluate`, for a size that a graph computes; DiagnosticError where it divides by zero."""
    try:
        return evaluate(expr, values)
    except ZeroDivisionError:
        names = dict.fromkeys(walk(expr, Var))
        given = ", ".join(f"{var.name} = {values[var]}" for var in names)
        message = f"`{expr.script()}` divides by zero"
        notes = [given] if given else []
        raise DiagnosticError([error("T304", message, expr.span or span, notes=notes)]) from None


def operators_without_rule() -> list[str]:
    """The operators of the table that the interpreter could not execute (asked by a test)."""
    return [
        name for name, entry in OPS.items() if name not in MAKERS and name not in NOT_SCALAR and entry.numpy is None
    ]
