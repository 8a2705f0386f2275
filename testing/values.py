"""What random programs are made of: choices, names, comments and numbers at the edges of their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from tirscript.ir import Const, DType, Trivia, const, dtype

from .edges import floats, integers

Item = TypeVar("Item")

INTS = tuple(dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
FLOATS = tuple(dtype(name) for name in ("float16", "bfloat16", "float32", "float64"))
BOOL, INT32, INT64 = dtype("bool"), dtype("int32"), dtype("int64")
# the usual ones come up more often
DTYPES = (*INTS, *FLOATS, BOOL, dtype("float32"), dtype("float32"), dtype("int32"), dtype("int32"), dtype("float64"))

NAMES = ("i", "j", "k", "x", "y", "A", "B", "acc", "i_1", "i_2", "v_x", "n", "tmp", "größe", "_", "__x")
# not names at all, or names that mean something to the reader of the text: the printer must find others
ODD_NAMES = (
    "T",
    "I",
    "G",
    "for",
    "lambda",
    "None",
    "range",
    "min",
    "a.b",
    "x y",
    "3d",
    "",
    "print",
    "cls",
    "self",
    "R",
)
COMMENTS = ("# why", "# a # b", "#", "#: odd", "# größe", '# "quoted" \\ text')


@cache
def _up_to(last: int) -> st.SearchStrategy[int]:
    return st.integers(0, last)


class Chooser:
    """Choices that hypothesis makes, and can make smaller when it looks for the least failing program.

    `budget` counts down with every node, so that programs end.
    """

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], budget: int) -> None:
        self.draw = draw
        self.budget = budget

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        return self.draw(_up_to(count - 1)) if count > 1 else 0

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items; the first is the simplest."""
        return items[self.below(len(items))]

    def chance(self, one_in: int) -> bool:
        """True once in `one_in` times."""
        return self.below(one_in) == one_in - 1

    def number(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + self.below(high - low + 1)

    def name(self) -> str:
        """A name, now and then one that the printer cannot use as it is."""
        return self.pick(ODD_NAMES) if self.chance(12) else self.pick(NAMES)

    def trivia(self, first: bool, last: bool, compound: bool) -> Trivia | None:
        """Comments and blank lines around a statement, in the form in which the front end keeps them."""
        if not self.chance(6):
            return None
        before: tuple[str, ...] = self.pick(
            ((), (self.pick(COMMENTS),), ("# one", "# two"), ("",), ("", "# after a gap"))
        )
        if first and before[:1] == ("",):
            before = before[1:]
        beside = self.pick(("", "# beside")) if not compound else ""
        after = ("# at the end",) if last and self.chance(3) else ()
        return Trivia(before, beside, after) if before or beside or after else None

    def const(self, kind: DType) -> Const:
        """A constant of a type; every other time a small one, else one at the edges of the type."""
        if kind.is_bool:
            return const(bool(self.below(2)), kind)
        if kind.is_float:
            return const(self.pick(floats(kind.name)), kind)
        return const(self.pick(integers(kind.name)), kind)

    def nonzero(self, kind: DType) -> Const:
        """An integer constant that may be divided by."""
        return const(self.pick([value for value in integers(kind.name) if value]), kind)
