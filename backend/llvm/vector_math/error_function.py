"""The error function of float32 and float64."""

from __future__ import annotations

from .coefficients import ERF, LOG_ERFC
from .exponential import exp
from .lanes import Lanes

_ONE = {"float": 4.0, "double": 6.0}  # from here on the result is 1


def erf(f: Lanes, x: str) -> str:
    """The error function: a polynomial to 1, then 1 - exp(P(x - 1))."""
    size = f.abs(x)
    square = f.mul(size, size)
    near = f.fma(size, f.polynomial(ERF[f.scalar], square), size)
    beyond = f.sub(f.minimum(size, _ONE[f.scalar]), 1.0)
    far = f.sub(f.real(1.0), exp(f, f.polynomial(LOG_ERFC[f.scalar], beyond)))
    return f.copysign(f.select(f.test("olt", size, 1.0), near, far), x)
