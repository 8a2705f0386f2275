"""Mistakes of people who come from numpy in kernels of their own Python: what is said of them."""

from __future__ import annotations

import functools
import linecache
import re
from typing import Any

import pytest

from tirscript import build, ir_module, prim_func
from tirscript.ir import DiagnosticError
from tirscript.script import parse


def decorated(body: str, **names: Any) -> DiagnosticError:
    """The error of a kernel in the user's own Python."""
    text = "@prim_func\ndef f(A: T.Buffer((4,), 'float32'), n: T.int32):\n    " + body.replace("\n", "\n    ") + "\n"
    filename = f"<newcomer {body}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    from tirscript.script import tir as T

    with pytest.raises(DiagnosticError) as caught:
        exec(compile(text, filename, "exec"), {"prim_func": prim_func, "T": T, **names})
    return caught.value


LIVE = [
    ("A[0] = np.exp(A[0])", "`exp` is Python, which runs while parsing: `A[0]` has no value yet", "`T.exp`"),
    ("A[0] = math.exp(A[0])", "`exp` is Python", "`T.exp`"),
    ("A[0] = np.maximum(A[0], 0)", "`maximum` is Python", "`T.max`"),
    ("A[0] = np.sum(A)", "`A` has no value yet", "for i in range(A.shape[0]):"),
    ("A[0] = np.float32(A[0])", "`A[0]` has no value yet", '`A[0].astype("float32")`'),
    ("print(A[0])", "`print` is Python", "T.print"),
    ('print("A is", A[0])', "`A[0]` has no value yet", "T.print"),
    ('print("A", *[1, A[0]])', "`*[1, A[0]]` has no value yet", "T.print"),
    ('print("A", end=A[0])', "`A[0]` has no value yet", "T.print"),
    ("A[0] = np.where(A[0] > 0, A[0], 0)", "`where` is Python", "`T.if_then_else(cond, a, b)`"),
    ("x = A[0] > 0\nif bool(x):\n    A[0] = 1.0", "`bool` is Python", "`x != 0`"),
    ("x = any([A[0] > 0])", "`any` is Python", "`or`"),
]


@pytest.mark.parametrize(("body", "message", "hint"), LIVE)
def test_live_python(body: str, message: str, hint: str) -> None:
    import math

    import numpy as np

    (found,) = decorated(body, np=np, math=math).diagnostics
    assert found.code == "T033" and message in found.message and hint in (found.hint or ""), str(found)
    assert "BufferLoad" not in str(found)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("B = T.match_buffer(A, (p,), 'float32')", 'a symbolic dimension is a string: `"p"`'),
        ("A[0] = p", "assign it before, or make it a parameter"),
    ],
)
def test_no_name_is_like_one_letter(body: str, hint: str) -> None:
    import numpy as np

    (found,) = decorated(body, np=np).diagnostics
    assert (found.code, found.hint) == ("T010", hint)


def test_a_failing_function_of_the_user_is_named_with_its_exception() -> None:
    def helper(x: Any) -> Any:
        return x.no_such

    (found,) = decorated("A[0] = helper(A[0])", helper=helper).diagnostics
    assert "`helper` is Python" in found.message and "AttributeError" in found.notes[0]
    assert found.notes[0].startswith("in `helper`, `x.no_such`: ")


def test_a_failing_function_that_exec_made_is_named_with_its_exception() -> None:
    """Of a namespace without `__name__`, as `exec` makes it, functions have no module."""
    made: dict[str, Any] = {}
    exec("def helper(x):\n    return x.no_such\n", made)
    assert made["helper"].__module__ is None or made["helper"].__module__ == "builtins"
    (found,) = decorated("A[0] = helper(A[0])", helper=made["helper"]).diagnostics
    assert "`helper` is Python" in found.message and "AttributeError" in found.notes[0]


def test_a_macro_that_returns_a_value_is_a_function_of_python() -> None:
    square = "def square(x):\n    return x * x\n"
    text = "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = square(A[1])\n"

    def read(before: str) -> Any:
        whole = before + square + text
        filename = f"<macro {len(whole)}>"
        linecache.cache[filename] = (len(whole), None, whole.splitlines(True), filename)
        from tirscript.script import tir as T

        scope: dict[str, Any] = {"T": T}
        exec(compile(whole, filename, "exec"), scope)
        return scope["f"]

    with pytest.raises(DiagnosticError) as caught:
        read("@T.macro\n")
    assert (caught.value.diagnostics[0].hint or "").startswith("take `@T.macro` away: ")
    assert "A[0] = A[1] * A[1]" in read("").script()
    with pytest.raises(DiagnosticError) as caught:
        parse("@T.macro\n" + square + text)
    assert (caught.value.diagnostics[0].hint or "").startswith("call it on a line of its own")


def test_what_a_function_of_the_user_calls_inside_is_named_with_what_takes_its_place() -> None:
    import math

    import numpy as np

    def direct(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def through(x: Any) -> Any:
        return math.sqrt(x) + 1

    def helper(x: Any) -> Any:
        return through(x + 1)

    (found,) = decorated("A[0] = direct(A[0])", direct=direct).diagnostics
    assert found.notes[0].startswith("in `direct`, `np.exp(-x)`: ") and "`T.exp`" in (found.hint or "")
    (found,) = decorated("A[0] = helper(A[0])", helper=helper).diagnostics
    assert found.notes[0].startswith("in `through`, `math.sqrt(x)`: ") and "`T.sqrt`" in (found.hint or "")


def plain(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            staticmethod(plain),
            "not what another decorator made of `plain`; write `@T.prim_func` directly above `def`, ",
        ),
        (
            functools.cache(plain),
            "not what another decorator made of `plain`; write `@T.prim_func` directly above `def`, ",
        ),
        (property(plain), "not what another decorator made of `plain`; write `@T.prim_func` directly above `def`, "),
        (int, "not the class `int`; a class is a module, under `@I.ir_module`"),
        (3, "not a Python int"),
    ],
)
def test_what_no_function_is_is_told_with_where_the_decorator_belongs(made: Any, words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(f"T.prim_func decorates a function, {words}")):
        prim_func(made)


def test_a_function_is_no_module() -> None:
    with pytest.raises(TypeError, match=r"not the function `plain`; a function is under `@T.prim_func` or"):
        ir_module(plain)
    with pytest.raises(TypeError, match=r"I.ir_module decorates a class, not a Python property$"):
        ir_module(property(plain))
    with pytest.raises(TypeError, match=r"build takes a PrimFunc, a GraphFunc or a Module, not None$"):
        build(None)


def test_a_kernel_of_a_class_that_is_no_module_is_not_run_as_python() -> None:
    from tirscript.script import tir as T

    size = 4

    class Kernels:
        @prim_func
        def fill(A: T.Buffer((size,), "float32")):
            for i in range(size):
                A[i] = 1.0

    with pytest.raises(TypeError, match=r"a function of the class .*Kernels`: decorate that with `@I.ir_module`"):
        Kernels.fill([0.0] * size)
    with pytest.raises(TypeError, match=r"decorate its class `Kernels` with `@I.ir_module`"):
        build(Kernels.fill)
    assert "for i in range(4)" in ir_module(Kernels).script()
