"""The rule of every class of expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    Call,
    CallFunction,
    Const,
    Expr,
    Let,
    Ramp,
    Reduce,
    Shuffle,
    StringImm,
    Var,
)
from tirscript.ir.op import FOREIGN
from tirscript.ir.ops.fixed_point import written_out

from . import calls, integers, memory, ops
from .state import internal
from .types import literal, scalar_type, value_type, vector

if TYPE_CHECKING:
    from .codegen import Codegen


def _const(g: Codegen, expr: Const) -> str:
    return literal(expr.value, expr.dtype)


def _var(g: Codegen, expr: Var) -> str:
    found = g.values.get(expr)
    if found is None:
        raise internal(f"`{expr.name}` is used where it has no value", expr.span or g.span)
    return found


def _string(g: Codegen, expr: StringImm) -> str:
    return g.b.module.string(expr.value)


def _call(g: Codegen, expr: Call) -> str:
    rule = ops.rule_of(expr.op)
    if rule is None and expr.op.name in FOREIGN:
        meaning = written_out(expr)
        if meaning is not None:
            return g.value(meaning)
        message = f"`{expr.op.spelling}` is not supported by the target, which is this machine's CPU"
        raise DiagnosticError([error("T402", message, expr.span or g.span)])
    if rule is None:
        raise internal(f"there is no rule for `{expr.op.spelling}`", expr.span or g.span)
    return rule(g, expr)


def _call_function(g: Codegen, expr: CallFunction) -> str:
    return calls.call_function(g, expr)


def _load(g: Codegen, expr: BufferLoad) -> str:
    return memory.load(g, expr)


def _data(g: Codegen, expr: BufferData) -> str:
    return memory.place(g, expr.buffer).data


def _ramp(g: Codegen, expr: Ramp) -> str:
    kind, scalar = value_type(expr.dtype), scalar_type(expr.dtype)
    base = g.b.broadcast(scalar, g.value(expr.base), expr.lanes)
    stride = g.value(expr.stride)
    if stride == "1":
        steps = f"<{', '.join(f'{scalar} {k}' for k in range(expr.lanes))}>"
    else:
        counts = f"<{', '.join(f'{scalar} {k}' for k in range(expr.lanes))}>"
        steps = g.b.op(f"mul {kind} {g.b.broadcast(scalar, stride, expr.lanes)}, {counts}")
    return g.b.op(f"add {kind} {base}, {steps}")


def _broadcast(g: Codegen, expr: Broadcast) -> str:
    value_type(expr.dtype)  # refuses scalable vectors
    return g.b.broadcast(scalar_type(expr.dtype), g.value(expr.value), expr.lanes)


def _let(g: Codegen, expr: Let) -> str:
    bind(g, expr.var, expr.value)
    return g.value(expr.body)


def _shuffle(g: Codegen, expr: Shuffle) -> str:
    kinds = {vector.dtype for vector in expr.vectors}
    if len(expr.vectors) <= 2 and len(kinds) == 1 and kinds.pop().is_vector and expr.dtype.is_vector:
        kind = value_type(expr.vectors[0].dtype)
        first = g.value(expr.vectors[0])
        second = g.value(expr.vectors[1]) if len(expr.vectors) == 2 else "poison"
        chosen = ", ".join(f"i32 {index}" for index in expr.indices)
        return g.b.op(f"shufflevector {kind} {first}, {kind} {second}, <{len(expr.indices)} x i32> <{chosen}>")
    lanes = [(vector, lane) for vector in expr.vectors for lane in range(vector.dtype.lanes)]
    values = {id(vector): g.value(vector) for vector in expr.vectors}
    scalar, parts = scalar_type(expr.dtype), []
    for index in expr.indices:
        vector_, lane = lanes[index]
        value = values[id(vector_)]
        wide = vector_.dtype.is_vector
        parts.append(g.b.op(f"extractelement {value_type(vector_.dtype)} {value}, i32 {lane}") if wide else value)
    if not expr.dtype.is_vector:
        return parts[0]
    made = "poison"
    for at, part in enumerate(parts):
        made = g.b.op(f"insertelement {value_type(expr.dtype)} {made}, {scalar} {part}, i32 {at}")
    return made


def _reduce(g: Codegen, expr: Reduce) -> str:
    message = "a `T.Reduce` must be lowered before code generation"
    hint = "run the lowering passes, or build with the default pipeline"
    raise DiagnosticError([error("T401", message, expr.span or g.span, hint=hint)])


def bind(g: Codegen, var: Var, value: Expr) -> None:
    """Give `var` the value, and where it is an integer that is known to stay in bounds, also its i64."""
    if var.dtype.is_int and not var.dtype.is_vector:
        g.ranges.enter(var, g.ranges.of(value))
        if type(value) is Call and var.dtype.bits < 64 and g.ranges.exact(value) and value.op.name in WIDE:
            wide = WIDE[value.op.name](g, value)
            if wide is not None:
                g.wides[var] = wide
                g.values[var] = g.b.op(f"trunc i64 {wide} to {value_type(var.dtype)}") if wide.startswith("%") else wide
                return
    elif var.dtype.is_handle:
        g.roots[var] = memory.root_of(g, value)
    g.wides.pop(var, None)
    g.values[var] = g.value(value)


EXPRS: dict[type, Callable[[Codegen, Any], str]] = {
    Const: _const,
    Var: _var,
    StringImm: _string,
    Call: _call,
    CallFunction: _call_function,
    BufferLoad: _load,
    BufferData: _data,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Let: _let,
    Shuffle: _shuffle,
    Reduce: _reduce,
}


# integer operations in 64 bits, where the result is the same; None where it is not known to be


def _wide_arithmetic(g: Codegen, call: Call) -> str | None:
    if not g.ranges.exact(call):
        return None
    return g.b.op(f"{call.op.name} nsw i64 {g.wide(call.args[0])}, {g.wide(call.args[1])}")


def _wide_negative(g: Codegen, call: Call) -> str | None:
    return g.b.op(f"sub nsw i64 0, {g.wide(call.args[0])}") if g.ranges.exact(call) else None


def _wide_division(g: Codegen, call: Call) -> str | None:
    a, b = call.args
    if type(b) is not Const or b.value <= 0 or int(b.value) & (int(b.value) - 1):
        return None  # other divisors are multiplied by their inverse, which is cheaper in 32 bits
    return integers.divide(g, call, "i64", g.wide(a), g.wide(b))


def _wide_extreme(g: Codegen, call: Call) -> str | None:
    a, b = g.wide(call.args[0]), g.wide(call.args[1])
    condition = g.b.op(f"icmp {'slt' if call.op.name == 'min' else 'sgt'} i64 {a}, {b}")
    return g.b.select(condition, "i64", a, b)


def _wide_cast(g: Codegen, call: Call) -> str | None:
    source = call.args[0]
    if not source.dtype.is_int or source.dtype.is_vector:
        return None
    low, high = g.ranges.of(source)
    least, greatest = call.dtype.int_range()
    return g.wide(source) if least <= low and high <= min(greatest, (1 << 63) - 1) else None


WIDE: dict[str, Callable[[Codegen, Call], str | None]] = {
    "add": _wide_arithmetic,
    "sub": _wide_arithmetic,
    "mul": _wide_arithmetic,
    "negative": _wide_negative,
    "floordiv": _wide_division,
    "floormod": _wide_division,
    "min": _wide_extreme,
    "max": _wide_extreme,
    "cast": _wide_cast,
}

__all__ = ["EXPRS", "WIDE", "bind", "vector"]
