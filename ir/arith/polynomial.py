"""What integer expressions are as numbers: polynomials over the integers, in which nothing wraps.

An integer expression of the language wraps. `polynomial` gives the polynomial that an expression equals as a number,
where that follows from the bounds of its variables; a part that may overflow is an unknown of its own, whose value is
what the machine makes of it. So whatever is concluded from these polynomials holds for the machine's values.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from msgspec import Struct

from ..expr import Call, Const, Expr, Let, Var
from ..op import OPS
from .bounds import Interval, Known, bounds, whole

# a product of atoms, in a fixed order; most are of one
Monomial = tuple[Expr, ...]
WIDEST = 64  # terms that a product may have when it is multiplied out


class Polynomial(Struct, frozen=True, eq=False):
    """A sum of `coefficient * product of atoms` plus a constant, over the integers."""

    terms: dict[Monomial, int]
    constant: int = 0

    def __add__(self, other: Polynomial) -> Polynomial:
        return self.plus(other, 1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self.plus(other, -1)

    def plus(self, other: Polynomial, factor: int) -> Polynomial:
        """This and `factor` times the other."""
        terms = dict(self.terms)
        for key, c in other.terms.items():
            total = terms.get(key, 0) + factor * c
            if total:
                terms[key] = total
            else:
                terms.pop(key, None)
        return Polynomial(terms, self.constant + factor * other.constant)

    def scaled(self, factor: int) -> Polynomial:
        """This times a number."""
        if factor == 0:
            return Polynomial({})
        return Polynomial({key: c * factor for key, c in self.terms.items()}, self.constant * factor)

    def shifted(self, by: int) -> Polynomial:
        """This plus a number."""
        return Polynomial(self.terms, self.constant + by)

    def tight(self) -> Polynomial:
        """Of `p >= 0`, the same said with coefficients without a common divisor: `4*i - 3 >= 0` is `i - 1 >= 0`."""
        divisor = gcd(*self.terms.values()) if self.terms else 1
        if divisor <= 1:
            return self
        return Polynomial({key: c // divisor for key, c in self.terms.items()}, self.constant // divisor)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def is_zero(self) -> bool:
        return not self.terms and not self.constant

    def atoms(self) -> Iterator[Expr]:
        """The unknowns, with repetitions."""
        for key in self.terms:
            yield from key

    def bounds(self, known: Known) -> Interval:
        """The least and greatest value, given what is known of the atoms each."""
        low = high = self.constant
        for key, c in self.terms.items():
            a, b = monomial_bounds(key, known)
            low += min(a * c, b * c)
            high += max(a * c, b * c)
        return low, high


def monomial_bounds(key: Monomial, known: Known) -> Interval:
    """The bounds of a product of atoms."""
    if len(key) == 1:
        return bounds(key[0], known)
    low = high = 1
    at = 0
    while at < len(key):
        a, b = bounds(key[at], known)
        power = 1
        while at + power < len(key) and key[at + power] is key[at]:
            power += 1
        ends = (a**power, b**power)
        a, b = min(ends), max(ends)
        if power % 2 == 0 and bounds(key[at], known)[0] <= 0 <= bounds(key[at], known)[1]:
            a = 0
        corners = (low * a, low * b, high * a, high * b)
        low, high = min(corners), max(corners)
        at += power
    return low, high


_ADD, _SUB, _NEG, _MUL, _CAST, _SHIFT = (OPS[name] for name in ("add", "sub", "negative", "mul", "cast", "shift_left"))


def polynomial(expr: Expr, known: Known) -> Polynomial:
    """The polynomial that an integer scalar equals as a number."""
    kind = type(expr)
    if kind is Const:
        return Polynomial({}, int(expr.value))  # type: ignore[attr-defined]
    if kind is Var:
        value = known.lets.get(expr)  # type: ignore[call-overload]
        return Polynomial({(expr,): 1}) if value is None else polynomial(value, known)
    if kind is Let and not expr.value.dtype.is_vector:  # type: ignore[attr-defined]
        if expr.var not in known.lets:  # type: ignore[attr-defined]
            known.bind(expr.var, expr.value)  # type: ignore[attr-defined]
        return polynomial(expr.body, known)  # type: ignore[attr-defined]
    raw = _modular(expr, known)
    if len(raw.terms) == 1 and not raw.constant and raw.terms.get((expr,)) == 1:
        return raw
    low, high = raw.bounds(known)
    least, greatest = whole(expr.dtype)
    if least <= low and high <= greatest:
        return raw
    # the sum as a whole may be known to lie where its parts do not say
    return Polynomial({(expr,): 1})


def modular(expr: Expr, known: Known) -> Polynomial:
    """A polynomial that is congruent to an integer scalar modulo 2 to the width of its dtype, whatever overflows."""
    return _modular(expr, known)


def _modular(root: Expr, known: Known) -> Polynomial:
    dtype = root.dtype
    terms: dict[Monomial, int] = {}
    constant = 0
    stack: list[tuple[Expr, int]] = [(root, 1)]
    while stack:
        node, factor = stack.pop()
        kind = type(node)
        if kind is Const:
            constant += factor * int(node.value)  # type: ignore[attr-defined]
            continue
        part: Polynomial | None = None
        if kind is Call:
            op, args = node.op, node.args  # type: ignore[attr-defined]
            if op is _ADD:
                stack += ((args[1], factor), (args[0], factor))
                continue
            if op is _SUB:
                stack += ((args[1], -factor), (args[0], factor))
                continue
            if op is _NEG:
                stack.append((args[0], -factor))
                continue
            if op is _MUL:
                left, right = args
                if type(right) is Const:
                    stack.append((left, factor * int(right.value)))
                    continue
                if type(left) is Const:
                    stack.append((right, factor * int(left.value)))
                    continue
                part = _product(left, right, known)
            elif op is _SHIFT and type(args[1]) is Const and 0 <= args[1].value < dtype.bits:
                stack.append((args[0], factor << int(args[1].value)))
                continue
            elif op is _CAST and (args[0].dtype.is_int or args[0].dtype.is_bool):
                inner = args[0]
                a, b = bounds(inner, known)
                least, greatest = whole(dtype)
                if least <= a and b <= greatest:
                    if inner.dtype.is_bool:
                        part = Polynomial({(inner,): 1})
                    else:
                        part = polynomial(inner, known)
        elif kind is Var:
            value = known.lets.get(node)  # type: ignore[call-overload]
            if value is not None:
                stack.append((value, factor))
                continue
        if part is None:
            terms[(node,)] = terms.get((node,), 0) + factor
        else:
            constant += factor * part.constant
            for key, c in part.terms.items():
                terms[key] = terms.get(key, 0) + factor * c
    return Polynomial({key: c for key, c in terms.items() if c}, constant)


def _product(left: Expr, right: Expr, known: Known) -> Polynomial | None:
    """A product of two sums multiplied out; None where that would be wide."""
    return multiply(_modular(left, known), _modular(right, known))


def multiply(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """The product of two polynomials; None where it would have too many terms."""
    if (len(p.terms) + 1) * (len(q.terms) + 1) > WIDEST:
        return None
    terms: dict[Monomial, int] = {}
    for a, c in (*p.terms.items(), ((), p.constant)):
        for b, d in (*q.terms.items(), ((), q.constant)):
            key = tuple(sorted((*a, *b), key=_order)) if a and b else a or b
            terms[key] = terms.get(key, 0) + c * d
    constant = terms.pop((), 0)
    return Polynomial({key: c for key, c in terms.items() if c}, constant)


def _order(atom: Expr) -> tuple[str, int]:
    """An order in which the atoms of a product stand; the same for equal atoms."""
    return (atom.name, id(atom)) if type(atom) is Var else (type(atom).__name__, hash(atom))


__all__ = ["Monomial", "Polynomial", "modular", "monomial_bounds", "multiply", "polynomial"]
