"""Random conditions on integers of small ranges, with their truth found by trying all values."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.op import get_op

COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


class Question(Struct, frozen=True, eq=False):
    """Is `condition` true for all values of the variables in `ranges` for which the `facts` hold?

    `holds` is the answer, `affine` whether the condition and the facts are within Presburger arithmetic.
    """

    ranges: dict[Var, tuple[int, int]]
    facts: tuple[Expr, ...]
    condition: Expr
    holds: bool
    affine: bool


def question(seed: int, *, variables: int = 4, extent: int = 12) -> Question:
    """The random question of that number: up to `variables` variables with up to `extent` values each."""
    return _Maker(random.Random(seed), variables, extent).question()


class _Maker:
    def __init__(self, pick: random.Random, variables: int, extent: int) -> None:
        self.pick = pick
        self.kind: DType = dtype(pick.choice(("int32", "int32", "int32", "int64", "int8")))
        self.affine = pick.random() < 0.9
        self.ranges: dict[Var, tuple[int, int]] = {}
        for at in range(pick.randint(1, variables)):
            low = pick.choice((0, 0, 0, 1, -3, -7, pick.randint(-20, 20)))
            if self.kind.bits == 8:
                low = pick.choice((0, 0, -7, 100, 116, -128))
            self.ranges[Var("ijkl"[at % 4], self.kind)] = (low, low + pick.randint(1, extent) - 1)

    def question(self) -> Question:
        grid = self.grid()
        import numpy as np

        within = np.ones(grid[0], dtype=bool)
        facts: list[Expr] = []
        for _ in range(self.pick.choice((0, 0, 1, 1, 2))):
            fact = self.condition(grid, 1)
            if np.any(within & values(fact, grid[1])):  # else everything would hold
                facts.append(fact)
                within &= values(fact, grid[1])
        condition = self.condition(grid, self.pick.choice((0, 1, 1, 2)))
        holds = bool(np.all(values(condition, grid[1]) | ~within))
        return Question(self.ranges, tuple(facts), condition, holds, self.affine)

    def grid(self) -> tuple[tuple[int, ...], dict[Var, Any]]:
        import numpy as np

        axes = [np.arange(low, high + 1).astype(self.kind.name) for low, high in self.ranges.values()]
        shape = tuple(map(len, axes))
        return shape, dict(zip(self.ranges, np.meshgrid(*axes, indexing="ij"), strict=True))

    def condition(self, grid: tuple[tuple[int, ...], Mapping[Var, Any]], depth: int) -> Expr:
        """A condition; what it compares with is near the ends of what is compared, so that many hold everywhere."""
        pick = self.pick
        if depth and pick.random() < 0.6:
            what = pick.choice(("logical_and", "logical_or", "logical_or", "logical_not"))
            parts = [self.condition(grid, depth - 1) for _ in range(1 if what == "logical_not" else 2)]
            return get_op(what)(*parts)
        value = self.value(pick.choice((1, 2, 2, 3)))
        found = values(value, grid[1])
        low, high = int(found.min()), int(found.max())
        least, greatest = self.kind.int_range()
        near = pick.choice((low, high, pick.choice((low, high)) + pick.choice((-1, 1)), pick.randint(low, high)))
        limit: Expr = Const(min(max(near, least), greatest), self.kind)
        if pick.random() < 0.25:
            limit = limit + self.value(1)
            value = value + self.value(1)
        return get_op(pick.choice(COMPARISONS))(value, limit)

    def value(self, depth: int) -> Expr:
        pick = self.pick
        if not depth or pick.random() < 0.15:
            return pick.choice(list(self.ranges))
        what = pick.choice(("add", "add", "sub", "mul", "floordiv", "floormod", "min", "max", "offset"))
        inner = self.value(depth - 1)
        if what == "offset":
            return inner + pick.randint(-9, 9)
        if what == "mul" and not self.affine and pick.random() < 0.6:
            return inner * self.value(depth - 1)
        if what == "mul":
            return inner * pick.choice((-1, 2, 3, 4, 5, 8))
        if what in ("floordiv", "floormod"):
            return get_op(what)(inner, Const(pick.choice((1, 2, 3, 4, 5, 7, 8)), self.kind))
        return get_op(what)(inner, self.value(depth - 1))


def values(expr: Expr, grid: Mapping[Var, Any]) -> Any:
    """The values of an expression on arrays of its variables' values, as an array; integers wrap as numpy's do."""
    import numpy as np

    if type(expr) is Var:
        return grid[expr]
    if type(expr) is Const:
        return np.array(expr.value).astype(expr.dtype.name)
    assert type(expr) is Call
    with np.errstate(all="ignore"):
        return getattr(np, _NAMES.get(expr.op.name, expr.op.numpy or ""))(*[values(arg, grid) for arg in expr.args])


_NAMES = {"min": "minimum", "max": "maximum"}


def points(one: Question) -> int:
    """How many values the variables of a question have together."""
    return math.prod(high - low + 1 for low, high in one.ranges.values())


__all__ = ["COMPARISONS", "Question", "points", "question", "values"]
