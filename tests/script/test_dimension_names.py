"""Symbolic dimensions of any name: T is time and G groups, whatever else these letters stand for."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import graph as G
from tirscript.script import parse
from tirscript.script import tir as T


@T.prim_func
def in_python(A: T.Buffer(("T", "G"), "int64"), B: T.Buffer(("T * 2", "T.ceildiv(G, 2)"), "int64")):
    for i, j in T.grid(T, T.ceildiv(G, 2)):
        B[i * 2, j] = A[i, j] * T


@pytest.mark.parametrize("name", ["I", "G", "R", "T", "range"])
def test_dimensions_named_as_what_text_knows(name: str) -> None:
    func = parse(
        f"""
@T.prim_func
def f(A: T.Buffer(("{name}", "n"), "int64"), B: T.Buffer(("{name} + 1", "T.max(n, 1)"), "int64")):
    for i in T.serial({name}):
        for j in T.serial(n):
            B[i, j] = A[i, j] * {name}
"""
    )
    text = func.script()
    assert structural_equal(parse(text), func) and parse(text).script() == text
    given, made = np.arange(6).reshape(2, 3), np.zeros((3, 3), "int64")
    tirscript.interpret(func, given, made)
    np.testing.assert_array_equal(made[:2], given * 2)


def test_dimensions_named_as_what_python_imports() -> None:
    text = in_python.script()
    assert structural_equal(parse(text), in_python) and parse(text).script() == text
    given, made = np.arange(10).reshape(2, 5), np.zeros((4, 3), "int64")
    tirscript.interpret(in_python, given, made)
    np.testing.assert_array_equal(made[::2], given[:, :3] * 2)
    assert G is not T


def test_a_dimension_leaves_its_namespace_no_other_names() -> None:
    with pytest.raises(DiagnosticError, match=r"`T\.grit` is not a function of T"):
        parse('@T.prim_func\ndef f(A: T.Buffer(("T",), "int64")):\n    for i in T.grit(T):\n        A[i] = 0\n')
