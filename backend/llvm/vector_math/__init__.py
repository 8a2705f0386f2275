"""Elementary functions as plain arithmetic without branches, so that loops of them become vector code.

`INLINE` has them by the type of their lanes and the name of their operator; the bounds of their errors are tested, and
measured over all inputs by `python benchmarks math` (docs/mathematics.md). What is not there calls the C library, lane
by lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.func import PrimFunc

from ..builder import FunctionText
from . import error_function, exponential, logarithm, power, trigonometric
from .lanes import Lanes
from .power import scaled

BOTH: dict[str, Callable[..., str]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "exp10": exponential.exp10,
    "expm1": exponential.expm1,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "tanh": exponential.tanh,
    "sigmoid": exponential.sigmoid,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "erf": error_function.erf,
    "asin": trigonometric.asin,
    "acos": trigonometric.acos,
    "atan": trigonometric.atan,
    "atan2": trigonometric.atan2,
}
INLINE: dict[str, dict[str, Callable[..., str]]] = {
    "double": BOTH,
    "float": {
        **BOTH,
        "sin": trigonometric.sin,
        "cos": trigonometric.cos,
        "tan": trigonometric.tan,
        "asinh": logarithm.asinh,
        "acosh": logarithm.acosh,
        "atanh": logarithm.atanh,
        "pow": power.pow_,
        "hypot": power.hypot,
    },
}


def inline(b: FunctionText, name: str, scalar: str, args: Sequence[str], n: int) -> str | None:
    """The operator `name` of `n` lanes of `scalar` as instructions; None where it has none here."""
    function = INLINE.get(scalar, {}).get(name)
    return None if function is None else function(Lanes(b, scalar, n), *args)


def inline_power(
    b: FunctionText, scalar: str, args: Sequence[str], constants: Sequence[float | None], n: int
) -> str | None:
    """A power whose base or exponent is among the `constants` as instructions; None where it is a power like any
    other."""
    base, exponent = constants
    f = Lanes(b, scalar, n)
    if exponent is not None and math.isfinite(exponent):
        return power.constant_power(f, args[0], exponent)
    if base == 2:
        return exponential.exp2(f, args[1])
    return exponential.exp10(f, args[1]) if base == 10 else None


def scaled_by_power(b: FunctionText, x: str, power: str, n: int, *, once: bool) -> str:
    """The double x times 2 to the power, an i64, rounded once; `once`: x is a float32."""
    return scaled(Lanes(b, "double", n), x, power, once)


MODES = ("fast", "accurate")


def mode(func: PrimFunc) -> str:
    """Which elementary functions a function asks for by its attribute "math": "fast", which is the instructions of this
    package, or "accurate", which is the C library."""
    asked = func.attrs.get("math", MODES[0])
    if asked in MODES:
        return str(asked)
    raise DiagnosticError(
        [
            error(
                "T404",
                f'the attribute "math" is "fast" or "accurate", not {asked!r}',
                func.span,
                hint='"accurate" calls the C library for each element; "fast" is the default',
            )
        ]
    )
