"""The pass and the check, with the pytest plugin of tirscript."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tirscript import DiagnosticError, parse, prim_func
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import tir as T
from tirscript.testing import (
    assert_round_trip,
    assert_same_result,
    assert_structural_equal,
    expect_error,
    inputs_for,
    programs,
)

from strength_reduction import no_divisions, strength_reduction

ERRORS = sorted(Path(__file__).parent.joinpath("errors").glob("*.py"))


@prim_func
def tiled(A: T.Buffer((64,), "int32"), B: T.Buffer((8, 8), "int32"), n: T.int32):
    for i in range(64):
        # a row and a column of the tile
        B[i // 8, i % 8] = A[i] * 16 + 4 * n - A[i] % 6


@prim_func
def edges(A: T.Buffer((8,), "int64"), C: T.Buffer((8,), "uint8"), F: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] * T.int64(4294967296) + A[i] // T.int64(1)
        C[i] = C[i] * T.uint8(128) + C[i] % T.uint8(128)
        F[i] = F[i] * 2.0


@pytest.mark.parametrize("func", [tiled, edges], ids=lambda func: func.name)
def test_rewrite(golden, func):
    reduced = golden.check_pass(func, strength_reduction)
    assert_round_trip(reduced)
    assert_same_result(func, reduced, tolerance=0.0, edges=True)


def test_without_divisions(golden):
    golden.check(strength_reduction(tiled, divisions=False))


def test_lowered(golden):
    golden.check(DEFAULT_LOWERING(strength_reduction(tiled)), comments=True)


@prim_func
def product(A: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] = A[i] * 2


@prim_func
def shifted(Other: T.Buffer((4,), "int32")):
    for j in range(4):
        Other[j] = Other[j] << 1


def test_names_do_not_count():
    assert_structural_equal(strength_reduction(product), shifted.replace(name="product"))


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_mistakes(path):
    expect_error(path, no_divisions)


def test_what_is_said_of_divisions(golden):
    func = parse(strength_reduction(tiled).script(), filename="tiled.py")
    with pytest.raises(DiagnosticError) as caught:
        no_divisions(func)
    golden.check_text(str(caught.value))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_programs(data):
    """The same results, wherever the pass finds something to do."""
    func = data.draw(programs())
    arguments = data.draw(inputs_for(func))
    reduced = strength_reduction(func)
    assert_round_trip(reduced)
    if reduced is not func:
        assert_same_result(func, reduced, inputs=lambda rng: arguments, runs=1)
