"""What is said of arguments: at the argument that is wrong, by the name that it has, with the way out."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirscript.ir.diagnostic import Diagnostic, DiagnosticError
from tirscript.ir.equal import structural_equal
from tirscript.script import parse
from tirscript.script import tir as T

THEIRS = "from tvm.script import tirx as T\n"


def mistake(text: str) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    return caught.value.diagnostics[0]


def of_body(body: str, head: str = "") -> Diagnostic:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return mistake(f'{head}@T.prim_func\ndef f(a: T.handle, A: T.Buffer((4,), "int32")):\n{lines}')


@pytest.mark.parametrize(
    ("body", "code", "underlined", "words"),
    [
        ('A[0] = T.cast(A[1], "flaot32")', "T109", '"flaot32"', "'flaot32' is not an element type"),
        ("A[0] = T.cast(A[1], 3)", "T109", "3", "3 is not an element type"),
        ('A[0] = T.cast(A[1], dtype="flaot32")', "T109", '"flaot32"', "'flaot32' is not an element type"),
        ('A[0] = T.reinterpret("flaot32", A[1])', "T109", '"flaot32"', "'flaot32' is not an element type"),
        ("T.evaluate(T.handle(A[0]))", "T109", "A[0]", "a value of the program is not an element type"),
        ("A[0] = T.Cast(A[1])", "T032", "T.Cast(A[1])", "wrong arguments for `T.Cast`: `value` is missing"),
        ("A[0] = T.abs(y=A[1])", "T032", "y=A[1]", "`T.abs` has no argument `y`; it takes `x`"),
        ("A[0] = T.abs(A[0], x=A[1])", "T032", "x=A[1]", "`T.abs`: `x` is given twice"),
        ("A[0] = T.max(A[1], a=2)", "T032", "a=2", "`T.max`: `a` is given twice"),
        ("A[0] = T.max(A[1], b=2, b=3)", "T032", "b=3", "`b` is given twice"),
        ("A[0] = T.max(a=A[1])", "T032", "T.max(a=A[1])", "`T.max`: `b` is missing"),
        ("A[0] = T.maximum(b=A[1])", "T032", "T.maximum(b=A[1])", "`T.maximum`: `a` is missing"),
        ("A[0] = T.add(lhs=A[0], rhs=A[1])", "T032", "lhs=A[0]", "`T.add` has no argument `lhs`; it takes `a`, `b`"),
        ('A[0] = T.max(**{"a": A[1]})', "T032", 'T.max(**{"a": A[1]})', "`T.max`: `b` is missing"),
        ('A[0] = T.max(A[0], **{"a": A[1]})', "T032", '**{"a": A[1]}', "`T.max`: `a` is given twice"),
        ("A[0] = T.max(*[A[0], A[1]], b=A[1])", "T032", "b=A[1]", "`T.max`: `b` is given twice"),
        ('A[0] = T.max(a=A[1], b="2")', "T104", '"2"', "`T.max` takes numbers, not a string"),
        (
            'B = T.match_buffer(a, (4,), "int32", elem_offset=99999999999999999999)\nB[0] = 1',
            "T103",
            "99999999999999999999",
            "`elem_offset` is too large for int64",
        ),
        (
            'B = T.match_buffer(a, (4,), "int32", strides=(1.5,))\nB[0] = 1',
            "T207",
            "(1.5,)",
            "a stride is a float, not an integer",
        ),
        (
            'B = T.match_buffer(a, (99999999999999999999,), "int32")\nB[0] = 1',
            "T103",
            "99999999999999999999",
            "a dimension is too large for int64",
        ),
        (
            'B = T.Buffer((4,), "int32")\nT.evaluate(B[1])',
            "T104",
            "B[1]",
            "`T.Buffer(...)` is the type of a parameter: it has no memory",
        ),
        (
            'for i in range(0, 4, 2):\n    with T.block("x"):\n        vi = T.axis.remap("S", [i])\n        A[vi] = 1',
            "T022",
            "[i]",
            "the loop over `i` counts by a step",
        ),
        *(
            (f'A[0] = T.{name}("{kind}")', "T109", None, f"{kind} has one value for each lane")
            for name in ("min_value", "max_value", "infinity")
            for kind in ("int32x4", "float32x4", "boolx4", "float32xvscalex4")
        ),
        ("A[0] = T.max[A[0], 1]", "T022", "T.max[A[0], 1]", "the function `T.max` is called, not indexed"),
        (
            "for i, j in T.grid[2, 2]:\n    A[i] = j",
            "T022",
            "T.grid[2, 2]",
            "the construct `T.grid` is called, not indexed",
        ),
        (
            'B = T.alloc_buffer[(4,), "int32"]\nB[0] = 1',
            "T022",
            'T.alloc_buffer[(4,), "int32"]',
            "the construct `T.alloc_buffer` is called, not indexed",
        ),
        (
            "for i in range(T.int8x4(A[0])):\n    A[i] = 1",
            "T112",
            "T.int8x4(A[0])",
            "the bound of a loop is int8x4, one value for each lane",
        ),
        ("for i in T.unroll(3, thrad=1):\n    A[i] = 1", "T032", "1", "an unroll loop takes no `thrad`"),
        ("h = T.handle(1, 2, 3)", "T032", "T.handle(1, 2, 3)", "`T.handle` takes an element type and a scope"),
        ('h = T.handle(dtype="int8", scop="x")', "T032", None, "`T.handle` takes an element type and a scope"),
        ('h = T.handle("int8", 3)', "T032", "3", "the scope of memory is a string"),
        ('A[0] = T.IntImm("int32", A[1])', "T032", None, "a value of the program is not a number"),
    ],
)
def test_the_argument_is_underlined(body: str, code: str, underlined: str | None, words: str) -> None:
    """`underlined` of None is the last call of the body."""
    found = of_body(body)
    expected = body[body.rindex("= T.") + 2 :] if underlined is None else underlined
    assert (found.code, found.labels[0].span.text) == (code, expected)
    assert words in found.message


@pytest.mark.parametrize(
    "call",
    [
        'T.max(**{"a": A[0], "b": 2})',
        'T.max(**{"b": 2}, a=A[0])',
        'T.max(A[0], **{"b": 2})',
        "T.max(*[A[0]], b=2)",
        'T.max(A[0], **{"b": 2}, dtype="int32")',
    ],
)
def test_arguments_of_an_operator_are_unpacked(call: str) -> None:
    """What `**` holds was taken for an argument of the name None."""
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = {}\n'
    assert structural_equal(parse(text.format(call)), parse(text.format("T.max(A[0], 2)")))
    text = '@G.graph_func\ndef f(x: G.Tensor((4, 4), "float32"), n: G.Prim("int64")):\n    return G.tril(x, {})\n'
    call = call.replace("int32", "int64").replace("A[0]", "n")
    assert structural_equal(parse(text.format(call)), parse(text.format("T.max(n, 2)")))


@pytest.mark.parametrize("name", ["int128", "uint128"])
def test_element_types_that_only_others_have(name: str) -> None:
    found = mistake(f'@T.prim_func\ndef f(A: T.Buffer((4,), "{name}")):\n    A[0] = A[1]\n')
    assert found.code == "T109" and found.labels[0].span.text == f'"{name}"'
    assert f"{name!r} is not supported: it is an integer of more than 64 bits" in found.message
    assert "float8_e4m3fn" in str(found.hint) and "did you mean" not in str(found.hint)
    found = mistake(f"@T.prim_func\ndef f(A: T.Buffer((4,), T.{name})):\n    A[0] = A[1]\n")
    assert found.code == "T021" and f"`T.{name}`, an integer of more than 64 bits" in found.message


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ('T.realize(A[0:4], "")', "TVM's old allocation of a part of a buffer"),
        ('T.call_kernel("f", [1])', "the launch of a GPU kernel that is given as source"),
    ],
)
def test_what_of_tvm_is_not_read(call: str, what: str) -> None:
    found = of_body(call, THEIRS)
    assert found.code == "T021" and what in found.message and "tile" not in found.message


def test_a_pointer_by_its_old_name() -> None:
    ours = parse(f"{THEIRS}@T.prim_func\ndef f(p: T.handle):\n    q: T.handle = p\n    T.evaluate(q)\n")
    theirs = f"{THEIRS}@T.prim_func\ndef f(p: T.buffer_var('int32', 'global')):\n    p_1 = T.Buffer((4,), data=p)\n    p_1[0] = 1\n"
    assert (
        parse(theirs).params[0].dtype.pointee is parse(theirs.replace("buffer_var", "handle")).params[0].dtype.pointee
    )
    assert ours.params[0].dtype.is_handle


def test_a_table_of_numpy_has_no_element_at_a_loop_variable() -> None:
    table = np.arange(16).reshape(4, 4)
    with pytest.raises(DiagnosticError) as caught:

        @T.prim_func
        def kernel(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = table[i, 0]

    (found,) = caught.value.diagnostics
    assert found.code == "T033" and "a numpy array is indexed while parsing" in found.message
    assert 'T.allocate_const(table, "int64", (4, 4))' in str(found.hint)

    @T.prim_func
    def constant(A: T.Buffer((4,), "int32")):
        A[0] = table[1, 2]

    assert "A[0] = 6" in constant.script()


def test_a_text_takes_elements_of_arrays_that_it_is_given() -> None:
    names = {"table": np.arange(6, dtype="float32").reshape(2, 3), "scale": ml_dtypes.bfloat16(2)}

    def body(line: str) -> Any:
        return parse(f"@T.prim_func\ndef f(A: T.Buffer((4,))):\n    {line}\n", names=names)

    assert "A[0] = 7.0" in body("A[0] = table[0, 2] + table[1][1] / scale + table[-1, -2] - 1").script()
    for line, code, words in (
        ("A[0] = table[2, 0]", "T033", "index 2 is out of bounds"),
        ("A[0] = table[1]", "T104", "a numpy array is not a value of the program"),
        ("A[0] = table[[0, 1]]", "T003", "a numpy array takes no part in parse-time Python"),
        ("A[0] = table.sum()", "T003", "`sum` is not available"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            body(line)
        assert caught.value.diagnostics[0].code == code and words in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("annotation", "code", "underlined", "words"),
    [
        ("T.broadcast(T, 4)", "T104", "T.broadcast(T, 4)", "the namespace `T` is not a value of the program"),
        ('T.handle("int8", -1)', "T032", "-1", "the scope of memory is a string"),
        ("T.Buffer((4,), shape=(5,))", "T032", "(5,)", "`shape` is given twice of `T.Buffer`"),
        ('T.Buffer((4,), "int8", T)', "T032", "T", "the memory of a parameter is its caller's: it takes no `data`"),
        ('T.Buffer((4,), "int8", "shared")', "T032", '"shared"', "it takes no `data`"),
        ('T.Buffer((4,), "int8", None, T)', "T032", "T", "`strides` of `T.Buffer` is the namespace `T`, not a tuple"),
        ('T.Buffer((4,), "int8", strides="ab")', "T032", '"ab"', "the strides of a buffer are a tuple, not a str"),
        (
            'T.Buffer((4,), "int16", byte_offset=3)',
            "T033",
            'T.Buffer((4,), "int16", byte_offset=3)',
            "3 bytes are no whole number of int16",
        ),
        ("T.Buffer(4, axis_separators=1)", "T032", "1", "`axis_separators` of `T.Buffer` is a Python int, not a tuple"),
    ],
)
def test_an_annotation_is_underlined_where_it_is_wrong(annotation: str, code: str, underlined: str, words: str) -> None:
    found = mistake(f"@T.prim_func\ndef f(a: {annotation}):\n    T.evaluate(0)\n")
    assert (found.code, found.labels[0].span.text) == (code, underlined)
    assert words in found.message


@pytest.mark.parametrize(
    ("loop", "underlined", "words", "hint"),
    [
        ('i, j in T.grid("n", 4)', '"n"', "a Python str", "in the body it is a name, without quotes: `n`"),
        ('i in range("n")', '"n"', "a Python str", "in the body it is a name, without quotes: `n`"),
        ('i in range("m")', '"m"', "a Python str", None),
        ("i in range(A.shape)", "A.shape", "a Python tuple", "one dimension of it is `A.shape[0]`"),
        (
            "i in range((4, 4))",
            "(4, 4)",
            "a Python tuple",
            "loops over each of several extents are `T.grid(4, 4)`",
        ),
        (
            "i in range([*A.shape, 4])",
            "[*A.shape, 4]",
            "a Python list",
            "loops over each of several extents are `T.grid(*A.shape, 4)`",
        ),
        ('i, j in T.grid(*["n", 4])', '*["n", 4]', "a Python str", "in the body it is a name, without quotes: `n`"),
        ("i, j in T.grid(4, A[0])", "A[0]", "float32", 'cast it: `A[0].astype("int32")`'),
        ("i, j in T.grid(True, 4)", "True", "a Python bool", None),
    ],
)
def test_bounds_that_are_no_integers(loop: str, underlined: str, words: str, hint: str | None) -> None:
    """Those of `T.grid` were called an index."""
    found = mistake(f'@T.prim_func\ndef f(A: T.Buffer(("n",), "float32")):\n    for {loop}:\n        A[0] = 1\n')
    assert (found.code, found.message, found.hint) == ("T112", f"the bound of a loop is {words}, not an integer", hint)
    assert found.labels[0].span.text.lstrip("*") == underlined.lstrip("*")


def test_an_argument_of_another_function_is_told_as_one() -> None:
    """Not as the parameter, which has the dtype that the function says."""
    found = mistake(
        "@I.ir_module\nclass M:\n    @T.prim_func\n    def g(k: T.int64):\n        T.evaluate(k)\n\n"
        "    @T.prim_func\n    def main():\n        M.g(1.0)\n"
    )
    assert found.message == "the argument for `k` is the float 1.0, but its place holds int64"
