"""Macros: statements written out at the call."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.script import HEADER

from tirscript.ir import Bind, BufferStore, DiagnosticError, For, ScalarDecl, structural_equal, walk
from tirscript.script import parse
from tirscript.script import tir as T

MACROS = """
@T.macro
def put(X, i, value=2.0, *rest):
    x = X[i] + value
    X[i] = x * len(rest)

@T.macro(hygienic=False)
def bump(i):
    total += A[i]

@T.macro
def twice(X):
    put(X, 0)
    put(X, 1, value=3.0)

@T.macro
def forever(X):
    forever(X)

@T.inline
def wrong(X):
    X[0] = missing

"""


def with_macros(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f'{HEADER}{MACROS}@T.prim_func\ndef f(A: T.Buffer((16,), "float32"), n: T.int32):\n{lines}\n'


def test_a_macro_is_written_out_with_names_of_its_own() -> None:
    made = parse(with_macros("x = n + 1\nput(A, x)\nput(A, x, 1.0, 5, 6)"))
    outer, bind, store, again, last = made.body
    assert isinstance(bind, Bind) and bind.var is not outer.var and isinstance(store, BufferStore)
    assert store.indices[0] is outer.var and again.var is not bind.var
    assert last.value.args[1].value == 2.0
    assert structural_equal(made, parse(made.script()))


def test_macros_call_macros() -> None:
    assert len(parse(with_macros("twice(A)")).body) == 4


def test_a_macro_that_is_not_hygienic_sees_the_names_at_the_call() -> None:
    made = parse(with_macros("total = 0.0\ntotal = 1.0\nfor i in range(4):\n    bump(i)"))
    assert isinstance(made.body[0], ScalarDecl)
    assert made.body[2].body[0].buffer is made.body[0].buffer


def test_a_hygienic_macro_does_not() -> None:
    with pytest.raises(DiagnosticError, match="`total` is not defined"):
        parse(with_macros("total = 0.0\ntotal = 1.0\nfor i in range(4):\n    bump(i)").replace("(hygienic=False)", ""))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("forever(A)", "calls itself without end"),
        ("put()", "needs the argument `X`"),
        ("bump(1, 2)", "takes 1 argument, not 2"),
        ("put(A, 0, valu=1.0)", "has no argument `valu`"),
        ("put(A, 0, X=A)", "is given `X` twice"),
        ("wrong(A)", "`missing` is not defined"),
        ("x = put(A, 0)", "the macro `put` is a statement"),
    ],
)
def test_mistakes(body: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(with_macros(body))
    assert message in caught.value.diagnostics[0].message, str(caught.value)


def test_a_mistake_inside_points_at_the_macro_and_the_call() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(with_macros("wrong(A)"))
    (found,) = caught.value.diagnostics
    assert found.span.text == "missing" and found.labels[1].message == "the macro `wrong` is called here"
    assert found.labels[1].span.text == "wrong(A)"


@pytest.mark.parametrize("word", ["break", "continue"])
def test_a_macro_that_leaves_a_loop_is_called_in_one(word: str) -> None:
    macro = f"@T.macro\ndef leave(i):\n    if i > 2:\n        {word}\n\n"
    head = "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    "
    (loop,) = parse(f"{macro}{head}for i in range(4):\n        leave(i)\n        A[i] = 0.0\n").body
    assert word in loop.script()
    with pytest.raises(DiagnosticError) as caught:
        parse(f"{macro}{head}A[0] = 0.0\n    leave(3)\n")
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.text) == ("T022", word) and found.message == f"`{word}` outside of a loop"
    assert found.labels[1].span.text == "leave(3)" and "no loop is around that call" in found.hint


def test_of_calls_without_end_each_place_is_told_once() -> None:
    text = "@T.macro\ndef m(A):\n    m(A)\n    m(A)\n@T.prim_func\ndef f(A: T.handle):\n    m(A)\n"
    with pytest.raises(DiagnosticError) as caught:
        parse(HEADER + text)
    for found in caught.value.diagnostics:
        lines = [label.span.start_line for label in found.labels[1:]]
        assert len(set(lines)) == len(lines) <= 3 and found.labels[-1].span.text == "m(A)"
        assert lines[-1] == max(lines)  # the outermost
    deep = "".join(f"@T.macro\ndef m{k}(A):\n    m{k - 1}(A)\n" for k in range(1, 30))
    with pytest.raises(DiagnosticError) as caught:
        parse(f"{HEADER}@T.macro\ndef m0(A):\n    missing\n{deep}@T.prim_func\ndef f(A: T.handle):\n    m29(A)\n")
    (found,) = caught.value.diagnostics
    words = [label.message.split("`")[1] for label in found.labels[1:]]
    assert words == ["m0", "m1", "m2", "m3", "m4", "m29"]


def test_options_are_checked() -> None:
    with pytest.raises(DiagnosticError, match="one option"):
        parse(HEADER + "@T.macro(fast=True)\ndef m():\n    pass\n")


def test_macros_of_live_python() -> None:
    factor = 3.0

    @T.macro
    def scale(X, i):
        X[i] = X[i] * factor

    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        for i in range(4):
            scale(A, i)

    assert f.body[0].body[0].value.args[1].value == 3.0
    with pytest.raises(TypeError, match="the macro `scale` is called inside"):
        scale(1, 2)
    with pytest.raises(TypeError, match="decorates a function"):
        T.macro(3)


def test_all_kinds_of_parameters() -> None:
    text = (
        HEADER
        + """
size = 3

@T.macro
def put(A, /, at=size, *rest, k=1, **named):
    A[at] = T.cast(k + sum(rest) + sum(named[x] for x in named), "float32")


@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    size = T.meta_var(9)
    put(A)
    put(A, 5, 10, 20, k=2, x=100, A=1000)
"""
    )
    (first, second) = parse(text).body
    assert first.script() == "A[3] = 1.0" and second.script() == "A[5] = 1132.0"
    for call, message in (("put(A=A)", "needs the argument `A`"), ("put(A, 1, at=2)", "is given `at` twice")):
        with pytest.raises(DiagnosticError, match=message):
            parse(text.replace("put(A)\n", f"{call}\n"))


def test_meta_var_gives_names_to_several_values_of_a_python_function() -> None:
    def place(i, j):
        return i * 4 + j, j

    @T.prim_func
    def put_there(A: T.Buffer((16, 4), "float32")):
        for i, j in T.grid(4, 4):
            at, lane = T.meta_var(place(i, j))
            A[at, lane] = 1.0

    (loop,) = put_there.body
    assert isinstance(loop.body[0].body[0], BufferStore)
    assert "A[i * 4 + j, j] = 1.0" in put_there.script()


def test_loops_that_only_count_may_share_a_name() -> None:
    made = parse(
        f"{HEADER}@T.prim_func\ndef f(A: T.Buffer((1,), 'float32')):\n    for _ in range(2):\n        A[0] = 0.0\n        for _, _ in T.grid(3, 4):\n            A[0] += 1.0\n"
    )
    assert structural_equal(made, parse(made.script()))
    names = [found.var for found in walk(made) if isinstance(found, For)]
    assert len({id(var) for var in names}) == 3


@T.macro
def down(A, i):
    mark(A, i)
    if i > 0:
        down(A, i - 1)


@T.macro
def mark(A, i):
    A[i] = WEIGHT


WEIGHT = 2.0


def test_a_live_macro_calls_itself_and_sees_what_is_defined_below_it() -> None:
    @T.macro
    def up(A, i):
        A[i] = 1.0
        if i < 3:
            up(A, i + 1)

    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        down(A, 1)
        up(A, 2)

    assert [line.strip() for line in f.script().splitlines()[-4:]] == [
        "A[1] = 2.0",
        "A[0] = 2.0",
        "A[2] = 1.0",
        "A[3] = 1.0",
    ]


GUARDED = """
@T.macro
def guarded(X, k):
    for j in (0, 1):
        if k > j:
            return
        X[j] = 5.0

"""


def test_a_return_leaves_the_macro() -> None:
    """It left the kernel that calls the macro."""
    text = with_macros("guarded(A, 1)\nA[2] = 1.0\nguarded(A, 0)\nA[3] = 1.0").replace(MACROS, GUARDED)
    assert structural_equal(parse(text), parse(with_macros("A[2] = 1.0\nA[0] = 5.0\nA[1] = 5.0\nA[3] = 1.0")))
    live = {"T": T, "limit": 0}
    source = "def early(X, n):\n    if limit < 1:\n        return\n    X[0] = 5.0\n"
    assert structural_equal(
        parse(
            f"{HEADER}@T.macro\n{source}@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    early(A, 1)\n    A[1] = 2\n",
            names=live,
        ),
        parse(f"{HEADER}@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    A[1] = 2\n"),
    )


@pytest.mark.parametrize("body", ["guarded(A, n)", "for i in range(4):\n    guarded(A, i)"])
def test_a_return_that_a_value_decides_on_is_refused(body: str) -> None:
    with pytest.raises(DiagnosticError, match="no value of the program can decide on its `return`") as caught:
        parse(with_macros(body).replace(MACROS, GUARDED))
    (found,) = caught.value.diagnostics
    assert found.span is not None and found.span.text == "return" and "`else`" in (found.hint or "")


def test_a_macro_returns_no_value() -> None:
    with pytest.raises(DiagnosticError, match="has no value to return"):
        parse(with_macros("guarded(A, 1)").replace(MACROS, GUARDED.replace("return", "return k")))


def test_a_macro_of_tvm_returns_from_the_kernel() -> None:
    text = with_macros("guarded(A, 1)\nreturn 7").replace(MACROS, GUARDED.replace("return", "return k"))
    theirs = text.replace(HEADER, "from tvm.script import tir as T\n")
    assert "    return 1\n" in parse(theirs).script()


class Store:
    """Memory with macros of its own."""

    factor = 2

    def __init__(self, memory: Any, offset: int = 0) -> None:
        self.memory, self.offset = memory, offset

    @T.macro
    def put(self, i, *, by=1):
        self.memory[i + self.offset] = T.float32(self.factor * by)

    @T.macro(hygienic=False)
    def put_twice(self, i):
        self.put(i)
        self.put(i + 1, by=3)

    @staticmethod
    @T.macro
    def clear(memory, i):
        memory[i] = 0.0


def test_macros_are_methods_of_the_objects_they_are_called_on() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        first = T.meta_var(Store(A))
        second = T.meta_var(Store(B, offset=4))
        first.put(2)
        for i in range(4):
            second.put_twice(i)
        first.clear(A, 5)
        Store.put(second, 1, by=5)

    assert kernel.script().split(":\n", 1)[1] == (
        "    A[2] = 2.0\n    for i in range(4):\n        B[i + 4] = 2.0\n        B[i + 1 + 4] = 6.0\n"
        "    A[5] = 0.0\n    B[5] = 10.0\n"
    )
