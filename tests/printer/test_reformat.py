"""Source text laid out without changing a word of it."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys

import pytest
from hypothesis import given, settings

from tirscript.ir import PrimFunc
from tirscript.printer.reformat import reformat
from tirscript.testing import examples, programs


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x=1", "x = 1"),
        ("A [i,j]+=  -x**2*( y -1)", "A[i, j] += -x**2 * (y - 1)"),
        ("f( a , b=1 , *c , ** d )", "f(a, b=1, *c, **d)"),
        ("x:T.int32=0XfF", "x: T.int32 = 0xFF"),
        ("x = 1E5+.5+2.", "x = 1e5 + 0.5 + 2.0"),
        ("A[1:n , i+1:, :n-1, a:b:c, -1:x]", "A[1:n, i + 1 :, : n - 1, a:b:c, -1:x]"),
        ("d = {'a' :1, \"b\":[2,3 ]}", 'd = {"a": 1, "b": [2, 3]}'),
        ("x = 'say \"hi\"' + 'it\\'s'", "x = 'say \"hi\"' + 'it\\'s'"),
        ("x = not(a)and-b", "x = not (a) and -b"),
        ("x = a if(b)else c", "x = a if (b) else c"),
        ("x=lambda i,j=1:(i//4,i %4)", "x = lambda i, j=1: (i // 4, i % 4)"),
        ("x = a.b**2 + f(x)**2 + a**-b + c**d[0]", "x = a.b**2 + f(x) ** 2 + a**-b + c ** d[0]"),
        ("for(i , j)in(T.grid(4,4)): pass", "for (i, j) in T.grid(4, 4):\n    pass"),
        ("if(a):b();c()\nelse: d", "if a:\n    b()\n    c()\nelse:\n    d"),
        ("x = (a +\n     b)", "x = a + b"),
        ("x = (a,\n     b)", "x = (a, b)"),
        ("x = (yield)", "x = (yield)"),
        ("x = a + \\\n  b", "x = a + b"),
        ("f(a, b,)", "f(a, b)"),
        ("x = (a,)", "x = (a,)"),
        ("x = A[a,]", "x = A[a,]"),
        ("f(\n  a,\n    b,\n)", "f(\n  a,\n    b,\n)"),
        ("x = 1 #why", "x = 1  # why"),
        ("#:odd\n#!x\n##\nx", "#:odd\n#!x\n##\nx"),
        ("x = f'{a  !r}' f\"{b}\"", 'x = f"{a  !r}" f"{b}"'),
        ("assert(a),'b'", 'assert (a), "b"'),
        ("def f(a:int=1,b=2)->T.int32: return(a)", "def f(a: int = 1, b=2) -> T.int32:\n    return a"),
        ("@ T.prim_func\ndef f(): pass", "@T.prim_func\ndef f():\n    pass"),
        ("x = a[b](c)[d]", "x = a[b](c)[d]"),
        ("x = [i*2 for i in(1,2)if i]", "x = [i * 2 for i in (1, 2) if i]"),
        ("x = (y := 3)", "x = (y := 3)"),
        ("print(*a, ~b, - 1, +c, a- -b)", "print(*a, ~b, -1, +c, a - -b)"),
        ("return", None),
        ("x = None[0] if None else True", "x = None[0] if None else True"),
        ("A[T.ramp(0,1,4)]", "A[T.ramp(0, 1, 4)]"),
        ("A[(i):(i + 1)]", "A[(i) : (i + 1)]"),
        ("a,b=b,a+b", "a, b = b, a + b"),
        ("x = y = (z)", "x = y = z"),
        ("def f():\n    '''Doc'''", 'def f():\n    """Doc"""'),
        ("x = a<b<=c!=d is not e", "x = a < b <= c != d is not e"),
    ],
)
def test_a_line(text: str, wanted: str | None) -> None:
    if wanted is None:
        text, wanted = f"def f():\n  {text}", f"def f():\n    {text}"
    assert reformat(text) == wanted
    assert reformat(wanted) == wanted


def test_blocks_comments_and_blank_lines() -> None:
    text = """\
@T.prim_func
def f(A : T.Buffer( (4,),'int8' )):

  # first


  # second
  for i in range(4) :   # loop

      A [i]=1
      # end of the loop
    # still of the loop
  # of the function


  A[0]=2
  # last
"""
    assert (
        reformat(text)
        == """\
@T.prim_func
def f(A: T.Buffer((4,), "int8")):
    # first

    # second
    for i in range(4):  # loop
        A[i] = 1
        # end of the loop
    # still of the loop
    # of the function

    A[0] = 2
    # last"""
    )


def test_definitions_of_a_class_stand_apart() -> None:
    text = "class M:\n  x=1\n  @a\n  @b\n  def f(): pass\n  # about g\n  def g():\n    pass\n  y=2"
    wanted = """\
class M:
    x = 1

    @a
    @b
    def f():
        pass

    # about g
    def g():
        pass

    y = 2"""
    assert reformat(text) == wanted
    assert reformat(wanted) == wanted


def test_what_has_comments_or_long_strings_inside_stays() -> None:
    text = 'def f():\n  """Doc\n     more\n  """\n  x = f(a ,  # why\n      b)\n  y = """a\n  b""" + c( 1 )\n  z=1'
    wanted = 'def f():\n    """Doc\n     more\n  """\n    x = f(a ,  # why\n        b)\n    y = """a\n  b""" + c( 1 )\n    z = 1'
    assert reformat(text) == wanted
    assert reformat(wanted) == wanted


def test_wide_lines_are_broken_and_narrow_ones_joined() -> None:
    text = "def f():\n    A[i, j] = A[i, j] + B[i, k] * C[k, j]"
    narrow = reformat(text, 30)
    assert max(map(len, narrow.split("\n"))) <= 30
    assert reformat(narrow) == text


def test_what_has_no_layout_stays_wide() -> None:
    text = f"x = [i  for i in {list(range(60))!r} if i]"
    assert reformat(text) == text


def test_long_chains() -> None:
    text = "A[0] = " + " + ".join(["A[1]"] * 985)
    made = reformat(text)
    assert made.count("\n") == 986 and reformat(made) == made


def test_tabs_and_form_feeds() -> None:
    assert reformat("if a:\n\tb\n\tif c:\n\t\td") == "if a:\n    b\n    if c:\n        d"


def test_what_is_no_python() -> None:
    with pytest.raises(SyntaxError):
        reformat("def f(:")


def _mangled(text: str) -> str:
    """The program without its layout: each statement on one line with the quotes and brackets that `ast` prefers."""
    return ast.unparse(ast.parse(text))


def _words(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_what_is_printed_stays(example: object) -> None:
    for width in (60, 100):
        text = example.kernel.script(header=False, width=width).rstrip("\n")  # type: ignore[attr-defined]
        assert reformat(text, width) == text


@settings(max_examples=25, deadline=None)
@given(programs())
def test_random_programs_stay_as_they_are_printed(func: PrimFunc) -> None:
    text = func.script(header=False).rstrip("\n")
    text = text[text.index("@T.prim_func") :]  # below the declarations of symbols
    made = reformat(text)
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text))
    assert reformat(made) == made
    if "#" not in text and '"""' not in text:
        assert made == text


@settings(max_examples=20, deadline=None)
@given(programs())
def test_random_layouts_become_the_same(func: PrimFunc) -> None:
    mangled = _mangled(func.script(header=False))
    made = reformat(mangled)
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(mangled))
    assert reformat(made) == made
    assert reformat(made.replace("    ", "  ")) == made or '"' in made


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="ruff is not installed")
def test_ruff_agrees() -> None:
    """What is laid out is what `ruff format` leaves as it is."""
    texts = []
    for example in examples():
        texts.append(reformat(_mangled(example.kernel.script(header=False))))
        texts.append(reformat(_mangled(example.kernel.script(header=False)), 60))
    for width in (60, 100):
        joined = "\n\n\n".join(texts[0 if width == 100 else 1 :: 2]) + "\n"
        command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", str(width), "-"]
        done = subprocess.run(command, input=joined, capture_output=True, text=True, check=True)
        assert done.stdout == joined
