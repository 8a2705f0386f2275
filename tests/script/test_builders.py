"""What TVMScript takes from TVM's builders, most of which apache-tvm 0.27 reads: each program is the one in our words."""

from __future__ import annotations

import pytest

from tirscript.ir import DiagnosticError, PrimFunc, structural_equal
from tirscript.script import parse

HEAD = "from tvm.script import tirx as T\n\n\n"
SIGNATURE = (
    'A: T.Buffer((16,), "float32"), B: T.Buffer((4, 16), "float32"), C: T.Buffer((16,), "int8"), n: T.int32, m: T.int64'
)


def program(body: str, head: str = HEAD) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    found = parse(f"{head}@T.prim_func\ndef main({SIGNATURE}):\n{lines}")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("T.buffer_store(A, T.BufferLoad(B, [n, 3]) + T.float32(1), [0])", "A[0] = B[n, 3] + 1.0"),
        ("T.buffer_store(A, 1.5, indices=n)", "A[n] = 1.5"),
        ("A[T.Ramp(0, 1, 4)] = T.BufferLoad(buffer=B, indices=[n, T.Ramp(0, 1, 4)])", "A[T.ramp(0, 1, 4)] = B[n, T.ramp(0, 1, 4)]"),
        (
            "T.buffer_store(A, T.BufferLoad(A, [T.Ramp(n, 1, 4)], T.Broadcast(n > 2, 4)), [T.Ramp(0, 1, 4)], predicate=T.Broadcast(n > 2, 4))",
            "A.vstore([T.ramp(0, 1, 4)], A.vload([T.ramp(n, 1, 4)], predicate=n > 2), predicate=n > 2)",
        ),
        (
            'T.masked_store(A, T.masked_load("float32x4", B, n, T.Ramp(0, 1, 4), T.Ramp(0, 1, 4) < T.Broadcast(n, 4)), T.Ramp(0, 1, 4), T.Broadcast(n > 2, 4))',
            "A.vstore([T.ramp(0, 1, 4)], B.vload([n, T.ramp(0, 1, 4)], predicate=T.ramp(0, 1, 4) < n), predicate=n > 2)",
        ),
        ("T.masked_store(C, T.int8(3), m, n > 2)", "C.vstore([m], 3, predicate=n > 2)"),
        ("T.evaluate(T.masked_store(C, 1, 0, n > 2))", "C.vstore([0], 1, predicate=n > 2)"),
        ('T.evaluate(T.call_extern("int32", "puts", T.StringImm("words")))', 'T.evaluate(T.call_extern("int32", "puts", "words"))'),
        ('word = T.StringImm("two\\nlines")\nT.call_extern("int32", "puts", word)', 'T.call_extern("int32", "puts", "two\\nlines")'),
        ('A[0] = T.Call("float32", "tir.exp", [A[1]])', "A[0] = T.exp(A[1])"),
        ('T.Call("int32", "tirx.tvm_throw_last_error", [])', "T.tvm_throw_last_error()"),
        ('T.tvm_call_cpacked_lowered("f", 1, 2)', 'T.call_cpacked_lowered("f", 1, 2)'),
        ("with T.serial(4) as i:\n    A[i] = 1.0", "for i in T.serial(4):\n    A[i] = 1.0"),
        ("with T.vectorized(0, 4) as i:\n    A[i] = 1.0", "for i in T.vectorized(0, 4):\n    A[i] = 1.0"),
        ("with T.unroll(4):\n    A[0] = A[0] + 1.0", "for _ in T.unroll(4):\n    A[0] = A[0] + 1.0"),
        ("with T.grid(4, 16) as (i, j):\n    B[i, j] = 1.0", "for i, j in T.grid(4, 16):\n    B[i, j] = 1.0"),
        (
            'with T.parallel(4) as i, T.attr(0, "key", 1), T.serial(16) as j:\n    B[i, j] = 1.0',
            'for i in T.parallel(4):\n    with T.attr(0, "key", 1):\n        for j in T.serial(16):\n            B[i, j] = 1.0',
        ),
        ("with T.If(n > 1):\n    with T.Then():\n        A[0] = 1.0", "if n > 1:\n    A[0] = 1.0"),
        (
            "with T.If(n > 1):\n    with T.Then():\n        A[0] = 1.0\n    with T.Else():\n        A[0] = 2.0",
            "if n > 1:\n    A[0] = 1.0\nelse:\n    A[0] = 2.0",
        ),
    ],
)  # fmt: skip
def test_statements(theirs: str, ours: str) -> None:
    made = program(theirs)
    assert structural_equal(made, program(ours, "")), made.script()
    for text in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(parse(text), made)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("T.buffer_store(n, 1.0, [0])", "this takes a buffer"),
        ("T.buffer_store(A, 1.0)", "`indices` is missing"),
        ("A[0] = T.BufferLoad(B, [0])", "has 2 dimensions, but 1 index stand here"),
        ("T.masked_store(A, 1.0, 0)", "1 dimension, but 0 indices"),
        ("T.masked_store(A, 1.0)", "takes a buffer, a value, the indices and a mask"),
        ('A[0] = T.masked_load("float32x4", A, 0, n > 2)', "what is loaded here is float32, not float32x4"),
        ("T.evaluate(T.call_extern('int32', 'puts', T.StringImm(3)))", "takes a string"),
        ('T.Call("int32", "tir.popcount", n)', "takes a dtype, a name and a list of arguments"),
        ('A[0] = T.Call("float32", "tir.nothing", [])', "'tir.nothing' is not an intrinsic"),
        ("with T.If(n > 1):\n    A[0] = 1.0", "in `T.If` stand its branches"),
        ("with T.Then():\n    A[0] = 1.0", "what stands in `with T.If(c):`"),
    ],
)
def test_mistakes(body: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        program(body)
    assert message in str(caught.value)


def test_our_dialect_has_none_of_these() -> None:
    for body in (
        "with T.serial(4) as i:\n    A[i] = 1.0",
        "T.buffer_store(A, 1.0, [0])",
        "A[0] = T.BufferLoad(A, [1])",
    ):
        with pytest.raises(DiagnosticError):
            program(body, "from tirscript.script import tir as T\n\n\n")
