"""Operators of a kind, where the table does not say it."""

from __future__ import annotations

from .op import OPS

# of integers; all but `div`, which is that of floats
DIVISIONS = frozenset(OPS[name] for name in ("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv"))
# one of two values: of `Select` both are evaluated
CHOICES = frozenset((OPS["if_then_else"], OPS["Select"]))
# these evaluate the operands behind the first only where it comes to that
LAZY = frozenset(OPS[name] for name in ("if_then_else", "logical_and", "logical_or"))
EXTREMES = frozenset((OPS["min"], OPS["max"]))
COMPARISONS = frozenset(OPS[name] for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))

__all__ = ["CHOICES", "COMPARISONS", "DIVISIONS", "EXTREMES", "LAZY"]
