"""What people get wrong when they build, call and export: each message says what it was and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError

KERNEL = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'
GRAPH = (
    '@G.graph_func\ndef f(x: G.Tensor((4,), "float32"), k: G.Prim("int32"), t: G.Tuple(G.Prim("int8"))):\n'
    "    return x\n"
)


@pytest.mark.parametrize("pipeline", ["defualt", "defaults", "Default"])
def test_the_default_pipeline_misspelt(pipeline: str) -> None:
    with pytest.raises(DiagnosticError, match=f'there is no pass `{pipeline}`(.|\n)*did you mean "default"'):
        tirscript.build(tirscript.parse(KERNEL), pipeline=pipeline)


@pytest.mark.parametrize(
    ("name", "what"), [("f.wasm", "a module of WebAssembly"), ("f.dylib", "a shared library of macOS")]
)
def test_a_file_of_another_system_than_the_code(name: str, what: str, tmp_path: Path) -> None:
    built = tirscript.build(tirscript.parse(KERNEL), target="x86_64/generic")
    with pytest.raises(DiagnosticError, match=f"T402.*{what}, and the code is for x86_64-"):
        built.export(tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_library_and_its_header_in_one_file(target: str, tmp_path: Path) -> None:
    built = tirscript.build(tirscript.parse(KERNEL), target=target)
    with pytest.raises(DiagnosticError, match=r'T404.*cannot be the library and its header(.|\n)*header="f\.h"'):
        built.export(tmp_path / "f.so", header=tmp_path / "." / "f.so")


@pytest.mark.parametrize("name", ["f.so", "f.ll", "f.c"])
def test_an_export_into_a_folder_that_is_not_there(name: str, tmp_path: Path) -> None:
    built = tirscript.build(tirscript.parse(KERNEL), target="c" if name == "f.c" else "llvm")
    with pytest.raises(DiagnosticError, match=f"there is no folder `.*missing` to write `{name}` into"):
        built.export(tmp_path / "missing" / name)
    with pytest.raises(DiagnosticError, match=r"there is no folder `.*missing` to write `f\.h` into"):
        built.export(tmp_path / name, header=tmp_path / "missing" / "f.h")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("k", "t", "message"),
    [
        (1.5, (1,), r"expected an integer \(int32\), got 1.5"),
        ("1", (1,), r"expected an integer \(int32\), got '1'"),
        (None, (1,), r"expected an integer \(int32\), got None"),
        (1 << 40, (1,), "expected an integer of int32, which holds"),
        (1, (200,), "expected an integer of int8, which holds -128 to 127, got 200"),
    ],
)
def test_a_scalar_that_is_no_scalar_of_a_graph_is_refused_by_both(k: object, t: object, message: str) -> None:
    program = tirscript.parse(GRAPH)
    x = np.zeros(4, "float32")
    for run in (tirscript.build(program), lambda *args: tirscript.interpret(program, *args)):
        assert (run(x, np.int64(3), (np.int8(1),)) == x).all()
        with pytest.raises(DiagnosticError, match=message):
            run(x, k, t)
