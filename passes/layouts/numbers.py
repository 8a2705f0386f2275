"""Index expressions on numpy arrays: the places of all elements at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.op_sets import CHOICES

_RULES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "negative": lambda a: -a,
    "min": lambda a, b: _either(a < b, a, b),
    "max": lambda a, b: _either(a > b, a, b),
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "cast": lambda a: a,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: a & b,
    "logical_or": lambda a, b: a | b,
    "logical_not": lambda a: ~a,
}


def values_at(expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The value of an integer or bool expression for arrays of values of its variables.

    Raises LookupError where it has an operator that layouts do not need, or another variable.
    """
    if type(expr) is Const:
        import numpy as np

        return np.bool_(expr.value) if expr.dtype.is_bool else int(expr.value)
    if type(expr) is Var:
        return values[expr]
    if type(expr) is Call:
        if expr.op in CHOICES:
            return _either(*(values_at(arg, values) for arg in expr.args))
        return _RULES[expr.op.name](*(values_at(arg, values) for arg in expr.args))
    raise LookupError(f"{type(expr).__name__} in an index")


def _either(condition: Any, a: Any, b: Any) -> Any:
    import numpy as np

    return np.where(condition, a, b)


__all__ = ["values_at"]
