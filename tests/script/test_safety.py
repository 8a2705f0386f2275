"""Hostile text: nothing runs, nothing crashes, everything ends in a diagnostic."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.script import HEADER, body_text

from tirscript.ir import DiagnosticError
from tirscript.script import parse, parse_all, parse_file

BODIES = [
    "x = ().__class__.__bases__[0].__subclasses__()",
    "x = T.exp.make.__globals__",
    "x = T.__dict__",
    "x = T._letter",
    "x = A.span.source",
    "x = A.__class__",
    "x = (n + 1).op.make",
    "x = f'{A.__class__}'",
    "x = f'{n.__init__.__globals__}'",
    "x = '{0.__class__}'.format(n)",
    "x = 'a'.join(['b'])",
    "x = '%s' % ('a',)",
    "x = f'{1:>100000000}'",
    "x = 9**9**9",
    "x = 1 << 10**9",
    "x = 'a' * 10**9",
    "x = [0] * 10**9",
    "x = 2**65000 * 2**65000 * 2**65000",
    "x = list(range(10**12))",
    "x = [i for i in range(10**12)]",
    "x = sum(range(10**12))",
    "x = int('9' * 100000)",
    "x = eval('1')",
    "x = exec('1')",
    "x = open('/etc/passwd')",
    "x = __import__('os').system('true')",
    "x = breakpoint.make.__globals__",
    "x = print('x')",
    "x = getattr(A, 'name')",
    "x = globals()",
    "x = max.__self__",
    "x = range.__init__",
    "x = len.__class__",
    "x = T.Buffer.__class__",
    "x = (lambda: 1)()",
    "with open('x') as f:\n    pass",
    "x = zip.__doc__",
    "x = T.prim_func(1)",
    "x = min(key=print)",
    "x = max([1, 2], key=print)",
    "x = [y := 10**9, 'a' * y]",
    "x = {1: 2, [3]: 4}",
    "x = 1 if [] else ()[0]",
    "x = float('x' * 10)",
    "await x",
    "x = *A,",
    "x = A[0:0]",
    "x = A[0:10**9]",
    "x = T.broadcast(1, 10**9)",
    "x = T.ramp(0, 1, -1)",
    "A[T.grid] = 1.0",
    "A[0] = T",
    "A[0] = T.axis",
    "A[0] = T.float32",
    "x: T.float32['n +'] ",
    "T.func_attr({1: 2})",
    "T.func_attr({'a': T})",
    "x = T.call_extern()",
    "x = T.cast()",
    "x = T.cast(1, 'int32', 3, 4)",
    "x = T.cast(1, [])",
    "x = T.reinterpret('int8', 1.0)",
    "x = A.astype('int8')",
    "A.vstore(1)",
    "x = A.vload(3)",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_hostile_bodies_end_in_diagnostics(body: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(body_text(body))
    assert all(found.code != "T499" for found in caught.value.diagnostics), str(caught.value)


TEXTS = [
    "(" * 100_000,
    "x = " + "(" * 150 + "1" + ")" * 150,
    "x = " + "-" * 200_000 + "1",
    "x = " + "a." * 200_000 + "b",
    "x = " + "1 + " * 100_000 + "1",
    "x = [" + "[" * 90 + "]" * 90 + "]",
    "\0",
    "x = '\ud800'",
    "if 1:\n" * 200,
    "@" * 1000,
    "@T.prim_func\n" * 1000,
    "@__import__('os').system('true')\ndef f(): pass",
    "@T.prim_func.__globals__['x']\ndef f(): pass",
    "@(lambda f: f)\ndef f(): pass",
    "@T.prim_func\nasync def f(): pass",
    "@T.prim_func\ndef f(a=print('x')): pass",
    "@T.prim_func\ndef f(a: print('x')): pass",
    "@T.prim_func\ndef f() -> print('x'): pass",
    "class M: pass",
    "x = 0x" + "f" * 100_000,
    "x = " + "9" * 10_000,
    "x: 1 = 2",
    "x, y = 1, 2",
    "del x",
    "from tirscript.script import *",
    "import tirscript.backend",
    "from __future__ import braces",
    "\x0c\x0b",
    "\u2028",
    "é = 'x'\n@T.prim_func\ndef f(é: T.int32):\n    ö = é.ü",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_texts_end_in_diagnostics(text: str) -> None:
    with pytest.raises(DiagnosticError):
        parse(HEADER + text)


def test_tuples_of_a_graph_that_double_are_refused() -> None:
    lines = [f"y{at} = (y{at - 1}, y{at - 1})" for at in range(1, 60)]
    head = 'from tirscript.script import graph as G\n@G.graph_func\ndef f(x: G.Tensor((4,), "float32")):\n    y0 = (x, x)\n    '

    def read(count: int) -> str:
        return parse(head + "\n    ".join([*lines[:count], f"return y{count}"]) + "\n").script()

    with pytest.raises(DiagnosticError, match="a tuple of over 4,096 fields"):
        read(59)
    assert read(5).count(" = (y") == 5


def test_sizes_of_a_graph_that_double_are_refused() -> None:
    lines = [f"y{at} = G.flatten(G.outer(y{at - 1}, y{at - 1}))" for at in range(1, 60)]
    head = 'from tirscript.script import graph as G, tir as T\n@G.graph_func\ndef f(y0: G.Tensor(("n",), "float32")):\n    '

    def read(*body: str) -> str:
        return parse(head + "\n    ".join(body) + "\n").script()

    with pytest.raises(DiagnosticError, match="a dimension of over 4,096 parts") as caught:
        read(*lines, "return y59")
    span = caught.value.diagnostics[0].span
    assert span is not None and span.text == "G.flatten(G.outer(y11, y11))"
    assert "match_cast" in (caught.value.diagnostics[0].hint or "")
    named = ["m = T.int64()", "x = G.match_cast(y5, G.Tensor((m,), 'float32'))", "y5 = x", *lines[5:12]]
    assert read(*lines[:5], *named, "return y12").count("G.outer") == 12


def test_results_of_functions_that_double_are_told_at_the_return() -> None:
    head = "from tirscript.script import ir as I, graph as G\n"
    tensor = 'G.Tensor((4,), "float32")'
    within, beside = [f"@G.graph_func\ndef g(x: {tensor}):"], ["@I.ir_module\nclass M:"]
    for at in range(20):
        for lines, name in ((within, f"f{at - 1}"), (beside, f"cls.f{at - 1}")):
            value = f"({name}(x), {name}(x))" if at else "(x, x)"
            made = f"@G.graph_func\ndef f{at}(x: {tensor}):\n    cls = M\n    return {value}"
            lines += (made if lines is beside else made.replace("    cls = M\n", "")).split("\n")
    for text in ("\n    ".join([*within, "return f19(x)"]), "\n    ".join(beside)):
        with pytest.raises(DiagnosticError) as caught:
            parse(head + text + "\n")
        (found,) = caught.value.diagnostics
        assert found.message == "this makes a tuple of over 4,096 fields"
        assert found.span is not None and found.span.text.startswith("return")


def test_a_literal_of_more_digits_than_python_reads() -> None:
    with pytest.raises(DiagnosticError, match="an integer of over 4,300 digits"):
        parse(body_text("n = " + "9" * 5000))


def test_a_long_line_is_read_or_refused() -> None:
    numbers = ", ".join(["1"] * 200_000)
    with pytest.raises(DiagnosticError):
        parse(body_text(f"x = [{numbers}]\nA[0] = q"))
    with pytest.raises(DiagnosticError, match="a line of the text has over"):
        parse_all("x = 1 #" + "a" * (9 << 20))


def test_deep_programs_are_read() -> None:
    deep = " + ".join(["A[0]"] * 900)
    made = parse(body_text(f"A[0] = {deep}"))
    assert made.body[0].value.op.name == "add"
    loops = "".join(f"{'    ' * depth}for i{depth} in range(2):\n" for depth in range(18))
    assert parse(body_text(loops + "    " * 18 + "A[0] = 1.0")).body


def test_loops_over_sequences_write_out_so_much_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirscript.script.loop.MAX_UNROLLED", 100)
    with pytest.raises(DiagnosticError, match="writes out over 100 statements"):
        parse(body_text("for i in [0] * 900000:\n    A[0] = 1.0"))


def test_nothing_runs(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    path = tmp_path / "evil.py"
    path.write_text(
        f"import os\nopen({str(marker)!r}, 'w')\n@T.prim_func\ndef f(a: open({str(marker)!r}, 'w')):\n    open({str(marker)!r}, 'w')\n"
    )
    with pytest.raises(DiagnosticError):
        parse_file(path)
    assert not marker.exists()
