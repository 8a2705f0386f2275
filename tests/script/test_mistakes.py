"""What the parser says of mistakes: code, exact place, way out."""

from __future__ import annotations

import textwrap

import ml_dtypes
import numpy as np
import pytest
from helpers.script import PARAMS, body_text, mistakes, one_mistake

from tirscript.ir import DiagnosticError
from tirscript.script import parse, parse_all
from tirscript.script import tir as T

# body, code, the underlined text, a part of the message, a part of the hint
CASES = [
    ("A[0] = T.exq(A[0])", "T031", "T.exq", "not a function of T", "`T.exp`"),
    ("A[0] = C[0]", "T010", "C", "`C` is not defined", ""),
    ("A[0] = lenght", "T010", "lenght", "not defined", ""),
    ("A[0] = sqtr(A[0])", "T010", "sqtr", "not defined", "`T.sqrt`"),
    ("A[0, 1] = 1.0", "T111", "A[0, 1]", "`A` has 1 dimension, but 2 indices stand here", ""),
    ("B[0] = 1.0", "T111", "B[0]", "2 dimensions, but 1 index stands here", ""),
    ("A[0.5] = 1.0", "T112", "0.5", "not an integer", "write an int"),
    ("A[A[0]] = 1.0", "T112", "A[0]", "float32", "cast"),
    ("X[0] = 1.5", "T110", "1.5", "its place holds int32", "cast"),
    ("X[0] = A[0]", "T110", "A[0]", "the value is float32", "cast"),
    ("A[0:4] = B[0, 0:3]", "T110", "B[0, 0:3]", "float32x3", "lanes of the place: 4, of the value: 3"),
    ("A[0] = A[0:4]", "T110", "A[0:4]", "float32x4", "lanes of the place: 1, of the value: 4"),
    ("X[0] = m", "T110", "m", "int64", "cast"),
    ("X[0] = n / 2", "T105", "n / 2", "`/` takes floats, not int32", "`//`"),
    ("X[0] = n + w", "T107", "n + w", "signed with unsigned", 'cast both: `x.astype("int64")`'),
    ("X[0] = n + T.uint8(1)", "T107", "n + T.uint8(1)", "signed with unsigned", 'the unsigned one: `T.uint8(1).astype("int32")`'),
    ("c = T.uint8(n)\nX[0] = c * c", "T110", "c * c", "the value is uint8", '`a.astype("int32")`: in uint8 it wraps'),
    ("c = T.uint8(n)\nX[0] = c // c", "T110", "c // c", "the value is uint8", 'cast it: `(c // c).astype("int32")`'),
    ("c = T.uint8(n)\nX[0] = n + c * c", "T107", "n + c * c", "signed with", '`x.astype("int32")` keeps its value'),
    ("X[0] = n + T.uint64(1)", "T107", "n + T.uint64(1)", "signed with unsigned", 'as in `x.astype("int32")`'),
    ("A[0] = A[0] ^ 2", "T105", "A[0] ^ 2", "takes integers or bools, not float32", "a power is `x ** y`"),
    ("X[0] = b + 200", "T103", "200", "does not fit int8", ""),
    ("A[0] = T.exp(n)", "T105", "T.exp(n)", "takes floats, not int32", "cast"),
    ("A[0] = T.exp()", "T101", "T.exp()", "takes 1 argument, not 0", ""),
    ("A[0] = T.max(1.0)", "T101", "T.max(1.0)", "takes 2 arguments, not 1", ""),
    ("A[0] = A", "T104", "A", "the whole buffer `A`", "element by element"),
    ("A[0] = A + 1.0", "T104", "A", "the whole buffer `A`", ""),
    ("if n:\n    A[0] = 1.0", "T102", "n", "the condition is int32, not bool", "n != 0"),
    ("while n:\n    A[0] = 1.0", "T102", "n", "not bool", "n != 0"),
    ("A[0] = 1.0 if n else 2.0", "T102", "n", "not bool", "n != 0"),
    ("for i in range(4):\n    i = 2", "T012", "i", "a loop variable", "another name"),
    ("for i in range(4):\n    for i in range(4):\n        pass", "T012", "i", "a loop around this one already", "another"),
    ("n = 2", "T012", "n", "a parameter", "another name"),
    ("A[0] = A[1] + T.float32() * 2.0", "T206", "T.float32()", "neither a name nor a value", "`T.float32(0)`"),
    ("A[T.int32()] = 1.0", "T206", "T.int32()", "neither a name nor a value", "`T.int32(0)`"),
    ('C = T.match_buffer(A[0:4], "float32", (4,))', "T032", 'T.match_buffer(A[0:4], "float32", (4,))', "first", "(a, (128"),
    ("A = 2", "T012", "A", "a parameter", ""),
    ("C = T.alloc_buffer((4,))\nC = 2", "T012", "C", "a buffer", "elements"),
    ("A[0] = x\nx = 1.0", "T011", "x", "outside of the scope", "assign it before"),
    ("for i in range(4):\n    y = A[i]\nA[0] = y", "T011", "y", "outside of the scope", "assign it before"),
    ("if n > 0:\n    A[0] = z\n    z = 1.0\nelse:\n    z = 2.0\nA[1] = z", "T011", "z", "may be used before", "assign it"),
    ("x: T.let[T.int32] = 1\nx = 2", "T012", "x", "declared immutable", "`x: T.int32 = ...`"),
    ("x += 1", "T010", "x", "not defined", ""),
    ("n.data", "T030", "n.data", "an expression has no `data`", "astype"),
    ("T.evaluate(A.shap[0])", "T030", "A.shap", "a buffer has no `shap`", "`shape`"),
    ("n + 1", "T020", "n + 1", "not used", "evaluate"),
    ("T.exp(A[0])", "T020", "T.exp(A[0])", "not used", "evaluate"),
    ("T.alloc_buffer((4,))", "T022", "T.alloc_buffer((4,))", "give it a name", "A = "),
    ("x = T.grid(4)", "T022", "T.grid(4)", "does not stand in an expression", ""),
    ("T.reads(A[0])", "T022", "T.reads(A[0])", "at the top of a block", "T.block"),
    ("for i in T.thread_binding(4):\n    A[i] = 1.0", "T032", "T.thread_binding(4)", "needs the thread", "threadIdx"),
    ("for i, j in T.grid(4):\n    A[i] = 1.0", "T032", "T.grid(4)", "1 extent for 2 variables", ""),
    ("for i in range(0.5):\n    A[i] = 1.0", "T112", "0.5", "not an integer", ""),
    ("for i in n:\n    A[i] = 1.0", "T032", "n", "not a sequence", ""),
    ("for i in range(4):\n    A[i] = 1.0\nelse:\n    pass", "T020", "pass", "`else` on a loop", "behind the loop"),
    ("while n > 0:\n    A[0] = 1.0\nelse:\n    pass", "T020", "pass", "`else` on a loop", "behind the loop"),
    ("try:\n    pass\nexcept E:\n    pass", "T020", "try:", "`try` is not part", "assert"),
    ("match n:\n    case 1:\n        pass", "T020", "match n:", "`match` is not part", "elif"),
    ("def g():\n    pass", "T020", "def g():", "a function inside a function", "outside"),
    ("raise ValueError", "T020", "raise ValueError", "`raise` is not part", "assert"),
    ("import os", "T020", "import os", "an import inside", "outside"),
    ("del A", "T020", "del A", "`del` is not part", ""),
    ("global n", "T020", "global n", "`global`", ""),
    ("x = lambda i: i", "T021", "lambda i: i", "`lambda`", "index map"),
    ("x = yield", "T021", "yield", "`yield`", "buffers"),
    ("A[0] = 1j", "T021", "1j", "complex", ""),
    ("A[0] = B @ B", "T104", "B", "the whole buffer", ""),
    ("A[0] = n is None", "T021", "n is None", "`is` and `in`", "every element has a value"),
    ("A[0] = n is n", "T021", "n is n", "`is` and `in`", "=="),
    ("assert n", "T102", "n", "not bool", ""),
    ("assert 1 > 2, 'never'", "T403", "1 > 2", "never", ""),
    ("T.static_assert(1 > 2)", "T403", "1 > 2", "false", ""),
    ("return 1", "T022", "return 1", "returns nothing", "-> T.int32"),
    ("return A", "T022", "return A", "a buffer cannot be returned", "parameter"),
    ("C = T.alloc_buffer((4,), 'float31')", "T109", "'float31'", "float31", "float32"),
    ("C = T.alloc_buffer((4.5,))", "T207", "4.5", "not an integer", ""),
    ("C = T.alloc_buffer((4,), scop='local')", "T032", "'local'", "no argument `scop`", "`scope`"),
    ("with T.block('b'):\n    v = T.axis.spatial(4)\n    A[v] = 1.0", "T032", "T.axis.spatial(4)", "a domain and a value", "spatial(128, i)"),
    ("for i in range(4):\n    with T.block('b'):\n        v = T.axis.remap('Q', [i])\n        A[v] = 1.0", "T032", "'Q'", "no kind of axis", "S is spatial"),
    ("with T.block('b'):\n    v = T.axis.remap('S', [n])\n    A[v] = 1.0", "T022", "[n]", "variables of loops", "T.axis.spatial"),
    ("with T.block('b'):\n    T.axes.spatial(4, n)", "T031", "T.axes", "not a function", "`T.axis`"),
    ("x: T.int32 = 1.5", "T110", "1.5", "float", "cast"),
    ("x: foo = 1", "T010", "foo", "not defined", ""),
    ("T.func_attr(1)", "T032", "1", "dict", ""),
    ('T.func_attr({"b": T.Buffer((4,))})', "T032", '{"b": T.Buffer((4,))}', "cannot be an attribute", "is a number, a"),
    ("A[0:n] = T.broadcast(1.0, 4)", "T022", "0:n", "not known while parsing", "i:i + 4"),
    ("x, y = 1, 2, 3", "T033", "x, y = 1, 2, 3", "3 values for 2 targets", ""),
    ("x = [1, 2][5]", "T033", "[1, 2][5]", "IndexError", ""),
    ("x = 1 // 0", "T033", "1 // 0", "ZeroDivisionError", ""),
    ("A[0] = T.call_extern('float32', 3)", "T104", "T.call_extern('float32', 3)", "name as a string", ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code", "text", "message", "hint"), CASES, ids=[case[0][:40] for case in CASES])
def test_mistake(body: str, code: str, text: str, message: str, hint: str) -> None:
    found = one_mistake(body, PARAMS + ", m: T.int64, w: T.uint32, b: T.int8")
    assert (found.code, found.span.text) == (code, text), str(found)
    assert message in found.message, str(found)
    assert hint in (found.hint or ""), str(found)


SIGNATURES = [
    ("A", "T041", "A", "no type"),
    ("A: 3", "T041", "3", "not a type of T"),
    ("A: T.Buffer", "T041", "T.Buffer", "needs a shape"),
    ("A: T.Bufer((4,))", "T031", "T.Bufer", "not a function"),
    ('A: T.Buffer((4,), "flot32")', "T109", '"flot32"', "not an element type"),
    ('A: T.Buffer(("n +",), "int8")', "T041", '"n +"', "not an expression"),
    ("n: T.int32 = 3", "T040", "3", "a default value"),
    ("*args", "T040", "args", "`*args`"),
    ("**kwargs", "T040", "kwargs", "`**kwargs`"),
    ("*, n: T.int32", "T040", "n: T.int32", "keyword-only"),
]


@pytest.mark.parametrize(("params", "code", "text", "message"), SIGNATURES)
def test_mistake_in_a_signature(params: str, code: str, text: str, message: str) -> None:
    found = one_mistake("pass", params)
    assert (found.code, found.span.text) == (code, text), str(found)
    assert message in found.message


def test_all_mistakes_of_a_text_are_reported_in_order() -> None:
    found = mistakes("A[0] = T.exq(1.0)\nX[0] = 1.5\nfor i in range(4):\n    A[i] = q\n    A[i, i] = 1.0\nA[1] = r")
    assert [(each.code, each.span.line) for each in found] == [
        ("T031", 6),
        ("T110", 7),
        ("T010", 9),
        ("T111", 10),
        ("T010", 11),
    ]


def test_a_failed_definition_is_blamed_once() -> None:
    assert one_mistake("x = T.exq(1.0)\nA[0] = x\nA[1] = x + 1").code == "T031"


def test_notes_point_at_declarations() -> None:
    found = one_mistake("X[0] = 1.5")
    assert found.labels[1].message == "`X` is declared here" and found.labels[1].span.text.startswith("X: T.Buffer")


def test_the_rendered_message() -> None:
    found = one_mistake("for i in range(16):\n    A[i] = T.exq(A[i])")
    assert found.render() == (
        "error[T031]: `T.exq` is not a function of T\n"
        " --> <text>:7:16\n"
        "  |\n"
        "7 |         A[i] = T.exq(A[i])\n"
        "  |                ^^^^^\n"
        "  |\n"
        "  = help: did you mean `T.exp`?"
    )


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("def f(:\n", "T001", "invalid syntax"),
        ("x = (1\n", "T001", "'(' was never closed"),
        ("  x = 1\n", "T001", "unexpected indent"),
        ("x = 1\0", "T001", "NUL"),
        ("", "T022", "no function"),
        ("import os\n", "T003", "`import os`"),
        ("from os import path\n", "T003", "`from os import`"),
        ("from . import x\n", "T003", "import"),
        ("from tirscript.script import tri\n", "T003", "`tri`"),
        ("print(1)\n", "T003", "at the top of a text"),
        ("def f():\n    pass\n", "T022", "one decorator"),
        ("@foo\ndef f():\n    pass\n", "T010", "`foo` is not defined"),
        ("@T.exp\ndef f():\n    pass\n", "T003", "not a decorator"),
        ("@print('x')\ndef f():\n    pass\n", "T003", "`print` is not available"),
        ("@T.prim_func\nclass M:\n    pass\n", "T022", "does not fit a class"),
        ("@T.prim_func(fast=True)\ndef f():\n    pass\n", "T032", "no option `fast`"),
        ("@T.prim_func\ndef f():\n    pass\n@T.prim_func\ndef f():\n    pass\n", "T202", "defined twice"),
        ("@I.ir_module\nclass M(x):\n    pass\n", "T022", "no base classes"),
        ("@I.ir_module\nclass M:\n    for i in x:\n        pass\n", "T020", "a module holds"),
        (
            "@I.ir_module\nclass M:\n    @T.prim_func\n    def f():\n        cls = M\n        cls.g()\n",
            "T030",
            "no function `g`",
        ),
    ],
)
def test_mistakes_around_functions(text: str, code: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    assert caught.value.diagnostics[0].code == code, str(caught.value)
    assert message in caught.value.diagnostics[0].message


def test_what_comes_with_copied_text_is_named() -> None:
    kernel = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    for i in range(4):\n        A[i] = 1.0\n'
    pointed = kernel.replace("range(4):\n", "range(4):\n    ^^^^^^^^^^^^^^^^^^^\n")
    prompted = ">>> " + kernel.rstrip("\n").replace("\n", "\n... ")
    for text, hint in (
        (textwrap.indent(kernel, "    "), "all lines are indented"),
        (pointed, "a message pointed at the one above"),
        (prompted, "take the prompts"),
        (kernel.replace("        A", "      A[0] = 1.0\n        A"), "check the indentation of this line"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            parse(text)
        (found,) = caught.value.diagnostics
        assert found.code == "T001"
        assert hint in (found.hint or "")


ALL_AT_ONCE = """
A[16] = 1.0
A[0] = T.exq(A[-1])
X[20] = 1
s = 0
for i in T.parallel(4):
    s += X[i]
Q[0] = 1
A[1] = later[0]
later = T.alloc_buffer((4,))
"""


def test_bounds_and_races_are_reported_beside_what_cannot_be_read() -> None:
    found = [(each.code, each.span.text if each.span else "") for each in mistakes(ALL_AT_ONCE)]
    assert found == [
        ("T113", "16"),
        ("T031", "T.exq"),
        ("T113", "20"),
        ("T209", "s += X[i]"),
        ("T010", "Q"),
        ("T011", "later"),
    ]
    quiet = body_text(ALL_AT_ONCE).replace("T.prim_func", "T.prim_func(check_well_formed=False)")
    with pytest.raises(DiagnosticError) as caught:
        parse(quiet)
    assert [each.code for each in caught.value.diagnostics] == ["T031", "T010", "T011"]


def test_what_statements_that_fail_may_mend_is_not_reported() -> None:
    assert [each.code for each in mistakes("C = T.alloc_buffer((4,))\nC[0] = T.exq(A[0])\nA[0] = C[0]")] == ["T031"]


def test_functions_that_can_be_read_are_verified_beside_those_that_cannot() -> None:
    functions = """
    @T.prim_func{}
    def f(A: T.Buffer((4,), "float32")):
        A[5] = 1.0
        C = T.alloc_buffer((4,))
        A[0] = C[0]

    @T.prim_func
    def g(A: T.Buffer((4,), "float32")):
        A[0] = T.exq(A[0])
"""
    for text, codes in (
        (f"@I.ir_module\nclass M:\n{functions.format('')}", ["T113", "T208", "T031"]),
        (textwrap.dedent(functions).format(""), ["T113", "T208", "T031"]),
        (f"@I.ir_module\nclass M:\n{functions.format('(check_well_formed=False)')}", ["T031"]),
    ):
        with pytest.raises(DiagnosticError) as caught:
            parse_all(text)
        assert [each.code for each in caught.value.diagnostics] == codes


def test_a_name_of_a_letter_is_near_to_none_of_the_language() -> None:
    assert "did you mean" not in (one_mistake("A[0] = Q[0]").hint or "")


def test_several_definitions_need_parse_all() -> None:
    text = body_text("pass") + "\n\n" + body_text("pass").replace("def f", "def g")
    assert list(parse_all(text)) == ["f", "g"]
    with pytest.raises(DiagnosticError, match="defines 2 functions"):
        parse(text)


@pytest.mark.parametrize("value", ["T.int64(4)", "n + 1"])
def test_a_dimension_of_a_parameter_that_the_body_computes(value: str) -> None:
    body = f'S = {value}\nC = T.match_buffer(c, (S,), "float32")\nfor i in range(S):\n    C[i] = 1.0'
    found = one_mistake(body, "c: T.handle, n: T.int64")
    assert found.code == "T202" and "a dimension of a parameter, bound before the body" in found.message
    assert found.span is not None and found.span.text == f"S = {value}" and "`S = T.int64()`" in str(found.hint)


INFINITE = 'an infinity is `float("inf")`; `T.float64(...)` holds greater numbers'
NO_INFINITY = 'it has no infinity: `T.min_value("float8_e4m3fn")` is the least value'
ABOVE_0 = "float8_e8m0fnu holds numbers above 0 alone; `T.float32(...)` holds others"
LEAST = 'it has no infinity: `T.min_value("float8_e4m3fn")` is the least value; `T.float64(...)` holds greater numbers'


@pytest.mark.parametrize(
    ("body", "place", "words", "hint"),
    [
        ("A[0] = 1e39", "1e39", "1e+39 does not fit float32: it would be inf", INFINITE),
        (
            "A[0] = A[1] * -1e39",
            "-1e39",
            "-1e+39 does not fit float32: it would be -inf",
            INFINITE.replace('inf")', '-inf")'),
        ),
        ("if A[0] > 1e40:\n    A[0] = 0.0", "1e40", "1e+40 does not fit float32", INFINITE),
        ("A[0] = T.float32(1e300)", "1e300", "1e+300 does not fit float32", INFINITE),
        ("A[0] = T.float16(70000)", "70000", "70000 does not fit float16: it would be inf", INFINITE),
        ("x = T.float16(0)\nx = 70000", "70000", "70000 does not fit float16: it would be inf", INFINITE),
        ("A[0] = T.float8_e4m3fn(-1000)", "-1000", "-1000 does not fit float8_e4m3fn: it would be nan", LEAST),
        ("x = T.float8_e4m3fn(0)\nx = -1000", "-1000", "-1000 does not fit float8_e4m3fn: it would be nan", LEAST),
        ("A[0] = T.float8_e8m0fnu(-1)", "-1", "-1 does not fit float8_e8m0fnu: it would be nan", ABOVE_0),
        ("x = T.float8_e8m0fnu(1)\nx = 0.0", "0.0", "0.0 does not fit float8_e8m0fnu", ABOVE_0),
        ("A[0] = T.float64(10**400)", "10**400", "does not fit float64", 'an infinity is `float("inf")`'),
        ('A[0] = T.Cast("float64", 1e300).astype("float32")', 'T.Cast("float64", 1e300)', "not fit float32", INFINITE),
        ("A[0] = 10**39", "10**39", "does not fit float32", INFINITE),
        ('A[0] = T.float8_e4m3fn(float("-inf"))', 'float("-inf")', "-inf does not fit float8_e4m3fn", NO_INFINITY),
        ('x = T.float8_e4m3fn(0)\nx = float("-inf")', 'float("-inf")', "it would be nan", NO_INFINITY),
    ],
)
def test_numbers_that_floats_do_not_hold(body: str, place: str, words: str, hint: str) -> None:
    found = one_mistake(body)
    assert found.span is not None and (found.code, found.span.text) == ("T103", place)
    assert words in found.message and found.hint == hint


@pytest.mark.parametrize("great", [np.float32(1e30), ml_dtypes.bfloat16(1e30), ml_dtypes.float8_e8m0fnu(2.0**100)])
def test_numbers_of_numpy_that_floats_do_not_hold(great: object) -> None:
    with pytest.raises(DiagnosticError, match=r"e\+30 does not fit float16: it would be inf"):
        parse(body_text("A[0] = T.float32(T.float16(great))"), names={"great": great})
    with pytest.raises(DiagnosticError, match=r"e\+30 does not fit float16: it would be inf"):

        @T.prim_func
        def kernel(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(T.float16(great))

    with pytest.raises(DiagnosticError, match=r"e\+30 does not fit float16: it would be inf"):
        T.float16(great)


def test_infinities_of_types_without_one_are_refused_in_python_too() -> None:
    with pytest.raises(DiagnosticError, match="inf does not fit float8_e4m3fn: it would be nan"):
        T.float8_e4m3fn(float("inf"))
    assert T.float8_e5m2(float("inf")).value == float("inf") and T.float16(np.float32(0.5)).value == 0.5


def test_infinities_and_casts_of_great_numbers_are_as_they_are_written() -> None:
    parse(
        "@T.prim_func\n"
        "def f(A: T.Buffer((4,), 'float32'), D: T.Buffer((4,), 'float64')):\n"
        "    A[0] = float('inf')\n    A[1] = T.float32('-inf')\n    A[2] = 3.4028235e38\n"
        "    D[0] = T.cast(1e300, 'float64')\n    D[1] = T.float64(1e300) * 1e8\n    D[2] = 1e308\n"
        "    A[3] = T.cast(1e6, 'float16')\n"
    )
