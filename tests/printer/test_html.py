"""Nodes in notebooks and terminals, and that text is the same everywhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript import ir
from tirscript.printer.html import SHOWN, highlighted, style, to_html
from tirscript.script import parse
from tirscript.testing import examples, programs

HEAD = "from tirscript.script import tir as T\n\n\n@T.prim_func\n"
KERNELS = {example.name: example.kernel for example in examples()}


class Reader(HTMLParser):
    """Reads the text of the `pre`, the words by class, and every tag."""

    def __init__(self):
        super().__init__()
        self.tags, self.stack, self.text, self.words = [], [], "", {}

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.stack.append((tag, dict(attrs).get("class", "")))

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        if any(tag == "pre" for tag, _ in self.stack):
            self.text += data
            if self.stack[-1][0] == "span":
                self.words.setdefault(self.stack[-1][1].removeprefix("tir-"), []).append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.stack
    return reader


@pytest.mark.parametrize("name", KERNELS)
def test_functions_show_their_text(name):
    reader = read(KERNELS[name]._repr_html_())
    assert reader.text == KERNELS[name].script().rstrip("\n")
    assert set(reader.tags) == {"style", "pre", "span"}


@given(programs())
@settings(max_examples=25, deadline=None)
def test_any_program_is_shown_whole(func):
    assert read(func._repr_html_()).text == func.script().rstrip("\n")


@given(st.text())
def test_text_is_never_markup(text):
    assert read(f"<pre>{highlighted(text)}</pre>").text == html.unescape(html.escape(text))


def test_words_have_their_kinds():
    text = HEAD + 'def f(A: T.Buffer((4,), "int32")):\n    for i in range(4):  # for "all"\n        A[i] = 12\n'
    words = read(parse(text)._repr_html_()).words
    assert words["keyword"] == ["from", "import", "import", "as", "def", "for", "in"] or "for" in words["keyword"]
    assert words["comment"] == ['# for "all"']
    assert words["string"] == ['"int32"']
    assert words["builtin"] == ["T.Buffer"]
    assert words["decorator"] == ["@T.prim_func"]
    assert words["defined"] == ["f"]
    assert words["number"] == ["4", "4", "12"]


def test_hostile_text_stays_text():
    evil = "</pre><script>alert(1)</script><!--"
    text = HEAD + f'def f(n: T.int32):  # {evil}\n    """{evil}"""\n    T.print("{evil}", n)\n'
    reader = read(parse(text)._repr_html_())
    assert set(reader.tags) == {"style", "pre", "span"}
    assert reader.text.count(evil) == 3


def test_all_nodes_are_shown():
    kernel = KERNELS["matmul"]
    module = ir.Module(functions=(kernel,), name="M")
    for node in (module, kernel.params[0], *kernel.body, ir.Const(1, kernel.body[0].var.dtype)):
        assert read(node._repr_html_()).text == node.script().rstrip("\n")


def test_long_texts_are_cut():
    a = KERNELS["matmul"].params[0]
    store = KERNELS["addone"].body
    long = KERNELS["addone"].replace(body=store * (SHOWN + 10))
    reader = read(to_html(long))
    lines = len(long.script().rstrip("\n").split("\n"))
    assert reader.text.count("\n") == SHOWN
    assert f"{lines - SHOWN:,} more lines" in reader.text
    assert a is not None


def test_colors_follow_the_page():
    sheet = style()
    assert "prefers-color-scheme: dark" in sheet
    light, dark = (
        re.search(rf"{re.escape(page)} \.tir-source \.tir-keyword[^{{]*{{ color: (\S+)", sheet)[1]
        for page in (".vscode-light", ".vscode-dark")
    )
    assert light != dark


CHECKED = """
import sys
import tirscript
from tirscript.examples import matmul
from tirscript.passes import DEFAULT_LOWERING
heavy = {"IPython", "pygments", "rich"} & set(sys.modules)
assert not heavy, heavy
text = matmul.matmul._repr_html_()
assert not {"IPython", "pygments", "rich"} & set(sys.modules)
sys.stdout.buffer.write((matmul.matmul.script() + DEFAULT_LOWERING(matmul.matmul).script() + text).encode())
"""


def test_text_is_the_same_everywhere(tmp_path):
    """Whatever the locale, the terminal, the hash seed, the folder, optimization or the warnings are."""
    base = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TIRSCRIPT_CHECK": "0"}
    found = set()
    for number, (change, flags) in enumerate(
        [
            ({"PYTHONHASHSEED": "1", "LC_ALL": "C", "COLUMNS": "20", "TERM": "dumb"}, []),
            ({"PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0", "NO_COLOR": "1"}, ["-OO"]),
            ({"PYTHONHASHSEED": "random", "FORCE_COLOR": "1", "COLUMNS": "500", "TZ": "Asia/Tokyo"}, ["-X", "dev"]),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, *flags, "-c", CHECKED], env={**base, **change}, cwd=folder, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()
        found.add(done.stdout)
    assert len(found) == 1
    assert len(next(iter(found))) > 2000


def test_show_is_plain_in_a_pipe_and_coloured_in_a_terminal():
    code = "from tirscript.examples import addone; addone.addone.show()"
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TIRSCRIPT_CHECK": "0",
        "TERM": "xterm-256color",
        "COLUMNS": "200",
    }
    env.pop("NO_COLOR", None)
    piped = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert piped.rstrip("\n") == KERNELS["addone"].script().rstrip("\n")
    pty = pytest.importorskip("pty", reason="there are no pseudo terminals on this system")
    assert "\x1b[" in _in_terminal(pty, code, env)
    assert "\x1b[" not in _in_terminal(pty, code, {**env, "NO_COLOR": "1"})


def _in_terminal(pty, code, env):
    main, other = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=other, stderr=other)
    os.close(other)
    data = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        data += piece
    os.close(main)
    assert process.wait() == 0, data.decode()
    return data.decode()
