"""pow, atan2 and hypot: their special values by C's Annex F, and their errors."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.elementary import errors, loop, true_values
from helpers.native import call, compiled, run
from helpers.script import function
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.backend.interpreter.ops import scalar_rule
from tirscript.backend.llvm import emit_ir
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import OPS, dtype

INF, NAN = math.inf, math.nan
Array = np.ndarray[Any, Any]
BOUNDS = {"pow": 0.51, "hypot": 0.51, "atan2": 1.65}
MODULES = {(name, lanes): compiled(loop(name, "float32", lanes, 2)) for name in BOUNDS for lanes in (1, 16)}


def both(name: str, x: Array, y: Array) -> Array:
    """The results on float32, by scalars and by vectors, which are the same."""
    found = []
    for lanes in (1, 16):
        count = -(-len(x) // 16) * 16
        into = np.zeros(count, np.float32)
        call(MODULES[name, lanes], "f", np.resize(x, count), np.resize(y, count), into)
        found.append(into[: len(x)])
    assert np.array_equal(*found, equal_nan=True)
    return found[0]


def check(name: str, rows: list[tuple[float, float, float]]) -> None:
    x, y, want = (np.array(column, np.float32) for column in zip(*rows, strict=True))
    got = both(name, x, y)
    for a, b, mine, other in zip(x, y, got, want, strict=True):
        assert mine == other or (mine != mine and other != other), (name, a, b, mine, other)
        assert mine != mine or np.signbit(mine) == np.signbit(other), (name, a, b, mine)


def test_pow_has_the_special_values_of_annex_f() -> None:
    numbers = [1.0, -1.0, 2.5, -2.5, 0.0, -0.0, INF, -INF, NAN, 1e-45, 3e38, 3.0, -3.0]
    rows: list[tuple[float, float, float]] = []
    rows += [(0.0, y, INF) for y in (-1.0, -3.0, -0.5, -2.0, -INF)] + [(-0.0, y, -INF) for y in (-1.0, -3.0)]
    rows += [(-0.0, y, INF) for y in (-0.5, -2.0, -INF, -16777216.0)]
    rows += [(0.0, y, 0.0) for y in (1.0, 3.0, 0.5, 2.0, INF)] + [(-0.0, y, -0.0) for y in (1.0, 3.0, 16777215.0)]
    rows += [(-0.0, y, 0.0) for y in (0.5, 2.0, INF, 16777216.0, 3e38)]
    rows += [(-1.0, y, 1.0) for y in (INF, -INF)] + [(1.0, y, 1.0) for y in numbers]
    rows += [(x, y, 1.0) for x in numbers for y in (0.0, -0.0)]
    rows += [(x, y, NAN) for x in (-0.5, -2.5, -3e38, -1e-45) for y in (0.5, -0.5, 1.5, 8388607.5, -1e-45)]
    rows += [(x, -INF, INF) for x in (0.5, -0.5, 1e-45, -0.99999994)]
    rows += [(x, -INF, 0.0) for x in (1.5, -1.5, 3e38, INF, -INF)]
    rows += [(x, INF, 0.0) for x in (0.5, -0.5, 1e-45)] + [(x, INF, INF) for x in (1.5, -1.5, 3e38, INF, -INF)]
    rows += [(-INF, y, -0.0) for y in (-1.0, -3.0)] + [(-INF, y, 0.0) for y in (-0.5, -2.0, -1.5)]
    rows += [(-INF, y, -INF) for y in (1.0, 3.0)] + [(-INF, y, INF) for y in (0.5, 2.0, 1.5)]
    rows += [(INF, y, 0.0) for y in (-0.5, -1.0, -2.0)] + [(INF, y, INF) for y in (0.5, 1.0, 2.0)]
    rows += [(NAN, 1.0, NAN), (NAN, INF, NAN), (2.0, NAN, NAN), (-2.0, NAN, NAN), (0.0, NAN, NAN), (INF, NAN, NAN)]
    check("pow", rows)


def test_whole_powers_are_exact() -> None:
    rows = [(x, float(n), float(x**n)) for x in (2.0, -2.0, 3.0, -3.0, 10.0, 1.5) for n in range(11)]
    rows += [(-2.0, -3.0, -0.125), (2.0, -149.0, 2.0**-149), (2.0, 127.0, 2.0**127), (-2.0, 127.0, -(2.0**127))]
    rows += [(2.0, 128.0, INF), (-2.0, 129.0, -INF), (2.0, -151.0, 0.0), (-2.0, -151.0, -0.0), (4.0, 0.5, 2.0)]
    check("pow", rows)


def test_atan2_has_the_special_values_of_annex_f() -> None:
    pi, half, quarter = (np.float32(math.pi / k) for k in (1, 2, 4))
    rows: list[tuple[Any, Any, Any]] = []
    for sign in (1, -1):
        rows += [(sign * 0.0, x, sign * pi) for x in (-0.0, -1.0, -INF)]
        rows += [(sign * 0.0, x, sign * 0.0) for x in (0.0, 1.0, INF)]
        rows += [(sign * 1.0, x, sign * half) for x in (0.0, -0.0)] + [(sign * INF, 2.0, sign * half)]
        rows += [(sign * 1.0, -INF, sign * pi), (sign * 1.0, INF, sign * 0.0)]
        rows += [(sign * INF, -INF, sign * np.float32(3 * math.pi / 4)), (sign * INF, INF, sign * quarter)]
        rows += [(sign * 1e-45, 1e-45, sign * quarter), (sign * 3e38, 3e38, sign * quarter)]
        rows += [(sign * 1e-45, 3e38, sign * 0.0), (sign * 3e38, 1e-45, sign * half), (sign * 1e-45, 1.0, sign * 1e-45)]
    rows += [(NAN, x, NAN) for x in (0.0, 1.0, INF, NAN)] + [(x, NAN, NAN) for x in (0.0, -1.0, INF)]
    check("atan2", rows)


def test_hypot_neither_overflows_nor_vanishes_between() -> None:
    rows: list[tuple[float, float, float]] = [(3.0, 4.0, 5.0), (-3e38, 0.0, 3e38), (2e38, -2e38, 2e38 * math.sqrt(2))]
    rows += [(3e38, 3e38, INF), (3e-45, 4e-45, 5.6e-45), (0.0, -0.0, 0.0), (1e-45, 0.0, 1e-45)]
    rows += [(INF, NAN, INF), (NAN, -INF, INF), (-INF, 1.0, INF), (NAN, 1.0, NAN), (0.0, NAN, NAN)]
    check("hypot", rows)


def reference(name: str, x: Array, y: Array) -> Array:
    if name != "pow":
        return true_values(name, x.astype(np.float64), y.astype(np.float64))
    rule = scalar_rule(OPS["pow"], (dtype("float64"),) * 2, dtype("float64"))
    return np.array([rule(np.float64(a), np.float64(b)) for a, b in zip(x, y, strict=True)])


@pytest.mark.parametrize("name", BOUNDS)
def test_pairs_are_as_accurate_as_promised(name: str) -> None:
    rng = np.random.default_rng(4)
    n = 20_000
    any_bits = [rng.integers(0, 0xFF800000, n, dtype=np.uint32).view(np.float32) for _ in "xy"]
    pairs = [
        tuple(np.where(np.isnan(values), np.float32(1), values) for values in any_bits),
        (rng.uniform(0, 10, n), rng.uniform(-40, 40, n)),
        (rng.uniform(0.9, 1.1, n), rng.uniform(-900, 900, n)),
        (rng.normal(0, 1, n), rng.normal(0, 1, n)),
        (rng.normal(0, 3, n), rng.integers(-30, 30, n)),
        (np.exp(rng.uniform(-80, 80, n)), rng.uniform(-3, 3, n)),
    ]
    for first, second in pairs:
        x, y = (np.asarray(values).astype(np.float32) for values in (first, second))
        found = errors(both(name, x, y), reference(name, x, y))
        at = found.argmax()
        assert found[at] <= BOUNDS[name], (name, x[at], y[at], found[at])


EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    INF,
    -INF,
    1e-45,
    -1e-45,
    3.4e38,
    16777215.0,
    16777216.0,
]
FLOATS = st.one_of(st.sampled_from(EDGES), st.floats(width=32, allow_nan=True), st.integers(-40, 40).map(float))


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=40), name=st.sampled_from(sorted(BOUNDS)))
def test_any_pairs(pairs: list[tuple[float, float]], name: str) -> None:
    x, y = (np.array(column, np.float32) for column in zip(*pairs, strict=True))
    found = errors(both(name, x, y), reference(name, x, y))
    assert found.max() <= BOUNDS[name], list(zip(x, y, found, strict=True))


def test_all_edges_in_pairs() -> None:
    edges = [*EDGES, NAN, 1.5, -1.5, 1e10, -1e10, 0.99999994, 1.0000001, -16777215.0]
    x, y = (np.array(column, np.float32) for column in zip(*itertools.product(edges, edges), strict=True))
    for name, bound in BOUNDS.items():
        found = errors(both(name, x, y), reference(name, x, y))
        assert found.max() <= bound, (name, x[found.argmax()], y[found.argmax()])


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_constant_exponents_are_multiplied_out(kind: str) -> None:
    """The results are those of a general power, special values included, without its logarithm."""
    rng = np.random.default_rng(8)
    with np.errstate(all="ignore"):
        x = np.concatenate([[*EDGES, NAN], rng.normal(0, 3, 2000), np.exp(rng.uniform(-80, 80, 2000))]).astype(kind)
    few = (2.0, 0.5, 1.0, -1.0, 3.0)
    for exponent in (2.0, 0.5, 1.0, -1.0, 3.0, -2.0, 7.0, 32.0, -31.0, 0.0, 33.0, 2.5, INF):
        literal = f'T.infinity("{kind}")' if exponent == INF else f"T.{kind}({exponent})"
        params = f'A: T.Buffer(("n",), "{kind}"), R: T.Buffer(("n",), "{kind}")'
        func = function(f"for i in range(n):\n    R[i] = T.pow(A[i], {literal})", params)
        got = np.zeros_like(x)
        run(func, x, got)
        with np.errstate(all="ignore"):
            want = reference("pow", x, np.full_like(x, exponent))
            assert errors(got, want).max() <= (0.51 if kind != "float64" else 1.5), (kind, exponent)
        text = emit_ir(func, optimized=False)
        general = re.search(r'@"?pow|ashr', text) is not None
        assert general == (exponent in (0.0, 33.0, 2.5, INF) or (kind == "float64" and exponent not in few))


@pytest.mark.parametrize("kind", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("base", [2.0, 10.0, 3.0, 0.5, -2.0])
def test_constant_bases(kind: str, base: float) -> None:
    """Those of exp2 and exp10 are these functions; all give what a general power gives."""
    to = numpy_dtype(dtype(kind))
    y = np.array([0.0, -0.0, 1.0, -1.0, 5.0, 0.5, 2.25, -30.0, 30.0, INF, -INF, NAN, 1e4, -1e4]).astype(to)
    params = f'A: T.Buffer(("n",), "{kind}"), R: T.Buffer(("n",), "{kind}")'
    func = function(f"for i in range(n):\n    R[i] = T.pow(T.{kind}({base}), A[i])", params)
    got = np.zeros_like(y)
    run(func, y, got)
    with np.errstate(all="ignore"):
        want = reference("pow", np.full_like(y, base).astype(np.float64), y.astype(np.float64)).astype(to)
        mine, other = got.astype(float), want.astype(float)
        near = np.abs(mine - other) <= np.abs(other) * float(ml_dtypes.finfo(to).eps)
    same = (mine == other) | (np.isnan(mine) & np.isnan(other))
    assert (same | near).all(), list(zip(y, got, want, strict=True))
    text = emit_ir(func, optimized=False)
    assert (re.search(r'@"?pow|ashr', text) is None) == (base in (2, 10))
