"""Pages of the viewer, read without a browser, and programs to show."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

from tirscript.cli.viewer import page
from tirscript.passes import DEFAULT_LOWERING, Sequential
from tirscript.script import parse_python

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HEAD = "from tirscript.script import tir as T\n\n\n@T.prim_func\n"
MODULE = """from tirscript.script import ir as I, tir as T


@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((8,), "float32"), k: T.int32):
        for i in range(8):
            A[i] = A[i] * T.float32(2.5)

    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        M.scale(A, 3)
        for i in T.serial(8):
            with T.block("b"):
                v = T.axis.spatial(8, i)
                A[v] = T.exp(A[v])
"""


class Page(HTMLParser):
    """Reads a page: its tags, and the values of its sections."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sections, self.inside, self.title, self.code = [], {}, None, "", ""
        self.feed(text)
        first = int(re.search(r"const FIRST = (\d+);", self.code)[1])
        self.manifest = self.value(first)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        self.inside = attrs.get("id", tag) if tag in ("script", "title") else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "title":
            self.title += data
        elif self.inside == "script":
            self.code += data
        elif self.inside:
            self.sections[int(self.inside[1:])] = data

    def value(self, number):
        return json.loads(zlib.decompress(base64.b64decode(self.sections[number])))

    def function(self, name):
        return next(one for one in self.manifest["functions"] if one["name"] == name)

    def listing(self, name, at):
        return self.value(self.function(name)["stages"][at])

    def code_of(self, name, view):
        data = self.value(self.function(name)["code"][view])
        return list(zip(data["text"].split("\n"), data["ir"], strict=True))


def render(source, passes="default", filename="kernel.py", compiled=True):
    """The page of a source."""
    pipeline = DEFAULT_LOWERING if passes == "default" else Sequential.parse(passes)
    return page(filename, source, parse_python(source, filename=filename), pipeline, compiled=compiled)


def make(source, passes="default", filename="kernel.py", compiled=False):
    """The page of a source, read."""
    return Page(render(source, passes, filename, compiled))


EVIL = "</script><script>document.title='broken'</script><!-- <img src=x onerror=alert(1)> ]]> &amp; `${1}` @@STYLE@@"


def hostile():
    return (
        f"# {EVIL}\n{HEAD}def f(A: T.Buffer((4,), 'int32')):  # {EVIL}\n"
        f'    """{EVIL}"""\n    for i in range(4):\n        # {EVIL}\n        with T.block("{EVIL}"):\n'
        f'            v = T.axis.spatial(4, i)\n            T.block_attr({{"{EVIL}": "{EVIL}"}})\n            A[v] = 1\n'
        f'    T.print("{EVIL}", A[0])\n'
    )
