"""Differences of programs as text, names aligned."""

from __future__ import annotations

import pytest
from helpers.printer import dedent, function_of

from tirscript.ir import Attrs, Block, Evaluate, Var, const, refresh
from tirscript.printer import diff
from tirscript.printer.diff import counterparts, rename
from tirscript.script import parse

BODY = """
for i, j in T.grid(4, 4):
    B[i, j] = B[i, j] + 1.0
for k in range(4):
    x = A[k]
    A[k] = x * 2.0
"""


def test_a_renamed_variable_is_no_difference() -> None:
    one = function_of(BODY)
    assert diff(one, refresh(one)) == ""
    assert diff(one, function_of(BODY.replace("[k]", "[index]").replace("for k", "for index"))) == ""
    assert diff(one, function_of(BODY.replace("x", "value"))) == ""


def test_what_differs_is_shown_with_the_names_of_the_first() -> None:
    one = function_of(BODY)
    other = function_of(BODY.replace("x", "value").replace("2.0", "3.0"))
    assert diff(one, other) == (
        "--- a/f\n+++ b/f\n@@ -13,4 +13,4 @@\n"
        "         B[i, j] = B[i, j] + 1.0\n"
        "     for k in range(4):\n"
        "         x = A[k]\n"
        "-        A[k] = x * 2.0\n"
        "+        A[k] = x * 3.0\n"
    )


def test_names_stay_aligned_around_an_insertion() -> None:
    one = function_of(BODY)
    other = function_of(
        """
        A[0] = 0.0
        for r, s in T.grid(4, 4):
            B[r, s] = B[r, s] + 1.0
        for index in range(4):
            T.evaluate(index)
            y = A[index]
            A[index] = y * 2.0
        """
    )
    changed = [line for line in diff(one, other, context=0).split("\n")[2:] if line[:1] in ("+", "-")]
    assert changed == ["+    A[0] = 0.0", "+        T.evaluate(k)"]


def test_swapped_statements() -> None:
    one = function_of("A[0] = 1.0\nX[0] = 2")
    other = function_of("X[0] = 2\nA[0] = 1.0")
    assert diff(one, other, context=0).count("\n") == 6


def test_options_go_to_the_printer() -> None:
    one, other = function_of("A[0] = 1.0"), function_of("A[0] = 2.0")
    assert "T.float32(1.0)" in diff(one, other, dialect="tvm")
    assert diff(one.body[0], one.body[0]) == ""
    assert diff(Evaluate(const(1)), Evaluate(const(2))) == dedent(
        """
        --- a/Evaluate
        +++ b/Evaluate
        @@ -1 +1 @@
        -T.evaluate(1)
        +T.evaluate(2)
        """
    )


def test_free_names_are_not_aligned() -> None:
    x, y = Var("x"), Var("y")
    assert counterparts(Evaluate(x), Evaluate(y)) == {}
    assert "-T.evaluate(x)\n+T.evaluate(y)\n" in diff(Evaluate(x), Evaluate(y))


def test_a_binder_has_one_counterpart() -> None:
    one = function_of("x = A[0]\ny = A[1]\nA[2] = x + y")
    other = function_of("u = A[0]\nv = A[1]\nA[2] = u + u")
    lines = [line for line in diff(one, other, context=0).split("\n")[2:] if line[:1] in "+-"]
    assert lines == ["-    A[2] = x + y", "+    A[2] = x + x", ""] or lines == [
        "-    A[2] = x + y",
        "+    A[2] = x + x",
    ]


def test_rename() -> None:
    one = function_of("x = A[0]\nA[1] = x")
    (bind, _) = one.body
    renamed = rename(one, {id(bind.var): "z"})  # type: ignore[attr-defined]
    assert "    z = A[0]\n    A[1] = z\n" in renamed.script()
    assert rename(one, {}) is one


def test_attributes_are_compared_by_key() -> None:
    one = Block("b", (), (), annotations=Attrs({"a": const(1), "b": [const(2)]}))
    other = Block("b", (), (), annotations=Attrs({"a": const(1), "b": [const(3)], "c": 1}))
    assert diff(one, one.replace()) == ""
    assert diff(one, other, context=0).split("\n")[3:5] == [
        '-    T.block_attr({"a": T.int32(1), "b": (T.int32(2),)})',
        '+    T.block_attr({"a": T.int32(1), "b": (T.int32(3),), "c": 1})',
    ]


@pytest.mark.parametrize(
    "text",
    [
        "@T.prim_func\ndef f({x}: T.Buffer(('{n}', 4), 'float32')):\n"
        "    {y} = T.alloc_buffer(({n}, 4), 'float32')\n    for i in range({n}):\n        {y}[i, 0] = {x}[i, 0]\n",
        "@T.prim_func\ndef f(p: T.handle):\n    {n} = T.int64()\n    {x} = T.match_buffer(p, ({n}, 4), 'float32')\n"
        "    {y} = T.decl_buffer(({n} * 4,), 'float32', data={x}.data)\n    {y}[{n}] = 1.0\n",
        "@G.graph_func\ndef f({x}: G.Tensor(('{n}', 4), 'float32')):\n    {n} = T.int64()\n"
        "    {y} = G.reshape({x}, ({n} * 4,))\n    return {y}\n",
    ],
    ids=["string", "match", "graph"],
)
def test_renamed_dimensions_are_no_difference(text: str) -> None:
    head = "from tirscript.script import graph as G, tir as T\n\n\n"
    a, b = parse(head + text.format(n="n", x="x", y="y")), parse(head + text.format(n="m", x="a", y="b"))
    assert diff(a, b) == ""
