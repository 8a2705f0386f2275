"""Forms that are read as others: what stands in the program for each, as it is printed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers.script import HEADER, body_text

from tirscript.ir import DiagnosticError, Var, dtype
from tirscript.script import parse
from tirscript.script import tir as T

# body, the body as it is printed
BODIES = [
    ("X[0] = +n", "X[0] = n"),
    ("A[0] = 1.0 if False and n > 0 else 2.0", "A[0] = 2.0"),
    ("A[0] = 1.0 if True and n > 0 else 2.0", "A[0] = T.float32(1.0) if n > 0 else 2.0"),
    ("if True or n > 0:\n    A[0] = 1.0", "A[0] = 1.0"),
    ("if 1 < 2 < n:\n    A[0] = 1.0", "if 2 < n:\n    A[0] = 1.0"),
    ("if 2 < 1 < n:\n    A[0] = 1.0", "pass"),
    ("if n < 3 < 2:\n    A[0] = 1.0", "if n < 3 and T.bool(False):\n    A[0] = 1.0"),
    ("if 1 < 2 < 3 < 2:\n    A[0] = 1.0", "pass"),
    ("A[0] = T.cast(n, A[0].dtype)", 'A[0] = T.cast(n, "float32")'),
    ("x: T.float32 = 1.0\nA[0] = T.cast(n, x.dtype)", 'x: T.float32 = 1.0\nA[0] = T.cast(n, "float32")'),
    ("X[0] = A.ndim + len(A.name)", "X[0] = 2"),
    ("X[0] = [1, 2, 3, 4][1:3][T.int32(1)]", "X[0] = 3"),
    ("A[0:1] = T.float32(1)", "A[0] = 1.0"),
    ("x: T.let = A[0]\nA[1] = x", "x = A[0]\nA[1] = x"),
    ("T.func_attr({**{'a': 1}, **{'b': 2}})", 'T.func_attr({"a": 1, "b": 2})'),
    ("x = A[T.ramp(**{'base': 0, 'stride': 1, 'lanes': 4})]", "x = A[0:4]"),
    ("X[0] = 7 % 4 + round(2.567) + len(tuple([1, 2])) + len(list((1, 2)))", "X[0] = 10"),
    ("X[0] = sum([[1], [2, 3]], [])[2] + sum(((4,), (5,)), ())[1]", "X[0] = 8"),
    ("for x, y in zip([1, 2], [3, 4], strict=True):\n    X[x] = y", "X[1] = 3\nX[2] = 4"),
    ("T.static_assert(2 > 1, 'm')\nT.assume(2 > 1)\nassert 2 > 1", "pass"),
    ("pass\n'a comment as a string'\n...\nX[0] = 1", "X[0] = 1"),
    (
        "X[0], (x, y) = 1, (2, 3)\nX[1] = x + y",
        "X[0] = 1\nx: T.let[T.int32] = 2\ny: T.let[T.int32] = 3\nX[1] = x + y",
    ),
    ("C = T.decl_buffer((4,), 'int8')\nC[0] = T.int8(1)", 'C = T.alloc_buffer((4,), "int8")\nC[0] = 1'),
    (
        "C = T.decl_buffer((2,), 'float32', A)\nC[0] = 1.0",
        'C = T.decl_buffer((2,), "float32", data=A.data)\nC[0] = 1.0',
    ),
    (
        'with T.block("b"):\n    C = T.match_buffer(A, (16,))\n    C[0] = 1.0',
        'with T.block("b"):\n    C = T.match_buffer(A[0:16], (16,), "float32")\n    C[0] = 1.0',
    ),
    (
        'with T.block("b"):\n    T.reads(A[0 : T.int64(4)], B)\n    T.writes()\n    T.evaluate(A[0])',
        'with T.block("b"):\n    T.reads(A[T.int64(0) : T.int64(4)], B[0:4, 0:4])\n    T.writes()\n    T.evaluate(A[0])',
    ),
    (
        'with T.attr(0, "a", 1), T.attr(0, "b", 2):\n    X[0] = 1',
        'with T.attr(T.int32(0), "a", T.int32(1)):\n    with T.attr(T.int32(0), "b", T.int32(2)):\n        X[0] = 1',
    ),
    (
        "if n > 0:\n    x = 1\nelse:\n    x = 2\nX[0] = x",
        "x: T.int32\nif n > 0:\n    x = 1\nelse:\n    x = 2\nX[0] = x",
    ),
]


@pytest.mark.parametrize(("body", "printed"), BODIES, ids=[body[:40] for body, _ in BODIES])
def test_bodies(body: str, printed: str) -> None:
    text = parse(body_text(body)).script(header=False)
    head = parse(body_text("pass")).script(header=False).removesuffix("    pass\n")
    assert text == head + "".join(f"    {line}\n" for line in printed.split("\n"))


# parameters, the parameters as they are printed
HEADS = [
    ("n: int, x: float, b: bool", "n: T.int32, x: T.float32, b: T.bool"),
    ("A: 'T.Buffer((4, \"n\"), \"float32\")', n: 'T.int64'", 'A: T.Buffer((4, "n"), "float32"), n: T.int64'),
    (
        "A: T.Buffer((4,), dtype=T.int8), b: T.handle('int8', 'shared')",
        'A: T.Buffer((4,), "int8"), b: T.handle("int8", "shared")',
    ),
]


@pytest.mark.parametrize(("params", "printed"), HEADS)
def test_heads(params: str, printed: str) -> None:
    text = parse(body_text("pass", params=params)).script(header=False)
    assert text == f"@T.prim_func\ndef f({printed}):\n    pass\n"


def test_results() -> None:
    for given, printed in (("float", "T.float32"), ("int", "T.int32"), ("T.int8", "T.int8"), ("'T.int8'", "T.int8")):
        text = f"{HEADER}@T.prim_func\ndef f(n: T.int8) -> {given}:\n    return 1\n"
        assert f" -> {printed}:" in parse(text).script()
    assert " -> " not in parse(f"{HEADER}@T.prim_func\ndef f() -> None:\n    pass\n").script()


def test_an_annotation_in_quotes_that_is_none() -> None:
    with pytest.raises(DiagnosticError, match="annotation of `A` is not an expression"):
        parse(body_text("pass", params="A: 'T.Buffer(('"))


def test_options_stand_by_name() -> None:
    with pytest.raises(DiagnosticError, match="options by keyword only"):
        parse(body_text("pass").replace("T.prim_func", "T.prim_func(True)"))


def test_values_of_numpy_are_numbers() -> None:
    names = {"size": np.int64(4), "one": np.float32(0.5), "on": np.bool_(True)}
    body = "A[size - 1] = one\nT.func_attr({'a': size, 'b': one})\nif on:\n    X[1] = size"
    text = parse(body_text(body), names=names).script()
    assert 'T.func_attr({"a": 4, "b": 0.5})' in text
    assert "A[3] = 0.5\n" in text and "    X[1] = 4\n" in text


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are Python 3.12's")
def test_type_parameters_are_symbols() -> None:
    text = f'{HEADER}@T.prim_func\ndef f[n, m: T.int32](A: T.Buffer((n, m), "float32")):\n    A[n - 1, m - 1] = 1.0\n'
    program = parse(text)
    assert [each.dtype for each in program.symbols] == [dtype("int64"), dtype("int32")]
    assert parse(program.script()).script() == program.script()


def test_what_t_makes_outside_of_a_kernel() -> None:
    n = T.int64()
    assert isinstance(n, Var) and n.dtype is dtype("int64") and T.float32(2).value == 2.0
    assert T.float32("-inf").value == float("-inf")
    with pytest.raises(ValueError, match="is not"):
        T.float32("one")
    with pytest.raises(TypeError, match=r"stands inside a function decorated with @T\.prim_func"):
        T.serial(4)
    with pytest.raises(TypeError, match="stands inside"):
        T.alloc_buffer[4]
    with pytest.raises(AttributeError, match=r"did you mean `T\.exp`"):
        T.exq
    assert (repr(T), repr(T.float32), repr(T.serial), repr(T.Buffer)) == (
        "<namespace T>",
        "<T.float32>",
        "<T.serial>",
        "<T.Buffer>",
    )
    assert repr(T.nki) == "<T.nki, not supported>" and repr(T.Cast) == "<T.Cast>"
