"""Threads: the three spellings of a launch, what they mean, and what is wrong with others."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.script import function, one_mistake

import tirscript
from tirscript.ir import Const, DiagnosticError, LaunchThread, Var, const, structural_equal, verify
from tirscript.ir.stmt import Attr
from tirscript.printer import script
from tirscript.script import parse

WITH = """
with T.launch_thread("blockIdx.x", 16) as bx:
    A[bx] = A[bx] + 1.0
"""
FLAT = """
bx = T.launch_thread("blockIdx.x", 16)
A[bx] = A[bx] + 1.0
"""


def lines(text: str) -> str:
    """The body of the printed function."""
    return text.split(":\n", 1)[1]


def test_a_launch_opens_a_body() -> None:
    (launch,) = function(WITH).body
    assert type(launch) is LaunchThread
    assert (launch.thread, launch.var.name, launch.extent.value) == ("blockIdx.x", "bx", 16)
    assert launch.span is not None and launch.span.start_line == 6 and launch.var.span.text == "bx"
    assert lines(function(WITH).script()) == (
        '    with T.launch_thread("blockIdx.x", 16) as bx:\n        A[bx] = A[bx] + 1.0\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        FLAT,
        'bx = T.env_thread("blockIdx.x")\nwith T.launch_thread(bx, 16):\n    A[bx] = A[bx] + 1.0',
        'bx = T.env_thread("blockIdx.x")\nT.launch_thread(bx, 16)\nA[bx] = A[bx] + 1.0',
        'with T.launch_thread(extent=16, thread="blockIdx.x") as bx:\n    A[bx] = A[bx] + 1.0',
    ],
)
def test_other_spellings_are_the_same(text: str) -> None:
    assert structural_equal(function(text), function(WITH))


def test_a_flat_launch_takes_the_rest_of_its_body_only() -> None:
    found = function(
        'if n > 0:\n    bx = T.launch_thread("blockIdx.x", 4)\n    A[bx] = 1.0\n    A[bx + 4] = 1.0\nA[15] = 2.0'
    )
    branch, after = found.body
    (launch,) = branch.then
    assert len(launch.body) == 2 and after.value.value == 2.0


def test_the_variable_has_the_dtype_of_the_number_of_threads() -> None:
    found = function('with T.launch_thread("threadIdx.x", T.int64(4)) as tx:\n    A[tx] = 1.0')
    assert found.body[0].var.dtype.name == "int64"
    assert structural_equal(parse(found.script()), found)
    given = function('tx = T.env_thread("threadIdx.x", "int64")\nwith T.launch_thread(tx, 4):\n    A[tx] = 1.0')
    assert structural_equal(given, found)


def test_a_thread_that_is_launched_twice_is_one_variable() -> None:
    found = function(
        """
        tx = T.env_thread("threadIdx.x")
        with T.launch_thread(tx, 4):
            A[tx] = 1.0
        with T.launch_thread(tx, 4):
            with T.launch_thread(tx, 4):
                A[tx + 4] = 1.0
            A[tx + 8] = 2.0
        """
    )
    first, second = found.body
    assert first.var is second.var is second.body[0].var
    assert verify(found) == []
    text = found.script()
    assert '    tx = T.env_thread("threadIdx.x")\n    with T.launch_thread(tx, 4):\n' in text
    assert structural_equal(parse(text), found) and parse(text).script() == text


def test_the_interpreter_runs_the_threads_one_after_the_other() -> None:
    array = np.zeros(16, "float32")
    tirscript.interpret(function(WITH), array, np.zeros((4, 4), "float32"), np.zeros(16, "int32"), 3)
    assert array.tolist() == [1.0] * 16


def test_a_cpu_launches_no_threads() -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.build(function(WITH))
    (found,) = caught.value.diagnostics
    assert found.code == "T402" and found.span is not None and found.span.start_line == 6


@pytest.mark.parametrize(
    ("text", "code", "words", "place"),
    [
        ('with T.launch_thread("blockIdx.x", 4) as bx:\n    bx = 3', "T012", "`bx` is a thread", "bx"),
        ('bx = T.launch_thread("blockIdx.x", 4)\nbx = 3', "T012", "`bx` is a thread", "bx"),
        ('with T.launch_thread("blockIdx.x", 4) as bx:\n    A[bx] = 1.0\nA[bx] = 1.0', "T011", "outside of the scope", "bx"),
        ('bx = T.env_thread("blockIdx.x")\nA[bx] = 1.0', "T104", "the thread `bx` is not a value", "bx"),
        ('bx = T.env_thread(3)\nA[0] = 1.0', "T032", "the tag of a thread", "T.env_thread(3)"),
        ('with T.launch_thread("blockIdx.x", 4.5) as bx:\n    A[bx] = 1.0', "T112", "not an integer", "4.5"),
        ('with T.launch_thread(3, 4) as bx:\n    A[bx] = 1.0', "T032", "the tag of a thread", "T.launch_thread(3, 4)"),
        ('bx = T.int32()\nwith T.launch_thread(bx, 4):\n    A[bx] = 1.0', "T032", "its tag is not known", "T.launch_thread(bx, 4)"),
        ('for i in range(3):\n    bx = T.launch_thread("blockIdx.x", 4)\n    break', "T022", "outside of a loop", "break"),
        ('bx = T.env_thread("blockIdx.x")\nwith T.attr(bx, "key", 1):\n    A[0] = 1.0', "T210", "the thread `bx`", 'with T.attr(bx, "key", 1):'),
        ('with T.launch_thread("blockIdx.x", 4) as (a, b):\n    A[0] = 1.0', "T022", "one name", "(a, b)"),
    ],
)  # fmt: skip
def test_mistakes(text: str, code: str, words: str, place: str) -> None:
    found = one_mistake(text)
    assert (found.code, found.span.text) == (code, place) and words in found.message


@pytest.mark.parametrize(("name", "tag"), [("blockIdx_y", "blockIdx.y"), ("bx", "threadIdx.x")])
def test_a_thread_without_a_tag_is_told_how_to_declare_it(name: str, tag: str) -> None:
    found = one_mistake(f"{name} = T.int32()\nT.launch_thread({name}, 4)\nA[{name}] = 1.0")
    assert found.hint == f'declare it as `{name} = T.env_thread("{tag}")`'


def test_a_name_is_free_again_behind_its_thread() -> None:
    function('if n > 0:\n    bx = T.launch_thread("blockIdx.x", 4)\n    A[bx] = 1.0\nbx = 3\nA[bx] = 2.0')
    function('with T.launch_thread("blockIdx.x", 4) as bx:\n    A[bx] = 1.0\nbx = 3\nA[bx] = 2.0')


def test_a_thread_without_a_name_is_named_after_its_tag() -> None:
    text = function('with T.launch_thread("blockIdx.x", 4):\n    A[0] = 1.0').script()
    assert 'with T.launch_thread("blockIdx.x", 4) as blockIdx_x:' in text


def test_the_verifier_looks_at_launches() -> None:
    good = function(WITH)
    (launch,) = good.body
    wide = good.replace(body=(launch.replace(extent=const(16, "int64")),))
    assert [found.code for found in verify(wide)] == ["T204"]
    assert [found.code for found in verify(good.replace(body=(launch.replace(thread=""),)))] == ["T210"]
    other = launch.replace(thread="blockIdx.y")
    assert [found.code for found in verify(good.replace(body=(launch, other)))] == ["T202"]
    assert verify(good.replace(body=(launch, launch))) == []
    outside = good.replace(body=(launch, *launch.body))
    assert "outside of its scope" in verify(outside)[0].message
    real = good.replace(body=(launch.replace(var=Var("bx", launch.body[0].value.dtype)),))
    assert "T204" in {found.code for found in verify(real)}


def test_a_block_bound_to_threads_is_checked_against_their_number() -> None:
    text = 'with T.launch_thread("threadIdx.x", 8) as tx:\n    with T.block("b"):\n        v = T.axis.spatial(4, tx)\n        A[v] = 1.0'
    found = one_mistake(text)
    assert found.code == "T203" and "goes from 0 to 7" in found.message


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ('for i in T.thread_binding(4, thread="{}"):\n    X[i] = 1', "threadIdx.z"),
        ('for i in T.thread_binding(0, 4, "{}"):\n    X[i] = 1', "threadIdx.z"),
        ('with T.launch_thread("{}", 4) as i:\n    X[i] = 1', "threadIdx.z"),
        ('i = T.launch_thread(extent=4, thread="{}")\nX[i] = 1', "threadIdx.z"),
        ('i = T.env_thread("{}")', "threadIdx.z"),
    ],
)
def test_a_thread_that_does_not_exist(text: str, near: str) -> None:
    found = one_mistake(text.format("threadIdx.q"))
    assert (found.code, found.message) == ("T032", 'there is no thread "threadIdx.q"')
    assert found.hint == f'did you mean "{near}"?' and found.span is not None and found.span.text == '"threadIdx.q"'
    assert "the threads are threadIdx.x, " in (one_mistake(text.format("?")).hint or "")
    for tag in ("threadIdx.x", "blockIdx.z", "vthread", "vthread.x", "cthread", "clusterCtaIdx.y"):
        function(text.format(tag))


def test_the_verifier_knows_the_threads_too() -> None:
    for text in (
        WITH,
        WITH.replace("with T.launch_thread(", "for bx in T.thread_binding(16, ").replace(", 16) as bx", ")"),
    ):
        made = function(text)
        (stmt,) = made.body
        (found,) = verify(made.replace(body=(stmt.replace(thread="blokIdx.x"),)))
        assert (found.code, found.hint) == ("T210", 'did you mean "blockIdx.x"?')


def test_a_binding_takes_its_thread_by_place() -> None:
    body = "    X[i] = 1"
    named = function(f'for i in T.thread_binding(2, 4, thread="threadIdx.x"):\n{body}')
    assert structural_equal(named, function(f'for i in T.thread_binding(2, 4, "threadIdx.x"):\n{body}'))
    assert structural_equal(named, function(f"for i in T.thread_binding(2, 4, tag):\n{body}", tag="threadIdx.x"))


class TestTvm:
    """Texts that apache-tvm 0.27 read when they were written down."""

    def test_a_launch_that_ends_its_body_is_flat(self) -> None:
        text = script(function(WITH), dialect="tvm")
        assert lines(text) == '    bx = T.launch_thread("blockIdx.x", 16)\n    A[bx] = A[bx] + T.float32(1.0)\n'
        assert structural_equal(parse(text), function(WITH))

    def test_another_is_a_with(self) -> None:
        made = function(WITH + "A[0] = 2.0\n")
        text = script(made, dialect="tvm")
        assert '    with T.launch_thread("blockIdx.x", 16) as bx:\n        A[bx]' in text
        assert structural_equal(parse(text), made)

    def test_a_thread_of_several_launches_has_one_number(self) -> None:
        same = 'bx = T.env_thread("blockIdx.x")\nwith T.launch_thread(bx, 4):\n    A[bx] = 1.0\nT.launch_thread(bx, 4)\nA[bx] = 2.0'
        text = script(function(same), dialect="tvm")
        assert text.count("with T.launch_thread(bx, 4):") == 2 and structural_equal(parse(text), function(same))
        with pytest.raises(DiagnosticError, match="one number of threads only"):
            script(function(same.replace("4)\nA[bx] = 2", "8)\nA[bx] = 2")), dialect="tvm")

    def test_an_attribute_of_a_thread_reads_as_one(self) -> None:
        found = function('bx = T.launch_thread("blockIdx.x", 4)\nT.attr(bx, "pragma", 1)\nA[bx] = 1.0')
        (launch,) = found.body
        (attr,) = launch.body
        assert type(attr) is Attr and attr.target is launch.var and type(attr.value) is Const
