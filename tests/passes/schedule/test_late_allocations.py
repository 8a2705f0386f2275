"""Blocks that move to where the buffer they write is not allocated yet."""

from __future__ import annotations

import pytest

import tirscript
from tirscript.ir import DiagnosticError, PrimFunc
from tirscript.ir.verify import verify
from tirscript.script import parse
from tirscript.testing import assert_same_result

CHAIN = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32"), n: T.int32):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    {definition}
    C = T.alloc_buffer(({size},), "float32")
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + 1.0
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi] * B[vi]
"""


def chain(definition: str = "", size: str = "8") -> PrimFunc:
    found = parse(CHAIN.format(definition=definition, size=size))
    assert isinstance(found, PrimFunc)
    return found


def test_the_buffer_is_allocated_before_the_loop() -> None:
    func = chain()
    schedule = tirscript.Schedule(func)
    schedule.reverse_compute_at("C", schedule.get_loops("B")[0])
    text = schedule.func.script()
    assert text.index("B = T.alloc_buffer") < text.index("C = T.alloc_buffer") < text.index("for i in")
    assert not verify(schedule.func)
    assert_same_result(func, schedule.func)


def test_a_size_that_is_not_known_there_refuses() -> None:
    func = chain("m: T.let[T.int32] = n + 8", "m")
    schedule = tirscript.Schedule(func)
    with pytest.raises(DiagnosticError, match="`C` is allocated behind the loop, and cannot be before it"):
        schedule.reverse_compute_at("C", schedule.get_loops("B")[0])
    assert schedule.func is func
