"""What the numpy references are made of. numpy is imported when a reference is called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..diagnostic import DiagnosticError

Reference = Callable[..., Any]
# what references raise for what an operator is not defined on, or for element types that are not computed
REFUSALS = (IndexError, ValueError, TypeError, ZeroDivisionError, OverflowError, DiagnosticError)
NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def numpy(name: str) -> Reference:
    """The numpy function of that name."""

    def reference(*args: Any) -> Any:
        import numpy as np

        return getattr(np, name)(*args)

    return reference


def wide(function: Reference) -> Reference:
    """`function` on float32 where the first array is of a narrower float; the result is rounded to it once."""

    @functools.wraps(function)
    def reference(first: Any, *args: Any, **attrs: Any) -> Any:
        import numpy as np

        one = first[0] if isinstance(first, (tuple, list)) else first
        kind = getattr(one, "dtype", None)
        if kind is None or kind.name not in NARROW:
            return function(first, *args, **attrs)

        def widened(value: Any) -> Any:
            if isinstance(value, (tuple, list)):
                return tuple(map(widened, value))
            return value.astype(np.float32) if getattr(value, "dtype", None) == kind else value

        def narrowed(value: Any) -> Any:
            if isinstance(value, (tuple, list)):
                return tuple(map(narrowed, value))
            return value.astype(kind) if value.dtype == np.float32 else value

        with np.errstate(over="ignore"):
            return narrowed(function(widened(first), *map(widened, args), **attrs))

    return reference


def erf(x: Any) -> Any:
    """The error function, in float64 (`math.erf` for each element)."""
    import math

    import numpy as np

    values = np.asarray(x, np.float64)
    return np.array([math.erf(one) for one in values.reshape(-1)]).reshape(values.shape).astype(x.dtype)


def quotient(a: Any, b: Any) -> Any:
    """The quotient of integers, rounded toward zero."""
    return a // b + ((a % b != 0) & ((a < 0) != (b < 0)))


def converted(x: Any, to: Any) -> Any:
    """The elements in a dtype of numpy's; floats become integers as by `T.cast`, within their range and nan 0."""
    import numpy as np

    to = np.dtype(to)
    if to.kind not in "iu" or x.dtype.kind in "iub":
        return x.astype(to)
    x, limits = x.astype(np.float64), np.iinfo(to)
    low, high = float(limits.min), float(limits.max)
    inside = np.where((x > low) & (x < high), x, 0).astype(to)
    return np.where(x >= high, to.type(limits.max), np.where(x <= low, to.type(limits.min), inside))


def numpy_dtype(kind: Any) -> Any:
    """The dtype of numpy (or ml_dtypes) for an attribute's dtype."""
    from ..constant import numpy_dtype

    return numpy_dtype(kind)
