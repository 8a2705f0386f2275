"""How much work a text may ask for while it is parsed.

A text runs nothing but the parser, yet a few lines of it can ask for any amount of that: lists doubled line by line,
comprehensions in comprehensions, macros that call others twice. All of it draws on one allowance of steps, each worth
about a microsecond. What a text writes out by itself costs nothing; what it multiplies does.
"""

from __future__ import annotations

import ast
from typing import Any

from tirscript.ir.expr import BufferLoad, Const, Expr, StringImm, Var
from tirscript.ir.graph import TupleType
from tirscript.ir.node import nodes_in, shape_of
from tirscript.ir.rewrite import defines_names, distinct

from .python import MAX_ITEMS, TooLarge

MAX_STEPS = 1 << 19
RENAMING = 15  # steps that a copy with names of its own takes for each part
MAX_FIELDS = 1 << 12  # of a tuple of a graph with those in it, which every use of it looks through
MAX_DEPTH = 100  # of sequences in sequences, which C code walks by recursion
TOO_DEEP = f"sequences nested over {MAX_DEPTH} deep, or in themselves"
_NUMBERS = frozenset((int, float, bool, type(None)))
_LEAVES = (Var, Const, StringImm, BufferLoad)


class Budget:
    """What is left of one text's allowance, and how large its parse-time values are."""

    def __init__(self, trusted: bool) -> None:
        self.trusted = trusted  # the user's own Python may do as it likes
        self.left = MAX_STEPS
        # by id: the value, its parts counted as often as they occur in it, and its depth
        self.known: dict[int, tuple[Any, int, int]] = {}
        self.used_before: set[int] = set()
        self.lengths: dict[int, int] = {}  # by the id of a syntax node: how many it holds

    def spend(self, steps: int) -> None:
        """Take steps from the allowance; TooLarge where it is used up."""
        if self.trusted:
            return
        self.left -= steps
        if self.left < 0:
            raise TooLarge("more work than a text may ask for while it is parsed")

    def again(self, node: ast.AST) -> None:
        """A piece of the text is read once more."""
        if self.trusted:
            return
        count = self.lengths.get(id(node))
        if count is None:
            count = self.lengths[id(node)] = sum(1 for _ in ast.walk(node))
        self.spend(count + 3)

    def made(self, value: Any) -> Any:
        """Check the size of a value that parse-time Python made; the value."""
        if not self.trusted:
            self.spend(self.weigh(value)[0] >> 3)
        return value

    def used(self, value: Any) -> Any:
        """A value that has a name is used; the value, or a copy that defines names of its own where it was used before.

        From the second time on, a large expression is multiplied."""
        if not isinstance(value, Expr) or type(value) in _LEAVES:
            return value
        again = id(value) in self.used_before
        self.used_before.add(id(value))
        weight = 0 if self.trusted else self.weigh(value)[0]
        if not again:
            return value
        self.spend(weight)
        if not defines_names(value):
            return value
        self.spend(weight * RENAMING)
        return distinct(value)

    def weigh(self, value: Any) -> tuple[int, int]:
        """How many parts a value has, what occurs twice counted twice, and how deep it is; TooLarge beyond bounds."""
        cls = type(value)
        if cls is str or cls is bytes:
            return 1 + (len(value) >> 4), 0
        if cls is int:
            return 1 + (value.bit_length() >> 6), 0
        if not isinstance(value, (list, tuple, dict, set, Expr, TupleType)) or cls in _LEAVES:
            return 1, 0
        found = self.known.get(id(value))
        if found is not None:
            return found[1], found[2]
        self.known[id(value)] = value, 1, MAX_DEPTH  # where it is met again in itself
        if isinstance(value, dict):
            parts: Any = [*value, *value.values()]
        elif isinstance(value, TupleType):  # of a tuple of tuples of a graph
            parts = value.fields
        elif isinstance(value, Expr):
            parts = list(nodes_in(list(shape_of(cls).get_children(value))))
        else:
            parts = value
        weight, depth = 1, 0
        if _NUMBERS.issuperset(map(type, parts)):  # as most long sequences are
            weight += len(parts) + (sum(abs(part).bit_length() for part in parts if type(part) is int) >> 6)
            parts = ()
        for part in parts:
            more, deep = self.weigh(part)
            weight += more
            if deep > depth:
                depth = deep
        if isinstance(value, Expr):
            depth = 0
        elif depth >= MAX_DEPTH:
            raise TooLarge(TOO_DEEP)
        else:
            depth += 1
        if weight > MAX_ITEMS:
            raise TooLarge(f"a value of over {MAX_ITEMS:,} parts")
        if cls is TupleType and weight > MAX_FIELDS:
            raise TooLarge(f"a tuple of over {MAX_FIELDS:,} fields")
        self.known[id(value)] = value, weight, depth
        return weight, depth
