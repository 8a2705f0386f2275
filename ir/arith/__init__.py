"""Reasoning about integers: one analyzer that knows what is true at a place of a program, and what it is made of."""

from .analyzer import Analyzer
from .bounds import Interval, bounds, linear_bounds
from .explain import Explanation
from .linear import Linear, constant_difference, expression, linear, wrap
from .scoped import Scoped, walk_with_context

__all__ = [
    "Analyzer",
    "Explanation",
    "Interval",
    "Linear",
    "Scoped",
    "bounds",
    "constant_difference",
    "expression",
    "linear",
    "linear_bounds",
    "walk_with_context",
    "wrap",
]
