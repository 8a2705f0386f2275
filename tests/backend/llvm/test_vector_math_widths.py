"""The elementary functions on vectors of every width: what they give on scalars, bit for bit, and in wide instructions."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from helpers.elementary import loop, samples
from helpers.native import run

from tirscript.backend.llvm import Host, emit_assembly, emit_ir, host
from tirscript.backend.llvm.vector_math import INLINE
from tirscript.ir import OPS

NAMES = sorted(INLINE["float"])
EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, -3.4e38, 0.5, 100.0, -90.0, 1e8, -2e20]


def inputs(name: str, kind: Any, count: int) -> list[np.ndarray[Any, Any]]:
    """Edge values and samples; for two arguments, in the pairs that a shift makes."""
    x = np.concatenate([np.array(EDGES).astype(kind), samples(name, kind)[:: max(1, 150_000 // count)]])
    x = np.resize(x, count)
    return [x] if OPS[name].arity[0] == 1 else [x, np.roll(x, 5)]


def results(name: str, kind: str, lanes: int, given: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    got = np.full_like(given[0], 7)
    run(loop(name, kind, lanes, len(given)), *given, got, opt_level=2)
    return got


@pytest.mark.parametrize("lanes", range(2, 65))
def test_every_width_gives_what_scalars_give(lanes: int) -> None:
    for name in NAMES[lanes % 5 :: 5] if lanes in (3, 16, 64) else [NAMES[lanes % len(NAMES)]]:
        given = inputs(name, np.float32, lanes * (200 // lanes + 2))
        wide, single = results(name, "float32", lanes, given), results(name, "float32", 1, given)
        assert np.array_equal(wide.view(np.int32), single.view(np.int32)) or np.array_equal(
            wide, single, equal_nan=True
        )


@pytest.mark.parametrize("name", sorted(INLINE["double"]))
def test_vectors_of_float64_give_what_scalars_give(name: str) -> None:
    for lanes in (3, 8):
        given = inputs(name, np.float64, lanes * 200)
        wide, single = results(name, "float64", lanes, given), results(name, "float64", 1, given)
        assert np.array_equal(wide, single, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_lanes_stay_together(name: str) -> None:
    """No call of the C library, neither for vectors nor in loops that LLVM vectorizes, and registers of the full width."""
    arguments = OPS[name].arity[0]
    for lanes in (1, 16):
        text = emit_assembly(loop(name, "float32", lanes, arguments))
        assert not re.search(r"\bcall", text), lanes
        if host().vector_bits == 512:
            assert "zmm" in text, lanes
    if host().vector_bits == 512 or name not in ("sin", "cos"):  # whose far angles look into a table, lane by lane
        assert re.search(r"<\d+ x float>", emit_ir(loop(name, "float32", 1, arguments)))


@pytest.mark.parametrize("name", sorted(INLINE["double"]))
def test_loops_over_float64_are_vector_code(name: str) -> None:
    text = emit_ir(loop(name, "float64", 1, OPS[name].arity[0]))
    assert re.search(r"fmul <\d+ x double>|@llvm\.fmuladd\.v\d+f64", text) and not re.search(
        r"call .*@(llvm\.)?(exp|log|pow|tanh|erf|a?sin)", text
    )


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float8_e5m2"])
def test_loops_over_narrow_floats_are_vector_code(kind: str) -> None:
    for name in ("exp", "tanh", "pow"):
        for lanes in (1, 16):
            text = emit_assembly(loop(name, kind, lanes, OPS[name].arity[0]))
            assert not re.search(r"\bcall", text), (name, lanes)


def test_a_single_large_argument_is_reduced_by_the_table_in_any_lane() -> None:
    for name, lanes in itertools.product(("sin", "cos", "tan"), (4, 16)):
        x = np.linspace(-3, 3, lanes * lanes).astype(np.float32)
        for row in range(lanes):
            x[row * lanes + row] = 2.0 ** (30 + row)
        got = results(name, "float32", lanes, [x])
        want = getattr(np, name)(x.astype(np.float64))
        assert np.allclose(got, want, rtol=3e-7, atol=0)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_levels_of_optimization_agree(level: int) -> None:
    for name in ("exp", "sin", "pow", "atan2"):
        given = inputs(name, np.float32, 512)
        got, want = np.zeros_like(given[0]), np.zeros_like(given[0])
        run(loop(name, "float32", 1, len(given)), *given, got, opt_level=level)
        run(loop(name, "float32", 16, len(given)), *given, want, opt_level=2)
        assert np.array_equal(got, want, equal_nan=True), name


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="names other processors of this kind")
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2"])
def test_older_processors_give_the_same_on_vectors_as_on_scalars(cpu: str) -> None:
    """They have no gathers, no fused multiplication and short registers."""
    older = Host(host().triple, cpu, "")
    for name in ("exp", "sin", "tan", "pow", "erf", "log1p"):
        given = inputs(name, np.float32, 640)
        got, want = np.zeros_like(given[0]), np.zeros_like(given[0])
        run(loop(name, "float32", 16, len(given)), *given, got, target=older)
        run(loop(name, "float32", 1, len(given)), *given, want, target=older)
        assert np.array_equal(got, want, equal_nan=True), name
