"""The rule of every operator of the table: how a call of it is written in C.

A vector is written lane by lane: `w.value` of a vector expression is what one lane is, the lane of the loop around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tirscript.ir import Call, Const, DiagnosticError, DType, Expr, StringImm, error
from tirscript.ir.dtype import FLOAT32, FLOAT64, INT64, dtype
from tirscript.ir.op import OPS, Op

from .code import (
    AND,
    BOTH,
    EITHER,
    EQUAL,
    OR,
    ORDER,
    PLUS,
    SHIFT,
    TIMES,
    UNARY,
    XOR,
    Code,
    binary,
    call,
    cast,
    choice,
    within,
)
from .types import NARROW, c_type, literal, number

if TYPE_CHECKING:
    from .writer import Writer

UINT64 = dtype("uint64")
Rule = Callable[..., str]
RULES: dict[str, Rule] = {}


def rule_of(op: Op) -> Rule | None:
    """How calls of `op` are written: a rule under its name, or the function of libm that its entry names."""
    found = RULES.get(op.name)
    return _libm if found is None and op.llvm is not None else found


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        for name in names:
            assert name in OPS, name
            RULES[name] = rule
        return rule

    return enter


# floats narrower than float32 are computed in float32


def widen(w: Writer, value: str, kind: DType) -> str:
    """A float in the type it is computed in."""
    name = kind.element.name
    return call(w.helpers.need(f"widen_{name}"), value) if name in NARROW else value


def narrow(w: Writer, value: str, kind: DType) -> str:
    """A computed float rounded to its dtype."""
    name = kind.element.name
    return call(w.helpers.need(f"narrow_{name}"), value) if name in NARROW else value


def computed(kind: DType) -> DType:
    """The dtype that floats are computed in."""
    return FLOAT32 if kind.element.name in NARROW else kind.element


def _floats(w: Writer, node: Call) -> list[str]:
    return [widen(w, w.value(arg), arg.dtype) for arg in node.args]


def suffix(kind: DType) -> str:
    """What names of libm's functions end with."""
    return "f" if computed(kind) is FLOAT32 else ""


def libm_name(op: Op) -> str:
    """The function of libm that computes float64, by what the entry says of LLVM."""
    return (op.llvm or "").removeprefix("libm:").removeprefix("llvm.")


def _libm(w: Writer, node: Call) -> str:
    return narrow(w, call(libm_name(node.op) + suffix(node.dtype), *_floats(w, node)), node.dtype)


# arithmetic

_SIGNS = {"add": ("+", PLUS), "sub": ("-", PLUS), "mul": ("*", TIMES)}


@_rule("add", "sub", "mul")
def _arithmetic(w: Writer, node: Call) -> str:
    sign, prec = _SIGNS[node.op.name]
    kind = node.dtype.element
    if kind.is_float:
        a, b = _floats(w, node)
        return narrow(w, binary(a, sign, b, prec), node.dtype)
    if kind.bits >= 32 and (kind.kind == "uint" or w.exact(node)):
        a, b = _plain(w, node)
        return binary(a, sign, b, prec)
    return call(w.helpers.need(node.op.name, kind), *map(w.value, node.args))


def _plain(w: Writer, node: Call) -> list[str]:
    """The operands of which one says the type: a constant beside another value need not."""
    values: list[str] = []
    for at, arg in enumerate(node.args):
        other = node.args[1 - at]
        bare = type(arg) is Const and type(other) is not Const and arg.dtype.is_int and abs(arg.value) < 1 << 31
        if bare:
            values.append(number(int(arg.value), arg.dtype))  # type: ignore[attr-defined]
        else:
            values.append(w.value(arg.args[0] if _is_widened(arg) and not _is_small(other) else arg))  # type: ignore[attr-defined]
    return values


def _is_widened(arg: Expr) -> bool:
    """Whether an operand is an integer that C makes an int64 by itself, beside one."""
    return (
        type(arg) is Call
        and arg.op.name == "cast"
        and arg.dtype is INT64
        and arg.args[0].dtype.is_int
        and arg.args[0].dtype.bits < 64
    )


def _is_small(arg: Expr) -> bool:
    """Whether an operand may be written as a smaller type than its own."""
    return type(arg) is Const or _is_widened(arg)


@_rule("div")
def _div(w: Writer, node: Call) -> str:
    a, b = _floats(w, node)
    return narrow(w, binary(a, "/", b, TIMES), node.dtype)


@_rule("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv")
def _division(w: Writer, node: Call) -> str:
    kind, name = node.dtype.element, node.op.name
    if kind.is_float:
        a, b = _floats(w, node)
        if name == "truncmod":
            return narrow(w, call("fmod" + suffix(kind), a, b), kind)
        return narrow(w, call(w.helpers.need(f"{name}_float", computed(kind)), a, b), kind)
    over, under = w.ranges.of(node.args[0]), w.ranges.of(node.args[1])
    if w.debug and under[0] <= 0 <= under[1]:
        w.check_divisor(node)
    natural = under[0] > 0 and (kind.kind == "uint" or over[0] >= 0 or name.startswith("trunc"))
    if natural and name != "ceildiv":
        a, b = _plain(w, node)
        made = binary(a, "/" if name.endswith("div") else "%", b, TIMES)
        return made if kind.bits >= 32 else cast(c_type(kind), made)
    return call(w.helpers.need(name, kind), *map(w.value, node.args))


@_rule("negative")
def _negative(w: Writer, node: Call) -> str:
    kind, value = node.dtype.element, w.value(node.args[0])
    if kind.name in NARROW:
        return cast(c_type(kind), binary(value, "^", hex(1 << (kind.bits - 1)), XOR))
    if kind.is_float or (w.exact(node) and kind.bits >= 32):
        return Code(f"-{within(value, UNARY + 1)}", UNARY)
    return call(w.helpers.need("negative", kind), value)


@_rule("abs")
def _abs(w: Writer, node: Call) -> str:
    kind, value = node.dtype.element, w.value(node.args[0])
    if kind.name in NARROW:
        return cast(c_type(kind), binary(value, "&", hex((1 << (kind.bits - 1)) - 1), AND))
    if kind.is_float:
        return call("fabs" + suffix(kind), value)
    return value if kind.kind == "uint" else call(w.helpers.need("abs", kind), value)


@_rule("min", "max")
def _extreme(w: Writer, node: Call) -> str:
    kind = node.dtype.element
    if kind.name in NARROW:
        a, b = (w.once(arg) for arg in node.args)
        order = "<" if node.op.name == "min" else ">"
        return choice(binary(widen(w, a, kind), order, widen(w, b, kind), ORDER), a, b)
    return call(w.helpers.need(node.op.name, kind), *map(w.value, node.args))


@_rule("fma")
def _fma(w: Writer, node: Call) -> str:
    args = _floats(w, node)
    if node.dtype.element.name not in NARROW:
        return call("fma" + suffix(node.dtype), *args)
    return to_float(w, call(w.helpers.need("fma_odd", computed(node.dtype)), *args), FLOAT64, node.dtype)


@_rule("rsqrt")
def _rsqrt(w: Writer, node: Call) -> str:
    one = "1.0f" if suffix(node.dtype) else "1.0"
    return narrow(w, binary(one, "/", call("sqrt" + suffix(node.dtype), *_floats(w, node)), TIMES), node.dtype)


@_rule("sigmoid")
def _sigmoid(w: Writer, node: Call) -> str:
    return narrow(w, call(w.helpers.need("sigmoid", computed(node.dtype)), *_floats(w, node)), node.dtype)


@_rule("exp10")
def _exp10(w: Writer, node: Call) -> str:
    ten = "10.0f" if suffix(node.dtype) else "10.0"  # exp10 is none of C99's functions
    return narrow(w, call("pow" + suffix(node.dtype), ten, *_floats(w, node)), node.dtype)


@_rule("ldexp")
def _ldexp(w: Writer, node: Call) -> str:
    kind = node.dtype.element
    value, power = w.value(node.args[0]), w.value(node.args[1])
    if node.args[1].dtype.element is UINT64:
        power = choice(binary(power, ">", "5000", ORDER), "INT64_C(5000)", cast("int64_t", power))
    if kind.name in NARROW:  # in double nothing is rounded before the end
        scaled = call(w.helpers.need("ldexp", FLOAT64), widen(w, value, kind), power)
        return to_float(w, scaled, FLOAT64, kind)
    return call(w.helpers.need("ldexp", kind), value, power)


@_rule("nextafter")
def _nextafter(w: Writer, node: Call) -> str:
    kind = node.dtype.element
    if kind.name not in NARROW:
        return call("nextafter" + suffix(kind), *map(w.value, node.args))
    x, y = (w.once(arg) for arg in node.args)
    a, b = widen(w, x, kind), widen(w, y, kind)
    step = call(w.helpers.need("nextafter_bits", kind), x, y, a, b)
    unordered = Code(f"isnan({a}) || isnan({b})", EITHER)
    return choice(unordered, narrow(w, binary(a, "+", b, PLUS), kind), step)


# comparisons and logic

_ORDERS = {
    "less": ("<", ORDER),
    "less_equal": ("<=", ORDER),
    "greater": (">", ORDER),
    "greater_equal": (">=", ORDER),
    "equal": ("==", EQUAL),
    "not_equal": ("!=", EQUAL),
}


@_rule(*_ORDERS)
def _compare(w: Writer, node: Call) -> str:
    sign, prec = _ORDERS[node.op.name]
    a, b = _floats(w, node) if node.args[0].dtype.is_float else _plain(w, node)
    return Code(f"{within(a, SHIFT)} {sign} {within(b, SHIFT)}", prec)


@_rule("logical_and", "logical_or")
def _logical(w: Writer, node: Call) -> str:
    a, b = node.args
    both = node.op.name == "logical_and"
    first = w.value(a)
    if node.dtype.is_vector:
        sign, prec = ("&", AND) if both else ("|", OR)
        return cast("bool", Code(f"{within(first, UNARY)} {sign} {within(w.value(b), UNARY)}", prec))
    second = w.lazily(b)
    if isinstance(second, str):
        sign, prec = ("&&", BOTH) if both else ("||", EITHER)
        inner = EQUAL if both else BOTH + (prec == EITHER)
        return Code(f"{within(first, prec if first.prec == prec else inner)} {sign} {within(second, inner)}", prec)
    return w.branch(first, second, "true" if not both else None, "false" if both else None, node.dtype)


@_rule("logical_not")
def _not(w: Writer, node: Call) -> str:
    return Code(f"!{within(w.value(node.args[0]), UNARY)}", UNARY)


@_rule("if_then_else")
def _if_then_else(w: Writer, node: Call) -> str:
    condition, yes, no = node.args
    known = w.ranges.proves(condition) if not condition.dtype.is_vector else None
    if known is not None:
        return w.value(yes if known else no)
    if condition.dtype.is_vector:
        return _select(w, node)
    test, first, second = w.value(condition), w.lazily(yes), w.lazily(no)
    if isinstance(first, str) and isinstance(second, str):
        return choice(test, first, second)
    return w.branches(test, first, second, node.dtype)


@_rule("Select")
def _select(w: Writer, node: Call) -> str:
    test, first, second = (w.value(arg) for arg in node.args)
    return choice(test, first, second)


@_rule("isnan", "isinf", "isfinite")
def _is(w: Writer, node: Call) -> str:
    return Code(f"({node.op.name}({_floats(w, node)[0]}) != 0)")


@_rule("likely")
def _likely(w: Writer, node: Call) -> str:
    return w.value(node.args[0])


# bits

_BITS = {"bitwise_and": ("&", AND), "bitwise_or": ("|", OR), "bitwise_xor": ("^", XOR)}


@_rule(*_BITS)
def _bitwise(w: Writer, node: Call) -> str:
    sign, prec = _BITS[node.op.name]
    a, b = (within(w.value(arg), UNARY) for arg in node.args)
    made = Code(f"{a} {sign} {b}", prec)
    return cast(c_type(node.dtype), made) if node.dtype.bits < 32 else made


@_rule("bitwise_not")
def _bitwise_not(w: Writer, node: Call) -> str:
    value = w.value(node.args[0])
    if node.dtype.element.is_bool:
        return Code(f"!{within(value, UNARY)}", UNARY)
    made = Code(f"~{within(value, UNARY)}", UNARY)
    return cast(c_type(node.dtype), made) if node.dtype.bits < 32 else made


@_rule("shift_left", "shift_right")
def _shift(w: Writer, node: Call) -> str:
    kind, left = node.dtype.element, node.op.name == "shift_left"
    low, high = w.ranges.of(node.args[1])
    if low >= 0 and high < kind.bits and kind.bits >= 32 and (kind.kind == "uint" or not left):
        a, b = (within(w.value(arg), UNARY) for arg in node.args)
        return Code(f"{a} {'<<' if left else '>>'} {b}", SHIFT)
    return call(w.helpers.need(node.op.name, kind), *map(w.value, node.args))


@_rule("popcount", "clz")
def _count(w: Writer, node: Call) -> str:
    return call(w.helpers.need(node.op.name, node.args[0].dtype.element), w.value(node.args[0]))


# conversions


def to_float(w: Writer, value: str, have: DType, want: DType) -> str:
    """A float as another, rounded half to even."""
    have, want = have.element, want.element
    if have is want:
        return value
    wide = widen(w, value, have)
    if want.name in NARROW:
        return narrow(w, call(w.helpers.need("odd", FLOAT64), wide) if have is FLOAT64 else wide, want)
    return cast(c_type(want), wide) if computed(have) is not want else wide


def convert(w: Writer, value: str, have: DType, want: DType) -> str:
    """A value as another dtype: floats to integers truncate and stop at the limits, integers wrap."""
    have, want = have.element, want.element
    if have is want:
        return value
    if want.is_bool:
        return Code(f"{within(widen(w, value, have) if have.is_float else value, SHIFT)} != 0", EQUAL)
    if have.is_float:
        if want.is_float:
            return to_float(w, value, have, want)
        return call(w.helpers.saturating(computed(have), want), widen(w, value, have))
    if want.is_float:
        return narrow(w, cast(c_type(computed(want)), value), want)
    return cast(c_type(want), value)


@_rule("cast")
def _cast(w: Writer, node: Call) -> str:
    source = node.args[0]
    if source.dtype.is_handle:
        return w.value(source)
    return convert(w, w.value(source), source.dtype, node.dtype)


@_rule("reinterpret")
def _reinterpret(w: Writer, node: Call) -> str:
    source, have, want = node.args[0], node.args[0].dtype, node.dtype
    if have.lanes != want.lanes:
        return w.repacked(source, want)
    value, a, b = w.value(source), have.element, want.element
    if a is b:
        return value
    if a.is_handle or b.is_handle:
        if not a.is_handle:
            bits = value if a.is_int else call(w.helpers.need("bits", a), value)
            return cast("void *", cast("uintptr_t", bits))
        number = cast("uint64_t", cast("uintptr_t", value))
        return number if b is UINT64 else _from_bits(w, number, b)
    return _from_bits(w, _to_bits(w, value, a), b)


def _to_bits(w: Writer, value: str, kind: DType) -> str:
    """A value as an unsigned integer of its size."""
    if kind.name in NARROW or kind.kind == "uint":
        return value
    if kind.is_float:
        return call(w.helpers.need("bits", kind), value)
    return cast(f"uint{max(8, kind.bits)}_t", value)


def _from_bits(w: Writer, bits: str, kind: DType) -> str:
    if kind.is_float and kind.name not in NARROW:
        return call(w.helpers.need("from_bits", kind), bits)
    return bits if kind.kind == "uint" else cast(c_type(kind), bits)


# the rest


@_rule("undef")
def _undef(w: Writer, node: Call) -> str:
    kind = node.dtype.element
    return "NULL" if kind.is_handle else literal(0, kind)


@_rule("address_of")
def _address_of(w: Writer, node: Call) -> str:
    return w.address(node.args[0])


@_rule("isnullptr")
def _isnullptr(w: Writer, node: Call) -> str:
    return Code(f"{within(w.value(node.args[0]), SHIFT)} == NULL", EQUAL)


@_rule("call_extern", "call_pure_extern")
def _extern(w: Writer, node: Call) -> str:
    from .calls import call_extern

    return call_extern(w, node)


@_rule("call_packed")
def _packed(w: Writer, node: Call) -> str:
    from .calls import call_library

    return call_library(w, node)


@_rule("prefetch")
def _prefetch(w: Writer, node: Call) -> str:
    if w.debug:
        w.value(node.args[0])  # checks that the address is one
    return ""  # a hint


def _refused(what: str, hint: str | None = None) -> Rule:
    def refuse(w: Writer, node: Call) -> str:
        raise DiagnosticError([error("T402", f"{what} in C", node.span or w.span, hint=hint)])

    return refuse


RULES["print"] = _refused("`T.print` shows values as Python does, which there is not")
RULES["breakpoint"] = _refused("`breakpoint()` stops in the interpreter, not")


@_rule("call_llvm_intrin", "call_llvm_pure_intrin")
def _intrinsic(w: Writer, node: Call) -> str:
    name = node.args[0]
    base = name.value if isinstance(name, StringImm) else ""
    found = next((op for op in OPS.values() if op.llvm and (base == op.llvm or base.startswith(f"{op.llvm}."))), None)
    if found is not None and found.name != "pow":
        args: list[Expr] = [arg for arg in node.args[1:] if arg.dtype.element is node.dtype.element]
        return w.value(Call(found, tuple(args), node.dtype))
    what = f"`{base}`" if base else "an intrinsic by number"
    message = f"{what} is an instruction by LLVM's name, which C does not have"
    raise DiagnosticError([error("T402", message, node.span or w.span, hint="build it for the target llvm")])


__all__ = ["RULES", "convert", "rule_of", "to_float", "widen"]
