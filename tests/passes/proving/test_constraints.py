"""The three constraints and `T.undef` from the source to a run, as the page of the language says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tirscript
from tirscript.cli import commands
from tirscript.ir import PrimFunc, structural_equal, walk
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.stmt import Assert, StaticAssert
from tirscript.passes import get_pass
from tirscript.passes.check_constraints import Checker
from tirscript.script import parse

HEAD = '@T.prim_func\ndef main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):\n'


def program(body: str) -> PrimFunc:
    func = parse(HEAD + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")))
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize(
    ("body", "message", "note"),
    [
        (
            "for i, j in T.grid(4, 4):\n    T.static_assert(4 * i + j < 14, 'full')",
            "a static_assert could not be proved: full",
            "i = 3, j = 2 gives `4 * i + j` = 14, not < 14",
        ),
        ("T.static_assert(n < 14)", "a static_assert could not be proved", "n = 14 is not < 14"),
        ("for i in range(4):\n    T.static_assert(i > 7)", "a static_assert is false", "`i` is in 0 to 3"),
        ("for i in range(4):\n    T.assume(i > 5)", "an assumption can never hold", "`i` is in 0 to 3"),
    ],
)
def test_what_cannot_be_is_an_error_of_build(body: str, message: str, note: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.build(program(body))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("T403", message)
    assert note in found.notes
    assert found.span is not None


def test_what_cannot_be_is_an_error_of_lint(tmp_path: Any) -> None:
    path = tmp_path / "kernel.py"
    text = (
        "from tirscript.script import tir as T\n\n\n"
        + HEAD
        + "    for i in range(4):\n        T.static_assert(i < 3)\n"
    )
    path.write_text(text, encoding="utf-8")
    shown = CliRunner().invoke(commands, ["lint", str(path)])
    assert shown.exit_code == 1
    assert "error[T403]: a static_assert could not be proved" in shown.output
    assert "i = 3 is not < 3" in shown.output


@pytest.mark.parametrize("run", ["native", "interpreter"])
def test_a_failed_assert_tells_values_and_line_and_leaves_what_was_stored(run: str) -> None:
    func = program("for i in range(16):\n    assert A[i] < 3.0, 'value too large'\n    B[i] = 7.0")
    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    with pytest.raises(AssertionError, match="value too large") as caught:
        if run == "native":
            tirscript.build(func)(a, b, 0)
        else:
            tirscript.interpret(func, a, b, 0)
    shown = str(caught.value)
    assert "<text>:4:9" in shown and "assert A[i] < 3.0" in shown
    assert "A[3] = 3.0" in shown and "i = 3" in shown
    assert b.tolist() == [7.0] * 3 + [0.0] * 13


def test_a_proved_assert_is_not_checked() -> None:
    func = program("for i in range(16):\n    assert i < 16\n    B[i] = 1.0")
    assert structural_equal(get_pass("check_constraints")(func), program("for i in range(16):\n    B[i] = 1.0"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A[0] = T.undef('float32') * 0.0", "A[0] = 0.0"),
        ("A[0] = T.undef('float32') + 1.0\nA[1] = 2.0", "A[1] = 2.0"),
        ("A[0] = T.Select(n < 2, T.undef('float32'), B[0])", "A[0] = B[0]"),
        (
            "if T.undef('int32') == T.undef('int32'):\n    A[0] = 1.0\nelse:\n    A[0] = 2.0",
            "if T.bool(False):\n    A[0] = 1.0\nelse:\n    A[0] = 2.0",
        ),
    ],
)
def test_the_algebra_of_undef(before: str, after: str) -> None:
    func = program(before)
    assert structural_equal(get_pass("remove_undef")(func), program(after))


def test_two_undefined_values_are_not_equal_when_it_runs() -> None:
    func = program("if T.undef('int32') == T.undef('int32'):\n    A[0] = 1.0\nelse:\n    A[0] = 2.0")
    for run in (tirscript.build(func), lambda *args: tirscript.interpret(func, *args)):
        a = np.ones(16, "float32")
        run(a, a.copy(), 0)
        assert a[0] == 2.0


def test_zero_times_undef_is_zero_when_it_runs() -> None:
    func = program("A[0] = T.undef('float32') * 0.0")
    for run in (tirscript.build(func), lambda *args: tirscript.interpret(func, *args)):
        a = np.ones(16, "float32")
        run(a, a.copy(), 0)
        assert a[0] == 0.0


def test_an_output_that_is_undefined_is_told_by_the_interpreter() -> None:
    func = program("A[0] = T.undef('float32') - T.undef('float32')")
    with pytest.raises(DiagnosticError, match="depends on an undefined value"):
        tirscript.interpret(func, np.ones(16, "float32"), np.ones(16, "float32"), 0)


TABLE = "K = T.allocate_const([1, 2, 3, 4], 'int32', (4,))\nM = T.decl_buffer((2, 2), 'int32', data=K.data)\n"


@pytest.mark.parametrize(
    "body",
    [
        "T.static_assert(K[0] == 1)",
        "assert M[1, 0] == 3",
        "if n == K[1]:\n    T.static_assert(n == 2)",
        "x = K[2]\nT.static_assert(x == 3)",
    ],
)
def test_elements_of_constants_are_known(body: str) -> None:
    checked = get_pass("check_constraints")(program(f"{TABLE}{body}"))
    assert not any(type(node) in (Assert, StaticAssert) for node in walk(checked))


def test_elements_of_constants_are_no_example_of_what_they_are_not() -> None:
    with pytest.raises(DiagnosticError, match="a static_assert could not be proved") as raised:
        get_pass("check_constraints")(program(f"{TABLE}T.static_assert(K[0] == n)"))
    assert raised.value.diagnostics[0].notes[0] == "n = 2 gives 1, not `n` = 2"
    with pytest.raises(DiagnosticError, match="an assumption can never hold"):
        get_pass("check_constraints")(program(f"{TABLE}T.assume(K[3] == 7)"))


THREES = "for i in range(16):\n    T.assume(A[i] == 3.0)\n"


@pytest.mark.parametrize(
    ("body", "proved"),
    [
        ("B[3] = A[3]\nT.static_assert(B[3] == 3.0)", True),
        ("for j in range(16):\n    B[j] = A[j] * 2.0\nT.static_assert(B[5] == 6.0)", True),
        ("A[3] = A[3] + 1.0\nT.static_assert(A[3] == 4.0)", True),
        ("A[3] = A[3] + 1.0\nT.static_assert(A[3] == 3.0)", False),
        ("for j in range(16):\n    A[0] = A[0] + 1.0\nT.static_assert(A[0] == 4.0)", False),
        ("for j in range(n):\n    B[j] = A[j]\nT.static_assert(B[5] == 3.0)", False),
        ("A[n] = 1.0\nB[3] = A[3]\nT.static_assert(B[3] == 3.0)", False),
    ],
)
def test_what_is_known_of_an_element_is_known_of_where_it_is_stored(body: str, proved: bool) -> None:
    func = program(THREES + body)
    if proved:
        assert not any(type(node) is StaticAssert for node in walk(get_pass("check_constraints")(func)))
    else:
        with pytest.raises(DiagnosticError, match="T403"):
            get_pass("check_constraints")(func)


def test_what_stands_behind_the_last_constraint_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that asks for its sizes first is known no better by all that it stores, which takes long."""
    seen: list[str] = []
    visit = Checker.visit

    def noted(self: Checker, node: Any) -> Any:
        seen.append(type(node).__name__)
        return visit(self, node)

    monkeypatch.setattr(Checker, "visit", noted)
    body = (
        "for i in range(4):\n    assert i < n\nassert 0 <= n\nfor i in range(4):\n    # stays\n    A[i] = A[i] + B[i]\n"
    )
    func = program(body)
    checked = get_pass("check_constraints")(func)
    assert checked is func and "BufferStore" not in seen and seen.count("Assert") == 2
    proved = get_pass("check_constraints")(program(body.replace("0 <= n", "0 <= n * 0")))
    assert len(proved.body) == 2 and "# stays" in proved.script()
