"""Programs that hold what is to be said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tirscript.ir import DiagnosticError, For, error, verify, walk
from tirscript.ir.verify import warnings
from tirscript.testing import expect_error

HEAD = """\
from tirscript.script import tir as T


@T.prim_func
def f(A: T.Buffer((16,), "float32"), n: T.int32):
"""


def failed(body: str, through: Any = None, head: str = HEAD) -> str:
    with pytest.raises(AssertionError) as caught:
        expect_error(head + body, through)
    return str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "    A[0] = T.exq(1.0)  # error: [T031]\n",
        "    A[0] = T.exq(1.0)  # error: `T.exq` is not\n",
        "    A[0] = T.exq(1.0)  # error: [T031] not a function of T\n",
        "    A[0] = T.exq(1.0)\n    # error: [T031]\n",
        "    A[0] = T.exq(1.0)\n    #      ^^^^^ error: [T031]\n",
        "    A[0] = T.exq(1.0)\n    #      ^ error: [T031]\n",
        "    A[0] = T.exq(1.0)\n\n    #      ^ error: [T031]\n",
        "    A[q] = 1.0; A[r] = 1.0  # error: `q`\n    # error: `r`\n",
        "    A[q] = 1.0; A[r] = 1.0\n    # ^ error: `q`\n    #             ^ error: `r`\n    n1 = n\n",
        "    A[q] = 1.0; A[r] = 1.0\n    # error: undefined\n    # error: `q`\n",
    ],
)
def test_expected(body: str) -> None:
    if "undefined" in body:
        body = body.replace("undefined", "is not defined")
    said = expect_error(HEAD + body)
    assert len(said) == body.count("error:")


def test_files_and_what_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(f"{HEAD}    A[0] = größe  # error: größe\n", encoding="utf-8")
    (found,) = expect_error(path)
    assert found.span is not None and found.span.filename == str(path)


def test_what_is_not_said_and_what_is_not_expected() -> None:
    text = failed("    A[0] = 1.0  # error: [T031] some words\n    A[1] = q\n")
    assert text.startswith(
        "not said: line 6 expects the error [T031] 'some words' at line 6\n\nsaid and not expected:\n"
    )
    assert "<text>:7:12" in text


@pytest.mark.parametrize(
    "body",
    [
        "    A[0] = T.exq(1.0)  # error: [T033]\n",  # another code
        "    A[0] = T.exq(1.0)  # error: other words\n",
        "    A[0] = T.exq(1.0)  # warning: [T031]\n",  # another severity
        "    A[0] = T.exq(1.0)\n    A[1] = 1.0  # error: [T031]\n",  # another line
        "    A[0] = T.exq(1.0)\n    #     ^^^^^ error: [T031]\n",  # another column
        "    A[0] = T.exq(1.0)\n    #      ^^^^ error: [T031]\n",  # another extent
        "    A[q] = 1.0; A[r] = 1.0  # error: `q`\n",  # one of two
        "    A[q] = 1.0  # error: `q`\n    # error: `q`\n",  # two of one
        "    A[q] = 1.0  # error: `q`\n    A[r] = 1.0\n    # error: `q`\n",
    ],
)
def test_not_as_expected(body: str) -> None:
    assert "not said" in failed(body) or "not expected" in failed(body)


def test_mistakes_without_a_place() -> None:
    def lost(func: Any) -> Any:
        raise DiagnosticError([error("T302", "somewhere")])

    (found,) = expect_error(f"# error: [T302] somewhere\n{HEAD}    A[0] = 1.0\n", lost)
    assert found.span is None
    assert "not said: line 6 expects the error [T302] '' at line 6" in failed("    A[0] = 1.0  # error: [T302]\n", lost)


def test_syntax_errors() -> None:
    expect_error(f"{HEAD}    A[0] = = 1.0  # error: [T001]\n")


def test_through_a_pass() -> None:
    def no_loops(func: Any) -> Any:
        loops = [node for node in walk(func) if type(node) is For]
        if loops:
            raise DiagnosticError([error("T302", "a loop is not allowed", loop.span) for loop in loops])
        return func

    loops = "    for i in range(4):  # error: not allowed\n        A[i] = 1.0\n"
    assert len(expect_error(HEAD + loops + loops, no_loops)) == 2
    assert "not said" in failed("    A[0] = 1.0  # error: not allowed\n", no_loops)
    expect_error(f"{HEAD.replace('func', 'func(check_well_formed=False)')}    A[16] = 1.0  # error: out\n", verify)


def test_warnings() -> None:
    body = '    for i, j in T.grid(16, 2):\n        with T.block("b"):\n            v = T.axis.spatial(16, i)\n'
    body += "            w = T.axis.spatial(2, j)  # warning: [T211] `w`\n            A[v] = 1.0\n"
    (found,) = expect_error(HEAD + body, warnings)
    assert found.severity == "warning"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A[0] = 1.0\n", "nothing to expect"),
        ("x = 1  # error:\n", "line 1: say which error is expected"),
        ("x = 1  # ^ error: x\n", "line 1: carets stand on a line of their own"),
    ],
)
def test_comments_that_say_nothing(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        expect_error(text)
