"""Comparisons of integers: decided by bounds, or said with less."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from ..dtype import BOOL, DType
from ..expr import Call, Const, Expr
from ..op import OPS
from .bounds import Interval, Ranges, bounds, exact, linear_bounds
from .folding import compare
from .linear import Linear, expression, leaves, linear

_DIV, _MOD = OPS["floordiv"], OPS["floormod"]


def decided(name: str, a: Expr, b: Expr, known: Ranges) -> bool | None:
    """A comparison of integers that the bounds of both sides, or of their difference, decide."""
    verdict = by_intervals(name, bounds(a, known), bounds(b, known))
    if verdict is not None:
        return verdict
    left, right = linear(a), linear(b)
    if left.constant == right.constant and left.terms == right.terms:
        return compare(name, 0, 0)
    if not exact(left, known) or not exact(right, known):
        difference = left - right
        if difference.is_constant and name in ("equal", "not_equal"):
            return compare(name, difference.constant, 0)
        return None
    form = subtract(left, right)
    verdict = by_intervals(name, linear_bounds(form, known), (0, 0))
    return verdict if verdict is not None else _decided_by_remainders(name, form, known)


def _decided_by_remainders(name: str, form: Linear, known: Ranges) -> bool | None:
    """A comparison of a form with 0 where quotients go with what they are quotients of: `n <= (n + 3) // 4 * 4`, as
    that is `n + 3 - (n + 3) % 4`."""
    for atom in [*form.terms]:
        if type(atom) is not Call or atom.op is not _DIV or type(atom.args[1]) is not Const:
            continue
        x, by, times = linear(atom.args[0]), int(atom.args[1].value), form.terms[atom]
        if by <= 0 or not x.terms.keys() & form.terms.keys() or not exact(x, known):
            continue
        # x // by * by is x - x % by; the form is taken `by` times, which compares with 0 alike
        terms = {one: by * c for one, c in form.terms.items() if one is not atom}
        rest = _remainder(x, by, atom)
        for part, sign in ((x, 1), (rest, -1)):
            for one, c in part.terms.items():
                terms[one] = terms.get(one, 0) + sign * times * c
        constant = by * form.constant + times * (x.constant - rest.constant)
        form = Linear({one: c for one, c in terms.items() if c}, constant, form.dtype)
        verdict = by_intervals(name, linear_bounds(form, known), (0, 0))
        if verdict is not None:
            return verdict
    return None


def _remainder(x: Linear, by: int, quotient: Call) -> Linear:
    """`x % by`; of 2 by whether x without its constant is odd, so that `(n + 1) % 2` is `1 - n % 2`."""
    if by != 2 or not x.constant:
        return Linear({Call(_MOD, quotient.args, x.dtype): 1}, 0, x.dtype)
    odd = Call(_MOD, (expression(Linear(x.terms, 0, x.dtype)), quotient.args[1]), x.dtype)
    return Linear({odd: -1}, 1, x.dtype) if x.constant % 2 else Linear({odd: 1}, 0, x.dtype)


def subtract(left: Linear, right: Linear) -> Linear:
    """The difference of two forms that do not wrap, as a number: it is summed without wrapping."""
    terms = {**left.terms}
    for atom, c in right.terms.items():
        terms[atom] = terms.get(atom, 0) - c
    return Linear({atom: c for atom, c in terms.items() if c}, left.constant - right.constant, left.dtype)


def by_intervals(name: str, a: Interval, b: Interval) -> bool | None:
    """A comparison of anything in `a` with anything in `b`, where all give the same."""
    (p, q), (r, s) = a, b
    if name in ("equal", "not_equal"):
        if q < r or s < p:
            return name == "not_equal"
        return name == "equal" if p == q == r == s else None
    least, most = ((p, s), (q, r)) if name in ("less", "less_equal") else ((q, r), (p, s))
    if not compare(name, *least):
        return False
    return True if compare(name, *most) else None


def reduced_comparison(node: Call, known: Ranges, droppable: Callable[[Expr], bool]) -> Expr | None:
    """A comparison without what both sides have, and without a common divisor; None where it is no smaller."""
    a, b = node.args
    left, right = linear(a), linear(b)
    if not exact(left, known) or not exact(right, known):
        return None
    form = subtract(left, right)
    if not form.terms:
        return None
    divisor = gcd(*form.terms.values())
    written = leaves(a) + leaves(b)
    if len(form.terms) >= written and divisor == 1:
        return None
    if not all(droppable(atom) for atom in (*left.terms, *right.terms) if atom not in form.terms):
        return None
    if divisor > 1:
        divided = _divided(node.op.name, form, divisor)
        if isinstance(divided, bool):
            if not all(map(droppable, form.terms)):
                return None
            return Const(divided, BOOL, span=node.span)
        form = divided
    sides = _sides(form, a.dtype)
    if sides is None or not all(exact(side, known) for side in sides):
        return None
    return Call(node.op, (expression(sides[0]), expression(sides[1])), BOOL, span=node.span)


def _divided(name: str, form: Linear, divisor: int) -> Linear | bool:
    """`form` compared with 0, divided; a truth where no multiple of the divisor can be equal."""
    terms = {atom: c // divisor for atom, c in form.terms.items()}
    if name in ("equal", "not_equal"):
        if form.constant % divisor:
            return name == "not_equal"
        return Linear(terms, form.constant // divisor, form.dtype)
    # d*x + k < 0 is x < ceil(-k/d), which is x + floor(k/d) < 0, and so is >=; for <= and > it is ceil(k/d)
    down = name in ("less", "greater_equal")
    constant = form.constant // divisor if down else -(-form.constant // divisor)
    return Linear(terms, constant, form.dtype)


def _sides(form: Linear, dtype: DType) -> tuple[Linear, Linear] | None:
    """`form` compared with 0 as two sides without negative terms; the constant stands where it is positive."""
    least, greatest = dtype.int_range()
    left = {atom: c for atom, c in form.terms.items() if c > 0}
    right = {atom: -c for atom, c in form.terms.items() if c < 0}
    constant = form.constant
    if not left:  # -x + 3 < 0 is 3 < x
        sides = Linear({}, constant, dtype), Linear(right, 0, dtype)
    elif not right or constant < 0:
        sides = Linear(left, 0, dtype), Linear(right, -constant, dtype)
    else:
        sides = Linear(left, constant, dtype), Linear(right, 0, dtype)
    numbers = [number for side in sides for number in (*side.terms.values(), side.constant)]
    return sides if all(least <= number <= greatest for number in numbers) else None


__all__ = ["by_intervals", "decided", "reduced_comparison", "subtract"]
