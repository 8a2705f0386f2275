"""What the tests of elementary functions share: true values, inputs that find errors, and the bounds of errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from helpers.script import function
from tirscript.backend.llvm import host
from tirscript.ir import PrimFunc

Array = np.ndarray[Any, Any]
FUSED, NOT_FUSED = 0, 1
# units of the last place over all float32, as measured by `python benchmarks math`, where the processor has fused
# multiplication and addition, and where not; the tests' samples come near to them
BOUNDS = {
    "exp": (0.92, 1.25),
    "exp2": (0.9, 1.2),
    "exp10": (1.03, 1.3),
    "expm1": (1.53, 1.75),
    "log": (0.86, 0.9),
    "log2": (0.95, 1.9),
    "log10": (0.95, 1.9),
    "log1p": (1.43, 1.5),
    "sqrt": (0.5, 0.5),
    "rsqrt": (1.5, 1.5),
    "tanh": (0.93, 1.1),
    "sigmoid": (1.56, 1.65),
    "erf": (1.0, 1.35),
    "sin": (1.58, 1.65),
    "cos": (1.58, 1.65),
    "tan": (0.51, 0.51),
    "asin": (1.37, 1.42),
    "acos": (1.07, 1.15),
    "atan": (1.39, 1.55),
    "sinh": (1.62, 1.8),
    "cosh": (1.36, 1.6),
    "asinh": (0.51, 0.51),
    "acosh": (0.51, 0.51),
    "atanh": (0.51, 0.51),
}


def _sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


EXACT: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "erf": lambda x: np.array([math.erf(value) for value in x.tolist()]),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "hypot": np.hypot,
}


def true_values(name: str, *x: Array) -> Array:
    """What the function is, in the type of the arguments."""
    with np.errstate(all="ignore"):
        return np.asarray(EXACT[name](*x))


# where a function changes from one formula to another, or leaves the range of the type
BRANCHES = {
    "exp": (88.7, -87.3, -103.9),
    "exp2": (127.9, -126.0, -149.0),
    "exp10": (38.5, -37.9, -44.9),
    "expm1": (88.7, -17.3, 0.3466, -0.3466, 0.39),
    "log": (0.7071, 1.4142, 1.0),
    "log2": (0.7071, 1.4142, 1.0),
    "log10": (0.7071, 1.4142, 1.0),
    "log1p": (-0.2929, 0.4142, -0.99, 0.45, 1e8),
    "tanh": (0.96875, 0.99, 9.0),
    "sigmoid": (-5.5, -87.4, -103.0, -8.6),
    "erf": (1.0, 3.9, 0.98),
    "sin": (0.785, 3.1416, 66.76, 1.5e7),
    "cos": (0.785, 1.5708, 44.77, 1.5e7),
    "tan": (0.785, 1.5708, 1.5e7),
    "asin": (0.5625, 1.0, 0.87),
    "acos": (0.5625, 1.0, -0.5625, 0.62),
    "atan": (1.39, 0.9),
    "sinh": (1.0, 89.4, 1.44),
    "cosh": (1.36, 4.56),
    "asinh": (1 / 512, 0.2),
    "acosh": (1.0, 1.005),
    "atanh": (1 / 512, 1.0, 0.39),
}


def host_fuses() -> bool:
    """Whether this processor multiplies and adds with one rounding."""
    return "+fma" in host().features.split(",") or not host().triple.startswith("x86_64")


@cache
def _bits(kind: type) -> Array:
    rng = np.random.default_rng(1)
    unsigned = np.uint32 if kind is np.float32 else np.uint64
    found = rng.integers(0, np.iinfo(unsigned).max, 40_000, dtype=unsigned).view(kind)
    return found[~np.isnan(found)]  # of signalling ones numpy warns


def samples(name: str, kind: type) -> Array:
    """Floats of all sizes, of the sizes that are usual, and many around the places where formulas change."""
    rng = np.random.default_rng(2)
    parts = [_bits(kind)]
    for low, high in ((-105, 90), (-10, 10), (-1.5, 1.5), (-0.1, 0.1), (0.5, 2)):
        parts.append(rng.uniform(low, high, 20_000).astype(kind))
    if kind is np.float64:
        parts.append(rng.uniform(-750, 715, 20_000))
    for place in BRANCHES.get(name, ()):
        near = place * rng.uniform(0.97, 1.03, 10_000)
        parts += [near.astype(kind), -near.astype(kind)]
    return np.concatenate(parts)


def errors(got: Array, true: Array) -> Array:
    """The distance of each result from the true value in units of the last place of it; infinite where a special value
    or a sign is wrong."""
    with np.errstate(all="ignore"):
        want = true.astype(got.dtype)
        unit = np.spacing(np.abs(want)).astype(true.dtype)
        found = np.abs(got.astype(true.dtype) - true) / unit
    usual = np.isfinite(want) & np.isfinite(got)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    found[~usual] = np.where(same, 0, np.inf)[~usual]
    wrong = (np.signbit(got) != np.signbit(true)) & ~np.isnan(true)
    found[wrong] = np.inf
    return found.astype(np.float64)


def loop(name: str, kind: str, lanes: int = 1, arguments: int = 1, attributes: str = "") -> PrimFunc:
    """`R[i] = T.name(A[i], ...)` for all elements, `lanes` at a time."""
    letters = "ABC"[:arguments]
    index = "i" if lanes == 1 else f"T.ramp(i * {lanes}, 1, {lanes})"
    body = f"for i in range(n{'' if lanes == 1 else f' // {lanes}'}):\n"
    body += f"    R[{index}] = T.{name}({', '.join(f'{letter}[{index}]' for letter in letters)})"
    params = ", ".join(f'{letter}: T.Buffer(("n",), "{kind}")' for letter in [*letters, "R"])
    return function(attributes + body, params)
