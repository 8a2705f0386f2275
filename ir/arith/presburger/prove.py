"""Proofs and counterexamples of conditions on integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...dtype import DType
from ...expr import BufferLoad, Expr, Var
from ...node import recursion_room
from ...rewrite import free_vars
from ..bounds import Interval, bounds, within_types
from ..evaluate import Element, Undecided, evaluate
from .flat import Flat
from .form import FALSE, Condition, Dim
from .limits import PROVING, Unknown, bounded, context, or_none
from .points import SMALL, point_in
from .translate import Translation

if TYPE_CHECKING:
    import islpy

Ranges = Mapping[Var, Interval]
# up to so many values of the variables are tried one by one where unknowns make samples that are none
TRIED = 2048


class Counterexample(Struct, frozen=True, eq=False):
    """Values for which a condition is false and all facts hold, found by isl and confirmed by evaluation.

    `values` are those of the variables, `memory` those of the elements that are read.
    """

    values: dict[Var, int]
    memory: dict[Element, int]

    def __str__(self) -> str:
        parts = [f"{var.name} = {_shown(var.dtype, value)}" for var, value in self.values.items()]
        for (buffer, indices), value in self.memory.items():
            place = f"[{', '.join(map(str, indices))}]" if indices else ""
            parts.append(f"{buffer.name}{place} = {_shown(buffer.dtype, value)}")
        return ", ".join(parts)


def _shown(dtype: DType, value: int) -> str:
    return str(bool(value)) if dtype.is_bool else str(value)


def prove(
    condition: Expr,
    ranges: Ranges | None = None,
    facts: Sequence[Expr] = (),
    *,
    values: Mapping[Var, Expr] | None = None,
    operations: int = PROVING,
) -> bool | None:
    """Whether `condition` holds for all values of its variables: True, False, or None where it is unknown.

    False means that a counterexample was found and confirmed. `ranges` are inclusive bounds of variables (the dtype's
    where there are none), `facts` conditions that are known to hold, `values` what bound names stand for. All loads
    in one question are taken to be done at one time. `operations` bounds the work of isl.
    """
    question = _Question(condition, ranges, facts, values, operations)
    return or_none(question.answer)


def counterexample(
    condition: Expr,
    ranges: Ranges | None = None,
    facts: Sequence[Expr] = (),
    *,
    values: Mapping[Var, Expr] | None = None,
    operations: int = PROVING,
) -> Counterexample | None:
    """Values for which `condition` is false while `facts` hold; None where there are none or none was found.

    The arguments are those of `prove`. Small values are preferred.
    """
    question = _Question(condition, ranges, facts, values, operations)
    return or_none(question.counterexample)


class _Question:
    def __init__(
        self,
        condition: Expr,
        ranges: Ranges | None,
        facts: Sequence[Expr],
        values: Mapping[Var, Expr] | None,
        operations: int,
    ) -> None:
        self.asked, self.facts, self.operations = condition, tuple(facts), operations
        self.ranges, self.bound = within_types(ranges or {}), dict(values or {})
        roots = (condition, *self.facts, *self.bound.values())
        self.variables = [v for v in free_vars(roots) if v not in self.bound and (v.dtype.is_int or v.dtype.is_bool)]
        self.translation = Translation(self.ranges, values)

    def answer(self) -> bool | None:
        parts = self._parts()
        if parts is None:
            return True
        if self._corner() is not None:
            return False
        flat = Flat(context(), parts)
        found, empty = self._set(flat)
        if empty:
            return True
        if found is not None and self._sample(flat, found) is not None:
            return False
        tried, refuted = self._enumerated()
        return refuted is None if tried else None

    def counterexample(self) -> Counterexample | None:
        parts = self._parts()
        if parts is None:
            return None
        flat = Flat(context(), parts)
        found, _ = self._set(flat)
        sample = None if found is None else self._sample(flat, found)
        return self._enumerated()[1] if sample is None else sample

    def _parts(self) -> list[Condition] | None:
        """What holds in a counterexample; None where bounds alone say that there is none."""
        with recursion_room():
            facts = self.translation.assume(self.facts)
            negation = self.translation.condition(self.asked, False)
        parts = [negation, *facts, *self.translation.side]
        return None if any(part is FALSE for part in parts) else parts

    def _corner(self) -> Counterexample | None:
        """A counterexample in which all variables are at their least values, or all at their greatest.

        Most conditions that do not hold fail there, as that of the last tile of a loop that its factor does not divide.
        """
        for end in (1, 0):
            try:
                found = self._refuted({var: bounds(var, self.ranges)[end] for var in self.variables}, {})
            except Undecided:
                return None
            if found is not None:
                return found
        return None

    def _set(self, flat: Flat) -> tuple[islpy.Set | None, bool]:
        """The points that would be counterexamples, None where that is not known, and whether there are surely none."""
        try:
            with bounded(flat.ctx, self.operations), recursion_room():
                found = flat.set()
                return found, bool(found.is_empty())
        except Unknown:
            return None, False

    def _sample(self, flat: Flat, found: islpy.Set) -> Counterexample | None:
        try:
            with bounded(flat.ctx, self.operations):
                return self._sampled(flat, found)
        except Unknown:
            return None

    def _sampled(self, flat: Flat, found: islpy.Set) -> Counterexample | None:
        for limit in (*SMALL, None):
            numbers = point_in(found, limit, len(flat.dims))
            if numbers is None:
                continue
            confirmed = self._confirmed(dict(zip(flat.dims, numbers)))
            if confirmed is not None:
                return confirmed
        return None

    def _confirmed(self, point: dict[Dim, int]) -> Counterexample | None:
        values = {dim.expr: value for dim, value in point.items() if type(dim.expr) is Var}
        values = {var: values.get(var, self._default(var)) for var in self.variables}
        loads: dict[Any, int] = {dim.expr: value for dim, value in point.items() if type(dim.expr) is BufferLoad}
        memory: dict[Element, int] = {}
        try:
            for load, value in loads.items():
                place = tuple([evaluate(i, values, memory, loads, self.bound) for i in load.indices])
                if memory.setdefault((load.buffer, place), value) != value:
                    return None
            return self._refuted(values, memory)
        except Undecided:
            return None

    def _refuted(self, values: dict[Var, int], memory: dict[Element, int]) -> Counterexample | None:
        """These values as a counterexample, where all facts hold and the condition does not."""
        for fact in self.facts:
            if not evaluate(fact, values, memory, bound=self.bound):
                return None
        if evaluate(self.asked, values, memory, bound=self.bound):
            return None
        return Counterexample(values, memory)

    def _default(self, var: Var) -> int:
        low, high = bounds(var, self.ranges)
        return min(max(0, low), high)

    def _enumerated(self) -> tuple[bool, Counterexample | None]:
        """Whether all values of the variables could be tried, and one that refutes the condition."""
        limits = [bounds(var, self.ranges) for var in self.variables]
        if math.prod(high - low + 1 for low, high in limits) > TRIED:
            return False, None
        for point in itertools.product(*(range(low, high + 1) for low, high in limits)):
            try:
                found = self._refuted(dict(zip(self.variables, point)), {})
            except Undecided:
                return False, None
            if found is not None:
                return True, found
        return True, None


__all__ = ["Counterexample", "counterexample", "prove"]
