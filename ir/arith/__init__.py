"""Reasoning about integers: linear forms and constant bounds."""

from .bounds import Interval, bounds, linear_bounds
from .linear import Linear, constant_difference, expression, linear, wrap

__all__ = ["Interval", "Linear", "bounds", "constant_difference", "expression", "linear", "linear_bounds", "wrap"]
