"""Dimensions: arithmetic on them, what is proved about them, and how messages show them.

A dimension is an int64 expression. No array has one of 2**40 or more (its elements would not fit any memory), which is
what lets `n * 4 // 4` be `n`. Functions give None where something is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..arith import Analyzer
from ..arith.folding import INTS
from ..dtype import INT64
from ..expr import Call, Const, Expr, Var, const
from ..op import OPS, fail
from ..rewrite import is_larger, walk
from ..words import parenthesized

Shape = tuple[Expr, ...]
_MOST = (1 << 40) - 1
_MOST_PARTS = 1 << 12  # of one dimension: operators that multiply sizes, one behind the other, double them each time


def dim(value: int | Expr) -> Expr:
    """A dimension."""
    if isinstance(value, Expr):
        if type(value) is Const:
            return value if value.dtype is INT64 else const(int(value.value), INT64)
        return value if value.dtype is INT64 else value.astype(INT64)
    try:
        return const(value, INT64)
    except ValueError as problem:
        raise fail("T103", str(problem)) from None


def shape(values: Iterable[int | Expr]) -> Shape:
    """A shape of ints and expressions."""
    return tuple(map(dim, values))


ONE = const(1, INT64)


def number(value: Expr) -> int | None:
    """The dimension as an int, or None where it is symbolic."""
    return int(value.value) if type(value) is Const else None


def numbers(values: Sequence[Expr]) -> tuple[int, ...] | None:
    """The shape as ints, or None where a dimension is symbolic."""
    found = tuple(int(one.value) for one in values if type(one) is Const)
    return found if len(found) == len(values) else None


def _analyzer(*values: Expr, presburger: bool = False) -> Analyzer:
    known = {part: (0, _MOST) for value in values for part in walk(value, Var) if part.dtype.is_int}
    return Analyzer(known, presburger=presburger)


def simple(value: Expr) -> Expr:
    """The dimension made smaller; T004 where it is too large to be read at every use."""
    if type(value) in (Const, Var):
        return value
    if is_larger(value, _MOST_PARTS):
        hint = 'give the size a name: `y = G.match_cast(x, G.Tensor((m,), "float32"))`'
        raise fail("T004", f"a dimension of over {_MOST_PARTS:,} parts", hint)
    return _analyzer(value).simplify(value)


def same(a: Expr, b: Expr) -> bool:
    """Whether two dimensions are proved equal."""
    if type(a) is Const and type(b) is Const:
        return a.value == b.value
    return a is b or _analyzer(a, b).prove_equal(a, b)


def differ(a: Expr, b: Expr) -> bool:
    """Whether two dimensions are proved to differ."""
    if type(a) is Const and type(b) is Const:
        return a.value != b.value
    for one, other in ((a, b), (b, a)):
        if type(one) is Const and one.value < 0 and not_negative(other):
            return True
    return a is not b and _analyzer(a, b).can_refute(OPS["equal"](a, b))


def fits(a: Expr, b: Expr) -> bool:
    """Whether a dimension is proved to be no more than another."""
    return _analyzer(a, b).can_prove(OPS["less_equal"](a, b))


def broadcasts_to(a: Shape, b: Shape) -> bool:
    """Whether a shape may broadcast to another, which stays as it is: False where that is refuted."""
    pairs = zip(reversed(a), reversed(b), strict=False)
    return len(a) <= len(b) and not any(number(one) != 1 and differ(one, other) for one, other in pairs)


def not_negative(value: Expr, *, presburger: bool = False) -> bool:
    """Whether a value made of dimensions is proved to be 0 or more; `presburger` arithmetic takes longer.

    Sums and products of what is 0 or more are so, too: as many elements as would overflow are in no tensor.
    """
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if _analyzer(one, presburger=presburger).can_prove(OPS["greater_equal"](one, const(0, INT64))):
            continue
        if type(one) is not Call or one.op.name not in ("add", "mul"):
            return False
        waiting += one.args
    return True


def same_shapes(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Whether two shapes are proved equal."""
    return len(a) == len(b) and all(map(same, a, b))


def _fold(name: str, a: int | Expr, b: int | Expr) -> Expr:
    """The result of an operator; T103 where it is a number beyond int64, which would wrap around to another size."""
    a, b = dim(a), dim(b)
    found = INTS[name](int(a.value), int(b.value), INT64) if type(a) is type(b) is Const else None
    if found is not None:
        return dim(found)
    return simple(OPS[name](a, b))


def add(a: int | Expr, b: int | Expr) -> Expr:
    """a + b."""
    return _fold("add", a, b)


def sub(a: int | Expr, b: int | Expr) -> Expr:
    """a - b."""
    return _fold("sub", a, b)


def mul(a: int | Expr, b: int | Expr) -> Expr:
    """a * b."""
    return _fold("mul", a, b)


def floordiv(a: int | Expr, b: int | Expr) -> Expr:
    """a // b."""
    return _fold("floordiv", a, b)


def floormod(a: int | Expr, b: int | Expr) -> Expr:
    """a - a // b * b."""
    return _fold("floormod", a, b)


def ceildiv(a: int | Expr, b: int | Expr) -> Expr:
    """a / b rounded up."""
    return floordiv(add(a, sub(b, 1)), b)


def minimum(a: int | Expr, b: int | Expr) -> Expr:
    """The smaller one."""
    return _fold("min", a, b)


def maximum(a: int | Expr, b: int | Expr) -> Expr:
    """The larger one."""
    return _fold("max", a, b)


def product(values: Iterable[Expr]) -> Expr:
    """The number of elements of a shape."""
    found: Expr = ONE
    for value in values:
        found = mul(found, value)
    return found


def quotient(dividend: Sequence[Expr], divisor: Sequence[Expr]) -> Expr:
    """The product of dimensions divided by that of others, none of which is 0: `n * 4 // (n * 2)` is 2."""
    (have, count), (rest, by) = map(_factors, (dividend, divisor))
    for factor in list(rest):
        at = next((at for at, one in enumerate(have) if same(one, factor)), None)
        if at is not None:
            del have[at]
            rest.remove(factor)
    common = math.gcd(count, by)
    return floordiv(product((*have, dim(count // common))), product((*rest, dim(by // common))))


def _factors(values: Sequence[Expr]) -> tuple[list[Expr], int]:
    """What a product multiplies: what is not known, and the number that the rest makes."""
    found, count = [], 1
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        known = number(value)
        if known is not None:
            count *= known
        elif type(value) is Call and value.op.name == "mul":
            waiting += reversed(value.args)
        else:
            found.append(value)
    return found, count


def text(value: Any) -> str:
    """A dimension or shape as messages show it: `(n, 4)`."""
    if isinstance(value, (tuple, list)):
        return parenthesized(map(text, value))
    if type(value) is Const:
        return str(value.value)
    return value.name if type(value) is Var else plain(value)


def plain(value: Expr) -> str:
    """An expression without the dtypes of its constants, which are all int64."""
    import re

    return re.sub(r"T\.int64\((-?\d+)\)", r"\1", value.script())


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The shape of an elementwise operation on both; None where not known.

    Dimensions are aligned at the end; 1 goes with everything. Two dimensions that do not fit raise `Mismatch`.
    """
    found: list[Expr] = []
    sure = True
    for back in range(1, max(len(a), len(b)) + 1):
        x = a[-back] if back <= len(a) else ONE
        y = b[-back] if back <= len(b) else ONE
        if number(x) == 1 or number(y) == 1:
            found.append(y if number(x) == 1 else x)
        elif same(x, y):
            found.append(x)
        elif number(x) is not None and number(y) is not None:
            raise Mismatch(x, y)
        else:
            sure = False
    return tuple(reversed(found)) if sure else None


class Mismatch(Exception):
    """Two dimensions that cannot be."""

    def __init__(self, a: Expr, b: Expr) -> None:
        super().__init__(f"{text(a)} and {text(b)}")
        self.a, self.b = a, b
