"""Random expressions: well typed, in bounds, and of the same value wherever they are evaluated."""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir import (
    Broadcast,
    Buffer,
    BufferLoad,
    Const,
    DType,
    Expr,
    Let,
    Ramp,
    Var,
    cast,
    const,
    get_op,
)

from .values import BOOL, FLOATS, INT32, INT64, INTS, Chooser

ARITHMETIC = ("add", "sub", "mul", "min", "max")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
ROUNDINGS = ("floor", "ceil", "trunc", "round", "nearbyint", "sqrt", "negative", "abs")
# accurate to a few units in the last place only, so two libraries may differ
ELEMENTARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "rsqrt", "sigmoid", "erf", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)


class Scope:
    """What may be used at a place: variables, buffers to read (mutable scalars are such), and buffers to write.

    `loop` says that `break` and `continue` may stand here, `leave` that `return` may.
    """

    def __init__(
        self, variables: list[Var], buffers: list[Buffer], targets: list[Buffer], loop: bool = False, leave: bool = True
    ) -> None:
        self.variables = variables
        self.buffers = buffers
        self.targets = targets
        self.loop = loop
        self.leave = leave

    def inner(self, *, loop: bool | None = None) -> Scope:
        """A scope inside this one: what it adds is not seen outside."""
        inside = self.loop if loop is None else loop
        return Scope(list(self.variables), list(self.buffers), list(self.targets), inside, self.leave)

    def without(self, *targets: Buffer) -> Scope:
        """A scope that writes nothing and reads nothing of `targets`, for places that run in any order."""
        readable = [buffer for buffer in self.buffers if buffer not in targets and not buffer.is_scalar]
        return Scope(list(self.variables), readable, [], False, False)


class Expressions(Chooser):
    """Expressions of a wanted type over what a scope holds."""

    def leaf(self, kind: DType, scope: Scope) -> Expr:
        """A constant, a variable or an element."""
        self.budget -= 1
        variables = [var for var in scope.variables if var.dtype is kind]
        buffers = [buffer for buffer in scope.buffers if buffer.dtype is kind]
        which = self.below(4)
        if buffers and (which == 1 or (which == 3 and not variables)):
            return self.load(self.pick(buffers), scope, 0)
        if which >= 1 and variables:
            return self.pick(variables)
        if which == 2 and scope.variables:
            return self.convert(self.pick(scope.variables), kind)
        return self.const(kind)

    def expr(self, kind: DType, scope: Scope, depth: int = 3) -> Expr:
        """An expression of type `kind`."""
        if depth <= 0 or self.budget <= 0 or self.chance(3):
            return self.leaf(kind, scope)
        self.budget -= 1
        rules = _BOOL_RULES if kind.is_bool else _INT_RULES if kind.is_int else _FLOAT_RULES
        return self.pick(rules)(self, kind, scope, depth - 1)

    def index(self, dim: Expr, scope: Scope, depth: int = 1) -> Expr:
        """An index that lies within a dimension."""
        if type(dim) is Const and self.chance(3):
            return const(self.below(int(dim.value)), dim.dtype)
        value = self.expr(self.pick((INT32, INT64)), scope, depth)
        return value % cast(dim, value.dtype)

    def load(self, buffer: Buffer, scope: Scope, depth: int = 1) -> BufferLoad:
        """An element of a buffer."""
        return BufferLoad(buffer, tuple(self.index(dim, scope, depth) for dim in buffer.shape))

    def convert(self, value: Expr, to: DType) -> Expr:
        """A cast whose result does not depend on the machine: floats are brought into the range first."""
        if value.dtype.is_float and not to.is_float and not to.is_bool:
            low, high = to.int_range()
            value = get_op("max")(value, Const(float(max(low, -100)), value.dtype))
            value = get_op("min")(value, Const(float(min(high, 100)), value.dtype))
        return cast(value, to)

    def divisor(self, kind: DType, scope: Scope, depth: int) -> Expr:
        """An integer that is not zero."""
        if self.chance(2):
            return self.expr(kind, scope, depth) | const(1, kind)
        return self.nonzero(kind)

    # -- vectors

    def vector(
        self, kind: DType, lanes: int, at: Callable[[Buffer], tuple[Expr, ...] | None], scope: Scope, depth: int
    ) -> Expr:
        """A vector of `lanes` lanes; `at` gives the indices of a vector in a buffer, or None where it has none."""
        self.budget -= 1
        choice = self.below(4) if depth > 0 and self.budget > 0 else 0
        if choice == 0:
            return Broadcast(self.leaf(kind, scope), lanes)
        if choice == 1:
            places = [(buffer, at(buffer)) for buffer in scope.buffers if buffer.dtype is kind]
            found = [BufferLoad(buffer, indices) for buffer, indices in places if indices is not None]
            if found:
                return self.pick(found)
            return Broadcast(self.leaf(kind, scope), lanes)
        if choice == 2 and kind.is_int and kind.bits >= 32:
            return Ramp(self.leaf(kind, scope), self.const(kind), lanes)
        names = BITS if kind.is_bool else ARITHMETIC
        left = self.vector(kind, lanes, at, scope, depth - 1)
        return get_op(self.pick(names))(left, self.vector(kind, lanes, at, scope, depth - 1))


Rule = Callable[[Expressions, DType, Scope, int], Expr]


def _arithmetic(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return get_op(self.pick(ARITHMETIC))(self.expr(kind, scope, depth), self.expr(kind, scope, depth))


def _with_literal(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    value = self.const(kind).value
    entry = get_op(self.pick(ARITHMETIC))
    left = self.expr(kind, scope, depth)
    return entry(value, left) if self.chance(2) else entry(left, value)


def _choose(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    entry = get_op(self.pick(("if_then_else", "Select")))
    return entry(self.expr(BOOL, scope, depth), self.expr(kind, scope, depth), self.expr(kind, scope, depth))


def _cast(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return self.convert(self.expr(self.pick((*INTS, *FLOATS, BOOL)), scope, depth), kind)


def _let(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    var = Var(self.name(), self.pick((kind, INT32)))
    value = self.expr(var.dtype, scope, depth)
    inner = scope.inner()
    inner.variables.append(var)
    return Let(var, value, self.expr(kind, inner, depth))


def _element(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    buffers = [buffer for buffer in scope.buffers if buffer.dtype is kind]
    return self.load(self.pick(buffers), scope, depth) if buffers else self.leaf(kind, scope)


def _divide(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return get_op(self.pick(DIVISIONS))(self.expr(kind, scope, depth), self.divisor(kind, scope, depth))


def _bits(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return get_op(self.pick(BITS))(self.expr(kind, scope, depth), self.expr(kind, scope, depth))


def _shift(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    # by up to twice the width: more than the width is defined too
    mask = const(2 * kind.bits - 1 if kind.bits < 64 else 127, kind)
    amount = self.expr(kind, scope, depth) & mask
    return get_op(self.pick(("shift_left", "shift_right")))(self.expr(kind, scope, depth), amount)


def _unary_int(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return get_op(self.pick(("negative", "abs", "bitwise_not", "popcount")))(self.expr(kind, scope, depth))


def _count_zeros(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return cast(get_op("clz")(self.expr(self.pick(INTS), scope, depth)), kind)


def _other_sign(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    twin = next(d for d in INTS if d.bits == kind.bits and d is not kind)
    return get_op("reinterpret")(kind, self.expr(twin, scope, depth))


def _compare(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    operand = self.pick((*INTS, *FLOATS, INT32, INT32))
    left, right = self.expr(operand, scope, depth), self.expr(operand, scope, depth)
    return get_op(self.pick(COMPARISONS))(left, right)


def _logic(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    entry = get_op(self.pick(("logical_and", "logical_or")))
    return entry(self.expr(BOOL, scope, depth), self.expr(BOOL, scope, depth))


def _negate(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return get_op(self.pick(("logical_not", "bitwise_not", "likely")))(self.expr(BOOL, scope, depth))


def _same_bool(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    entry = get_op(self.pick(("equal", "not_equal")))
    return entry(self.expr(BOOL, scope, depth), self.expr(BOOL, scope, depth))


def _classify(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return get_op(self.pick(("isnan", "isinf", "isfinite")))(self.expr(self.pick(FLOATS), scope, depth))


def _divide_floats(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return self.expr(kind, scope, depth) / self.expr(kind, scope, depth)


def _round(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    return get_op(self.pick(ROUNDINGS))(self.expr(kind, scope, depth))


def _exact_float(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    which = self.below(4)
    value = self.expr(kind, scope, depth)
    if which == 0 or kind.bits < 32:
        return get_op("copysign")(value, self.pick((const(1.0, kind), const(-0.0, kind))))
    if which == 1:
        return get_op("fma")(value, self.expr(kind, scope, depth), self.expr(kind, scope, depth))
    if which == 2:
        return get_op("nextafter")(value, self.expr(kind, scope, depth))
    return get_op("ldexp")(value, const(self.number(-4, 4), INT32))


def _float_bits(self: Expressions, kind: DType, scope: Scope, depth: int) -> Expr:
    twin = next(d for d in INTS if d.bits == kind.bits)
    return get_op("reinterpret")(kind, self.expr(twin, scope, depth))


def elementary(self: Expressions, kind: DType, scope: Scope) -> Expr:
    """A function whose last bits depend on the library, of an argument that is exact."""
    value = self.expr(kind, scope, 1)
    if self.chance(4):
        return get_op(self.pick(("pow", "atan2", "hypot")))(value, self.expr(kind, scope, 1))
    return get_op(self.pick(ELEMENTARY))(value)


_SHARED: tuple[Rule, ...] = (_arithmetic, _with_literal, _choose, _cast, _let, _element)
_INT_RULES: tuple[Rule, ...] = (*_SHARED, _element, _divide, _bits, _shift, _unary_int, _count_zeros, _other_sign)
_FLOAT_RULES: tuple[Rule, ...] = (*_SHARED, _element, _divide_floats, _round, _exact_float, _float_bits)
_BOOL_RULES: tuple[Rule, ...] = (_compare, _compare, _logic, _negate, _same_bool, _classify, _choose, _let, _element)


def vector_at(start: Expr, lanes: int, index: Callable[[Expr], Expr]) -> Callable[[Buffer], tuple[Expr, ...] | None]:
    """Where a vector may be read: along the last dimension of buffers that are long enough."""

    def at(buffer: Buffer) -> tuple[Expr, ...] | None:
        if not buffer.shape or type(buffer.shape[-1]) is not Const or int(buffer.shape[-1].value) < lanes:
            return None
        ahead = tuple(index(dim) for dim in buffer.shape[:-1])
        return (*ahead, Ramp(start, Const(1, start.dtype), lanes))

    return at
