"""Builds with checks tell an index outside of its dimension, in a row that memory has, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.passes import DEFAULT_LOWERING, Sequential

PARAMS = 'A: T.Buffer((4, 8), "int32"), X: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
SYMBOLIC = 'A: T.Buffer(("r", "c"), "int32"), X: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
LOOPS = {
    "a loop": "for i in range(8):\n    B[i] = A[1, X[i]] * 2",
    "threads": "for i in T.parallel(8):\n    B[i] = A[1, X[i]] * 2",
    "vectors": "for i in T.vectorized(8):\n    B[i] = A[1, X[i]] * 2",
    "a store": "for i in range(8):\n    A[1, X[i]] = i",
    "a row": "for i in range(8):\n    B[i] = A[X[i] // 2 * 2, X[i]]",
    "an index within": "for i in range(8):\n    B[i] = A[1, A[1, X[i]] % 8]",
    "a condition": "for i in range(8):\n    if A[1, X[i]] > 3:\n        B[i] = 1",
    "memory of its own": (
        'C = T.alloc_buffer((4, 8), "int32")\nfor i, j in T.grid(4, 8):\n    C[i, j] = A[i, j]\n'
        "for i in range(8):\n    B[i] = C[1, X[i]]"
    ),
}
BUILDS: dict[str, dict[str, Any]] = {
    "debug": {"debug": True},
    "bounds_check": {"bounds_check": True},
    "passes": {"debug": True, "pipeline": DEFAULT_LOWERING},
    "c": {"debug": True, "target": "c"},
    "scheduled c": {"bounds_check": True, "target": "c"},
}
each_build = pytest.mark.parametrize("options", BUILDS.values(), ids=BUILDS)


def kernel(body: str, params: str = PARAMS) -> Any:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return tirscript.parse(f"@T.prim_func\ndef f({params}):\n{lines}\n")


def outcome(run: Callable[..., Any], at: list[int]) -> Any:
    """What a kernel leaves, or which access it refuses and why."""
    given = np.arange(32, dtype="int32").reshape(4, 8)
    out = np.zeros(8, "int32")
    try:
        run(given, np.array(at, "int32"), out)
    except DiagnosticError as problem:
        (one,) = problem.diagnostics
        return one.code, one.message.removeprefix("a ").replace("`C[", "`A[")  # a schedule computes it where it is read
    return given.tolist(), out.tolist()


@each_build
@pytest.mark.parametrize("params", [PARAMS, SYMBOLIC], ids=["constant", "symbolic"])
@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_an_index_in_another_row_is_told(body: str, params: str, options: dict[str, Any]) -> None:
    program = kernel(body, params)
    built = tirscript.build(program, **options)
    for at in ([7, 6, 5, 4, 3, 2, 1, 0], [0, 0, 0, -1, 0, 0, 0, 0], [0, 8, 0, 0, 0, 0, 0, 0]):
        wanted = outcome(lambda *args: tirscript.interpret(program, *args), at)
        found = outcome(built, at)
        if wanted[0] == "T302" and options.get("target") == "c":
            assert found[0] == "T302" and wanted[1] in found[1]
        else:
            assert found == wanted


@each_build
@pytest.mark.parametrize(
    "guard", ["0 <= X[i] and X[i] < 8", "i + X[i] < 4 and X[i] >= 0"], ids=["of the index", "of a sum"]
)
@pytest.mark.parametrize("loop", ["range", "T.vectorized"])
def test_what_is_not_accessed_is_not_told(loop: str, guard: str, options: dict[str, Any]) -> None:
    program = kernel(
        f"for i in {loop}(8):\n    if {guard}:\n        A[i // 4, X[i]] = i\n"
        f"    B[i] = T.if_then_else({guard}, A[1, X[i]], -1)"
    )
    at = [0, 1, -1, 8, 9, 3, 2, 99]
    wanted = outcome(lambda *args: tirscript.interpret(program, *args), at)
    assert wanted[0] != "T302" and outcome(tirscript.build(program, **options), at) == wanted


@each_build
def test_a_vector_may_run_on_into_the_next_rows_and_not_behind_the_last(options: dict[str, Any]) -> None:
    program = kernel("B[0:8] = A[X[0], T.ramp(X[1], 1, 8)]")
    built = tirscript.build(program, **options)
    for row, column in ((0, 0), (0, 8), (1, 3), (3, 0), (3, 1), (1, -1), (4, 0), (-1, 8), (0, 24), (0, 25)):
        at = [row, column, 0, 0, 0, 0, 0, 0]
        wanted = outcome(lambda *args: tirscript.interpret(program, *args), at)
        found = outcome(built, at)
        assert found == wanted or (found[0] == wanted[0] == "T302" and wanted[1] in found[1])


def test_indices_that_are_proved_are_of_flat_memory() -> None:
    program = kernel("for i in range(8):\n    B[i] = A[1, i] + A[2, X[i]]")
    text = tirscript.build(program, bounds_check=True).lowered.script()
    assert "A[2, X[" in text and "A[1, " not in text
    assert "A[2, X[" not in tirscript.build(program).lowered.script()


def test_a_pipeline_sets_options_that_a_pass_does_not_say() -> None:
    found = Sequential(("simplify", "unroll_loop{limit=2}", "unroll_loop")).configured("unroll_loop", limit=8)
    assert str(found) == "simplify,unroll_loop{limit=2},unroll_loop{limit=8}"


VIEWS = {
    "a parameter": 'C = T.decl_buffer((64,), "int32", data=A.data)\nfor i in range(8):\n    C[X[i]] = i',
    "memory of its own": (
        'D = T.alloc_buffer((4, 8), "int32")\nC = T.decl_buffer((64,), "int32", data=D.data)\n'
        "for i in range(8):\n    C[X[i]] = i\nfor i in range(8):\n    B[i] = C[X[7 - i]]"
    ),
    "an offset": 'C = T.decl_buffer((8,), "int32", data=A.data, elem_offset=X[7])\nfor i in range(1):\n    C[i] = 1',
    "wider elements": 'C = T.decl_buffer((64,), "int64", data=A.data)\nfor i in range(8):\n    C[X[i] // 2] = T.int64(i)',
    "a view of a view": (
        'D = T.decl_buffer((99,), "int32", data=A.data)\nC = T.decl_buffer((9, 9), "int32", data=D.data)\n'
        "for i in range(8):\n    C[X[i] // 9, X[i] % 9] = i"
    ),
    "threads": 'C = T.decl_buffer((64,), "int32", data=A.data)\nfor i in T.parallel(8):\n    C[X[i]] = i',
    "vectors": 'C = T.decl_buffer((64,), "int32", data=A.data)\nfor i in range(1):\n    C[X[7] : X[7] + 4] = T.broadcast(i, 4)',
}


@each_build
@pytest.mark.parametrize("params", [PARAMS, SYMBOLIC], ids=["constant", "symbolic"])
@pytest.mark.parametrize("body", VIEWS.values(), ids=VIEWS)
def test_a_view_that_leaves_its_memory_is_told(body: str, params: str, options: dict[str, Any]) -> None:
    func = kernel(body, params)
    checked = tirscript.build(func, **options)
    for last in (28, 32, 60):
        at = [0, 1, 2, 3, 4, 5, 6, last]
        expected = outcome(lambda *args: tirscript.interpret(func, *args), at)
        found = outcome(checked, at)
        if isinstance(expected[0], str):
            assert found[0] == "T302" and "is out of bounds: the memory of" in found[1]
        else:
            assert found == expected
    assert isinstance(found[0], str)


REGIONS = {
    "a store": "W = T.match_buffer(A[1:3, 0:4], (2, 4))\nfor i in range(8):\n    W[X[i] // 4, X[i] % 4] = i",
    "a load": "W = T.match_buffer(A[1:3, 0:4], (2, 4))\nfor i in range(8):\n    B[i] = W[1, X[i]]",
    "a moving region": (
        "for i in range(8):\n    W = T.match_buffer(A[X[i] // 2, X[7] : X[7] + 2], (2,))\n    B[i] = W[X[i] % 2]"
    ),
    "in a block": (
        'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n'
        "        W = T.match_buffer(A[0:2, 0:2], (2, 2))\n        if X[vi] < 3:\n            W[X[vi], 1] = vi"
    ),
}


@each_build
@pytest.mark.parametrize("body", REGIONS.values(), ids=REGIONS)
def test_an_access_outside_of_a_matched_region_is_told(body: str, options: dict[str, Any]) -> None:
    program = kernel(body)
    built = tirscript.build(program, **options)
    refused = 0
    for at in ([0, 1, 1, 0, 1, 1, 0, 1], [7, 6, 5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 0, 1, 8, 3], [0, 0, 0, 0, 0, 0, 0, 7]):
        wanted = outcome(lambda *args: tirscript.interpret(program, *args), at)
        if wanted[0] != "T302":
            assert outcome(built, at) == wanted
            continue
        refused += 1
        with pytest.raises(AssertionError, match="out of bounds: `"):
            outcome(built, at)
    assert 0 < refused < 4


AXES = {
    "a loop and a value": ("for i in range(4):", "vi = T.axis.spatial(4, i + X[7])", "axis `vi` of block `b` is not within 0 to 3"),
    "an element": ("for i in range(8):", "vi = T.axis.opaque(4, X[i])", "axis `vi` of block `b` is not within 0 to 3"),
    "a pair": ("for i in range(4):", "vi = T.axis.spatial((1, 5), i + X[7])", "axis `vi` of block `b` is not within 1 to 4"),
    "a predicate": (
        "for i in range(8):",
        "vi = T.axis.spatial(X[0], i)\n        T.where(i < X[7])",
        "axis `vi` of block `b` is not within its domain",
    ),
}  # fmt: skip


@each_build
@pytest.mark.parametrize("loop, axis, message", AXES.values(), ids=AXES)
def test_an_axis_outside_of_its_domain_is_told(loop: str, axis: str, message: str, options: dict[str, Any]) -> None:
    program = kernel(f'{loop}\n    with T.block("b"):\n        {axis}\n        B[vi] = A[vi % 4, 0]')
    before = tirscript.passes.get_pass("bounds_check")(program)
    built = tirscript.build(program, **options)
    refused = 0
    for at in ([3, 2, 1, 0, 0, 1, 2, 1], [3, 2, 1, 0, 0, 1, 2, 4], [8, 2, 1, 0, 0, 1, 2, 0], [0, 1, 2, 3, 3, 2, 1, -1]):
        wanted = outcome(lambda *args: tirscript.interpret(program, *args), at)
        if wanted[0] != "T302":
            assert outcome(built, at) == wanted
            continue
        refused += 1
        for run in (built, lambda *args: tirscript.interpret(before, *args)):
            with pytest.raises(AssertionError, match=message):
                outcome(run, at)
    assert refused


def test_axes_that_are_proved_are_not_checked() -> None:
    program = kernel(
        'for i, j in T.grid(2, 4):\n    with T.block("b"):\n        vi = T.axis.spatial(7, i * 4 + j)\n'
        "        T.where(i * 4 + j < 7)\n        B[vi] = A[0, vi]"
    )
    assert "assert" not in tirscript.build(program, debug=True).lowered.script()


@pytest.mark.parametrize(
    ("statement", "blamed", "notes"),
    [
        ("B[i] = X[0] + A[1, X[0]] * A[1, X[i] + 8]", "A[1, X[i] + 8]", ["i = 0"]),
        ("B[X[i] + 8] = A[1, X[i]]", "B[X[i] + 8] = A[1, X[i]]", ["i = 0"]),
        ("B[i] = X[i] + 7 // (X[i] - X[i])", "7 // (X[i] - X[i])", ["X[0] = 0", "i = 0"]),
        ("if X[i] > 3 or A[1, X[i] + 8] > 3:\n        B[i] = 1", "A[1, X[i] + 8]", ["i = 0"]),
    ],
)
def test_the_expression_is_pointed_at(statement: str, blamed: str, notes: list[str]) -> None:
    """Not the statement that it stands in, as the interpreter points at it; each value is told once."""
    program = kernel(f"for i in range(8):\n    {statement}")
    args = np.zeros((4, 8), "int32"), np.zeros(8, "int32"), np.zeros(8, "int32")
    for run in (tirscript.build(program, debug=True), lambda *given: tirscript.interpret(program, *given)):
        with pytest.raises(DiagnosticError) as caught:
            run(*args)
        found = caught.value.diagnostics[0]
        assert found.span is not None and found.span.text == blamed
    with pytest.raises(DiagnosticError) as caught:
        tirscript.build(program, debug=True)(*args)
    said = [note for note in caught.value.diagnostics[0].notes if " = " in str(note) and "size" not in str(note)]
    assert said == notes
