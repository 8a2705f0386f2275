"""Whole files: headers, signatures, docstrings, comments, modules."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from helpers.printer import HEADER, assert_body, dedent, formatted, same_text

from tirscript.ir import (
    Buffer,
    DiagnosticError,
    Evaluate,
    Module,
    PrimFunc,
    Trivia,
    Var,
    const,
    dtype,
    structural_equal,
)
from tirscript.printer import dialect_of, save, script, show
from tirscript.printer.func import docstring_lines
from tirscript.script import parse

MODULE = '''from tirscript.script import ir as I, tir as T


# about the module
@I.ir_module
class Mod:
    """What it is.

    More of it.
    """

    k = T.int32()
    I.module_attrs({"version": 1})

    # about g
    @T.prim_func(private=True)
    def g(A: T.Buffer((k,), "float32"), n: T.int32):  # beside
        """Doc with "quotes" """
        A[0] = 1.0

    @T.prim_func(check_well_formed=False)
    def main(
        A: T.Buffer(("n",), "float32"),
        B: T.Buffer(("n * 2", 4), "float32"),
        p: T.handle("float32", "shared"),
        h: T.handle,
    ) -> T.int32:
        """Several

        lines \\\\ with
          indentation
        """
        T.func_attr({"global_symbol": "main"})

        s = T.int64()
        C = T.match_buffer(h, (4, "n"), "float32", strides=(s, 1))
        # a call
        Mod.g(A, 3)
        Mod.g(B[0:4, 0], 3)
        return 3
        # the end
'''


def test_a_module() -> None:
    text = MODULE.replace(
        '        T.func_attr({"global_symbol": "main"})\n\n', '        T.func_attr({"global_symbol": "main"})\n'
    )
    text = text.replace('(4, "n")', "(4, n)")
    found = same_text(text)
    assert isinstance(found, Module)
    assert formatted(text) == text
    assert found["g"].docstring is not None


def test_a_function_with_everything() -> None:
    text = dedent(
        '''
        from tirscript.script import tir as T

        m = T.int32()


        # about it
        @T.prim_func(private=True, check_well_formed=False)
        def f(
            A: T.Buffer(
                (16, "n"),
                "float32",
                strides=("s", 1),
                elem_offset="o",
                scope="shared",
                align=64,
                offset_factor=4,
                axis_separators=[1],
            ),
            B: T.Buffer((m,), "float32"),
            C: T.Buffer(("k * 2",), "float32"),
            k: T.int64,
            b: T.bool,
        ) -> T.float32:
            """One line."""
            T.func_attr({"noalias": True, "text": "it's"})
            return A[0, 0]
        '''
    )
    found = same_text(text)
    assert formatted(text) == text
    assert script(found, header=False) == text.partition("\n\n")[2]
    assert script(found, fragment=True) == text.partition("\n\n")[2].rstrip("\n")


def test_only_the_names_used_are_imported() -> None:
    assert str(Module(())) == "from tirscript.script import ir as I\n\n\n@I.ir_module\nclass Module:\n    pass\n"
    assert str(PrimFunc("f", (), ())).split("\n")[0] == "from tirscript.script import tir as T"
    assert formatted(str(Module(()))) == str(Module(()))


def test_a_module_of_symbols_and_docstring_alone() -> None:
    text = str(Module((), docstring="Doc."))
    assert text.endswith('class Module:\n    """Doc."""\n')
    assert formatted(text) == text


@pytest.mark.parametrize(
    "doc",
    [
        "One line.",
        'ends with "quotes"',
        'three """ quotes',
        'three at the end """',
        'four at the end """"',
        'a backslash and a quote \\"',
        'backslashes and three \\\\"""',
        "back\\slash",
        "a backslash at the end\\",
        "  indented\n    more\n  less  \n\n",
        "tab\there",
        "control \x00 \x1b",
        "ünïcödé — ™",
        "first\n\nlast",
        'first\n"quoted"',
    ],
)
def test_docstrings(doc: str) -> None:
    text = PrimFunc("f", (), (), docstring=doc).script()
    assert formatted(text) == text
    again = parse(text)
    assert isinstance(again, PrimFunc)
    assert again.script() == text
    assert again.docstring is not None
    assert again.docstring.split() == doc.split() or "\x00" in doc or "\\" in doc


@pytest.mark.parametrize(
    "doc", ["\n    lines\n      more\n", "\n      lines\n    less\n", "\n         \n  lines\n\n    \x0cmore\n"]
)
def test_the_lines_of_a_docstring_keep_their_indentation(doc: str) -> None:
    text = PrimFunc("f", (), (), docstring=doc).script()
    assert formatted(text) == text
    again = parse(text)
    assert isinstance(again, PrimFunc)
    assert again.script() == text
    assert docstring_lines(again.docstring) == docstring_lines(doc)


def test_a_blank_docstring_is_none() -> None:
    assert PrimFunc("f", (), (), docstring=" \n ").script() == PrimFunc("f", (), ()).script()


def test_signatures_over_several_lines() -> None:
    buffers = tuple(Buffer(f"A{at}", (const(128), const(128))) for at in range(3))
    assert PrimFunc("f", buffers, ()).script() == HEADER + dedent(
        """
        @T.prim_func
        def f(
            A0: T.Buffer((128, 128), "float32"),
            A1: T.Buffer((128, 128), "float32"),
            A2: T.Buffer((128, 128), "float32"),
        ):
            pass
        """
    )
    text = PrimFunc("f", (*buffers[:2], Var("a_long_name", dtype("handle"))), (), returns=dtype("int32")).script()
    assert text.endswith(
        dedent(
            """
            def f(
                A0: T.Buffer((128, 128), "float32"), A1: T.Buffer((128, 128), "float32"), a_long_name: T.handle
            ) -> T.int32:
                pass
            """
        )
    )
    assert formatted(text) == text


def test_a_comment_beside_a_long_signature_moves_above() -> None:
    buffers = tuple(Buffer(f"A{at}", (const(128), const(128))) for at in range(3))
    for params in (buffers, buffers[:2]):
        text = PrimFunc("f", params, (), trivia=Trivia((), "# a comment of some length")).script()
        assert "\n# a comment of some length\n@T.prim_func\n" in text
        assert formatted(text) == text


def test_comments_and_blank_lines() -> None:
    assert_body(
        """
        # first

        # second
        x = A[0]  # beside x

        # above, after a gap
        A[0] = x

        for i in range(4):  # loop
            # inner

            A[i] = 1.0
            # trailing inner

            # more of it
        # outer
        if n > 3:  # condition
            A[0] = 1.0
            # end of then
        # before elif
        elif n > 2:  # beside elif
            A[1] = 2.0
        else:
            # in else
            A[2] = 2.0
        with T.block("b"):  # block
            T.reads()

            # behind the head
            A[0] = 2.0
        # the end
        """
    )


def test_comments_are_normalized() -> None:
    assert_body(
        """


        #nospace
        A[3] = 3  # a comment that makes this line longer than a hundred characters, so that it stands above



        #!special
        A[2] = 2    #   blanks
        """,
        to="""
        # nospace
        # a comment that makes this line longer than a hundred characters, so that it stands above
        A[3] = 3.0

        #!special
        A[2] = 2.0  #   blanks
        """,
    )


def test_trivia_that_a_pass_wrote() -> None:
    stmt = Evaluate(const(0), trivia=Trivia(("", "", "plain words", "two\nlines", "", ""), "beside", ("", "after", "")))
    assert script((stmt, stmt)) == dedent(
        """
        # plain words
        # two
        # lines

        T.evaluate(0)  # beside

        # after

        # plain words
        # two
        # lines

        T.evaluate(0)  # beside

        # after
        """
    ).rstrip("\n")


def test_trivia_behind_a_definition() -> None:
    func = PrimFunc("f", (), (), trivia=Trivia((), "", ("# after",)))
    text = func.script()
    assert text.endswith("    pass\n\n\n# after\n")
    assert formatted(text) == text
    module = Module((func,), trivia=Trivia(("# before",), "# beside", ("# at the end",))).script()
    assert "# before\n@I.ir_module\nclass Module:  # beside\n" in module
    assert module.endswith("        pass\n\n    # after\n\n\n# at the end\n")
    assert formatted(module) == module


def test_handles_get_their_shape_in_the_body() -> None:
    text = HEADER + dedent(
        """
        @T.prim_func
        def f(a: T.handle, b: T.handle, n: T.int32):
            m = T.int64()
            A = T.match_buffer(a, (n, m), "float32")
            k = T.int64()
            B = T.match_buffer(b, (m * 2, k), "float32", strides=(k, 1))
            A[0, 0] = B[0, 0]
        """
    )
    same_text(text)
    assert formatted(text) == text


@pytest.mark.parametrize("name", ["not a name", "", "1x", "class", "None"])
def test_a_function_name_without_text_is_a_diagnostic(name: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        PrimFunc(name, (), ()).script()
    assert caught.value.diagnostics[0].code == "T405"


def test_wrong_options_are_named() -> None:
    func = PrimFunc("f", (), ())
    with pytest.raises(ValueError, match="'elide', 'inline', 'file'"):
        func.script(constants="all")
    with pytest.raises(ValueError, match="'tirscript' and 'tvm'"):
        dialect_of("relay")


def test_width() -> None:
    func = PrimFunc("f", (Buffer("A", (const(128),)), Buffer("B", (const(128),))), ())
    assert formatted(func.script(width=40), 40) == func.script(width=40)
    assert max(map(len, func.script(width=40).split("\n"))) <= 40
    assert structural_equal(parse(func.script(width=40)), func)


@pytest.mark.parametrize("dialect", ["tirscript", "tvm"])
@pytest.mark.parametrize("width", [20, 30, 40])
def test_the_narrowest_text_reads_as_the_same_program(width: int, dialect: str) -> None:
    func = parse(
        HEADER
        + "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    for i in range(4):\n        A[i] = A[i] + 1.0\n"
    )
    module = Module((func,), name="a_name_wider_than_the_lines_are"[:width])
    for program in (func, module):
        text = script(program, width=width, dialect=dialect)
        assert structural_equal(parse(text), program)


def test_show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    func = PrimFunc("f", (), ())
    func.show()
    assert capsys.readouterr().out == f"{func.script()}\n"

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    show(func, header=False)
    assert terminal.getvalue() == f"{func.script(header=False)}\n"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(func)
    assert "\x1b[" in terminal.getvalue()
    assert "prim_func" in terminal.getvalue()


def test_a_program_is_saved_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no room for it still has the file that was there, and links to it stay links."""
    path, link, empty = tmp_path / "k.py", tmp_path / "link.py", PrimFunc("f", (), ())
    link.symlink_to("k.py")
    save(empty, link)
    path.chmod(0o600)
    save(PrimFunc("g", (), ()), link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    assert path.read_text(encoding="utf-8") == PrimFunc("g", (), ()).script()

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device", "beside")

    monkeypatch.setattr("tirscript.ir.whole_files.os.replace", fail)
    with pytest.raises(OSError, match="No space") as raised:
        save(empty, path)
    assert raised.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == PrimFunc("g", (), ()).script()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["k.py", "link.py"]


def test_a_device_takes_a_program() -> None:
    save(PrimFunc("f", (), ()), os.devnull)
    assert not os.path.isfile(os.devnull)
