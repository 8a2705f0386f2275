"""How LLVM and a C compiler are asked to unroll loops."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.script import function

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.ir import DiagnosticError, PrimFunc
from tirscript.passes import DEFAULT_LOWERING

PARAMS = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32'
LOOP = "for i in T.serial(n, annotations={%s}):\n    B[i] = A[i] + B[i]"


def hints(annotations: str, kind: str = "serial", length: str = "n") -> list[str]:
    body = (LOOP % annotations).replace("T.serial(n", f"T.{kind}({length}")
    text = emit_ir(DEFAULT_LOWERING(function(body, PARAMS)), optimized=False)
    (loop,) = re.findall(r"!(\d+) = distinct !\{!\d+, (.*)\}", text)
    nodes = dict(re.findall(r"^!(\d+) = !\{(.*)\}$", text, re.MULTILINE))
    return [nodes[number[1:]].replace("llvm.loop.", "") for number in loop[1].split(", ")]


@pytest.mark.parametrize(
    ("annotations", "kind", "hint"),
    [
        ("", "serial", []),
        ('"pragma_unroll": 4', "serial", ['!"unroll.count", i32 4']),
        ('"pragma_unroll": T.int32(4)', "serial", ['!"unroll.count", i32 4']),
        ('"pragma_unroll": True', "serial", ['!"unroll.count", i32 4']),
        ('"pragma_unroll": False', "serial", []),
        ('"pragma_unroll": 0', "serial", []),
        ('"disable_unroll": True', "serial", ['!"unroll.disable"']),
        ('"disable_unroll": True, "pragma_unroll": 4', "serial", ['!"unroll.disable"']),
        ('"disable_unroll": False, "pragma_unroll": 4', "serial", ['!"unroll.count", i32 4']),
        ("", "unroll", ['!"unroll.count", i32 4']),
        ('"pragma_unroll": 2', "unroll", ['!"unroll.count", i32 2']),
    ],
)  # fmt: skip
def test_llvm_is_told_what_annotations_say(annotations: str, kind: str, hint: list[str]) -> None:
    assert hints(annotations, kind) == ['!"mustprogress"', *hint]


def test_a_loop_of_known_length_is_unrolled_as_far_as_llvm_likes() -> None:
    assert (
        hints('"pragma_unroll": True', "serial", "64")
        == hints("", "unroll", "9999")
        == [
            '!"mustprogress"',
            '!"unroll.enable"',
        ]
    )


def test_llvm_does_not_warn_of_loops_of_unknown_length(capfd: pytest.CaptureFixture[str]) -> None:
    for line in ("A[i] = A[i] + 1.0", "A[i] = T.exp(A[i])", "if A[i] > 3.0:\n        break\n    A[i] = 1.0"):
        tirscript.build(function(f"for i in T.unroll(n):\n    {line}", PARAMS), pipeline=DEFAULT_LOWERING)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("value", ["-1", "2.5", '"four"', "100000"])
def test_a_number_that_cannot_be_is_told_with_the_loop(value: str) -> None:
    with pytest.raises(DiagnosticError, match=r"T404.*'pragma_unroll' is ") as caught:
        hints(f'"pragma_unroll": {value}')
    (problem,) = caught.value.diagnostics
    assert problem.span is not None and problem.span.line == 6


def run(func: PrimFunc, target: str | None, n: int) -> np.ndarray:
    A, B = np.arange(64, dtype="float32"), np.ones(64, "float32")
    tirscript.build(func, target=target)(A, B, n)
    return B


@pytest.mark.parametrize("n", [0, 1, 3, 4, 63])
def test_remainders_are_done_too(n: int) -> None:
    func = function(LOOP % '"pragma_unroll": 4', PARAMS)
    wanted = np.where(np.arange(64) < n, np.arange(64) + 1, 1)
    np.testing.assert_array_equal(run(func, None, n), wanted)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("annotations", ['"pragma_unroll": 4', '"disable_unroll": True', '"pragma_unroll": True'])
@pytest.mark.parametrize("loop", ["range(n)", "range(1, n, 3)", "range(1, 60, n)"])
def test_a_c_compiler_is_told_before_the_loop(annotations: str, loop: str, tmp_path: Path) -> None:
    loop = loop.replace("range", "T.serial").replace(")", f", annotations={{{annotations}}})")
    func = function(f"for i in {loop}:\n    B[i] = A[i] + B[i]", PARAMS)
    made = tirscript.build(func, target="c")
    text = made.export(tmp_path / "k.c").read_text()
    asked = re.findall(r"#pragma GCC unroll (\d+)\n\s*for \(", text)
    assert asked == {"4": ["4"], "disable": ["1"]}.get("4" if "4" in annotations else annotations[1:8], [])
    assert text.count("#pragma GCC unroll") == len(asked)
    np.testing.assert_array_equal(run(func, "c", 5), run(func, None, 5))
