"""Cheap proofs: bounds, modular sets, and sums of known conditions."""

from __future__ import annotations

from collections.abc import Callable

from ..expr import Call, Const, Expr
from .bounds import bounds
from .facts import Fact, Facts
from .logic import AND, LIKELY, NOT, OR, comparison, disjuncts, negation
from .modular import of_polynomial
from .polynomial import Polynomial, polynomial

DEEPEST = 4  # conditions that are added up in one proof


class Search:
    """The proof of one question, with a bound on the steps that it takes."""

    def __init__(self, facts: Facts, budget: int) -> None:
        self.facts, self.known, self.left = facts, facts.known, budget

    def condition(self, condition: Expr) -> bool | None:
        """True where it is proved to hold, False where it is proved not to hold, None where neither is."""
        if type(condition) is Const:
            return bool(condition.value)
        if self.facts.unreachable:
            return True
        self.left -= 1
        if self.left < 0:
            return None
        found = self.facts.truth(condition)
        if found is not None:
            return found
        if condition.dtype.is_bool:
            low, high = bounds(condition, self.known)
            if low == high:
                return bool(low)
        if type(condition) is not Call:
            return None
        if condition.op is NOT:
            inner = self.condition(condition.args[0])
            return None if inner is None else not inner
        if condition.op is LIKELY:
            return self.condition(condition.args[0])
        if condition.op is AND or condition.op is OR:
            return self.joined(condition)
        sides = comparison(condition)
        return None if sides is None else self.compare(*sides)

    def joined(self, condition: Call) -> bool | None:
        """`and` and `or`: one side may decide, or both have to be known."""
        decisive = condition.op is OR
        sides: list[bool | None] = []
        for arg in condition.args:
            side = self.condition(arg)
            if side is decisive:
                return decisive
            sides.append(side)
        return None if None in sides else not decisive

    def compare(self, name: str, left: Expr, right: Expr) -> bool | None:
        """A comparison of integers."""
        difference = polynomial(left, self.known) - polynomial(right, self.known)
        return _COMPARE[name](self, difference)

    def order(self, number: Polynomial) -> bool | None:
        """Whether a number is not negative: always, or never."""
        if self.nonnegative(number):
            return True
        return False if self.nonnegative(number.scaled(-1).shifted(-1)) else None

    def zero(self, number: Polynomial) -> bool | None:
        """Whether a number is 0: always, or never."""
        if number.is_constant:
            return number.constant == 0
        coefficient, base = of_polynomial(number, self.known)
        if base if coefficient == 0 else base % coefficient:
            return False
        up, down = self.nonnegative(number), self.nonnegative(number.scaled(-1))
        if up and down:
            return True
        if up:
            return False if self.nonnegative(number.shifted(-1)) else None
        if down or not self.facts.all:
            return False if self.nonnegative(number.scaled(-1).shifted(-1)) else self._apart(number)
        return self._apart(number)

    def _apart(self, number: Polynomial) -> bool | None:
        if self.nonnegative(number.shifted(-1)) or self.nonnegative(number.scaled(-1).shifted(-1)):
            return False
        return None

    def nonnegative(self, number: Polynomial, depth: int = DEEPEST, used: tuple[Fact, ...] = ()) -> bool:
        """Whether `number >= 0` is proved: by its bounds, or after taking known numbers away."""
        number = number.tight()
        low, high = number.bounds(self.known)
        if low >= 0:
            return True
        if high < 0 or depth == 0 or not self.facts.about:
            return False
        for key, c in number.terms.items():
            for fact in self.facts.about.get(key, ()):
                if any(fact is one for one in used):
                    continue
                assert fact.number is not None
                d = fact.number.terms[key]
                if (c > 0) != (d > 0) and not fact.zero:
                    continue
                self.left -= 1
                if self.left < 0:
                    return False
                # |d| * number - |c| * fact is free of this term; where it is not negative, nor is the number
                rest = number.scaled(abs(d)).plus(fact.number, -abs(c) if (c > 0) == (d > 0) else abs(c))
                if len(rest.terms) <= len(number.terms) + 2 and self.nonnegative(rest, depth - 1, (*used, fact)):
                    return True
        return False


def implied_by(facts: Facts, search: Search) -> list[Expr]:
    """What is left of the known alternatives (`a or b`) when those that cannot be are taken away."""
    out = []
    for fact in facts.all:
        if type(fact.condition) is not Call or fact.condition.op is not OR:
            continue
        open_ = [part for part in disjuncts(fact.condition) if search.condition(part) is not False]
        if len(open_) == 1:
            out.append(open_[0])
    return out


def _negated(found: bool | None) -> bool | None:
    return None if found is None else not found


_COMPARE: dict[str, Callable[[Search, Polynomial], bool | None]] = {
    "less": lambda s, d: s.order(d.scaled(-1).shifted(-1)),
    "less_equal": lambda s, d: s.order(d.scaled(-1)),
    "greater": lambda s, d: s.order(d.shifted(-1)),
    "greater_equal": lambda s, d: s.order(d),
    "equal": lambda s, d: s.zero(d),
    "not_equal": lambda s, d: _negated(s.zero(d)),
}

__all__ = ["Search", "implied_by", "negation"]
