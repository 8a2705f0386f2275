"""Random programs through the passes on loops, bounds and index types: legal, readable, with the same results."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from helpers.nests import func_of, neighbours, nests
from helpers.outcomes import outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import DiagnosticError, PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes import Sequential, get_pass
from tirscript.script import parse
from tirscript.testing import inputs_for, programs

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 20
SETTINGS = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
PASSES = (
    "merge_adjacent_loops",
    "loop_partition",
    "loop_partition{parts=6}",
    "narrow_index_types",
    "lower_reduce,bounds_check",
)


def check(name: str, func: PrimFunc, inputs: list[Any]) -> PrimFunc:
    """The function after the passes, which must mean the same."""
    after = Sequential.parse(name)(func)
    if after is func:
        return func
    assert structural_equal(parse(after.script(constants="inline")), after), f"{name}\n{after.script()}"
    wanted = outcome(func, inputs)
    if wanted[0][0] != "error":
        assert outcome(after, inputs) == wanted, f"{name}\n{func.script()}\n{after.script()}"
    return after


@pytest.mark.parametrize("name", PASSES)
@given(data=st.data())
@SETTINGS
def test_random_programs(name: str, data: st.DataObject) -> None:
    func = data.draw(programs())
    after = check(name, func, data.draw(inputs_for(func)))
    assert verify(after) == []


def arrays() -> list[Any]:
    random = np.random.default_rng(7)
    return [random.random((6, 6), "float32"), random.random(6, "float32")]


@pytest.mark.parametrize("name", PASSES)
@given(func=nests())
@SETTINGS
def test_random_nests(name: str, func: PrimFunc) -> None:
    check(name, func, arrays())


@given(func=neighbours())
@SETTINGS
def test_random_neighbours(func: PrimFunc) -> None:
    check("merge_adjacent_loops", func, arrays())
    check("merge_adjacent_loops,loop_partition,remove_no_op", func, arrays())


@st.composite
def guarded(draw: st.DrawFn) -> PrimFunc:
    """Loops whose bodies ask conditions on their variables, some of them symbolic."""
    left = draw(st.sampled_from(("i", "i + j", "4 * i + j", "j - i", "i // 2", "(i + n) % 5")))
    bound = draw(st.sampled_from(("3", "n", "n - i", "9", "n // 3", "-n")))
    compare = draw(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")))
    ranges = st.sampled_from(("range(4)", "range(1, 6)", "range(n)", "range(n // 2, 6)", "T.parallel(5)"))
    lines = [f"for i in {draw(ranges)}:"]
    if draw(st.booleans()):
        lines.append("    B[i % 6] = 2.0")
    lines += [f"    for j in {draw(ranges)}:", f"        if {left} {compare} {bound}:"]
    lines.append("            A[i % 6, j % 6] = A[i % 6, j % 6] + 1.0")
    if draw(st.booleans()):
        lines += ["        else:", "            B[j % 6] = B[j % 6] * 2.0"]
    if draw(st.booleans()):
        lines.append(f"        B[0] = B[0] + T.if_then_else({left} {compare} {bound} or i == n, B[1], A[0, 0])")
    return func_of(lines, 'A: T.Buffer((6, 6), "float32"), B: T.Buffer((6,), "float32"), n: T.int32')


@given(func=guarded(), n=st.integers(-3, 9), parts=st.integers(1, 5))
@SETTINGS
def test_random_conditions_along_loops(func: PrimFunc, n: int, parts: int) -> None:
    check(f"loop_partition{{parts={parts}}}", func, [*arrays(), n])
    check(f"loop_partition{{parts={parts}}},simplify,remove_no_op", func, [*arrays(), n])


@st.composite
def reaching(draw: st.DrawFn) -> PrimFunc:
    """Accesses that may lie outside of their buffers."""
    index = st.sampled_from(("i", "i + n", "i - 1", "2 * i", "i % 6", "n", "T.int32(C[i])", "T.int32(C[i]) + i"))
    inner = draw(index)
    load = f"A[{draw(index)}, {inner}]"
    value = draw(
        st.sampled_from(
            (
                load,
                f"T.if_then_else(i > n, {load}, 0.0)",
                f"T.if_then_else({load} > 0.5 and i < 3, B[{inner}], 1.0)",
                f"B[{inner}] + {load}",
            )
        )
    )
    lines = ["for i in range(4):", f"    B[{draw(index)}] = {value}"]
    if draw(st.booleans()):
        lines += [f"    if {draw(index)} < 6:", f"        A[{draw(index)}, 0] = 1.0"]
    if draw(st.booleans()):
        lines += ["    x: T.int32 = i", f"    while B[x] > 0.25 and A[0, {inner}] >= 0.0:", "        x = x + 1"]
    return func_of(
        lines, 'A: T.Buffer((6, 6), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((4,), "float32"), n: T.int32'
    )


@given(func=reaching(), n=st.integers(-2, 6), at=st.integers(-1, 6))
@SETTINGS
def test_checks_fail_where_an_access_is_out_of_bounds(func: PrimFunc, n: int, at: int) -> None:
    checked = get_pass("bounds_check")(func)
    inputs = [*arrays(), np.full(4, at, "float32"), n]
    wanted, got = outcome(func, inputs), outcome(checked, inputs)
    if wanted[0] == ("error", "T302"):
        assert got[0][0] == "assert" and "out of bounds" in got[0][1], checked.script()
    else:
        assert got == wanted, checked.script()


def test_native_code_says_where_and_with_which_values() -> None:
    params = 'A: T.Buffer((6, 6), "float32"), B: T.Buffer((6,), "float32"), n: T.int32'
    func = func_of(["for i in range(4):", "    B[i] = A[i + n, 2]"], params)
    checked = get_pass("bounds_check")(func)
    for run in (tirscript.build(checked), lambda *args: tirscript.interpret(checked, *args)):
        a, b = arrays()
        before = b.copy()
        with pytest.raises(AssertionError) as caught:
            run(a, b, 4)
        text = str(caught.value)
        assert text.startswith("out of bounds: `A[i + n, 2]`, dimension 0\n")
        assert "B[i] = A[i + n, 2]" in text and "i = 2, n = 4" in text
        assert list(b[:2]) == list(a[4:6, 2]) and list(b[2:]) == list(before[2:])


def test_what_is_proved_is_not_checked() -> None:
    func = func_of(["for i in range(6):", "    for j in range(i, 6):", "        A[i, j] = B[j - i]"])
    assert get_pass("bounds_check")(func) is func


def test_names_inside_of_checked_indices_are_copied() -> None:
    params = 'A: T.Buffer((6, 6), "float32"), B: T.Buffer((6,), "float32"), n: T.int32'
    func = func_of(['B[0] = A[T.let("k", n + 1, lambda k: k * k), 0]'], params)
    checked = check("bounds_check", func, [*arrays(), 1])
    assert verify(checked) == [] and checked.script().count("T.let") == 4  # one in the message
    assert outcome(checked, [*arrays(), 3])[0][0] == "assert"


def test_wrong_options_are_refused() -> None:
    func = func_of(["B[0] = 1.0"])
    with pytest.raises(DiagnosticError, match="is 8, 16 or 32, not 12"):
        get_pass("narrow_index_types", bits=12)(func)


def test_narrowing_to_few_bits_keeps_what_does_not_fit() -> None:
    func = func_of(["for i in range(T.int64(6)):", "    B[i * 100 // 100] = 1.0"])
    text = get_pass("narrow_index_types", bits=8)(func).script()
    assert "for i in range(T.int8(6)):" in text and 'T.cast(i, "int64") * 100' in text
    text = get_pass("narrow_index_types", bits=16)(func).script()
    assert "B[i * 100 // 100]" in text
