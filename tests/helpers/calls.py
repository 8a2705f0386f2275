"""Programs that tests of `build` and `jit` call, and what a wrong call tells."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tirscript.ir import DiagnosticError
from tirscript.script import ir as I
from tirscript.script import parse
from tirscript.script import tir as T


@T.prim_func
def grow(A: T.Buffer((4, "n"), "float32"), B: T.Buffer((4, "n"), "float32"), by: T.float32):
    """Add a number."""
    for i, j in T.grid(4, n):
        with T.block("grow"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + by


@I.ir_module
class Two:
    @T.prim_func
    def double(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = A[i] * 2

    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        C = T.alloc_buffer((4,), "int32")
        Two.double(A, C)
        Two.double(C, B)

    @T.prim_func(private=True)
    def hidden(A: T.Buffer((4,), "int32")):
        A[0] = 1


def text(source: str) -> Any:
    """The program of a text whose lines are indented as those around it."""
    return parse("from tirscript.script import ir as I, tir as T\n" + inspect.cleandoc(source))


def told(function: Any, *args: Any, **kwargs: Any) -> str:
    """The codes, messages and hints of the diagnostics that a call raises."""
    with pytest.raises(DiagnosticError) as caught:
        function(*args, **kwargs)
    return "\n".join(f"{d.code} {d.message}" + (f" | {d.hint}" if d.hint else "") for d in caught.value.diagnostics)
