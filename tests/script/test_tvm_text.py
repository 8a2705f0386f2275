"""What apache-tvm prints in its own way: bindings in expressions, symbols, messages of assertions, axes."""

from __future__ import annotations

import pytest
from helpers.script import function, mistakes

from tirscript.ir import Assert, Buffer, DiagnosticError, PrimFunc, structural_equal
from tirscript.script import parse

HEADER = "from tvm.script import tirx as T\n\n\n@T.prim_func(s_tir=True)\n"


def test_their_let_is_ours() -> None:
    theirs = function("x = T.float32()\nA[0] = T.Let(x * x, where={x: A[1] + 1})")
    assert structural_equal(theirs, function('A[0] = T.let("x", A[1] + 1, lambda x: x * x)'))


def test_one_name_may_be_bound_twice_and_inside_of_itself() -> None:
    theirs = function("x = T.float32()\nA[0] = T.Let(T.Let(x, where={x: x + 1.0}) * x, where={x: A[1]})")
    ours = function('A[0] = T.let("x", A[1], lambda x: T.let("y", x + 1.0, lambda y: y) * x)')
    assert structural_equal(theirs, ours)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T.Let(x * x)", "`where` is missing"),
        ("T.Let(x, where={})", "a dict of one variable and its value"),
        ("T.Let(x, where={**A})", "a dict of one variable and its value"),
        ("T.Let(x, where=[x, 1])", "a dict of one variable and its value"),
        ("T.Let(x, where={1: x})", "`T.Let` binds a variable"),
        ('T.Let(x, where={x: "a"})', "a string"),
    ],
)
def test_mistakes_in_let(text: str, message: str) -> None:
    found = mistakes(f"x = T.float32()\nA[0] = {text}")
    assert message in found[0].message


def theirs(text: str) -> PrimFunc:
    """A function in TVM's dialect."""
    found = parse(HEADER + text)
    assert isinstance(found, PrimFunc)
    return found


def test_the_body_says_the_dtype_of_a_symbol() -> None:
    found = theirs(
        'def f(A: T.Buffer(("v", "w"), "float32")):\n    v = T.int32()\n    w = T.int64()\n'
        "    A[v - 1, w] = T.float32(1)\n"
    )
    assert [(each.name, str(each.dtype)) for each in found.symbols] == [("v", "int32"), ("w", "int64")]
    text = "n = T.int32()\n\n\n@T.prim_func\ndef f(A: T.Buffer((n, 'w'), 'float32')):\n    A[n - 1, w] = 1.0\n"
    assert structural_equal(found, parse(text))


def test_what_the_body_declares_beside_the_symbols_is_its_own() -> None:
    found = theirs(
        'def f(a: T.handle, A: T.Buffer(("v",), "float32")):\n    n = T.int32()\n    v = T.float32()\n'
        '    B = T.match_buffer(a, (n,), "float32")\n    A[0] = B[n - 1]\n'
    )
    assert [(each.name, str(each.dtype)) for each in found.symbols] == [("n", "int32"), ("v", "int64")]


def test_a_scalar_parameter_is_named_in_later_annotations() -> None:
    body = "    A[n - 1] = T.float32(1)\n"
    found = theirs(f'def f(n: T.int32, A: T.Buffer((n,), "float32")):\n{body}')
    (buffer,) = (each for each in found.params if isinstance(each, Buffer))
    assert buffer.shape[0] is found.params[0]
    with pytest.raises(DiagnosticError, match="`n` is not defined"):
        parse(f'@T.prim_func\ndef f(n: T.int32, A: T.Buffer((n,), "float32")):\n{body}')


def test_the_message_of_an_assertion() -> None:
    head = 'def f(A: T.Buffer((4,), "float32")):\n    assert A[0] > T.float32(0), '
    (found,) = theirs(f'{head}("RuntimeError", ["the ", "words"])\n').body
    assert isinstance(found, Assert)
    assert found.message == "the words"
    (plain,) = theirs(f'{head}"words"\n').body
    assert isinstance(plain, Assert)
    assert plain.message == "words"
    for text, message in (
        ('("Type Error", ["words"])', "or the name of an error and a list"),
        ('("RuntimeError", "words")', "or the name of an error and a list"),
        ('("RuntimeError", [1])', "or the name of an error and a list"),
        ('("RuntimeError",)', "or the name of an error and a list"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            theirs(f"{head}{text}\n")


def test_axes_that_their_remap_does_not_know_are_printed_one_by_one() -> None:
    found = function(
        'for i, j in T.grid(2, 4):\n    with T.block("b"):\n'
        '        vi, vj = T.axis.remap("RC", [i, j])\n        B[vi, vj] = 0.0'
    )
    assert 'T.axis.remap("RC", [i, j])' in found.script()
    assert "vj = T.axis.scan(4, j)" in found.script(dialect="tvm")


def test_axis_separators_of_a_parameter_are_refused_for_tvm() -> None:
    found = parse('@T.prim_func\ndef f(A: T.Buffer((2, 2), "float32", axis_separators=[1])):\n    A[0, 0] = 1.0\n')
    with pytest.raises(DiagnosticError, match="axis separators"):
        found.script(dialect="tvm")
