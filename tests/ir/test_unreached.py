"""Accesses of arrays without elements in loops that run no iteration."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.passes.schedule import Schedule

EMPTY = """
@T.prim_func
def f(A: T.Buffer((4, {size}), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = 1.0
        for j in range({size}):
            B[i] = B[i] + A[i, {index}] + A[i, j]
"""


def test_an_index_into_an_empty_dimension_may_stand_where_nothing_runs() -> None:
    for size in (0, 2):
        program = tirscript.parse(EMPTY.format(size=size, index=0))
        for run in (
            tirscript.build(program),
            tirscript.build(program, debug=True),
            lambda *args, it=program: tirscript.interpret(it, *args),
        ):
            given, out = np.ones((4, size), "float32"), np.zeros(4, "float32")
            run(given, out)
            assert (out == 1 + 2 * size).all()


@pytest.mark.parametrize(
    ("body", "index"),
    [
        ("B[0] = A[0, 0]", 0),
        ("for i in range(4):\n        B[i] = A[i, 0]", 0),
        ("for i in range(0):\n        B[4] = 1.0", 4),
        ("for i in range(0):\n        B[0] = A[0, -1]", -1),
        ("for i in range(0):\n        B[0] = 1.0\n    B[1] = A[0, 0]", 0),
        ("for i in range(3, 0, -1):\n        B[i] = A[i, 0]", 0),
    ],
)
def test_elsewhere_it_is_told(body: str, index: int) -> None:
    with pytest.raises(DiagnosticError, match=f"index {index} is outside of dimension"):
        tirscript.parse(
            f'@T.prim_func\ndef f(A: T.Buffer((4, 0), "float32"), B: T.Buffer((4,), "float32")):\n    {body}\n'
        )


def test_blocks_may_be_bound_to_anything_where_nothing_runs() -> None:
    kernel = tirscript.parse("""
@T.prim_func
def f(A: T.Buffer((0, 4), "int8")):
    for i, j in T.grid(0, 4):
        with T.block("A"):
            a, b = T.axis.remap("SS", [i, j])
            A[a, b] = T.int8(1)
""")
    schedule = Schedule(kernel)
    schedule.split("j", [None, 3])
    assert tirscript.parse(schedule.func.script()).script() == schedule.func.script()
    with pytest.raises(DiagnosticError, match="its value goes from 0 to 5"):
        tirscript.parse(schedule.func.script().replace("0, 2, 3", "1, 2, 3").replace("0, 4", "1, 4"))
