"""Modular sets: what an integer leaves when divided, `x = coefficient * k + base` for some integer k."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from ..expr import Call, Const, Expr, Let, Var
from .bounds import Known, bounds, whole
from .polynomial import Polynomial, modular, polynomial

# coefficient and base: 0 <= base < coefficient, or a constant where the coefficient is 0
ModularSet = tuple[int, int]
ANYTHING: ModularSet = (1, 0)


def modular_set(expr: Expr, known: Known) -> ModularSet:
    """The modular set of an integer scalar, as the machine has it: what may wrap is known modulo powers of two."""
    kind = type(expr)
    if kind is Const:
        return 0, int(expr.value)  # type: ignore[attr-defined]
    if not expr.dtype.is_int or expr.dtype.is_vector:
        return ANYTHING
    low, high = bounds(expr, known)
    if low == high:
        return 0, low
    form = polynomial(expr, known)
    if not (len(form.terms) == 1 and (expr,) in form.terms):
        return of_polynomial(form, known)
    own = _of_atom(expr, known)
    if own == ANYTHING:
        raw = modular(expr, known)
        if (expr,) not in raw.terms:
            # the sum may wrap: it is known modulo what its modulus shares with the size of the dtype
            coefficient, base = of_polynomial(raw, known)
            shared = gcd(coefficient, 1 << expr.dtype.bits)
            return reduced(shared, base)
    return own


def of_polynomial(form: Polynomial, known: Known) -> ModularSet:
    """The modular set of a number."""
    coefficient, base = 0, form.constant
    for key, c in form.terms.items():
        m, b = 0, 1
        for atom in key:
            p, r = _of_atom(atom, known)
            m, b = gcd(m * p, m * r, b * p), b * r
        coefficient, base = gcd(coefficient, m * c), base + b * c
    return reduced(coefficient, base)


def reduced(coefficient: int, base: int) -> ModularSet:
    """With the least base that is not negative."""
    coefficient = abs(coefficient)
    return (coefficient, base % coefficient) if coefficient else (0, base)


def union(a: ModularSet, b: ModularSet) -> ModularSet:
    """What holds of a number that is in one or the other."""
    return reduced(gcd(a[0], b[0], a[1] - b[1]), a[1])


def intersection(a: ModularSet, b: ModularSet) -> ModularSet:
    """What holds of a number that is in both (the Chinese remainder theorem); the first where nothing is."""
    (m, r), (n, s) = a, b
    if m == 0:
        return a
    if n == 0:
        return b
    common = gcd(m, n)
    if (s - r) % common:
        return a
    step = (s - r) // common * pow(m // common, -1, n // common) if n != common else 0
    return reduced(m * n // common, r + m * step)


def _of_atom(atom: Expr, known: Known) -> ModularSet:
    if type(atom) is Var:
        return known.steps.get(atom, ANYTHING)
    low, high = bounds(atom, known)
    if low == high:
        return 0, low
    rule = _RULES.get(atom.op.name) if type(atom) is Call else None
    if rule is not None:
        return rule(atom, known)  # type: ignore[arg-type]
    return modular_set(atom.body, known) if type(atom) is Let else ANYTHING


def _floormod(expr: Call, known: Known) -> ModularSet:
    (m, r), (n, s) = (modular_set(arg, known) for arg in expr.args)
    if n:
        return ANYTHING
    return reduced(gcd(m, s), r) if s else ANYTHING


def _floordiv(expr: Call, known: Known) -> ModularSet:
    (m, r), (n, s) = (modular_set(arg, known) for arg in expr.args)
    if n or s <= 0 or m % s:
        return ANYTHING
    return reduced(m // s, r // s)


def _choice(expr: Call, known: Known) -> ModularSet:
    a, b = (modular_set(arg, known) for arg in expr.args[-2:])
    return union(a, b)


def _cast(expr: Call, known: Known) -> ModularSet:
    inner = expr.args[0]
    if not inner.dtype.is_int:
        return ANYTHING
    coefficient, base = modular_set(inner, known)
    least, greatest = whole(expr.dtype)
    if coefficient == 0 and least <= base <= greatest:
        return 0, base
    return reduced(gcd(coefficient, 1 << expr.dtype.bits), base)


def _shift_left(expr: Call, known: Known) -> ModularSet:
    by = expr.args[1]
    if type(by) is Const and 0 <= by.value < expr.dtype.bits:
        return reduced(1 << int(by.value), 0)
    return ANYTHING


_RULES: dict[str, Callable[[Call, Known], ModularSet]] = {
    "floormod": _floormod,
    "floordiv": _floordiv,
    "min": _choice,
    "max": _choice,
    "Select": _choice,
    "if_then_else": _choice,
    "cast": _cast,
    "shift_left": _shift_left,
}

__all__ = ["ANYTHING", "ModularSet", "intersection", "modular_set", "of_polynomial", "reduced", "union"]
