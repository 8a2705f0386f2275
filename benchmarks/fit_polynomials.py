"""Where the coefficients of the elementary functions come from: `python benchmarks/fit_polynomials.py [--check]`.

Each polynomial is the best in the sense of Chebyshev (by Remez' exchange of references) for the relative error of the
function that it is a part of. Coefficients are rounded one after the other from the lowest on, and those that remain
are changed to make up for it. Everything is computed with 50 digits.
"""

from __future__ import annotations

import itertools
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mpmath import mp

mp.dps = 50
FILE = Path(__file__).resolve().parent.parent / "backend" / "llvm" / "vector_math" / "coefficients.py"
HALF_LN2 = mp.ln2 / 2
HALF_LOG10_2 = mp.log10(2) / 2
WIDER = mp.mpf("1.0001")  # arguments reach a little over the ends of the reduced range
ROUND = {"float": lambda x: struct.unpack("<f", struct.pack("<f", float(x)))[0], "short": float, "double": float}


class Fit(NamedTuple):
    """A polynomial for `target` of degree `counts[kind] - 1` from `low` to `high`; `weight` times its error is the
    relative error of the function."""

    words: str
    target: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    low: Any
    high: Any
    counts: dict[str, int]


def _odd(function: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """For f(x) = x + x z P(z) with z = x^2."""

    def target(z: Any) -> Any:
        x = mp.sqrt(z)
        return (function(x) / x - 1) / z

    def weight(z: Any) -> Any:
        x = mp.sqrt(z)
        return z * x / function(x)

    return {"target": target, "weight": weight}


FITS = {
    "EXP": Fit(
        "exp(r) = 1 + r + r^2 P(r) for |r| <= ln(2) / 2, also good for exp(r) - 1",
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / mp.expm1(r),
        -HALF_LN2 * WIDER,
        HALF_LN2 * WIDER,
        {"float": 5, "double": 11},
    ),
    "EXP2": Fit(
        "2^r = 1 + r P(r) for |r| <= 1/2",
        lambda r: (2**r - 1) / r,
        lambda r: r / (2**r - 1),
        -WIDER / 2,
        WIDER / 2,
        {"float": 6, "short": 7, "double": 11},
    ),
    "EXP10": Fit(
        "10^r = 1 + r P(r) for |r| <= log10(2) / 2",
        lambda r: (10**r - 1) / r,
        lambda r: r / (10**r - 1),
        -HALF_LOG10_2 * WIDER,
        HALF_LOG10_2 * WIDER,
        {"float": 6, "double": 11},
    ),
    "LOG": Fit(
        "log(1 + f) = f - f^2 / 2 + f^3 P(f) for sqrt(1/2) <= 1 + f < sqrt(2)",
        lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3,
        lambda f: f**3 / mp.log1p(f),
        mp.sqrt("0.5") - 1,
        mp.sqrt(2) - 1,
        {"float": 8, "short": 12, "double": 20},
    ),
    "LOG2": Fit(
        "log2(1 + f) = f (log2(e) + f P(f)) for sqrt(1/2) <= 1 + f < sqrt(2)",
        lambda f: (mp.log1p(f) / f - 1) / f / mp.ln2,
        lambda f: f**2 / mp.log1p(f) * mp.ln2,
        mp.sqrt("0.5") - 1,
        mp.sqrt(2) - 1,
        {"float": 9, "double": 21},
    ),
    "LOG10": Fit(
        "log10(1 + f) = f (log10(e) + f P(f)) for sqrt(1/2) <= 1 + f < sqrt(2)",
        lambda f: (mp.log1p(f) / f - 1) / f / mp.ln10,
        lambda f: f**2 / mp.log1p(f) * mp.ln10,
        mp.sqrt("0.5") - 1,
        mp.sqrt(2) - 1,
        {"float": 9, "double": 21},
    ),
    "TANH": Fit(
        "tanh(x) = x + x z P(z) with z = x^2, for |x| <= 31/32",
        **_odd(mp.tanh),
        low=mp.mpf("1e-12"),
        high=mp.mpf(31) ** 2 / 32**2,
        counts={"float": 7, "double": 16},
    ),
    "SINH": Fit(
        "sinh(x) = x + x z P(z) with z = x^2, for |x| <= 1",
        **_odd(mp.sinh),
        low=mp.mpf("1e-12"),
        high=mp.mpf(1),
        counts={"float": 4, "double": 8},
    ),
    "ERF": Fit(
        "erf(x) = x + x P(z) with z = x^2, for |x| <= 1",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
        mp.mpf("1e-12"),
        mp.mpf(1),
        {"float": 7, "double": 15},
    ),
    "LOG_ERFC": Fit(
        "1 - erf(1 + u) = exp(P(u)) for 0 <= u <= 3 in float32, to 5 in float64",
        lambda u: mp.log(mp.erfc(1 + u)),
        lambda u: mp.erfc(1 + u) / mp.erf(1 + u),
        mp.mpf("-1e-3"),
        mp.mpf(3),
        {"float": 8, "double": 22},
    ),
    "SIN": Fit(
        "sin(x) = x + x z P(z) with z = x^2, for |x| <= pi / 4",
        **_odd(mp.sin),
        low=mp.mpf("1e-12"),
        high=(mp.pi / 4 * WIDER) ** 2,
        counts={"float": 3, "short": 4, "double": 6},
    ),
    "COS": Fit(
        "cos(x) = 1 - z / 2 + z^2 P(z) with z = x^2, for |x| <= pi / 4",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / mp.cos(mp.sqrt(z)),
        mp.mpf("1e-12"),
        (mp.pi / 4 * WIDER) ** 2,
        {"float": 3, "short": 4, "double": 6},
    ),
    "ASIN": Fit(
        "asin(x) = x + x z P(z) with z = x^2, for |x| <= 9/16",
        **_odd(mp.asin),
        low=mp.mpf("1e-12"),
        high=mp.mpf(9) ** 2 / 16**2,
        counts={"float": 6, "double": 15},
    ),
    "ATAN": Fit(
        "atan(x) = x + x z P(z) with z = x^2, for |x| <= 1",
        **_odd(mp.atan),
        low=mp.mpf("1e-12"),
        high=mp.mpf(1),
        counts={"float": 9, "double": 21},
    ),
}


# in two parts; the first ends in so many zeros that its products with exponents are exact
CONSTANTS = {
    "LN2": (mp.ln2, {"float": 9, "double": 12}),
    "LOG10_2": (mp.log10(2), {"float": 9, "double": 12}),
    "LOG2_OF_E": (1 / mp.ln2, {"float": 0, "double": 0}),
    "LOG10_OF_E": (1 / mp.ln(10), {"float": 0, "double": 0}),
    "HALF_PI": (mp.pi / 2, {"float": 0, "double": 0}),
}
NAMES = {"LN2": "log(2)", "LOG10_2": "log10(2)", "LOG2_OF_E": "log2(e)", "LOG10_OF_E": "log10(e)", "HALF_PI": "pi / 2"}
DIGITS = {"float": 24, "double": 53}


def parts(value: Any, kind: str, zeros: int) -> tuple[float, float]:
    """A constant in two parts, the first with that many zeros at its end."""
    unit = mp.mpf(2) ** (mp.floor(mp.log(value, 2)) + 1 - DIGITS[kind] + zeros)
    high = mp.nint(value / unit) * unit
    return ROUND[kind](high), ROUND[kind](value - high)


def half_pi() -> tuple[float, ...]:
    """pi / 2 in three parts, each a float32."""
    found: list[float] = []
    for _ in range(3):
        found.append(ROUND["float"](mp.pi / 2 - sum(map(mp.mpf, found))))
    return tuple(found)


def two_over_pi() -> list[tuple[float, float]]:
    """For e from 0 to 105 the remainder of 2/pi 2^e by 4 in two parts, the first a multiple of 2^-27."""
    found = []
    with mp.workprec(400):
        for e in range(106):
            value = mp.fmod(2 / mp.pi * mp.mpf(2) ** e, 4)
            high = mp.floor(value * 2**27) / 2**27
            found.append((float(high), float(value - high)))
    return found


def fit(name: str, kind: str) -> tuple[tuple[float, ...], float]:
    """The coefficients, from the lowest on, and the greatest relative error that they leave."""
    job = FITS[name]
    count = job.counts[kind]
    high = mp.mpf(5) if (name, kind) == ("LOG_ERFC", "double") else job.high
    size = max(240, 24 * count)
    points = [(job.low + high) / 2 - (high - job.low) / 2 * mp.cos(mp.pi * k / size) for k in range(size + 1)]
    points = [point if abs(point) > mp.mpf("1e-12") else mp.mpf("1e-12") for point in points]
    wanted, weights = [job.target(point) for point in points], [abs(job.weight(point)) for point in points]
    exact = _remez(points, wanted, weights, count)
    rounded: list[float] = []
    for k in range(count):
        rounded.append(ROUND[kind](exact[k]))
        _make_up(exact, k, exact[k] - rounded[k], points[::4], weights[::4])
    errors = (abs(horner(rounded, x) - want) * weight for x, want, weight in zip(points, wanted, weights))
    return tuple(rounded), float(max(errors))


def horner(coefficients: Sequence[Any], x: Any) -> Any:
    """A polynomial's value; its coefficients are given from the lowest on."""
    total = mp.mpf(0)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def _make_up(exact: list[Any], k: int, lost: Any, points: list[Any], weights: list[Any]) -> None:
    """Change the coefficients after the `k`th for what was `lost` by rounding that one: by least squares, since powers
    without a constant vanish within the range, where errors cannot be made to alternate."""
    size = min(6, len(exact) - k - 1)
    if size > 0 and lost != 0:
        rows = mp.matrix([[weight * x**j for j in range(1, size + 1)] for x, weight in zip(points, weights)])
        change = mp.lu_solve(rows.T * rows, rows.T * mp.matrix([weight * lost for weight in weights]))
        for j in range(size):
            exact[k + 1 + j] += change[j]


def _remez(points: list[Any], wanted: list[Any], weights: list[Any], count: int) -> list[Any]:
    """The coefficients of the `count` lowest powers with the least weighted maximum of errors."""
    size = len(points) - 1
    chosen = [round(size * (k + 0.5) / (count + 1)) for k in range(count + 1)]  # the points are denser at the ends
    for _ in range(30):
        rows = [[points[at] ** k for k in range(count)] + [(-1) ** i / weights[at]] for i, at in enumerate(chosen)]
        solved = mp.lu_solve(mp.matrix(rows), mp.matrix([wanted[at] for at in chosen]))
        found = [solved[k] for k in range(count)]
        errors = [(horner(found, x) - want) * weight for x, want, weight in zip(points, wanted, weights)]
        if max(map(abs, errors)) <= abs(solved[count]) * mp.mpf("1.001"):
            return found
        chosen = _alternating(errors, count + 1)
    raise ArithmeticError("the exchange of references does not settle")


def _alternating(errors: list[Any], count: int) -> list[int]:
    """Places of `count` errors of alternating signs, as large as can be found."""
    peaks: list[int] = []
    for at, value in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (value > 0):
            if abs(value) > abs(errors[peaks[-1]]):
                peaks[-1] = at
        else:
            peaks.append(at)
    while len(peaks) > count:
        if len(peaks) == count + 1:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        else:  # a small one with a neighbour, so that signs go on alternating
            pairs = [max(abs(errors[a]), abs(errors[b])) for a, b in itertools.pairwise(peaks)]
            at = pairs.index(min(pairs))
            del peaks[at : at + 2]
    if len(peaks) < count:
        raise ArithmeticError("the errors do not alternate often enough: take more points")
    return peaks


def text() -> str:
    """The file of coefficients."""
    lines = [
        '"""Coefficients of polynomials, from the lowest power on; made by benchmarks/fit_polynomials.py.',
        "",
        '"float" is for arithmetic in float32, "double" for results in float64, "short" for arithmetic in float64',
        "that is rounded to float32. Behind each stands the relative error that it leaves.",
        '"""',
        "",
    ]
    for name, job in FITS.items():
        lines += [f"# {job.words}", f"{name}: dict[str, tuple[float, ...]] = {{"]
        for kind in job.counts:
            coefficients, error = fit(name, kind)
            print(f"{name:10} {kind:7} {len(coefficients):3} 2^{float(mp.log(error, 2)):.1f}", file=sys.stderr)
            lines.append(f'    "{kind}": (  # 2^{float(mp.log(error, 2)):.1f}')
            lines += [f"        {value!r}," for value in coefficients]
            lines.append("    ),")
        lines += ["}", ""]
    for name, (value, kinds) in CONSTANTS.items():
        lines += [f"# {NAMES[name]} in two parts", f"{name}: dict[str, tuple[float, float]] = {{"]
        lines += [f'    "{kind}": {parts(value, kind, zeros)!r},' for kind, zeros in kinds.items()]
        lines += ["}", ""]
    lines += ["# pi / 2 in three parts of float32", f"HALF_PI_PARTS: tuple[float, ...] = {half_pi()!r}", ""]
    lines += [
        "# for e from 0 to 105 the remainder of 2/pi 2^e by 4 in two parts",
        "TWO_OVER_PI: tuple[tuple[float, float], ...] = (",
    ]
    lines += [f"    {value!r}," for value in two_over_pi()]
    return "\n".join([*lines, ")"]) + "\n"


def main() -> None:
    """Write the file, or tell whether it is what the script makes."""
    made = text()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(made, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != made:
        sys.exit(f"{FILE.name} differs from what the fits give: python benchmarks/fit_polynomials.py")


if __name__ == "__main__":
    main()
