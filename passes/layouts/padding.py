"""What a stage makes of padding: values that are known there, and terms that leave a reduction as it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, const, is_const
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import rewrite, substitute

from .groups import Group
from .stages import Stage

# how a value at a place is combined with itself gives it again
_IDEMPOTENT = frozenset(OPS[name] for name in ("min", "max", "logical_and", "logical_or", "bitwise_and", "bitwise_or"))


class OrNan(Struct, frozen=True, eq=False):
    """A number that may as well be nan: what `x * 0.0` adds up to, for an x that may be infinite."""

    value: Const


# what is known of padding
Known = Const | OrNan


def same_value(a: Known | None, b: Known | None) -> bool:
    """Whether two numbers are known and the same, bit for bit."""
    return type(a) is Const and type(b) is Const and structural_equal(a, b)


def alternatives(values: Mapping[Buffer, Known]) -> Iterator[dict[Buffer, Const]]:
    """The numbers that buffers may hold together."""
    choices = [(one,) if type(one) is Const else (one.value, _nan(one.value.dtype)) for one in values.values()]  # type: ignore[union-attr]
    for chosen in itertools.product(*choices):
        yield dict(zip(values, chosen, strict=True))  # type: ignore[arg-type]


def one_of(found: Sequence[Known]) -> Known | None:
    """What is known of a number that is one of these; None where they are several numbers, or nan alone."""
    numbers: list[Const] = []
    weak = False
    for one in found:
        if type(one) is OrNan:
            numbers.append(one.value)
        elif type(one) is Const and not _is_nan(one):
            numbers.append(one)
        weak = weak or type(one) is OrNan or _is_nan(one)
    if not numbers or not all(same_value(numbers[0], other) for other in numbers):
        return None
    return OrNan(numbers[0]) if weak else numbers[0]


def _is_nan(value: object) -> bool:
    return type(value) is Const and value.value != value.value


def _nan(dtype: DType) -> Const:
    return const(math.nan, dtype)


def in_padding(
    expr: Expr, group: Group, values: Mapping[Buffer, Const], replaced: Mapping[Any, Any], known: Analyzer
) -> Expr:
    """An expression where a group's axes are padding, with the values of the buffers that have padding there.

    `replaced` has the packed axes for the axes; `known` knows that they are padding.
    """
    member = {(id(buffer), indices) for buffer, indices in group.members}

    def load(node: BufferLoad) -> Expr:
        value = values.get(node.buffer)
        return value if value is not None and (id(node.buffer), node.indices) in member else node

    placed: Expr = substitute(rewrite(expr, {BufferLoad: load}), replaced)
    return evaluated(known.simplify(placed))


def evaluated(expr: Expr) -> Expr:
    """An expression with what is exact in floating point, and left to run time by simplification, worked out."""
    found: Expr = rewrite(expr, {Call: _worked_out})
    return found


def _worked_out(node: Call) -> Expr:
    rule = _EXACT.get(node.op.name)
    values = [arg.value for arg in node.args if type(arg) is Const]
    if node.op.name in _SPREADING and node.dtype.is_float and any(map(_is_nan, node.args)):
        return _nan(node.dtype)
    if rule is None or len(values) != len(node.args) or node.dtype.is_vector:
        return Analyzer().simplify(node) if len(values) == len(node.args) else node
    return const(rule(*values), node.dtype) if node.dtype.is_float else node


# arithmetic that gives nan where an operand is nan
_SPREADING = frozenset({"add", "sub", "mul", "div", "fma"})
# the exact results of floats
_EXACT: dict[str, Callable[..., float]] = {
    "max": lambda a, b: a if a > b else b,
    "min": lambda a, b: a if a < b else b,
    "abs": abs,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
}


def update_of(stage: Stage) -> tuple[Call, Expr, bool] | None:
    """`B[i] = B[i] + x` as the call, x, and whether B comes first; None where a stage does not update its element."""
    value = stage.store.value
    if type(value) is not Call or len(value.args) != 2:
        return None
    own = [_is_own(arg, stage) for arg in value.args]
    if own.count(True) != 1 or sum(load.buffer is stage.buffer for load in stage.loads()) != 1:
        return None
    return value, value.args[1 - own.index(True)], own[0]


def _is_own(expr: Expr, stage: Stage) -> bool:
    return type(expr) is BufferLoad and expr.buffer is stage.buffer and expr.indices == stage.store.indices


def is_neutral(stage: Stage, term: Expr) -> bool:
    """Whether a reduction leaves its element as it is, whatever it holds, where the term is this one."""
    found = update_of(stage)
    if found is None or type(term) is not Const:
        return False
    update, _, first = found
    name, dtype = update.op.name, update.dtype
    if name == "add":
        if dtype.is_float and str(term.value) == "0.0":
            # x + 0.0 is x but for -0.0, which no sum from another beginning is
            return stage.init is not None and type(stage.init.value) is Const and str(stage.init.value.value) != "-0.0"
        return is_const(term, 0)
    if name == "mul":
        return is_const(term, 1)
    if name in ("max", "min"):
        least = extreme(dtype, name == "max")
        # `T.max(nan, -inf)` is -inf, `T.max(-inf, nan)` is nan
        return (not dtype.is_float or not first) and least is not None and is_const(term, least.value)
    if name in ("logical_or", "bitwise_or", "bitwise_xor"):
        return is_const(term, 0)
    return name == "logical_and" and is_const(term, 1)


def extreme(dtype: DType, least: bool) -> Const | None:
    """The least or the greatest value of a dtype."""
    if dtype.is_int:
        low, high = dtype.int_range()
        return const(low if least else high, dtype)
    if dtype.is_float and dtype.name in ("float16", "bfloat16", "float32", "float64"):
        return const(-math.inf if least else math.inf, dtype)
    return None


def candidates(dtype: DType, *first: Const | None) -> list[Const]:
    """Numbers that padding may be made of, the likely ones first."""
    found = [value for value in first if value is not None and value.dtype is dtype]
    found.append(const(0, dtype))
    if not dtype.is_bool:
        found.append(const(1, dtype))
        found += [value for least in (True, False) if (value := extreme(dtype, least)) is not None]
    unique: list[Const] = []
    for value in found:
        if not any(same_value(value, other) for other in unique):
            unique.append(value)
    return unique


def reduced(stage: Stage, begin: Known | None, term: Expr) -> Known | None:
    """What a reduction of equal terms gives from `begin`, where that is known without counting them."""
    found = update_of(stage)
    if type(begin) is not Const or found is None:
        return None
    update, _, first = found
    if update.op.name == "add" and str(begin.value) == "0.0" and _is_naught(term):
        return OrNan(begin)
    if type(term) is not Const:
        return None
    if is_neutral(stage, term):
        return begin
    # a reduction over nothing leaves `begin`
    terms = [axis.stop for axis in stage.axes if axis.kind == "reduce"]
    if update.op not in _IDEMPOTENT or not all(type(stop) is Const and stop.value > 0 for stop in terms):
        return None
    made = evaluated(update.op(*((begin, term) if first else (term, begin))))
    return made if type(made) is Const else None


def _is_naught(term: Expr) -> bool:
    """Whether a float is 0.0, -0.0 or nan: nan itself, or a product with 0."""
    if type(term) is Call and term.op.name == "mul" and term.dtype.is_float:
        return any(is_const(arg, 0) or _is_naught(arg) for arg in term.args)
    return _is_nan(term)


__all__ = [
    "Known",
    "OrNan",
    "alternatives",
    "candidates",
    "evaluated",
    "extreme",
    "in_padding",
    "is_neutral",
    "one_of",
    "reduced",
    "same_value",
    "update_of",
]
