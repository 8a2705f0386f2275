"""Conditions that are known to hold, and what they say of the bounds of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from ..buffer import Buffer
from ..dtype import BOOL
from ..expr import Call, Const, Expr, Var
from ..op import OPS
from .bounds import Interval, Known, bounds
from .float_order import concluded, is_float_comparison
from .logic import NOT, SWAPPED, buffers_read, comparison, conjuncts
from .modular import ModularSet, intersection, of_polynomial
from .polynomial import Monomial, Polynomial, monomial_bounds, polynomial

TRUE = Const(True, BOOL)
CONCLUSIONS = 64  # how many bounds are narrowed because of one new fact
NESTED = 8  # how far bounds inside of an unknown lead to others: they may close in on each other one by one


class Fact(Struct, frozen=True, eq=False):
    """A condition that holds, and, where it compares integers, the number that is therefore not negative.

    `zero` says that the number is 0. `buffers` are those whose contents it depends on.
    """

    condition: Expr
    number: Polynomial | None = None
    zero: bool = False
    buffers: frozenset[Buffer] = frozenset()


class Facts:
    """The facts known at one place of a program, oldest first, and those about each unknown.

    What they say of the bounds of variables goes into `known`.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        self.all: list[Fact] = []
        self.about: dict[Monomial, list[Fact]] = {}
        self.truths: dict[Bucket, list[tuple[Expr, bool]]] = {}
        self.of_floats: list[tuple[Expr, bool]] = []  # the comparisons of floats
        self.of_memory = 0  # how many depend on the contents of buffers
        self.unreachable = False
        self.nested = 0  # bounds that are learned because of bounds
        # of each open scope: how many facts there were, and they themselves where a write dropped one of them since
        self._scopes: list[tuple[int, list[Fact] | None]] = []

    def scope(self) -> Scope:
        """A context manager: what is learned or dropped inside is undone at the end."""
        return Scope(self)

    def open(self) -> tuple[int, bool]:
        """Begin a scope; what comes back ends it."""
        self._scopes.append((len(self.all), None))
        return len(self.known.trail), self.unreachable

    def close(self, before: tuple[int, bool]) -> None:
        """End the scope that was begun last."""
        count, kept = self._scopes.pop()
        if kept is not None:
            self._set(kept)
        else:
            while len(self.all) > count:
                self._leave(self.all.pop())
        self.known.back_to(before[0])
        if self.unreachable is not before[1]:  # anything follows from what never holds
            self.known.changed()
        self.unreachable = before[1]

    def invalidate(self, written: Callable[[Buffer], bool]) -> None:
        """Drop what depends on the contents of buffers that were written."""
        if self.of_memory and any(any(map(written, fact.buffers)) for fact in self.all):
            # an enclosing scope goes back to what it knew, and then drops it itself where the write ends
            self._scopes = [(count, kept if kept is not None else self.all[:count]) for count, kept in self._scopes]
            self._set([fact for fact in self.all if not any(map(written, fact.buffers))])
        for expr in list(self.known.exprs):
            if any(map(written, buffers_read(expr) or ())):
                self.known.forget(expr)

    def _set(self, facts: Iterable[Fact]) -> None:
        self.all, self.about, self.truths, self.of_floats, self.of_memory = [], {}, {}, [], 0
        self.known.changed()
        for fact in facts:
            self._enter(fact)

    def _enter(self, fact: Fact) -> None:
        self.all.append(fact)
        self.of_memory += bool(fact.buffers)
        self.known.changed()
        condition, truth = literal(fact.condition)
        self.truths.setdefault(_bucket(condition), []).append((condition, truth))
        if is_float_comparison(condition):
            self.of_floats.append((condition, truth))
        for key in fact.number.terms if fact.number is not None else ():
            self.about.setdefault(key, []).append(fact)

    def _leave(self, fact: Fact) -> None:
        self.of_memory -= bool(fact.buffers)
        self.known.changed()
        condition, _ = literal(fact.condition)
        self.truths[_bucket(condition)].pop()
        if is_float_comparison(condition):
            self.of_floats.pop()
        for key in fact.number.terms if fact.number is not None else ():
            self.about[key].pop()

    def restore(self, other: Facts) -> None:
        """Know exactly what another one knows."""
        self._set(other.all)
        self.unreachable = other.unreachable

    def truth(self, condition: Expr) -> bool | None:
        """Whether a condition is one of the facts, word for word, or the opposite of one. One of floats may follow."""
        if not self.truths:
            return None
        plain, wanted = literal(condition)
        for known, truth in self.truths.get(_bucket(plain), ()):
            if known == plain:
                return truth is wanted
        if self.of_floats and is_float_comparison(plain):
            found = concluded(plain, self.of_floats)
            return found if found is None else found is wanted
        return None

    # what a new fact says

    def add(self, condition: Expr) -> None:
        """`condition` holds from here to the end of the scope; one that is not the same twice says nothing."""
        for part in conjuncts(condition):
            self._add(part)

    def _add(self, condition: Expr) -> None:
        if type(condition) is Const:
            self.unreachable = self.unreachable or not condition.value
            return
        if condition.dtype.is_vector:
            return  # of some lanes, perhaps
        read = buffers_read(condition)
        if read is None:
            return
        sides = comparison(condition)
        if sides is None:
            self._enter(Fact(condition, buffers=read))
            return
        name, left, right = sides
        if name in ("greater", "greater_equal"):
            name, left, right = SWAPPED[name], right, left
        difference = polynomial(right, self.known) - polynomial(left, self.known)
        if name == "not_equal":
            self._enter(Fact(condition, buffers=read))
            self._unequal(difference)
            return
        if name == "less":
            difference = difference.shifted(-1)
        zero = name == "equal"
        fact = Fact(condition, difference if zero else difference.tight(), zero, read)
        self._enter(fact)
        if zero:
            self._remainders(difference)
        self._narrow(fact)

    def bound(self, number: Polynomial) -> None:
        """`number >= 0` holds, without an expression that says so."""
        if self.nested >= NESTED:
            return
        self.nested += 1
        try:
            self._narrow(Fact(TRUE, number.tight()))
        finally:
            self.nested -= 1

    def _narrow(self, new: Fact) -> None:
        """Close in on the unknowns of a fact, and on those of the facts about them."""
        queue = [new]
        left = CONCLUSIONS
        while queue and left > 0:
            fact = queue.pop()
            number = fact.number
            assert number is not None
            for sign in (1, -1) if fact.zero else (1,):
                for atom, interval in _implied(number, sign, self.known):
                    left -= 1
                    if self._learn(atom, interval):
                        related = self.about.get((atom,), ())
                        queue += [f for f in related[-8:] if f is not fact and f not in queue]

    def _learn(self, atom: Expr, interval: Interval) -> bool:
        """Whether the bounds of an unknown are narrower than before."""
        before = bounds(atom, self.known)
        now = max(before[0], interval[0]), min(before[1], interval[1])
        if now == before:
            return False
        if now[0] > now[1]:
            self.unreachable = True
            return False
        if type(atom) is Var:
            self.known[atom] = now
            return True
        self.known.learn(atom, now)
        if type(atom) is Call:
            for inner, within in _INNER.get(atom.op.name, _nothing)(atom, now):
                for sign, end in ((1, within[0]), (-1, within[1])):
                    if end is not None:
                        self.bound(polynomial(inner, self.known).scaled(sign).shifted(-sign * end))
        return True

    def _unequal(self, difference: Polynomial) -> None:
        """`x != end` takes the end away."""
        if len(difference.terms) != 1:
            return
        ((key, c),) = difference.terms.items()
        if len(key) != 1 or difference.constant % c:
            return
        value = -difference.constant // c
        low, high = bounds(key[0], self.known)
        if value == low < high:
            self._learn(key[0], (low + 1, high))
        elif value == high > low:
            self._learn(key[0], (low, high - 1))

    def _remainders(self, difference: Polynomial) -> None:
        """`x == 4 * y + 1` says that x is 1 modulo 4, and so does `x % 4 == 1`."""
        for key, c in difference.terms.items():
            if len(key) != 1 or abs(c) != 1:
                continue
            atom = key[0]
            rest = Polynomial(
                {k: -c * v for k, v in difference.terms.items() if k is not key}, -c * difference.constant
            )
            if type(atom) is Var:
                self._step(atom, of_polynomial(rest, self.known))
            elif rest.is_constant and type(atom) is Call and atom.op.name == "floormod":
                inner, by = (polynomial(arg, self.known) for arg in atom.args)
                if by.is_constant and by.constant > 0 and len(inner.terms) == 1:
                    ((name, factor),) = inner.terms.items()
                    if len(name) == 1 and type(name[0]) is Var and abs(factor) == 1:
                        self._step(name[0], (by.constant, factor * (rest.constant - inner.constant)))

    def _step(self, var: Var, found: ModularSet) -> None:
        if found[0] == 0:
            return  # a constant, which the bounds say as well
        before = self.known.steps.get(var, (1, 0))
        now = intersection(before, (found[0], found[1] % found[0]))
        if now != before:
            self.known.step(var, *now)


class Scope:
    """What `Facts.scope` returns."""

    __slots__ = ("before", "facts")

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def __enter__(self) -> None:
        self.before = self.facts.open()

    def __exit__(self, *problem: object) -> None:
        self.facts.close(self.before)


Bucket = tuple[object, object, object]


def _bucket(condition: Expr) -> Bucket:
    """What equal conditions have in common and is found at once: the operator, the leftmost leaf, and the number that
    it is compared with, in which the conditions of a long chain of branches differ."""
    node, op = condition, None
    last = condition.args[-1] if type(condition) is Call and condition.args else None
    number = Const.scalar_key(last) if type(last) is Const else None
    for _ in range(8):
        if type(node) is not Call or not node.args:
            break
        op = op or node.op
        node = node.args[0]
    if type(node) is Var:
        return op, node, number
    return op, (type(node), node.value if type(node) is Const else None), number


def literal(condition: Expr) -> tuple[Expr, bool]:
    """A condition without the `not`s before it, in one of its equivalent spellings, and whether it is meant to hold."""
    truth = True
    while type(condition) is Call and condition.op is NOT:
        condition, truth = condition.args[0], not truth
    if type(condition) is Call:
        turned = _TURNED.get(condition.op.name)
        if turned is not None:
            name, swapped, same = turned[condition.args[0].dtype.element.is_float]
            args = condition.args[::-1] if swapped else condition.args
            return Call(OPS[name], args, condition.dtype), truth is same
    return condition, truth


# a comparison as another, for all but floats and for floats: its name, whether the sides change, whether it is the
# same and not the opposite (of floats, `not x < y` is no `x >= y`)
_TURNED = {
    "greater": (("less", True, True), ("less", True, True)),
    "greater_equal": (("less", False, False), ("less_equal", True, True)),
    "less_equal": (("less", True, False), ("less_equal", False, True)),
    "not_equal": (("equal", False, False), ("equal", False, False)),
}


def _implied(number: Polynomial, sign: int, known: Known) -> list[tuple[Expr, Interval]]:
    """The bounds of each unknown that `sign * number >= 0` says."""
    low = high = sign * number.constant
    parts: list[tuple[Monomial, int, Interval]] = []
    for key, c in number.terms.items():
        a, b = monomial_bounds(key, known)
        c *= sign
        ends = (a * c, b * c) if c > 0 else (b * c, a * c)
        low += ends[0]
        high += ends[1]
        parts.append((key, c, ends))
    out: list[tuple[Expr, Interval]] = []
    for key, c, ends in parts:
        if len(key) != 1:
            continue
        a, b = bounds(key[0], known)
        rest = high - ends[1]  # the most that the others can be: c * atom >= -rest
        within = (-(rest // c), b) if c > 0 else (a, rest // -c)
        if within[0] > a or within[1] < b:
            out.append((key[0], within))
    return out


Inner = list[tuple[Expr, tuple[int | None, int | None]]]


def _nothing(atom: Call, interval: Interval) -> Inner:
    return []


def _of_quotient(atom: Call, interval: Interval) -> Inner:
    by = atom.args[1]
    if type(by) is not Const or by.value <= 0:
        return []
    d = int(by.value)
    return [(atom.args[0], (interval[0] * d, interval[1] * d + d - 1))]


def _of_least(atom: Call, interval: Interval) -> Inner:
    return [(arg, (interval[0], None)) for arg in atom.args if arg.dtype.is_int]


def _of_greatest(atom: Call, interval: Interval) -> Inner:
    return [(arg, (None, interval[1])) for arg in atom.args if arg.dtype.is_int]


# what the bounds of a call say of the bounds of its arguments
_INNER: dict[str, Callable[[Call, Interval], Inner]] = {
    "floordiv": _of_quotient,
    "min": _of_least,
    "max": _of_greatest,
}

__all__ = ["Fact", "Facts", "literal"]
