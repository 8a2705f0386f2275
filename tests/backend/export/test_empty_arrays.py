"""Arrays without elements: numpy gives them strides as it pleases, (0, 0) among them, and no step is ever taken."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tirscript
from tirscript.ir import DiagnosticError, PrimFunc
from tirscript.script import tir as T


@T.prim_func
def shift(A: T.Buffer(("n", "m"), "float32"), b: T.handle, C: T.Buffer(("n", "m"), "float32")):
    B = T.match_buffer(b, (n, m), "float32", strides=(8, 1))
    for i, j in T.grid(n, m):
        C[i, j] = A[i, j] + B[i, j]


@T.prim_func
def none(A: T.Buffer((0, 3), "float32"), B: T.Buffer((2, 3, 0), "float32"), n: T.int32):
    for i, j in T.grid(0, 3):
        A[i, j] = T.cast(n, "float32")


def functions(func: PrimFunc, folder: Path, target: str) -> list[Any]:
    built = tirscript.build(func, target=target)
    if shutil.which("cc") is None:
        return [built]
    return [built, tirscript.load(built.export(folder / f"lib{target}.so"))[func.name]]


TARGETS = pytest.mark.parametrize(
    "target", ["llvm", pytest.param("c", marks=pytest.mark.skipif("not shutil.which('cc')"))]
)


@TARGETS
def test_strides_do_not_count_where_the_shape_says_that_there_are_no_elements(tmp_path: Path, target: str) -> None:
    for function in functions(none, tmp_path, target):
        function(np.zeros((0, 3), "f"), np.zeros((2, 3, 0), "f"), 1)  # numpy's strides are 0 here
        with pytest.raises(DiagnosticError, match="T301"):
            function(np.zeros((0, 4), "f"), np.zeros((2, 3, 0), "f"), 1)


@TARGETS
def test_strides_of_empty_arrays_do_not_count(tmp_path: Path, target: str) -> None:
    for function in functions(shift, tmp_path, target):
        for shape in ((0, 4), (4, 0), (0, 0)):
            odd = as_strided(np.zeros(0, "float32"), shape, (20, 12))
            function(odd, odd, as_strided(np.zeros(0, "float32"), shape, (0, 0)))
        with pytest.raises(DiagnosticError, match="T301"):  # of one row with elements, the last does
            function(as_strided(np.zeros(8, "float32"), (1, 4), (32, 8)), np.zeros((1, 4), "f"), np.zeros((1, 4), "f"))
        with pytest.raises(DiagnosticError, match="T301"):
            function(*(np.zeros((2, 4), "f") for _ in range(3)))
