"""The rule of every operator of the table: how a call of it becomes LLVM instructions.

Floats narrower than float32 are computed in float32 and rounded after every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import FLOAT64, DType
from tirscript.ir.expr import Broadcast, BufferLoad, Call, Const
from tirscript.ir.op import OPS, Op
from tirscript.ir.rewrite import free_vars

from . import calls, integers, intrinsics, library_calls, masks, quotients, vector_math
from .convert import compute_dtype, convert, float_to_float, narrow, widen
from .memory import address_of
from .types import float_literal, scalar_type, splat, value_type, vector

if TYPE_CHECKING:
    from .codegen import Codegen

Rule = Callable[["Codegen", Call], str]
RULES: dict[str, Rule] = {}


def rule_of(op: Op) -> Rule | None:
    """How the calls of `op` are lowered: a rule under its name, or the intrinsic or libm function that its entry
    names."""
    found = RULES.get(op.name)
    if found is None and op.llvm is not None:
        return _library
    return found


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        for name in names:
            assert name in OPS, name
            RULES[name] = rule
        return rule

    return enter


class _Floats:
    """The operands of a call, given as they are kept, in the type they are computed in."""

    def __init__(self, g: Codegen, call: Call, kept: list[str]) -> None:
        self.g, self.b = g, g.b
        self.dtype: DType = call.args[0].dtype
        self.n = self.dtype.lanes
        self.scalar = scalar_type(compute_dtype(self.dtype.element))
        self.kind = vector(self.scalar, self.n)
        self.kept = kept
        self.args = [widen(g.b, value, arg.dtype) for value, arg in zip(kept, call.args, strict=True)]

    def narrow(self, value: str) -> str:
        return narrow(self.b, value, self.dtype)

    def op(self, name: str, *args: str) -> str:
        return self.b.op(f"{name} {self.g.flags}{self.kind} {', '.join(args)}")

    def compare(self, how: str, a: str, b: str) -> str:
        return self.b.op(f"fcmp {how} {self.kind} {a}, {b}")

    def const(self, value: float) -> str:
        return splat(self.scalar, float_literal(value, self.scalar), self.n)

    def intrinsic(self, base: str, *args: str) -> str:
        return self.b.intrinsic(base, [self.kind], self.kind, [(self.kind, arg) for arg in args], self.g.flags)

    def select(self, condition: str, yes: str, no: str) -> str:
        return self.b.select(condition, self.kind, yes, no, vector_condition=self.n)

    def inline(self, name: str) -> str | None:
        """An elementary function as instructions, where it has them and the function wants them."""
        if self.g.math != "fast":
            return None
        found = vector_math.inline(self.b, name, self.scalar, self.args, self.n)
        return None if found is None else self.narrow(found)

    def libm(self, name: str, *args: str) -> str:
        """A function of libm, lane by lane."""
        symbol = self.b.module.declare(
            name + ("f" if self.scalar == "float" else ""),
            self.scalar,
            [self.scalar] * len(args),
            "nounwind willreturn memory(none)",
        )
        lanes = [
            self.b.call(
                self.scalar,
                symbol,
                [(self.scalar, self.b.lane(self.scalar, arg, self.n, k)) for arg in args],
                flags=self.g.flags,
            )
            for k in range(self.n)
        ]
        return self.b.gather_lanes(self.scalar, lanes)


def _floats(g: Codegen, call: Call) -> _Floats:
    """The operands of a call. They are written here and not by the class, which is entered through C: that takes
    some of its stack for every level of an expression."""
    return _Floats(g, call, [g.value(arg) for arg in call.args])


def _library(g: Codegen, call: Call) -> str:
    return _called(call, _floats(g, call))


def _called(call: Call, f: _Floats) -> str:
    """A function of LLVM or libm, or the instructions in its place."""
    found = f.inline(call.op.name)
    if found is not None:
        return found
    name = call.op.llvm or ""
    return f.narrow(f.libm(name[5:], *f.args) if name.startswith("libm:") else f.intrinsic(name, *f.args))


@_rule("pow")
def _pow(g: Codegen, call: Call) -> str:
    base, exponent = (arg.value if type(arg) is Broadcast else arg for arg in call.args)
    f = _floats(g, call)
    if g.math == "fast" and (type(base) is Const or type(exponent) is Const):
        constants = [float(arg.value) if type(arg) is Const else None for arg in (base, exponent)]
        found = vector_math.inline_power(g.b, f.scalar, f.args, constants, f.n)
        if found is not None:
            return f.narrow(found)
    return _called(call, f)


# arithmetic

_FLOAT_NAMES = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


@_rule("add", "sub", "mul")
def _arithmetic(g: Codegen, call: Call) -> str:
    if call.dtype.is_float:
        f = _floats(g, call)
        return f.narrow(f.op(_FLOAT_NAMES[call.op.name], *f.args))
    wrap = "nsw " if call.dtype.element.kind == "int" and g.ranges.exact(call) else ""
    return g.b.op(f"{call.op.name} {wrap}{value_type(call.dtype)} {g.value(call.args[0])}, {g.value(call.args[1])}")


@_rule("div")
def _div(g: Codegen, call: Call) -> str:
    number = next((number for divisor, number in g.steady if divisor is call.args[1]), None)
    if number is not None:
        return quotients.divided(g, call, number)
    f = _floats(g, call)
    return f.narrow(f.op("fdiv", *f.args))


@_rule("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv")
def _division(g: Codegen, call: Call) -> str:
    if call.dtype.is_float:
        return _FLOAT_DIVISIONS[call.op.name](g, call)
    if call in g.divisions:
        return g.divisions[call]
    a, b = call.args
    return integers.divide(g, call, value_type(call.dtype), g.value(a), g.value(b))


def _float_floordiv(g: Codegen, call: Call) -> str:
    """As numpy: from the remainder, so that the quotient is not rounded up to the next whole number."""
    f = _floats(g, call)
    x, y = f.args
    rest = f.op("frem", x, y)
    quotient = f.op("fdiv", f.op("fsub", x, rest), y)
    zero = f.const(0.0)
    unlike = g.b.op(f"xor {vector('i1', f.n)} {f.compare('olt', y, zero)}, {f.compare('olt', rest, zero)}")
    adjust = g.b.op(f"and {vector('i1', f.n)} {unlike}, {f.compare('une', rest, zero)}")
    quotient = f.select(adjust, f.op("fsub", quotient, f.const(1.0)), quotient)
    whole = f.intrinsic("llvm.floor", quotient)
    more = f.compare("ogt", f.op("fsub", quotient, whole), f.const(0.5))
    whole = f.select(more, f.op("fadd", whole, f.const(1.0)), whole)
    plain = f.op("fdiv", x, y)
    signed_zero = f.intrinsic("llvm.copysign", zero, plain)
    found = f.select(f.compare("une", quotient, zero), whole, signed_zero)
    return f.narrow(f.select(f.compare("oeq", y, zero), plain, found))


def _float_truncmod(g: Codegen, call: Call) -> str:
    f = _floats(g, call)
    return f.narrow(f.op("frem", *f.args))


def _float_floormod(g: Codegen, call: Call) -> str:
    f = _floats(g, call)
    x, y = f.args
    rest = f.op("frem", x, y)
    zero = f.const(0.0)
    unlike = g.b.op(f"xor {vector('i1', f.n)} {f.compare('olt', y, zero)}, {f.compare('olt', rest, zero)}")
    moved = f.select(unlike, f.op("fadd", rest, y), rest)
    found = f.select(f.compare("une", rest, zero), moved, f.intrinsic("llvm.copysign", zero, y))
    return f.narrow(f.select(f.compare("oeq", y, zero), rest, found))


_FLOAT_DIVISIONS = {"floordiv": _float_floordiv, "floormod": _float_floormod, "truncmod": _float_truncmod}


@_rule("negative")
def _negative(g: Codegen, call: Call) -> str:
    kind, value = value_type(call.dtype), g.value(call.args[0])
    if call.dtype.is_float:
        return _sign_bits(g, call.dtype, value, "xor")
    return g.b.op(f"sub {kind} {splat(scalar_type(call.dtype), '0', call.dtype.lanes)}, {value}")


@_rule("abs")
def _abs(g: Codegen, call: Call) -> str:
    kind, value = value_type(call.dtype), g.value(call.args[0])
    if call.dtype.is_float:
        return _sign_bits(g, call.dtype, value, "and")
    if call.dtype.element.kind == "uint":
        return value
    return g.b.intrinsic("llvm.abs", [kind], kind, [(kind, value), ("i1", "false")])


def _sign_bits(g: Codegen, dtype: DType, value: str, how: str) -> str:
    """The value with its sign changed ("xor") or cleared ("and"), nan included."""
    kind = value_type(dtype)
    if scalar_type(dtype) in ("half", "float", "double"):
        if how == "xor":
            return g.b.op(f"fneg {kind} {value}")
        return g.b.intrinsic("llvm.fabs", [kind], kind, [(kind, value)])
    mask = 1 << (dtype.bits - 1)
    return g.b.op(
        f"{how} {kind} {value}, {splat(scalar_type(dtype), str(mask if how == 'xor' else mask - 1), dtype.lanes)}"
    )


@_rule("min", "max")
def _extreme(g: Codegen, call: Call) -> str:
    a, b = g.value(call.args[0]), g.value(call.args[1])
    condition = _order(g, call.dtype, a, b, "less" if call.op.name == "min" else "greater")
    return g.b.select(condition, value_type(call.dtype), a, b, vector_condition=call.dtype.lanes)


@_rule("fma")
def _fma(g: Codegen, call: Call) -> str:
    """Rounded once in every type: for the narrow ones the sum is formed in double, rounded to odd, and then rounded."""
    f = _floats(g, call)
    if call.dtype.bits >= 32:
        return f.intrinsic("llvm.fma", *f.args)
    b, n = g.b, f.n
    f64, i64, i1 = vector("double", n), vector("i64", n), vector("i1", n)
    x, y, z = (b.op(f"fpext {f.kind} {arg} to {f64}") for arg in f.args)
    product = b.op(f"fmul {f64} {x}, {y}")  # exact
    near = b.op(f"fadd {f64} {product}, {z}")
    # what the sum lost, by Knuth
    part = b.op(f"fsub {f64} {near}, {product}")
    rest = b.op(f"fsub {f64} {product}, {b.op(f'fsub {f64} {near}, {part}')}")
    lost = b.op(f"fadd {f64} {rest}, {b.op(f'fsub {f64} {z}, {part}')}")
    bits = b.op(f"bitcast {f64} {near} to {i64}")
    inexact = b.op(f"fcmp one {f64} {lost}, zeroinitializer")
    even = b.op(f"icmp eq {i64} {b.op(f'and {i64} {bits}, ' + splat('i64', '1', n))}, zeroinitializer")
    moves = b.op(f"and {i1} {inexact}, {even}")
    outward = b.op(
        f"icmp sge {i64} {b.op(f'xor {i64} {bits}, ' + b.op(f'bitcast {f64} {lost} to {i64}'))}, zeroinitializer"
    )
    step = b.select(outward, i64, splat("i64", "1", n), splat("i64", "-1", n), vector_condition=n)
    moved = b.op(f"bitcast {i64} {b.op(f'add {i64} {bits}, {step}')} to {f64}")
    return float_to_float(b, b.select(moves, f64, moved, near, vector_condition=n), FLOAT64.with_lanes(n), call.dtype)


@_rule("rsqrt")
def _rsqrt(g: Codegen, call: Call) -> str:
    f = _floats(g, call)
    return f.narrow(f.op("fdiv", f.const(1.0), f.intrinsic("llvm.sqrt", f.args[0])))


@_rule("sigmoid")
def _sigmoid(g: Codegen, call: Call) -> str:
    f = _floats(g, call)
    found = f.inline("sigmoid")
    if found is not None:
        return found
    power = f.intrinsic("llvm.exp", g.b.op(f"fneg {f.kind} {f.args[0]}"))
    return f.narrow(f.op("fdiv", f.const(1.0), f.op("fadd", f.const(1.0), power)))


@_rule("copysign")
def _copysign(g: Codegen, call: Call) -> str:
    dtype = call.dtype
    if scalar_type(dtype) in ("half", "float", "double"):
        kind = value_type(dtype)
        return g.b.intrinsic("llvm.copysign", [kind], kind, [(kind, g.value(arg)) for arg in call.args])
    kind, mask = value_type(dtype), 1 << (dtype.bits - 1)
    size = _sign_bits(g, dtype, g.value(call.args[0]), "and")
    sign = g.b.op(f"and {kind} {g.value(call.args[1])}, {splat(scalar_type(dtype), str(mask), dtype.lanes)}")
    return g.b.op(f"or {kind} {size}, {sign}")


@_rule("ldexp")
def _ldexp(g: Codegen, call: Call) -> str:
    value, power = call.args
    n = value.dtype.lanes
    # beyond these powers every float has left its range
    kind, wide = value_type(power.dtype), vector("i64", n)
    count = g.value(power)
    scalar, signed = scalar_type(power.dtype), power.dtype.element.kind == "int"
    if power.dtype.bits > 16:
        limit = splat(scalar, "5000", n)
        above = g.b.op(f"icmp {'sgt' if signed else 'ugt'} {kind} {count}, {limit}")
        count = g.b.select(above, kind, limit, count, vector_condition=n)
        if signed:
            least = splat(scalar, "-5000", n)
            below = g.b.op(f"icmp slt {kind} {count}, {least}")
            count = g.b.select(below, kind, least, count, vector_condition=n)
    if power.dtype.bits != 64:
        count = g.b.op(f"{'sext' if signed else 'zext'} {kind} {count} to {wide}")
    # all floats are scaled in double, so that the result is rounded once
    double = float_to_float(g.b, g.value(value), value.dtype, FLOAT64.with_lanes(n))
    found = vector_math.scaled_by_power(g.b, double, count, n, once=value.dtype.bits <= 32)
    return float_to_float(g.b, found, FLOAT64.with_lanes(n), call.dtype)


@_rule("nextafter")
def _nextafter(g: Codegen, call: Call) -> str:
    """One step of the bits: away from zero where the target lies farther out, toward it otherwise."""
    dtype, b = call.dtype, g.b
    n, bits = dtype.lanes, dtype.bits
    scalar = f"i{bits}"
    kind = vector(scalar, n)
    f = _floats(g, call)
    raw = [g.bits(value, dtype) for value in f.kept]
    x, y = f.args
    zero = f.const(0.0)
    size = b.op(f"and {kind} {raw[0]}, {splat(scalar, str((1 << (bits - 1)) - 1), n)}")
    is_zero = b.op(f"icmp eq {kind} {size}, {splat(scalar, '0', n)}")
    outward = b.op(f"xor {vector('i1', n)} {f.compare('olt', x, y)}, {f.compare('olt', x, zero)}")
    step = b.select(outward, kind, splat(scalar, "1", n), splat(scalar, "-1", n), vector_condition=n)
    moved = b.op(f"add {kind} {raw[0]}, {step}")
    sign = b.op(f"and {kind} {raw[1]}, {splat(scalar, str(1 << (bits - 1)), n)}")
    least = b.op(f"or {kind} {sign}, {splat(scalar, '1', n)}")
    found = b.select(is_zero, kind, least, moved, vector_condition=n)
    found = b.select(f.compare("oeq", x, y), kind, raw[1], found, vector_condition=n)
    result = b.op(f"bitcast {kind} {found} to {value_type(dtype)}")
    unordered = f.compare("uno", x, y)
    return b.select(unordered, value_type(dtype), f.narrow(f.op("fadd", x, y)), result, vector_condition=n)


# comparisons and logic

_INT_ORDER = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
_FLOAT_ORDER = {
    "less": "olt",
    "less_equal": "ole",
    "greater": "ogt",
    "greater_equal": "oge",
    "equal": "oeq",
    "not_equal": "une",
}


def _order(g: Codegen, dtype: DType, a: str, b: str, how: str) -> str:
    """Compare two values of `dtype`."""
    if dtype.is_float:
        kind = vector(scalar_type(compute_dtype(dtype.element)), dtype.lanes)
        return g.b.op(f"fcmp {_FLOAT_ORDER[how]} {kind} {widen(g.b, a, dtype)}, {widen(g.b, b, dtype)}")
    name = {"equal": "eq", "not_equal": "ne"}.get(how) or ("s" if dtype.element.kind == "int" else "u") + _INT_ORDER[
        how
    ]
    return g.b.op(f"icmp {name} {value_type(dtype)} {a}, {b}")


@_rule("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
def _compare(g: Codegen, call: Call) -> str:
    if call.dtype.is_vector and call.args[0].dtype.is_int and call.op.name in _INT_ORDER:
        mask = masks.lanes_below(g, call)
        if mask is not None:
            return mask
    return _order(g, call.args[0].dtype, g.value(call.args[0]), g.value(call.args[1]), call.op.name)


@_rule("logical_and", "logical_or")
def _logical(g: Codegen, call: Call) -> str:
    a, b = call.args
    conjunction = call.op.name == "logical_and"
    kind = value_type(call.dtype)
    if call.dtype.is_vector:
        return g.b.op(f"{'and' if conjunction else 'or'} {kind} {g.value(a)}, {g.value(b)}")
    # a branch would keep the loop around from becoming vectors; but LLVM makes none of "any" and "all", which need not
    # read on where they are decided
    decides = type(a) is BufferLoad and not set(free_vars(b)) <= set(free_vars(a))
    if g.is_cheap(b, loads=not decides):
        first = g.value(a)
        return (
            g.b.select(first, "i1", g.value(b), "false") if conjunction else g.b.select(first, "i1", "true", g.value(b))
        )
    fixed = lambda: "false" if conjunction else "true"  # noqa: E731
    there = lambda: g.value(b)  # noqa: E731
    return g.choose(g.value(a), "i1", there if conjunction else fixed, fixed if conjunction else there)


@_rule("logical_not")
def _not(g: Codegen, call: Call) -> str:
    return g.b.op(f"xor {value_type(call.dtype)} {g.value(call.args[0])}, {splat('i1', 'true', call.dtype.lanes)}")


@_rule("if_then_else")
def _if_then_else(g: Codegen, call: Call) -> str:
    condition, yes, no = call.args
    known = g.ranges.proves(condition) if not condition.dtype.is_vector else None
    if known is not None:
        return g.value(yes if known else no)
    if condition.dtype.is_vector or (g.is_cheap(yes) and g.is_cheap(no)):
        return _select(g, call)
    return g.choose(g.value(condition), value_type(call.dtype), lambda: g.value(yes), lambda: g.value(no))


@_rule("Select")
def _select(g: Codegen, call: Call) -> str:
    condition, yes, no = [g.value(arg) for arg in call.args]
    return g.b.select(condition, value_type(call.dtype), yes, no, vector_condition=call.args[0].dtype.lanes)


@_rule("isnan")
def _isnan(g: Codegen, call: Call) -> str:
    f = _floats(g, call)
    return f.compare("uno", f.args[0], f.args[0])


@_rule("isinf")
def _isinf(g: Codegen, call: Call) -> str:
    f = _floats(g, call)
    return f.compare("oeq", f.intrinsic("llvm.fabs", f.args[0]), f.const(float("inf")))


@_rule("isfinite")
def _isfinite(g: Codegen, call: Call) -> str:
    f = _floats(g, call)
    return f.compare("one", f.intrinsic("llvm.fabs", f.args[0]), f.const(float("inf")))


@_rule("likely")
def _likely(g: Codegen, call: Call) -> str:
    if call.dtype.is_vector:
        return g.value(call.args[0])
    return g.b.intrinsic("llvm.expect", ["i1"], "i1", [("i1", g.value(call.args[0])), ("i1", "true")])


# bits

_BITWISE = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}


@_rule("bitwise_and", "bitwise_or", "bitwise_xor")
def _bitwise(g: Codegen, call: Call) -> str:
    return g.b.op(f"{_BITWISE[call.op.name]} {value_type(call.dtype)} {g.value(call.args[0])}, {g.value(call.args[1])}")


@_rule("bitwise_not")
def _bitwise_not(g: Codegen, call: Call) -> str:
    ones = "true" if call.dtype.element.is_bool else "-1"
    mask = splat(scalar_type(call.dtype), ones, call.dtype.lanes)
    return g.b.op(f"xor {value_type(call.dtype)} {g.value(call.args[0])}, {mask}")


@_rule("shift_left", "shift_right")
def _shift(g: Codegen, call: Call) -> str:
    return integers.shift(g, call)


@_rule("popcount")
def _popcount(g: Codegen, call: Call) -> str:
    kind = value_type(call.dtype)
    return g.b.intrinsic("llvm.ctpop", [kind], kind, [(kind, g.value(call.args[0]))])


@_rule("clz")
def _clz(g: Codegen, call: Call) -> str:
    source = call.args[0].dtype
    kind, to = value_type(source), value_type(call.dtype)
    count = g.b.intrinsic("llvm.ctlz", [kind], kind, [(kind, g.value(call.args[0])), ("i1", "false")])
    return count if kind == to else g.b.op(f"{'trunc' if source.bits > 32 else 'zext'} {kind} {count} to {to}")


# conversions, addresses, calls out of the program


@_rule("cast")
def _cast(g: Codegen, call: Call) -> str:
    source = call.args[0]
    if source.dtype.is_handle and call.dtype.is_handle:
        return g.value(source)
    if source.dtype.is_int and call.dtype.is_int and call.dtype.bits == 64 and not call.dtype.is_vector:
        return g.wide(source)
    return convert(g.b, g.value(source), source.dtype, call.dtype)


@_rule("reinterpret")
def _reinterpret(g: Codegen, call: Call) -> str:
    source, target = call.args[0].dtype, call.dtype
    value, have, want = g.value(call.args[0]), value_type(source), value_type(target)
    if have == want:
        return value
    if source.is_handle:
        value, have = g.b.op(f"ptrtoint ptr {value} to i64"), "i64"
        return value if want == "i64" else g.b.op(f"bitcast i64 {value} to {want}")
    if target.is_handle:
        if have != "i64":
            value = g.b.op(f"bitcast {have} {value} to i64")
        return g.b.op(f"inttoptr i64 {value} to ptr")
    return g.b.op(f"bitcast {have} {value} to {want}")


@_rule("undef")
def _undef(g: Codegen, call: Call) -> str:
    return g.b.op(f"freeze {value_type(call.dtype)} poison")


@_rule("address_of")
def _address_of(g: Codegen, call: Call) -> str:
    return address_of(g, call.args[0])


@_rule("isnullptr")
def _isnullptr(g: Codegen, call: Call) -> str:
    return g.b.op(f"icmp eq ptr {g.value(call.args[0])}, null")


@_rule("call_extern", "call_pure_extern")
def _extern(g: Codegen, call: Call) -> str:
    return calls.call_extern(g, call, pure=call.op.name == "call_pure_extern")


@_rule("call_llvm_intrin", "call_llvm_pure_intrin")
def _intrinsic(g: Codegen, call: Call) -> str:
    return intrinsics.call_intrinsic(g, call)


@_rule("prefetch")
def _prefetch(g: Codegen, call: Call) -> str:
    kinds = ("ptr", "i32", "i32", "i32")
    return g.b.intrinsic("llvm.prefetch", ["ptr"], "void", [*zip(kinds, map(g.value, call.args), strict=True)])


@_rule("call_packed", "print")
def _packed(g: Codegen, call: Call) -> str:
    return library_calls.call_library(g, call) or calls.call_python(g, call)


@_rule("breakpoint")
def _breakpoint(g: Codegen, call: Call) -> str:
    raise DiagnosticError(
        [
            error(
                "T402",
                "`breakpoint()` stops in the interpreter only",
                call.span or g.span,
                hint="run the function with `tirscript.interpret`",
            )
        ]
    )
