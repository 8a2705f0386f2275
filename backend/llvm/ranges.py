"""What values integer expressions can take, so that indices are computed in 64 bits exactly where they cannot wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.arith.folding import truncdiv
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import Broadcast, BufferRegion, Call, Const, Expr, Let, Ramp, Var

# least and greatest value
Interval = tuple[int, int]


class Ranges:
    """The intervals of the integer expressions of one function.

    Loop variables and bindings are entered when they come into scope. Where an operation may wrap, its interval is
    that of its dtype.
    """

    def __init__(self) -> None:
        self.vars: dict[Var, Interval] = {}
        self.stops: dict[Var, Expr] = {}  # what variables of loops that count up stay below
        self._known: dict[int, tuple[Expr, Interval, bool]] = {}

    def enter(self, var: Var, interval: Interval) -> None:
        """`var` is between the two bounds from here on."""
        self.vars[var] = interval

    def forget(self) -> None:
        """Variables get new bounds: what was derived from the old ones is dropped."""
        self._known.clear()

    def of(self, expr: Expr) -> Interval:
        """Bounds of the value of an integer expression (of every lane)."""
        return self._look(expr)[1]

    def holds(self, region: BufferRegion, axis: int) -> bool:
        """Whether dimension `axis` of a region is proved to lie in that of its buffer."""
        part, whole = region.ranges[axis], region.buffer.shape[axis]
        low, high = self.of(part.start)
        least, most = (low + 1, high + 1) if part.stop is None else self.of(part.stop)
        ordered = part.stop is None or high <= least
        return low >= 0 and ordered and type(whole) is Const and most <= int(whole.value)

    def exact(self, expr: Expr) -> bool:
        """Whether the outermost operation of `expr` is proved not to wrap."""
        return self._look(expr)[2]

    def _look(self, expr: Expr) -> tuple[Expr, Interval, bool]:
        known = self._known.get(id(expr))
        if known is None:
            known = (expr, *self._find(expr))
            self._known[id(expr)] = known
        return known

    def _find(self, expr: Expr) -> tuple[Interval, bool]:
        whole = whole_range(expr)
        kind = type(expr)
        if kind is Const:
            value = int(expr.value)  # type: ignore[attr-defined]
            return (value, value), True
        if kind is Var:
            return self.vars.get(expr, whole), True  # type: ignore[call-overload]
        if kind is Broadcast:
            return self.of(expr.value), True  # type: ignore[attr-defined]
        if kind is Ramp:
            base, stride, last = self.of(expr.base), self.of(expr.stride), expr.lanes - 1  # type: ignore[attr-defined]
            found = (base[0] + min(0, stride[0] * last), base[1] + max(0, stride[1] * last))
        elif kind is Let:
            return self.of(expr.body), True  # type: ignore[attr-defined]
        elif kind is Call:
            rule = _RULES.get(expr.op.name)  # type: ignore[attr-defined]
            result = rule(self, expr) if rule is not None else None  # type: ignore[arg-type]
            if result is None:
                return whole, rule is None
            found = result
        else:
            return whole, True
        if whole[0] <= found[0] and found[1] <= whole[1]:
            return found, True
        return whole, False

    def inside(self, index: Expr, size: Expr) -> bool:
        """Whether an index is proved to be one of a dimension of that size: by its bounds, or as that of a loop over
        the dimension."""
        low, high = self.of(index)
        if low < 0 or index.dtype.is_vector:
            return False
        if type(size) is Const:
            return bool(high < size.value)
        stop = self.stops.get(_uncast(index))  # type: ignore[call-overload]
        # a stop that is cast to fewer bits is not greater for it, as dimensions are not negative
        return stop is not None and _uncast(stop) is _uncast(size)

    def proves(self, condition: Expr) -> bool | None:
        """True or False where the bounds decide a condition that need not be evaluated, else None."""
        found = self._decided(condition)
        return None if found is not None and has_effect(condition) else found

    def _decided(self, condition: Expr) -> bool | None:
        if type(condition) is Const:
            return bool(condition.value)
        if type(condition) is not Call:
            return None
        name = condition.op.name
        if name in ("logical_and", "logical_or"):
            sides = [self._decided(arg) for arg in condition.args]
            decisive = name == "logical_or"
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        if name == "logical_not":
            inner = self._decided(condition.args[0])
            return None if inner is None else not inner
        if name not in _DECIDE or not condition.args[0].dtype.is_int:
            return None
        return _DECIDE[name](self.of(condition.args[0]), self.of(condition.args[1]))


def _uncast(expr: Expr) -> Expr:
    """The integer that casts are made of."""
    while type(expr) is Call and expr.op.name == "cast" and expr.args[0].dtype.is_int:
        expr = expr.args[0]
    return expr


def whole_range(expr: Expr) -> Interval:
    """The bounds that the dtype gives."""
    element = expr.dtype.element
    return element.int_range() if element.is_int or element.is_bool else (0, 0)


def _add(r: Ranges, e: Call) -> Interval:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    return a[0] + b[0], a[1] + b[1]


def _sub(r: Ranges, e: Call) -> Interval:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    return a[0] - b[1], a[1] - b[0]


def _mul(r: Ranges, e: Call) -> Interval:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _negative(r: Ranges, e: Call) -> Interval:
    low, high = r.of(e.args[0])
    return -high, -low


def _quotients(r: Ranges, e: Call, divide: Callable[[int, int], int]) -> Interval | None:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    if b[0] <= 0 <= b[1]:
        return None
    found = [divide(x, y) for x in a for y in b]
    return min(found), max(found)


def _floordiv(r: Ranges, e: Call) -> Interval | None:
    return _quotients(r, e, lambda x, y: x // y)


def _ceildiv(r: Ranges, e: Call) -> Interval | None:
    return _quotients(r, e, lambda x, y: -(-x // y))


def _truncdiv(r: Ranges, e: Call) -> Interval | None:
    return _quotients(r, e, truncdiv)


def _floormod(r: Ranges, e: Call) -> Interval | None:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    if b[0] <= 0:
        return None
    if a[0] >= 0 and a[1] < b[0]:
        return a
    return 0, b[1] - 1


def _truncmod(r: Ranges, e: Call) -> Interval | None:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    if b[0] <= 0:
        return None
    return max(min(0, a[0]), 1 - b[1]), min(max(0, a[1]), b[1] - 1)


def _min(r: Ranges, e: Call) -> Interval:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    return min(a[0], b[0]), min(a[1], b[1])


def _max(r: Ranges, e: Call) -> Interval:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    return max(a[0], b[0]), max(a[1], b[1])


def _cast(r: Ranges, e: Call) -> Interval | None:
    source = e.args[0].dtype.element
    return r.of(e.args[0]) if source.is_int or source.is_bool else None


def _choice(r: Ranges, e: Call) -> Interval:
    a, b = r.of(e.args[1]), r.of(e.args[2])
    return min(a[0], b[0]), max(a[1], b[1])


def _shift_left(r: Ranges, e: Call) -> Interval | None:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    if b[0] < 0 or b[1] > 62:
        return None
    found = [x << y for x in a for y in b]
    return min(found), max(found)


def _shift_right(r: Ranges, e: Call) -> Interval | None:
    a, b = r.of(e.args[0]), r.of(e.args[1])
    if b[0] < 0 or b[1] >= e.dtype.bits:
        return None
    found = [x >> y for x in a for y in b]
    return min(found), max(found)


def _and(r: Ranges, e: Call) -> Interval | None:
    bounds = [high for low, high in map(r.of, e.args) if low >= 0]
    return (0, min(bounds)) if bounds else None


_RULES: dict[str, Callable[[Ranges, Call], Interval | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "negative": _negative,
    "floordiv": _floordiv,
    "ceildiv": _ceildiv,
    "floormod": _floormod,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "min": _min,
    "max": _max,
    "cast": _cast,
    "if_then_else": _choice,
    "Select": _choice,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "bitwise_and": _and,
}


def _less(a: Interval, b: Interval) -> bool | None:
    return True if a[1] < b[0] else False if a[0] >= b[1] else None


def _less_equal(a: Interval, b: Interval) -> bool | None:
    return True if a[1] <= b[0] else False if a[0] > b[1] else None


def _equal(a: Interval, b: Interval) -> bool | None:
    if a == b and a[0] == a[1]:
        return True
    return False if a[1] < b[0] or b[1] < a[0] else None


def _not_equal(a: Interval, b: Interval) -> bool | None:
    same = _equal(a, b)
    return None if same is None else not same


_DECIDE: dict[str, Any] = {
    "less": _less,
    "less_equal": _less_equal,
    "greater": lambda a, b: _less(b, a),
    "greater_equal": lambda a, b: _less_equal(b, a),
    "equal": _equal,
    "not_equal": _not_equal,
}
