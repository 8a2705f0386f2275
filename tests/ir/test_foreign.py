"""Intrinsics of other machines: kept and printed, refused by name where a program is run."""

from __future__ import annotations

import pytest
from helpers.script import function, one_mistake

import tirscript
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.ir.op import FOREIGN, OPS
from tirscript.script import parse


def test_they_are_no_entries_of_the_table_that_runs() -> None:
    assert not set(FOREIGN) & set(OPS)
    assert all(entry.doc and entry.make is not None for entry in FOREIGN.values())


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('T.call_llvm_pure_intrin("int32", "llvm.x86.thing", n, n)', "int32"),
        ('T.tvm_storage_sync("shared")', "int32"),
        ('T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 16, 1)', "handle"),
        ("T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[0], 0, 32, 32)", "float32"),
        ('T.vectorlow("float32x4", A[0:8])', "float32x4"),
        ("T.q_multiply_shift(n, n, 31, 2)", "int32"),
    ],
)
def test_they_are_read_and_printed(text: str, result: str) -> None:
    made = function(f"T.evaluate({text})")
    assert made.body[0].value.dtype.name == result
    assert text in made.script() and structural_equal(made, parse(made.script()))


def test_their_arguments_are_counted() -> None:
    assert "takes 5 arguments, not 1" in one_mistake("T.evaluate(T.tvm_access_ptr(A.data))").message
    assert one_mistake('T.evaluate(T.vectorlow("float31", n))').code == "T109"


def test_running_them_is_refused_by_name() -> None:
    made = function('T.tvm_storage_sync("shared")', "n: T.int32")
    with pytest.raises(DiagnosticError, match=r"T308.*tvm_storage_sync"):
        tirscript.interpret(made, 1)
    with pytest.raises(DiagnosticError, match=r"T402.*tvm_storage_sync"):
        tirscript.build(made)
