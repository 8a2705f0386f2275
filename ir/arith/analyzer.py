"""The one object that every pass asks what is true of integers at a place of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..buffer import Buffer
from ..dtype import BOOL
from ..effects import reads_memory
from ..expr import BufferLoad, Const, Expr, Var
from ..node import recursion_room
from ..op import get_op
from ..rewrite import walk
from ..stmt import Axis, For
from .bounds import Interval, Known, bounds, meet, whole
from .explain import Explanation, explain
from .facts import Facts
from .linear import constant_difference
from .logic import buffers_read, negation
from .modular import ModularSet, modular_set
from .polynomial import modular, polynomial
from .proving import Search, implied_by

if TYPE_CHECKING:
    from .presburger import Counterexample

BUDGET = 2_000  # steps of the cheap search for one proof
# known conditions that one proof of Presburger arithmetic is given, and variables that it may be about
RELEVANT = 32
VARIABLES = 24


class Analyzer:
    """What is known of the variables at one place of a program, and what follows from it.

    `True` is answered only where it was proved, under the wrap-around of integers; "unknown" is a legal answer and is
    never taken for yes. Questions are deterministic, and the work for one is bounded by `budget` (steps of the cheap
    search; Presburger arithmetic has a bound of its own, and is left out where `presburger` is False).
    """

    def __init__(
        self, ranges: Mapping[Var, Interval] | None = None, *, budget: int = BUDGET, presburger: bool = True
    ) -> None:
        self.known = Known(ranges or {})
        self.facts = Facts(self.known)
        self.budget = budget
        self.presburger = presburger

    def copy(self) -> Analyzer:
        """An analyzer that knows the same and then goes its own way."""
        other = Analyzer(self.known, budget=self.budget, presburger=self.presburger)
        for table, mine in ((other.known.exprs, self.known.exprs), (other.known.steps, self.known.steps)):
            table.update(mine)  # type: ignore[arg-type]
        other.known.lets.update(self.known.lets)
        other.known.weights.update(self.known.weights)
        other.facts.restore(self.facts)
        return other

    # what is known

    def bind(self, var: Var, value: Interval | tuple[Expr, Expr] | Expr) -> None:
        """`var` is within an interval (both ends included), in `range(start, stop)`, or stands for an expression."""
        if isinstance(value, Expr):
            self._bind_value(var, value)
        elif isinstance(value[0], Expr):
            start, stop = value
            self._bind_range(var, start, stop)  # type: ignore[arg-type]
        else:
            self.known[var] = value[0], value[1]  # type: ignore[assignment]

    def _bind_value(self, var: Var, value: Expr) -> None:
        scalar = (value.dtype.is_int or value.dtype.is_bool) and not value.dtype.is_vector
        if scalar:
            self.known[var] = bounds(value, self.known)
            if value.dtype.is_int:
                step = modular_set(value, self.known)
                if step[0] > 1:
                    self.known.step(var, *step)
        if value.dtype is not var.dtype or (not reads_memory(value) and self.known.bind(var, value)):
            return
        if scalar:
            self.facts.add(get_op("equal")(var, value))

    def _bind_range(self, var: Var, start: Expr, stop: Expr) -> None:
        low, high = bounds(start, self.known)[0], bounds(stop, self.known)[1] - 1
        least, greatest = whole(var.dtype)
        if low > high:
            self.facts.unreachable = True
            return
        self.known[var] = max(low, least), min(high, greatest)
        if type(start) is not Const:
            self.facts.add(get_op("greater_equal")(var, start))
        if type(stop) is not Const:
            self.facts.add(get_op("less")(var, stop))

    def enter_loop(self, loop: For) -> None:
        """The variable of a loop is in its range, for the rest of the scope."""
        if loop.step is None:
            self._bind_range(loop.var, loop.start, loop.stop)
            return
        low, high = bounds(loop.step, self.known)
        if low > 0:
            self._bind_range(loop.var, loop.start, loop.stop)
        elif high < 0:
            # it counts down from start and stays above stop
            self.known[loop.var] = bounds(loop.stop, self.known)[0] + 1, bounds(loop.start, self.known)[1]
        coefficient, base = modular_set(loop.start, self.known)
        by, rest = modular_set(loop.step, self.known)
        common = math.gcd(coefficient, by, rest)
        if common > 1:
            self.known.step(loop.var, common, base % common)

    def enter_axis(self, axis: Axis) -> None:
        """The variable of a block's axis is in its domain and has the value bound to it, for the rest of the scope."""
        self._bind_range(axis.var, axis.start, axis.stop)
        value = axis.value
        if value.dtype is axis.var.dtype and not reads_memory(value):
            self.facts.add(get_op("equal")(axis.var, value))

    def scope(self, *conditions: Expr) -> Inside:
        """A context manager: `conditions` hold inside; what is learned or bound inside is forgotten at the end."""
        return Inside(self, conditions)

    def assume(self, condition: Expr) -> None:
        """`condition` holds for the rest of the scope."""
        with recursion_room():
            self.facts.add(condition)

    def invalidate(self, written: Callable[[Buffer], bool] | None = None) -> None:
        """Memory was written: forget what is known of the contents of these buffers (of all, where None)."""
        self.facts.invalidate(written or (lambda buffer: True))

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """The conditions that are known to hold here, oldest first."""
        return tuple([fact.condition for fact in self.facts.all])

    # what follows

    def const_int_bound(self, expr: Expr) -> Interval:
        """The least and greatest value that an integer or bool (each lane of it) can have."""
        with recursion_room():
            found = bounds(expr, self.known)
            if expr.dtype.is_int and not expr.dtype.is_vector:
                found = meet(found, polynomial(expr, self.known).bounds(self.known))
            return found

    def modular_set(self, expr: Expr) -> ModularSet:
        """(coefficient, base): the value is `base` and a multiple of `coefficient`; a constant where that is 0."""
        with recursion_room():
            return modular_set(expr, self.known)

    def int_set(self, expr: Expr, domain: Mapping[Var, tuple[Expr, Expr]]) -> tuple[Expr, Expr] | None:
        """The first and last value of an index while variables run between their ends; see `sets.int_set`."""
        from .sets import int_set

        with recursion_room():
            return int_set(expr, domain, self)

    def can_overflow(self, expr: Expr) -> bool:
        """Whether a sum or product of integers may wrap around, as far as is known."""
        with recursion_room():
            low, high = modular(expr, self.known).bounds(self.known)
        least, greatest = whole(expr.dtype)
        return low < least or high > greatest

    def simplify(self, expr: Expr) -> Expr:
        """The expression made smaller, equal to it wherever what is known here holds."""
        from .simplifier import Simplifier

        with recursion_room():
            return Simplifier(self).whole(expr)

    def can_prove(self, condition: Expr) -> bool:
        """Whether `condition` is proved to hold here, whatever the variables are."""
        found = self.decide_cheaply(condition)
        return found if found is not None else self._presburger(condition)

    def can_refute(self, condition: Expr) -> bool:
        """Whether `condition` is proved never to hold here."""
        found = self.decide_cheaply(condition)
        if found is not None:
            return not found or self.facts.unreachable
        return self._presburger(negation(condition))

    def decide(self, condition: Expr) -> bool | None:
        """True where `condition` is proved to hold here always, False where never, None where neither is known."""
        found = self.decide_cheaply(condition)
        if found is not None:
            return found
        if self._presburger(condition):
            return True
        return False if self._presburger(negation(condition)) else None

    def prove_equal(self, a: Expr, b: Expr) -> bool:
        """Whether two expressions are proved to have the same value here; wrapped alike counts."""
        if a is b or a == b:
            return buffers_read(a) is not None
        if a.dtype is not b.dtype:
            return False
        if a.dtype.is_bool:
            return self.can_prove(get_op("equal")(a, b))
        if not a.dtype.is_int or a.dtype.is_vector:
            return False
        if constant_difference(a, b) == 0:
            return True
        with recursion_room():
            difference = modular(a, self.known) - modular(b, self.known)
            size = 1 << a.dtype.bits
            if difference.constant % size == 0 and not any(c % size for c in difference.terms.values()):
                return True
        return self.can_prove(get_op("equal")(a, b))

    def decide_cheaply(self, condition: Expr) -> bool | None:
        """True or False where bounds, modular sets and known conditions prove that it always holds, or never."""
        if condition.dtype.is_vector or buffers_read(condition) is None:
            return None  # not one truth, or not the same twice
        with recursion_room():
            search = Search(self.facts, self.budget)
            found = search.condition(condition)
            if found is not None:
                return found
            simple = self.simplify(condition)
            if type(simple) is Const:
                return bool(simple.value)
            if simple is not condition:
                found = search.condition(simple)
                if found is not None:
                    return found
            with self.facts.scope():
                for one in implied_by(self.facts, search):
                    self.facts.add(one)
                    found = found or search.condition(simple)
            return found

    def _presburger(self, condition: Expr) -> bool:
        if not self.presburger or condition.dtype is not BOOL or buffers_read(condition) is None:
            return False
        if len(self._mentioned(condition)[0]) > VARIABLES:
            return False
        from .presburger import prove

        return prove(condition, self.known, self._given(condition), values=self.known.lets) is True

    def relevant(self, condition: Expr) -> list[Expr]:
        """The conditions known here that share variables with `condition`, directly or through each other.

        Where they are many, those that are further away are left out.
        """
        names, loads = self._mentioned(condition)
        waiting = [(fact.condition, self._mentioned(fact.condition)) for fact in self.facts.all]
        taken: list[Expr] = []
        grown = True
        while grown and waiting and len(taken) < RELEVANT:
            grown = False
            rest = []
            for one in waiting:
                others, reads = one[1]
                apart = names.isdisjoint(others) and loads.isdisjoint(reads)
                if apart or len(names | others) > VARIABLES:
                    rest.append(one)
                    continue
                taken.append(one[0])
                names, loads, grown = names | others, loads | reads, True
            waiting = rest
        return taken[:RELEVANT]

    def _given(self, condition: Expr) -> list[Expr]:
        """The relevant conditions, and what variables leave when divided, as conditions too."""
        facts = self.relevant(condition)
        for var in sorted({v for one in (condition, *facts) for v in self._mentioned(one)[0]}, key=lambda v: v.name):
            step = self.known.steps.get(var)
            if step is not None:
                facts.append(get_op("equal")(var % step[0], step[1]))
        return facts

    def _mentioned(self, condition: Expr) -> tuple[frozenset[Var], frozenset[Buffer]]:
        """The variables that a condition depends on, values of bound names seen through, and the buffers it reads."""
        names: set[Var] = set()
        loads: set[Buffer] = set()
        stack = [condition]
        while stack:
            for node in walk(stack.pop()):
                if type(node) is Var and node not in names:
                    names.add(node)
                    if node in self.known.lets:
                        stack.append(self.known.lets[node])
                elif type(node) is BufferLoad:
                    loads.add(node.buffer)
        return frozenset(names), frozenset(loads)

    def counterexample(self, condition: Expr) -> Counterexample | None:
        """Values for which `condition` is false and all that is known holds, where some were found."""
        if not self.presburger or condition.dtype is not BOOL or buffers_read(condition) is None:
            return None
        if len(self._mentioned(condition)[0]) > VARIABLES:
            return None
        from .presburger import counterexample

        return counterexample(condition, self.known, self._given(condition), values=self.known.lets)

    def explain(self, condition: Expr) -> Explanation:
        """Why `condition` could not be proved: what is known of each variable, and values for which it is false."""
        with recursion_room():
            return explain(self, condition)


class Inside:
    """What `Analyzer.scope` returns."""

    __slots__ = ("analyzer", "before", "conditions")

    def __init__(self, analyzer: Analyzer, conditions: tuple[Expr, ...]) -> None:
        self.analyzer, self.conditions = analyzer, conditions

    def __enter__(self) -> Analyzer:
        self.before = self.analyzer.facts.open()
        for condition in self.conditions:
            self.analyzer.assume(condition)
        return self.analyzer

    def __exit__(self, *problem: object) -> None:
        self.analyzer.facts.close(self.before)


__all__ = ["Analyzer"]
