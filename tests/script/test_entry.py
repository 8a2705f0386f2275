"""The ways in: files, closures, modules, the interpreter's prompt, linecache."""

from __future__ import annotations

import functools
import linecache
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.script import HEADER, body_text

import tirscript
import tirscript.ir as ir
from tirscript.ir import DiagnosticError, Module, PrimFunc
from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import ir_module, parse, parse_file, prim_func
from tirscript.script import tir as T

SIZE = 4


@T.prim_func
def at_module_level(A: T.Buffer((SIZE,), "float32")):
    A[SIZE - 1] = 1.0


@prim_func(private=True, check_well_formed=True)
def with_options(A: T.Buffer((4,), "float32")):
    A[0] = 1.0


def test_functions_of_a_file() -> None:
    assert isinstance(at_module_level, PrimFunc) and at_module_level.body[0].indices[0].value == 3
    assert with_options.private
    span = at_module_level.body[0].span
    assert span.filename == __file__ and span.text == "A[SIZE - 1] = 1.0"
    assert Path(__file__).read_text().splitlines()[span.line - 1].strip() == span.text


def test_indented_functions_keep_their_lines_and_columns() -> None:
    if True:

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            """Doc
            less indented"""
            A[0] = 1.0

    assert f.docstring is not None and f.docstring.startswith("Doc\n")
    assert Path(__file__).read_text().splitlines()[f.body[0].span.line - 1][f.body[0].span.column :] == "A[0] = 1.0"


def test_a_module_is_a_class() -> None:
    @I.ir_module
    class M:
        """A module."""

        I.module_attrs({"k": 2})

        @T.prim_func
        def main(A: T.Buffer((SIZE,), "float32")):
            M.helper(A)

        @T.prim_func(private=True)
        def helper(A: T.Buffer((SIZE,), "float32")):
            A[0] = 1.0

    assert isinstance(M, Module) and [f.name for f in M] == ["main", "helper"] and M.docstring == "A module."
    assert M["main"].body[0].value.function == "helper" and dict(M.attrs) == {"k": 2}


def test_a_module_takes_functions_that_were_parsed_before() -> None:
    @T.prim_func(private=True)
    def add_one(A: T.Buffer((4,), "int32")):
        """Adds."""
        for i in range(4):
            A[i] = A[i] + 1  # each

    @I.ir_module
    class M:
        first = add_one

        @T.prim_func
        def main(A: T.Buffer((4,), "int32")):
            M.first(A)
            M.second(A)

        second = add_one

    assert isinstance(M, Module) and [one.name for one in M.functions] == ["first", "main", "second"]
    assert parse(M.script()).script() == M.script() and M.script().count("# each") == 2
    assert ir.structural_equal(M["first"].replace(name="add_one"), add_one)
    text = HEADER + add_one.script(header=False) + "\n\n@I.ir_module\nclass N:\n    k = add_one\n"
    assert tirscript.script.parse_all(text)["N"].functions[0].name == "k"
    assert parse(HEADER + "@I.ir_module\nclass N:\n    k = given\n", names={"given": add_one})["k"].private
    with pytest.raises(DiagnosticError, match=r"T202.*`k` is defined twice"):
        parse(HEADER + "@I.ir_module\nclass N:\n    k = given\n    k = given\n", names={"given": add_one})


def test_factories_give_functions_of_their_closure() -> None:
    def make(n: int, kind: str) -> PrimFunc:
        @T.prim_func
        def f(A: T.Buffer((n,), kind)):
            for i in range(n):
                A[i] = n

        return f

    assert make(3, "int8").params[0].dtype.name == "int8" and make(5, "float32").body[0].stop.value == 5


def test_locals_that_shadow_builtins_are_the_users() -> None:
    max = 7

    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        A[max] = 1.0

    assert f.body[0].indices[0].value == 7


def test_mistakes_point_into_the_file() -> None:
    with pytest.raises(DiagnosticError) as caught:

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = missing_name

    (found,) = caught.value.diagnostics
    line = Path(__file__).read_text().splitlines()[found.span.line - 1]
    assert line[found.span.column : found.span.end] == "missing_name"


def test_source_registered_in_linecache() -> None:
    text = HEADER + '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'
    linecache.cache["<made>"] = (len(text), None, text.splitlines(True), "<made>")
    scope: dict[str, object] = {"__name__": "made"}
    exec(compile(text, "<made>", "exec"), scope)
    assert isinstance(scope["f"], PrimFunc) and scope["f"].body[0].span.filename == "<made>"


def test_source_that_cannot_be_read_is_a_diagnostic() -> None:
    text = HEADER + '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'
    with pytest.raises(DiagnosticError) as caught:
        exec(compile(text, "<nowhere>", "exec"), {"__name__": "made"})
    assert caught.value.diagnostics[0].code == "T002" and "linecache" in caught.value.diagnostics[0].hint


@pytest.mark.parametrize("head", ["# a line more\n\n", "x = 1\n", "def g():\n    pass\n"])
@pytest.mark.parametrize(
    "definition",
    [
        '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n',
        '@G.graph_func\ndef f(x: G.Tensor((4,), "float32")):\n    return x\n',
        "@T.macro\ndef f(A):\n    A[0] = 1.0\n",
    ],
)
def test_a_file_that_changed_since_python_read_it_is_told(tmp_path: Path, head: str, definition: str) -> None:
    file = tmp_path / "kernels.py"
    header = "from tirscript.script import graph as G, tir as T\n"
    code = compile(header + definition, str(file), "exec")
    file.write_text(head + header + definition)
    linecache.clearcache()
    with pytest.raises(DiagnosticError) as caught:
        exec(code, {"__name__": "made"})
    (found,) = caught.value.diagnostics
    assert found.code == "T002" and "the source of `f` has changed" in found.message
    assert found.hint == "load kernels.py again"


def _environment() -> dict[str, str]:
    root = Path(ir.__file__).parent
    source = (
        next(parent / "src" for parent in root.parents if (parent / "src").is_dir())
        if "src" not in root.parts
        else root.parents[1]
    )
    return {**os.environ, "PYTHONPATH": str(source), "TERM": "dumb", "TIRSCRIPT_CHECK": ""}


def test_functions_typed_at_the_prompt() -> None:
    pytest.importorskip("readline")
    typed = (
        "from tirscript.script import tir as T\n"
        "@T.prim_func\n"
        'def f(A: T.Buffer((4,), "float32")):\n'
        "    A[1] = 5.0\n"
        "\n"
        "print('made', f.name, f.body[0].value.value)\n"
        "exit()\n"
    )
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-q", "-i"],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**_environment(), "PYTHON_BASIC_REPL": "1"},
        close_fds=True,
    )
    os.close(child)
    os.write(parent, typed.encode())
    shown = b""
    try:
        while chunk := os.read(parent, 4096):
            shown += chunk
    except OSError:
        pass  # the other side is closed
    process.wait(timeout=60)
    os.close(parent)
    assert b"made f 5.0" in shown, shown.decode(errors="replace")


def test_functions_defined_in_a_script_run_with_i(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(HEADER + '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[1] = 5.0\n')
    done = subprocess.run(
        [sys.executable, "-q", "-i", str(script)],
        input="print('made', f.name)\n",
        capture_output=True,
        text=True,
        env=_environment(),
        timeout=60,
    )
    assert "made f" in done.stdout, done.stderr


def test_parse_file_returns_definitions_by_name(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(
        '"""Kernels."""\n'
        + HEADER
        + 'N = 2 * 4\nm = T.int32()\n@T.prim_func\ndef f(A: T.Buffer((N, m), "float32")):\n    A[0, 0] = 1.0\n'
        '@I.ir_module\nclass M:\n    @T.prim_func\n    def g(A: T.Buffer((N,), "float32")):\n        A[0] = 1.0\n'
    )
    found = parse_file(path)
    assert list(found) == ["f", "M"] and found["f"].params[0].shape[0].value == 8
    assert found["f"].symbols[0].name == "m" and found["f"].symbols[0].dtype.name == "int32"
    assert found["M"]["g"].span.filename == str(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "no.py", "no such file"), (tmp_path, "is a directory"), ("a\0b", "embedded null")):
        with pytest.raises(DiagnosticError, match=f"T002.* cannot be read: {why}") as caught:
            parse_file(path)
        assert isinstance(caught.value.__cause__, OSError | ValueError)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"x = '\xff\xfe'\n")
    with pytest.raises(DiagnosticError, match="not UTF-8"):
        parse_file(path)
    path.write_bytes(b"\xef\xbb\xbf" + body_text("pass").encode())
    assert list(parse_file(path)) == ["f"]


def test_the_header_has_many_spellings() -> None:
    body = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'
    for header in (
        "from tirscript.script import tir as T",
        "from tvm.script import tirx as T",
        "from tvm.script import ir as I\nfrom tvm.script import tir as T",
        "import tirscript\nT = tirscript.script.tir",
        "import tirscript.script as S\nT = S.tir",
        "from __future__ import annotations\nfrom tirscript.script import tir as T",
        "# from tvm.script import tirx as T",
        "from tvm.script.parser import ir as I, relax as R, tir as T",
        "import tvm.script.tir as T\nimport tvm.script.parser.relax as R",
        "import tvm.script.parser\nT = tvm.script.tir",
        "from tvm.script import from_source, ir_builder, tirx as T\nfrom tvm.script.ir_builder import IRBuilder",
        "",
    ):
        assert isinstance(parse(f"{header}\n\n{body}"), PrimFunc), header
    bare = body.replace("@T.prim_func", "@prim_func")
    assert isinstance(
        parse(f"from tirscript import prim_func\nfrom tirscript.script import tir as T\n{bare}"), PrimFunc
    )
    for header in ("import tvm.script.vm as T", "from tirscript.script import from_source, tir as T"):
        with pytest.raises(DiagnosticError, match="T003"):
            parse(f"{header}\n{body}")


def test_a_live_module_may_say_that_nothing_is_checked() -> None:
    size = 4

    @I.ir_module(check_well_formed=False)
    class Unchecked:
        @T.prim_func
        def f(A: T.Buffer((size,), "float32")):
            A[9] = T.float32(1)

    assert isinstance(Unchecked, Module)
    assert ir.structural_equal(parse(Unchecked.script()), Unchecked)
    with pytest.raises(DiagnosticError, match="index 9 is outside"):

        @I.ir_module(check_well_formed=True)
        class Checked:
            @T.prim_func
            def f(A: T.Buffer((size,), "float32")):
                A[9] = T.float32(1)

    with pytest.raises(TypeError, match="check"):
        I.ir_module(check=False)


def test_decorators_refuse_what_they_do_not_fit() -> None:
    with pytest.raises(TypeError, match="a function"):
        prim_func(3)
    with pytest.raises(TypeError, match="a class"):
        ir_module(len)


def test_constructs_outside_of_a_kernel_say_so() -> None:
    with pytest.raises(TypeError, match=r"`T.grid` stands inside a function decorated with @T.prim_func"):
        T.grid(4, 4)
    with pytest.raises(AttributeError, match=r"did you mean `T\.exp`"):
        T.exq


@pytest.mark.parametrize("decorator", [T.prim_func, T.macro, G.graph_func, tirscript.jit])
def test_a_lambda_is_no_function_of_a_program(decorator: Any) -> None:
    with pytest.raises(DiagnosticError, match=r"T022.*a lambda has no statements"):
        decorator(lambda A: A)


def kept(value: Any) -> Any:
    """A decorator of the user's own, which takes what stands below it."""
    KEPT.append(value)
    return value


KEPT: list[Any] = []


def test_decorators_of_the_users_own_stand_above_and_take_the_program() -> None:
    # of the kernel
    @kept
    # beside it
    @T.prim_func(private=True)
    def kernel(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    @kept
    @G.graph_func
    def graph(x: G.Tensor((4,), "float32")):
        return G.add(x, x)

    @kept
    @I.ir_module
    class Both:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = 1.0

    assert KEPT == [kernel, graph, Both]
    assert kernel.private and "# of the kernel\n# beside it\n@T.prim_func" in kernel.script()

    @tirscript.jit(opt_level=0)
    @T.prim_func
    def native(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    assert type(native).__name__ == "LazyFunction"


def test_decorators_of_the_users_own_do_not_stand_below() -> None:
    with pytest.raises(DiagnosticError, match="one decorator") as caught:

        @T.prim_func
        @kept
        def kernel(A: T.Buffer((4,), "float32")):
            A[0] = 1.0

    (found,) = caught.value.diagnostics
    assert found.span is not None and found.span.text == "kept"
    assert found.hint == "write this one above it, where it takes what that one makes"
    with pytest.raises(DiagnosticError, match="leave this one out") as caught:
        tirscript.parse("@kept\n@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n")
    (found,) = caught.value.diagnostics
    assert found.span is not None and found.span.text == "kept"


made_private = T.prim_func(private=True)
OPTIONS = {"private": True, "check_well_formed": False}


def test_what_was_called_counts_however_the_decorator_is_written() -> None:
    @made_private
    def named(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    @functools.partial(T.prim_func, check_well_formed=False)
    def partly(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    @T.prim_func(**OPTIONS)
    def spread(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    def plain(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    called = T.prim_func(plain, private=True)
    assert [each.private for each in (named, partly, spread, called)] == [True, False, True, True]
    assert [each.check_well_formed for each in (named, partly, spread, called)] == [True, False, False, True]

    decorate: Any = G.graph_func(private=True)

    @decorate
    def graph(x: G.Tensor((4,), "float32")):
        return G.add(x, x)

    assert isinstance(graph, ir.GraphFunc) and graph.private


def test_what_was_called_counts_in_modules() -> None:
    decorate: Any = I.ir_module(check_well_formed=False)

    @decorate
    class M:
        @made_private
        def helper(A: T.Buffer((4,), "float32")):
            A[0] = 1.0

        @T.prim_func(check_well_formed=True)
        def main(A: T.Buffer((4,), "float32")):
            M.helper(A)

    assert M["helper"].private and not M["helper"].check_well_formed and M["main"].check_well_formed


def test_options_spread_in_text() -> None:
    text = HEADER + "@T.prim_func(**{'private': True})\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n"
    assert parse(text).private
    for wrong, message in (
        ("{'privat': True}", "has no option `privat`"),
        ("{'private': 1}", "must be a bool"),
        ("3", "dict"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            parse(text.replace("{'private': True}", wrong))


def test_a_result_annotated_in_quotes() -> None:
    text = HEADER + "@T.prim_func\ndef f(n: 'T.int32') -> 'T.int32':\n    return n\n"
    assert parse(text).returns == ir.dtype("int32")
    with pytest.raises(DiagnosticError, match="the annotation of the result is not an expression"):
        parse(text.replace("'T.int32':", "'T.':"))


def test_namespaces_have_the_names_of_tvm_too() -> None:
    from tirscript.script import relax, tirx

    assert relax is G and tirx is T
