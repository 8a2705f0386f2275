"""The table of docs/backends.md says what the backends do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.examples.matmul import matmul
from tirscript.ir import PrimFunc, structural_equal
from tirscript.passes import DEFAULT_LOWERING

PAGE = Path(__file__).resolve().parents[3] / "docs" / "backends.md"
COLUMNS = {"`llvm` here": "llvm", "`llvm` elsewhere": "aarch64/generic", "`c`": "c"}
HEAD = "from tirscript.script import tir as T\n@T.prim_func\ndef f(A: T.Buffer((8,), 'float32'), i: T.int32):\n    "
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def table() -> dict[str, dict[str, str]]:
    """The rows by what they are about, each with its cells by column."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in rows]
    head = [cell.strip() for cell in rows[0].strip("| ").split(" | ")]
    return {row[0]: dict(zip(head, row[1:], strict=True)) for row in cells[1:] if not row[0].startswith("---")}


TABLE = table()


def kernel(line: str) -> PrimFunc:
    return tirscript.parse(HEAD + line + "\n")  # type: ignore[return-value]


def works(action: Callable[[], object]) -> bool:
    """Whether it is not refused as unsupported."""
    try:
        action()
    except tirscript.DiagnosticError as problem:
        assert {one.code for one in problem.diagnostics} <= {"T402", "T404"}, problem
        return False
    return True


def made(line: str, target: str, folder: Path, **options: Any) -> Callable[[], object]:
    """Builds a program and makes all of its code."""

    def run() -> object:
        built = tirscript.build(kernel(line), target=target, **options)
        if target == "aarch64/generic":
            return built.export(folder / "k.o")
        return built(np.ones(8, "float32"), 1)

    return run


LINES = {
    "functions called from Python": "A[0] = 1.0",
    "operators": "A[0] = T.exp(A[1]) + T.sqrt(A[2])",
    "`call_extern`": 'A[0] = T.call_extern("float32", "sqrtf", A[1])',
    "`call_llvm_intrin`": 'A[0] = T.call_llvm_pure_intrin("float32", "llvm.sqrt", A[1])',
    "`call_packed` of Python functions": 'T.evaluate(T.call_packed("tests.table", A.data))',
    "`print`": 'T.print("")',
    "`breakpoint`": "T.breakpoint()",
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", LINES)
def test_what_programs_may_hold(row: str, column: str, tmp_path: Path, capsys: Any) -> None:
    tirscript.register_library("tests.table", _nothing, override=True)
    said, target = TABLE[row][column], COLUMNS[column]
    if row == "functions called from Python" and column == "`llvm` elsewhere":
        built = tirscript.build(kernel(LINES[row]), target=target)
        assert said == "no" and not works(lambda: built(np.ones(8, "float32"), 1))
        return
    assert works(made(LINES[row], target, tmp_path)) is (said != "no")


def _nothing(array: Any) -> None:
    """A Python function of a library."""


@pytest.mark.parametrize("column", COLUMNS)
def test_how_programs_run(column: str, tmp_path: Path) -> None:
    target = COLUMNS[column]
    loop = "for j in T.parallel(8, annotations={'grain': 1}):\n        A[j] = A[j] + 1.0"
    built = tirscript.build(kernel(loop), target=target)
    text = built.source() if target == "c" else built.llvm_ir()
    assert ("tirscript_parallel" in text or "pthread_create" in text) is (TABLE["parallel loops"][column] == "threads")
    checked = tirscript.build(kernel("A[i] = 1.0"), target=target, bounds_check=True)
    told = checked.source() if target == "c" else checked.llvm_ir()
    plain = tirscript.build(kernel("A[i] = 1.0"), target=target)
    without = plain.source() if target == "c" else plain.llvm_ir()
    assert TABLE["`bounds_check`"][column] == "yes" and len(told) > len(without)
    as_written = structural_equal(tirscript.build(matmul, target=target).lowered, DEFAULT_LOWERING(matmul))
    assert as_written is (TABLE["default schedule"][column] == "no")


@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_written(column: str, tmp_path: Path) -> None:
    built = tirscript.build(kernel("A[0] = 1.0"), target=COLUMNS[column])
    assert works(built.llvm_ir) is works(built.assembly) is (TABLE["LLVM IR and assembly as text"][column] == "yes")
    assert works(built.source) is (TABLE["source as text"][column] == "yes")
    sure = TABLE["files"][column].partition(",")[0].split()
    written = [f"`{s}`" for s in (".so", ".a", ".o", ".s", ".ll", ".bc", ".c") if _writes(built, tmp_path, s)]
    assert set(sure) <= set(written)
    assert set(written) - set(sure) <= ({"`.so`"} if "cross compiler" in TABLE["files"][column] else set())


def _writes(built: Any, folder: Path, suffix: str) -> bool:
    return works(lambda: built.export(folder / f"libk{suffix}"))
