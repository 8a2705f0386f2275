"""Expressions as closures over a frame, made once a function; the tables name the rule of every class and operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tirscript.ir import (
    Broadcast,
    BufferData,
    BufferLoad,
    Call,
    CallFunction,
    Const,
    DType,
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

from ..runtime.arrays import numpy_dtype
from .access import compile_address, compile_load
from .calls import CALLS, call_function
from .context import Closure, Context
from .errors import division_by_zero, malformed, unsupported
from .memory import Pointer
from .ops import constant, scalar_rule, wrap_to
from .reductions import reduce, shuffle
from .undef import UNDEF, has_undef, with_undef

Rule = Callable[[Context, Any], Closure]


def _constant(ctx: Context, node: Const) -> Closure:
    value = constant(node)
    return lambda f: value


def _string(ctx: Context, node: StringImm) -> Closure:
    value = node.value
    return lambda f: value


def _variable(ctx: Context, node: Var) -> Closure:
    slot = ctx.slot(node, node)
    return lambda f: f[slot]


def _data(ctx: Context, node: BufferData) -> Closure:
    slot = ctx.slot(node.buffer, node)
    kind = node.buffer.dtype

    def run(f: list[Any]) -> Pointer:
        pointer: Pointer = f[slot].pointer
        return pointer if pointer.kind is kind else Pointer(pointer.storage, pointer.offset, kind)

    return run


def _lanes(node: Ramp | Broadcast) -> int:
    if node.scalable:
        raise unsupported(
            node,
            "the interpreter does not execute vectors of a scalable length",
            "lower them to a fixed number of lanes",
        )
    return node.lanes


def _ramp(ctx: Context, node: Ramp) -> Closure:
    base, stride = ctx.expr(node.base), ctx.expr(node.stride)
    steps = range(_lanes(node))
    kind = node.base.dtype
    if kind.is_vector:
        raise malformed(node, "T106", "the base of `T.ramp` is a vector")
    if not kind.is_int:
        raise malformed(node, "T105", f"`T.ramp` takes integers, not {kind}")
    low, high = kind.int_range()
    wrap = wrap_to(kind)

    def run(f: list[Any]) -> Any:
        first, step = base(f), stride(f)
        if first is UNDEF or step is UNDEF:
            return (UNDEF,) * len(steps)
        last = first + step * (len(steps) - 1)
        if low <= last <= high:
            return tuple([first + step * lane for lane in steps])
        return tuple([wrap(first + step * lane) for lane in steps])

    return run


def _broadcast(ctx: Context, node: Broadcast) -> Closure:
    value = ctx.expr(node.value)
    lanes = _lanes(node)
    if node.value.dtype.is_vector:
        return lambda f: value(f) * lanes
    return lambda f: (value(f),) * lanes


def _let(ctx: Context, node: Let) -> Closure:
    value = ctx.expr(node.value)
    with ctx.scope():
        slot = ctx.define(node.var)
        body = ctx.expr(node.body)

    def run(f: list[Any]) -> Any:
        f[slot] = value(f)
        return body(f)

    return run


# -- operators


def _call(ctx: Context, node: Call) -> Closure:
    special = CALLS.get(node.op.name)
    if special is not None:
        return special(ctx, node)
    lazy = LAZY.get(node.op.name)
    if lazy is not None:
        return lazy(ctx, node)
    meaning = written_out(node) if node.op.name in FOREIGN else None
    return _operator(ctx, node) if meaning is None else ctx.expr(meaning)


def element_rule(ctx: Context, node: Call) -> Callable[..., Any]:
    """The function that computes one lane of a call."""
    try:
        rule = scalar_rule(node.op, tuple([arg.dtype.element for arg in node.args]), node.dtype.element)
    except KeyError as error:
        raise unsupported(node, str(error.args[0]), "it is read, kept and printed; remove it to run the rest") from None
    return with_undef(node.op.name, rule) if ctx.undef else rule


def _operator(ctx: Context, node: Call) -> Closure:
    args = [ctx.expr(arg) for arg in node.args]
    kinds = [arg.dtype for arg in node.args]
    if any(kind.is_vector for kind in kinds):
        return _guard_division(ctx, node, _vector(ctx, node, args, kinds))
    if not ctx.undef:
        fast = FAST.get(node.op.name)
        made = None if fast is None else fast(node, *args)
        if made is not None:
            return _guard_division(ctx, node, made)
    rule = element_rule(ctx, node)
    return _guard_division(ctx, node, _APPLY.get(len(args), _apply_many)(rule, args))


def _apply_one(rule: Callable[..., Any], args: list[Closure]) -> Closure:
    (a,) = args
    return lambda f: rule(a(f))


def _apply_two(rule: Callable[..., Any], args: list[Closure]) -> Closure:
    a, b = args
    return lambda f: rule(a(f), b(f))


def _apply_many(rule: Callable[..., Any], args: list[Closure]) -> Closure:
    return lambda f: rule(*[arg(f) for arg in args])


_APPLY = {1: _apply_one, 2: _apply_two}


def _vector(ctx: Context, node: Call, args: list[Closure], kinds: list[DType]) -> Closure:
    rule = element_rule(ctx, node)
    lanes = next(kind.lanes for kind in kinds if kind.is_vector)
    if any(kind.is_vector and kind.lanes != lanes for kind in kinds):
        raise malformed(
            node, "T106", f"`{node.op.spelling}` of {' and '.join(map(str, kinds))}: the numbers of lanes differ"
        )
    wide = [kind.is_vector for kind in kinds]
    if wide == [True]:
        (a,) = args
        return lambda f: tuple([rule(x) for x in a(f)])
    if wide == [True, True]:
        a, b = args
        return lambda f: tuple([rule(x, y) for x, y in zip(a(f), b(f), strict=True)])

    def run(f: list[Any]) -> Any:
        values = [arg(f) if vector else (arg(f),) * lanes for arg, vector in zip(args, wide, strict=True)]
        return tuple([rule(*lane) for lane in zip(*values, strict=True)])

    return run


_DIVISIONS = frozenset(("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv"))


def _guard_division(ctx: Context, node: Call, run: Closure) -> Closure:
    if node.op.name not in _DIVISIONS or not node.args[0].dtype.is_int or _number(node.args[-1]):
        return run
    loops = ctx.loops

    def guarded(f: list[Any]) -> Any:
        try:
            return run(f)
        except ZeroDivisionError:
            raise division_by_zero(node, f, loops) from None

    return guarded


# closures of the commonest operators without a call of their scalar rule in between; the meaning is that of ops.py

Fast = Callable[..., Closure | None]


def _add(node: Call, a: Closure, b: Closure) -> Closure:
    if node.dtype.is_float:
        return lambda f: a(f) + b(f)
    low, high = node.dtype.int_range()
    wrap = wrap_to(node.dtype)
    number = _number(node.args[1])

    def run(f: list[Any]) -> Any:
        value = a(f) + b(f)
        return value if low <= value <= high else wrap(value)

    def by_number(f: list[Any]) -> Any:
        value = a(f) + number
        return value if low <= value <= high else wrap(value)

    return run if number is None else by_number


def _sub(node: Call, a: Closure, b: Closure) -> Closure:
    if node.dtype.is_float:
        return lambda f: a(f) - b(f)
    low, high = node.dtype.int_range()
    wrap = wrap_to(node.dtype)

    def run(f: list[Any]) -> Any:
        value = a(f) - b(f)
        return value if low <= value <= high else wrap(value)

    return run


def _mul(node: Call, a: Closure, b: Closure) -> Closure:
    if node.dtype.is_float:
        return lambda f: a(f) * b(f)
    low, high = node.dtype.int_range()
    wrap = wrap_to(node.dtype)
    number = _number(node.args[1])

    def run(f: list[Any]) -> Any:
        value = a(f) * b(f)
        return value if low <= value <= high else wrap(value)

    def by_number(f: list[Any]) -> Any:
        value = a(f) * number
        return value if low <= value <= high else wrap(value)

    return run if number is None else by_number


def _floordiv(node: Call, a: Closure, b: Closure) -> Closure | None:
    if node.dtype.is_float:
        return None
    number = _number(node.args[1])
    if number is not None and number > 0:
        return lambda f: a(f) // number
    high = node.dtype.int_range()[1]
    wrap = wrap_to(node.dtype)

    def run(f: list[Any]) -> Any:
        value = a(f) // b(f)
        return value if value <= high else wrap(value)  # the least integer by -1

    return run


def _floormod(node: Call, a: Closure, b: Closure) -> Closure | None:
    if node.dtype.is_float:
        return None
    number = _number(node.args[1])
    if number is not None and number > 0:
        return lambda f: a(f) % number
    return lambda f: a(f) % b(f)


def _number(node: Expr) -> int | None:
    """The value of an integer constant, which closures need not be called for."""
    return int(node.value) if type(node) is Const and node.dtype.is_int else None


def _less(node: Call, a: Closure, b: Closure) -> Closure:
    if node.args[0].dtype.is_float:
        return lambda f: True if a(f) < b(f) else False  # noqa: SIM210 (numpy's bool becomes Python's)
    return lambda f: a(f) < b(f)


def _less_equal(node: Call, a: Closure, b: Closure) -> Closure:
    if node.args[0].dtype.is_float:
        return lambda f: True if a(f) <= b(f) else False  # noqa: SIM210
    return lambda f: a(f) <= b(f)


def _equal(node: Call, a: Closure, b: Closure) -> Closure | None:
    kind = node.args[0].dtype
    return (lambda f: a(f) == b(f)) if kind.is_int or kind.is_bool else None


FAST: dict[str, Fast] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "less": _less,
    "less_equal": _less_equal,
    "greater": lambda node, a, b: None if node.args[0].dtype.is_float else lambda f: a(f) > b(f),
    "greater_equal": lambda node, a, b: None if node.args[0].dtype.is_float else lambda f: a(f) >= b(f),
    "equal": _equal,
}


# -- operators that do not evaluate all of their arguments


def _if_then_else(ctx: Context, node: Call) -> Closure:
    if node.args[0].dtype.is_vector:
        return _operator(ctx, node)
    condition, then, orelse = [ctx.expr(arg) for arg in node.args]
    if ctx.undef:
        lanes = node.dtype.lanes
        blank = UNDEF if lanes == 1 else (UNDEF,) * lanes

        def run(f: list[Any]) -> Any:
            chosen = condition(f)
            return blank if chosen is UNDEF else then(f) if chosen else orelse(f)

        return run
    return lambda f: then(f) if condition(f) else orelse(f)


def _select(ctx: Context, node: Call) -> Closure:
    if node.args[0].dtype.is_vector:
        return _operator(ctx, node)
    condition, then, orelse = [ctx.expr(arg) for arg in node.args]
    lanes = node.dtype.lanes
    blank = UNDEF if lanes == 1 else (UNDEF,) * lanes

    def run(f: list[Any]) -> Any:
        chosen, a, b = condition(f), then(f), orelse(f)
        return blank if chosen is UNDEF else a if chosen else b

    return run


def _logical_and(ctx: Context, node: Call) -> Closure:
    if node.dtype.is_vector:
        return _operator(ctx, node)
    a, b = [ctx.expr(arg) for arg in node.args]
    if ctx.undef:

        def run(f: list[Any]) -> Any:
            first = a(f)
            return UNDEF if first is UNDEF else b(f) if first else False

        return run
    return lambda f: a(f) and b(f)


def _logical_or(ctx: Context, node: Call) -> Closure:
    if node.dtype.is_vector:
        return _operator(ctx, node)
    a, b = [ctx.expr(arg) for arg in node.args]
    if ctx.undef:

        def run(f: list[Any]) -> Any:
            first = a(f)
            return UNDEF if first is UNDEF else True if first else b(f)

        return run
    return lambda f: a(f) or b(f)


def _undef(ctx: Context, node: Call) -> Closure:
    lanes = node.dtype.lanes
    value = UNDEF if lanes == 1 else (UNDEF,) * lanes
    return lambda f: value


def _reinterpret(ctx: Context, node: Call) -> Closure:
    (source,) = node.args
    value = ctx.expr(source)
    have, want = source.dtype, node.dtype
    if have.is_handle and want.is_handle:
        pointee = want.pointee

        def retype(f: list[Any]) -> Any:
            pointer = value(f)
            return pointer if pointer is None else Pointer(pointer.storage, pointer.offset, pointee)

        return retype
    if want.is_handle:
        raise unsupported(node, f"the interpreter cannot make an address of {have}")
    many = want.lanes
    undefined = UNDEF if many == 1 else (UNDEF,) * many
    numpy_have = np.dtype(np.uint64) if have.is_handle else numpy_dtype(have)
    numpy_want = numpy_dtype(want)
    is_float = want.is_float

    def run(f: list[Any]) -> Any:
        bits = value(f)
        if has_undef(bits):
            return undefined
        if have.is_handle:
            bits = 0 if bits is None else bits.address
        out = np.array(bits if type(bits) is tuple else [bits], numpy_have).view(numpy_want)
        lanes = list(out) if is_float else [one.item() for one in out]
        return lanes[0] if many == 1 else tuple(lanes)

    return run


def _likely(ctx: Context, node: Call) -> Closure:
    return ctx.expr(node.args[0])


def _address_of(ctx: Context, node: Call) -> Closure:
    return compile_address(ctx, node.args[0])


LAZY: dict[str, Rule] = {
    "if_then_else": _if_then_else,
    "Select": _select,
    "logical_and": _logical_and,
    "logical_or": _logical_or,
    "likely": _likely,
    "undef": _undef,
    "reinterpret": _reinterpret,
    "address_of": _address_of,
}

EXPRESSIONS: dict[type[Expr], Rule] = {
    Const: _constant,
    StringImm: _string,
    Var: _variable,
    Call: _call,
    CallFunction: call_function,
    BufferLoad: compile_load,
    BufferData: _data,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Let: _let,
    Shuffle: shuffle,
    Reduce: reduce,
}
