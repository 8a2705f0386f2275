"""Symbolic dimensions of any name: T is time and G groups, whatever else these letters stand for."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import graph as G
from tirscript.script import parse, parse_all
from tirscript.script import tir as T
from tirscript.testing import assert_structural_equal


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


SHAPES = """
n = T.int64()
rows = n * 2
shape = (n, rows, 4)

@T.prim_func
def f(A: T.Buffer(shape, "float32"), B: T.Buffer((rows,), "float32")):
    for i in range(rows):
        B[i] = A[n - 1, i, shape[2] - 1]
"""


def test_values_at_the_top_of_a_text_name_the_dimensions_of_each_function() -> None:
    """`n` of `shape` was another one than that of the body, which nothing defined."""
    written = SHAPES.replace("shape,", '("n", "n * 2", 4),').replace("(rows,)", '("n * 2",)')
    written = written[written.index("@T") :].replace("rows", "n * 2").replace("shape[2] - 1", "3")
    found = parse(SHAPES)
    assert_structural_equal(found, parse(written))
    both = parse_all(SHAPES + SHAPES[SHAPES.index("@T") :].replace("f(", "g("))
    assert not {*both["f"].symbols} & {*both["g"].symbols}


@pytest.mark.parametrize(
    "form", ["n = T.int32()\n{head}:\n    y = G.exp(x)", "{head}:\n    n = T.int32()\n    y = G.exp(x)"]
)
def test_a_dimension_of_a_graph_is_an_int64(form: str) -> None:
    """One of int32 printed as a text that is another program."""
    top = form.startswith("n")
    dims = "(n, 4)" if top else '("n", 4)'
    text = form.format(head=f"@G.graph_func\ndef f(x: G.Tensor({dims}, 'float32'))") + "\n    return y\n"
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.span is not None and (found.code, found.span.text) == ("T207", "n")
    assert found.hint == "declare it `n = T.int64()`"
    parse(text.replace("int32()", "int64()"))


def test_values_at_the_top_of_a_text_do_not_name_each_other_without_end() -> None:
    names = "".join(f"x{at + 1} = x{at}\n" for at in range(3000))
    with pytest.raises(DiagnosticError, match="over 100 names, each of the one before"):
        parse(
            f"n = T.int64()\nx0 = n\n{names}\n@T.prim_func\ndef f(A: T.Buffer((x3000,), 'float32')):\n    A[0] = 1.0\n"
        )
