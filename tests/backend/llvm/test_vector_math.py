"""The elementary functions written as arithmetic: how far they are from the true values, and their special values."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from helpers.elementary import BOUNDS, FUSED, NOT_FUSED, errors, host_fuses, loop, samples, true_values
from helpers.native import run
from helpers.script import function

from tirscript import DiagnosticError
from tirscript.backend.interpreter.ops import scalar_rule
from tirscript.backend.llvm import Host, emit_ir, host
from tirscript.backend.llvm.vector_math import INLINE
from tirscript.ir import OPS, dtype

INF, NAN = math.inf, math.nan
UNARY = sorted(name for name in INLINE["float"] if OPS[name].arity[0] == 1)
PLAIN = Host(host().triple, "x86-64", "")


def test_bounds_are_those_promised() -> None:
    assert set(BOUNDS) == set(UNARY) | {"sqrt", "rsqrt"}
    promised = {"exp": 1, "log": 1, "sqrt": 1, "tanh": 1, "erf": 1}
    for name, (fused, plain) in BOUNDS.items():
        assert fused <= promised.get(name, 2) and plain <= 2


@pytest.mark.parametrize("name", BOUNDS)
def test_float32_is_as_accurate_as_promised(name: str) -> None:
    x = samples(name, np.float32)
    got = np.zeros_like(x)
    run(loop(name, "float32"), x, got)
    found = errors(got, true_values(name, x.astype(np.float64)))
    bound = BOUNDS[name][FUSED if host_fuses() else NOT_FUSED]
    assert found.max() <= bound, (name, found.max(), x[found.argmax()], got[found.argmax()])


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="names the oldest processor of this kind")
@pytest.mark.parametrize("name", BOUNDS)
def test_float32_is_accurate_without_fused_instructions(name: str) -> None:
    x = samples(name, np.float32)[::3].copy()
    got = np.zeros_like(x)
    run(loop(name, "float32"), x, got, target=PLAIN)
    found = errors(got, true_values(name, x.astype(np.float64)))
    assert found.max() <= BOUNDS[name][NOT_FUSED], (name, found.max(), x[found.argmax()])


@pytest.mark.skipif(not host().scales, reason="the processor does not scale vectors, or LLVM does not know that")
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "exp2", "exp10", "sigmoid"])
def test_scaling_by_one_instruction_gives_the_same_bits(name: str, kind: str) -> None:
    x = np.concatenate([samples(name, np.dtype(kind).type), np.array([NAN, -NAN, INF, -INF], kind)])
    results = []
    for features in (host().features, host().features.replace("+avx512vl", "-avx512vl")):
        target = Host(host().triple, host().cpu, features)
        func = loop(name, kind)
        ir = emit_ir(func, target=target)
        assert ("llvm.ldexp" in ir) == target.scales
        results.append(np.zeros_like(x))
        run(func, x, results[-1], target=target)
    assert not target.scales
    assert results[0].tobytes() == results[1].tobytes()


ODD = "expm1 log1p tanh erf sin tan asin atan sinh asinh atanh".split()
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0.0), (89.0, INF), (-104.0, 0.0), (1e38, INF), (-1e38, 0.0)],
    "exp2": [
        (0.0, 1),
        (-0.0, 1),
        (INF, INF),
        (-INF, 0.0),
        (128.0, INF),
        (127.0, 2.0**127),
        (-149.0, 2.0**-149),
        (-151.0, 0.0),
    ],
    "exp10": [
        (0.0, 1),
        (-0.0, 1),
        (INF, INF),
        (-INF, 0.0),
        (39.0, INF),
        (10.0, 1e10),
        (-46.0, 0.0),
        (1e30, INF),
        (-1e30, 0.0),
    ],
    "expm1": [(INF, INF), (-INF, -1), (89.0, INF), (-30.0, -1), (1e38, INF), (-1e38, -1)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (-1e-45, NAN)],
    "log2": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (8.0, 3), (2.0**-149, -149)],
    "log10": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (1e10, 10), (1000.0, 3)],
    "log1p": [(-1.0, -INF), (INF, INF), (-INF, NAN), (-1.5, NAN)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (1e38, 1.0), (-1e38, 0.0), (20.0, 1.0)],
    "tanh": [(INF, 1), (-INF, -1), (1e38, 1), (10.0, 1)],
    "erf": [(INF, 1), (-INF, -1), (1e38, 1), (4.0, 1)],
    "sin": [(INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (1e-45, 1)],
    "tan": [(INF, NAN), (-INF, NAN)],
    "asin": [(1.0000001, NAN), (-1.0000001, NAN), (INF, NAN), (3e38, NAN)],
    "acos": [(1.0, 0.0), (1.0000001, NAN), (-1.0000001, NAN), (INF, NAN), (-INF, NAN)],
    "atan": [(INF, math.pi / 2), (-INF, -math.pi / 2)],
    "sinh": [(INF, INF), (-INF, -INF), (90.0, INF), (-90.0, -INF)],
    "cosh": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (90.0, INF), (-90.0, INF)],
    "asinh": [(INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (0.99999994, NAN), (0.0, NAN), (-1.0, NAN), (-INF, NAN), (INF, INF)],
    "atanh": [(1.0, INF), (-1.0, -INF), (1.0000001, NAN), (-1.0000001, NAN), (INF, NAN), (-INF, NAN)],
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, kind: str) -> None:
    to = np.dtype(kind)
    cases = [(x, want) for x, want in SPECIAL[name] if kind == "float32" or abs(x) in (0, 1, INF)] + [(NAN, NAN)]
    if name in ODD:
        cases += [(0.0, 0.0), (-0.0, -0.0)]
    if name in ODD and name != "erf":  # what is small comes back as it is, denormals too
        info = np.finfo(to)
        small = [float(info.smallest_subnormal), float(3 * info.smallest_subnormal), float(info.tiny)]
        cases += [(x, x) for x in small] + [(-x, -x) for x in small]
    x, want = (np.array(column, to) for column in zip(*cases, strict=True))
    got = np.zeros_like(x)
    run(loop(name, kind), x, got)
    assert np.array_equal(got, want, equal_nan=True), list(zip(x, got, want, strict=True))
    signed = ~np.isnan(want)
    assert np.array_equal(np.signbit(got)[signed], np.signbit(want)[signed]), list(zip(x, got, strict=True))


def test_sines_of_large_numbers_are_those_of_long_arithmetic() -> None:
    """Reduced by 400 digits of pi; among them the floats closest to multiples of pi / 2."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(5)
    exponents = rng.integers(23, 128, 400)
    x = np.ldexp(rng.uniform(1, 2, 400), exponents).astype(np.float32)
    closest = np.array([16367173.0 * 2.0**72, 9.735e9, 3.4e38, 16777216.0, 16777215.0, 8388608.5, 1e22], np.float32)
    x = np.concatenate([x, closest])
    for name in ("sin", "cos", "tan"):
        got = np.zeros_like(x)
        run(loop(name, "float32"), x, got)
        with mpmath.workprec(500):
            true = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(value)))) for value in x])
        assert errors(got, true).max() <= BOUNDS[name][NOT_FUSED], name


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_near_all_multiples_of_a_right_angle(name: str) -> None:
    """Where nearly all of an argument is taken off it, up to where others are reduced by a table, and beyond."""
    middle = (np.arange(1, 200_001) * (math.pi / 2)).astype(np.float32)
    x = np.concatenate([middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(INF))])
    assert x.min() < 2 and x.max() > 2**18
    got = np.zeros_like(x)
    run(loop(name, "float32", 16), x, got)
    found = errors(got, true_values(name, x.astype(np.float64)))
    assert found.max() <= BOUNDS[name][FUSED if host_fuses() else NOT_FUSED], x[found.argmax()]


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_a_lane_does_not_depend_on_its_neighbours(name: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-300, 300, 4096).astype(np.float32)
    mixed = x.copy()
    mixed[::16] = rng.choice(np.array([1e30, -3e5, INF, NAN, 2.0**24], np.float32), 256)
    alone, beside, single = (np.zeros_like(x) for _ in range(3))
    run(loop(name, "float32", 16), x, alone)
    run(loop(name, "float32", 16), mixed, beside)
    run(loop(name, "float32"), x, single)
    kept = np.arange(4096) % 16 != 0
    assert alone[kept].tobytes() == beside[kept].tobytes() and alone.tobytes() == single.tobytes()


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats_are_computed_in_float32(kind: str) -> None:
    """All values of the type: what the interpreter gives, or its neighbour where float32 lies on a middle."""
    from tirscript.backend.runtime.arrays import numpy_dtype

    to = numpy_dtype(dtype(kind))
    unsigned = np.uint8 if to.itemsize == 1 else np.uint16
    x = np.arange(0, 1 << 8 * to.itemsize, 1 if to.itemsize == 1 else 7, dtype=unsigned).view(to)
    for name in ("exp", "log", "tanh", "sin", "erf"):
        for lanes in (1, 16):
            got = np.zeros_like(x[: len(x) // 16 * 16])
            run(loop(name, kind, lanes), x[: len(got)], got)
            rule = scalar_rule(OPS[name], (dtype(kind),), dtype(kind))
            with np.errstate(all="ignore"):
                want = np.array([rule(value) for value in x[: len(got)]], to)
            with np.errstate(all="ignore"):
                same = (got.view(unsigned) == want.view(unsigned)) | (np.isnan(got) & np.isnan(want))
            near = np.abs(got.view(unsigned).astype(int) - want.view(unsigned).astype(int)) <= 1
            assert (same | near).all() and np.mean(same) > 0.999, (name, lanes)


def test_the_attribute_math_chooses_the_c_library() -> None:
    params = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'
    body = "for i in range(64):\n    B[i] = T.exp(A[i]) + T.atan2(A[i], A[i]) + T.sigmoid(A[i])"
    fast = emit_ir(function(body, params))
    assert emit_ir(function('T.func_attr({"math": "fast"})\n' + body, params)) == fast
    assert not re.search(r"call .*@(llvm\.exp|expf|atan2)", fast)
    accurate = emit_ir(function('T.func_attr({"math": "accurate"})\n' + body, params))
    assert re.search(r"@(llvm\.exp\.|expf)", accurate) and re.search(r"@(llvm\.)?atan2", accurate)


@pytest.mark.parametrize("asked", ["quick", "", 1, True, None, ["fast"]])
def test_other_values_of_the_attribute_are_refused(asked: Any) -> None:
    func = function(
        f'T.func_attr({{"math": {asked!r}}})\nB[0] = T.exp(A[0])',
        'A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")',
    )
    with pytest.raises(DiagnosticError, match=r'T404.*the attribute "math" is "fast" or "accurate", not'):
        emit_ir(func)
