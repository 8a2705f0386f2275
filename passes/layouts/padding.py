"""What a stage makes of padding: values that are known there, and terms that leave a reduction as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

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


def same_value(a: Const | None, b: Const | None) -> bool:
    """Whether two numbers are known and the same, bit for bit."""
    return a is not None and b is not None and structural_equal(a, b)


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
    if rule is None or len(values) != len(node.args) or node.dtype.is_vector:
        return Analyzer().simplify(node) if len(values) == len(node.args) else node
    if not node.dtype.is_float or any(value != value for value in values):
        return node
    result = rule(*values)
    return node if result != result else const(result, node.dtype)


# the exact results of floats, none of which is nan
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


def reduced(stage: Stage, begin: Const | None, term: Expr) -> Const | None:
    """What a reduction of equal terms gives from `begin`, where that is known without counting them."""
    found = update_of(stage)
    if begin is None or found is None or type(term) is not Const:
        return None
    if is_neutral(stage, term):
        return begin
    update, _, first = found
    if update.op not in _IDEMPOTENT or any(axis.kind == "reduce" and is_const(axis.stop, 0) for axis in stage.axes):
        return None
    made = evaluated(update.op(*((begin, term) if first else (term, begin))))
    return made if type(made) is Const else None


__all__ = [
    "candidates",
    "evaluated",
    "extreme",
    "in_padding",
    "is_neutral",
    "reduced",
    "same_value",
    "update_of",
]
