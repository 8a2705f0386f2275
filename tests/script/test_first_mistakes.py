"""What people write in their first hour: each mistake is told at its place, with the way out."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.script import HEADER

from tirscript.backend.runtime.library import register_library
from tirscript.ir import DiagnosticError
from tirscript.script import graph as G
from tirscript.script import parse
from tirscript.script import tir as T

KERNEL = HEADER + "@T.prim_func\ndef f(A: T.Buffer((8, 8), 'float32'), X: T.Buffer((8,), 'int32')):\n"
MODULE = (
    "from tirscript.script import graph as G, ir as I, tir as T\n\n\n@I.ir_module\nclass M:\n    @T.prim_func\n"
    "    def add1(A: T.Buffer((4,), 'float32'), B: T.Buffer((4,), 'float32')):\n"
    "        for i in range(4):\n            B[i] = A[i] + 1.0\n\n    @G.graph_func\n"
    "    def main(x: G.Tensor((4,), 'float32')):\n        y = {}\n        return y\n"
)


@pytest.mark.parametrize(
    ("text", "place", "words", "hint"),
    [
        (KERNEL + "    for i in range(A.shape):\n        pass\n", "A.shape", "a Python tuple", "`A.shape[0]`"),
        (
            KERNEL + "    A[0, 0] = T.Select(X[0] > 0, 1.0)\n",
            "T.Select(X[0] > 0, 1.0)",
            "3 arguments, not 2",
            "`true_value` if `condition`",
        ),
        (KERNEL + "    if A[0, 0] > 0 & A[0, 1] > 0:\n        pass\n", "0 & A[0, 1]", "not float32", "with `and`"),
        (KERNEL + "    if A[0, 0] > 0 | A[0, 1] > 0:\n        pass\n", "0 | A[0, 1]", "not float32", "with `or`"),
        (KERNEL.replace("f(A", "f(self, A") + "    pass\n", "self", "has no type", "leave `self` out"),
        (MODULE.format("G.call_tir('add1', (x,))"), "'add1'", "not a name", "`M.add1`, without quotes"),
        (MODULE.format("M.add1(x)"), "M.add1(x)", "has effects", "`G.call_tir(cls.add1, (x,))`"),
        (KERNEL + "    A[0, 0] = -T.inf\n", "T.inf", "not a function of T", '`T.infinity("float32")`'),
        (KERNEL + "    A[0, 0] = nan\n", "nan", "not defined", '`T.float32("nan")`'),
        (KERNEL + "    A[0, 0] = T.exp\n", "T.exp", "the function `T.exp` is not a value", "call it: `T.exp(...)`"),
        (KERNEL + "    A[0, 0] = 1 + T.axis\n", "T.axis", "the namespace `T.axis` is not a value here", ""),
        (
            KERNEL.replace("T.Buffer((8,), 'int32')", "G.Tensor((8,), 'int32')") + "    pass\n",
            "G.Tensor((8,), 'int32')",
            "the annotation of `X` is not a type of T",
            "T.Buffer",
        ),
        (
            KERNEL.replace("def", "async def") + "    pass\n",
            "async " + KERNEL[KERNEL.index("def") : -1],
            "`async def`",
            "write `def`",
        ),
        (
            MODULE.format("x").replace("def main", "async def main"),
            "async def main(x: G.Tensor((4,), 'float32')):",
            "`async def`",
            "write `def`",
        ),
        (
            HEADER + "@I.ir_module\ndef f():\n    pass\n",
            "def f():",
            "does not fit a function",
            "`@T.prim_func` or `@G.graph_func`",
        ),
        (HEADER + "@T.prim_func\nclass M:\n    pass\n", "class M:", "fit a class", "`@I.ir_module`"),
        (MODULE.format("x.sum()"), "x.sum", "has no `sum`", "did you mean `G.sum(x)`?"),
        (MODULE.format("x.softmax(axis=0)"), "x.softmax", "has no `softmax`", "did you mean `G.nn.softmax(x)`?"),
        (MODULE.format("x.dim"), "x.dim", "has no `dim`", "did you mean `ndim`?"),
        (MODULE.format("x.astype"), "y", "the method `astype` is not a value", ""),
        (MODULE.format("G.exp"), "y", "the graph operator `G.exp` is not a value", "call it: `G.exp(...)`"),
    ],
)
def test_mistakes_in_texts(text: str, place: str, words: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (problem,) = caught.value.diagnostics
    assert problem.span is not None and problem.span.text == place
    assert words in problem.message and hint in (problem.hint or ""), str(problem)


def numpy_of_a_graph() -> Any:
    import numpy as np

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        return np.exp(x)

    return main


def numpy_array_of_a_graph() -> Any:
    import numpy as np

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        return np.array(x)

    return main


def print_in_a_graph() -> Any:
    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        print(x)
        return x

    return main


def two_numbers_as_a_shape() -> Any:
    @T.prim_func
    def main(A: T.Buffer(4, 4, "float32")):
        A[0, 0] = 1.0

    return main


def dtype_before_the_shape() -> Any:
    @T.prim_func
    def main(A: T.Buffer("float32", (4, 4))):
        A[0, 0] = 1.0

    return main


def misspelt_dtype() -> Any:
    @T.prim_func
    def main(A: T.Buffer((4,), "flot32")):
        A[0] = 1.0

    return main


def misspelt_dtype_of_a_name() -> Any:
    Row = T.Buffer((4,), "flot32")

    @T.prim_func
    def main(A: Row):
        A[0] = 1.0

    return main


def misspelt_dtype_in_brackets() -> Any:
    @T.prim_func
    def main(A: T.Buffer[(4,), "flot32"]):
        A[0] = 1.0

    return main


@pytest.mark.parametrize(
    ("define", "place", "words", "hint"),
    [
        (numpy_of_a_graph, "np.exp(x)", "`exp` is Python, which runs while parsing", "did you mean `G.exp`?"),
        (numpy_array_of_a_graph, "np.array(x)", "`x` has no value yet", "calls the operators of `G`"),
        (print_in_a_graph, "print(x)", "`x` has no value yet", "G"),
        (two_numbers_as_a_shape, "4", "4 is not an element type", '`T.Buffer((4, 4), "float32")`'),
        (dtype_before_the_shape, 'T.Buffer("float32", (4, 4))', "the shape comes first", "T.Buffer((128,)"),
        (misspelt_dtype, '"flot32"', "'flot32' is not an element type", "did you mean `float32`?"),
        (misspelt_dtype_of_a_name, "Row", "'flot32' is not an element type", ""),
        (misspelt_dtype_in_brackets, 'T.Buffer[(4,), "flot32"]', "'flot32' is not an element type", ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_mistakes_in_decorated_python(define: Any, place: str, words: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        define()
    (problem,) = caught.value.diagnostics
    assert problem.span is not None and problem.span.text == place
    assert words in problem.message and hint in (problem.hint or ""), str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n",
        "@G.graph_func\ndef f(x: G.Tensor((4,), 'float32')):\n    return x\n",
        "@I.ir_module\nclass f:\n    @T.prim_func\n    def g(A: T.Buffer((4,), 'float32')):\n        A[0] = 1.0\n",
    ],
    ids=["kernel", "graph", "module"],
)
def test_programs_that_are_called_say_how_they_run(text: str) -> None:
    program: Any = parse("from tirscript.script import graph as G, ir as I, tir as T\n\n\n" + text)
    with pytest.raises(TypeError, match=r"`f` is a program, not compiled: .*`tirscript\.build\(f\)`.*interpret\(f, "):
        program([1.0])
    with pytest.raises(TypeError, match="cannot be called"):
        register_library("test.first", program)


def test_a_program_from_elsewhere_is_not_called_in_a_kernel() -> None:
    other = parse("@T.prim_func\ndef other(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n")

    with pytest.raises(DiagnosticError, match=r"outside of this module(.|\n)*takes it by `other = other`: `cls.other"):

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            other(A)
