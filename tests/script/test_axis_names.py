"""Names of axes end with their block."""

from __future__ import annotations

import pytest

from tirscript.ir import AllocBuffer, DiagnosticError
from tirscript.script import parse

TEXT = """
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("b"):
            v = T.axis.spatial(4, i)
            A[v] = 1
    v = T.alloc_buffer((2,), "int32")
    v[0] = A[0]
"""


def test_an_axis_name_may_be_used_again_behind_the_block() -> None:
    function = parse(TEXT)
    assert isinstance(function.body[1], AllocBuffer)
    assert function.body[1].buffer.name == "v"


def test_an_axis_cannot_be_assigned_inside_its_block() -> None:
    with pytest.raises(DiagnosticError, match="`v` is a block axis and cannot be assigned"):
        parse(TEXT.replace("A[v] = 1", "v = 1"))
