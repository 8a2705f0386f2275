"""Equality up to names, all differences with their paths, and hashes that agree."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tests.helpers.script import HEADER, body_text, function
from tirscript.ir import (
    Attrs,
    Bind,
    Block,
    Buffer,
    BufferRegion,
    BufferStore,
    Const,
    Evaluate,
    For,
    MatchBuffer,
    Node,
    PrimFunc,
    Range,
    Var,
    const,
    differences,
    dtype,
    structural_equal,
    structural_hash,
)
from tirscript.ir.digest import structural_digest
from tirscript.script import parse

MATMUL = """
@T.prim_func
def matmul({A}: T.Buffer((8, "n"), "float32"), {B}: T.Buffer(("n", 8), "float32"), {C}: T.Buffer((8, 8), "float32")):
    for {i}, {j}, {k} in T.grid(8, 8, n):
        with T.block("update"):
            v{i}, v{j}, v{k} = T.axis.remap("SSR", [{i}, {j}, {k}])
            with T.init():
                {C}[v{i}, v{j}] = 0.0
            {C}[v{i}, v{j}] = {C}[v{i}, v{j}] + {A}[v{i}, v{k}] * {B}[v{k}, v{j}]
"""
NAMES = {name: name for name in "ABCijk"}
OTHER = dict(zip("ABCijk", "XYZabc"))


def matmul(**names: str) -> PrimFunc:
    found = parse(HEADER + MATMUL.format(**{**NAMES, **names}))
    assert isinstance(found, PrimFunc)
    return found


def same(a: Any, b: Any, **options: Any) -> bool:
    """Equality, checked to agree with the list of differences and with the hashes."""
    equal = structural_equal(a, b, **options)
    assert structural_equal(b, a, **options) == equal
    assert (differences(a, b, **options) == []) == equal
    if equal and not options:
        assert structural_hash(a) == structural_hash(b)
    if not options and isinstance(a, Node) and isinstance(b, Node):
        digests = structural_digest(a), structural_digest(b)
        assert (digests[0] == digests[1]) == equal or None in digests
    return equal


def test_names_do_not_count() -> None:
    assert same(matmul(), matmul(**OTHER))
    assert same(matmul(), matmul(i="j", j="i"))


def test_exact_equality_knows_names() -> None:
    f, g = matmul(), matmul()
    assert f == f
    assert f != g
    assert hash(f) == hash(f.replace(span=None, docstring="x"))
    assert f == f.replace(span=None, docstring="x", trivia=None)
    assert f != f.replace(name="other")
    assert f != "f"
    assert (f.params[0] == g.params[0]) is False


def test_swapped_variables_differ() -> None:
    one = function("for i, j in T.grid(4, 4):\n    B[i, j] = 0.0")
    two = function("for i, j in T.grid(4, 4):\n    B[j, i] = 0.0")
    assert not same(one, two)
    first, second = differences(one, two)
    assert first.path == "body[0].body[0].body[0].indices[0]"
    assert first.reason == "`i` against `j`: elsewhere the counterpart is `i`"
    assert second.path == "body[0].body[0].body[0].indices[1]"
    assert first.spans[0] is not None


def test_one_variable_for_two_differs() -> None:
    one = function("for i in range(4):\n    for j in range(4):\n        B[i, j] = 0.0")
    two = function("for i in range(4):\n    for j in range(4):\n        B[i, i] = 0.0")
    assert not same(one, two)


def test_free_names() -> None:
    x, y = Var(name="x"), Var(name="y")
    assert same(x + 1, x + 1)
    assert not same(x + 1, y + 1)
    assert same(x + 1, y + 1, map_free_vars=True)
    assert not same(x + x, y + x, map_free_vars=True)
    assert not same(x + y, x + x, map_free_vars=True)
    assert not same(x, Var(name="x", dtype=dtype("int64")), map_free_vars=True)
    a, b = Buffer(name="A", shape=(x,)), Buffer(name="B", shape=(y,))
    assert not same(a, b)
    assert same(a, b, map_free_vars=True)
    assert not same(a, b.replace(shape=(const(4),)), map_free_vars=True)


def test_a_free_name_is_not_a_bound_one() -> None:
    x, y = Var(name="x"), Var(name="y")
    one = (Bind(var=x, value=const(1)), Evaluate(value=y + 1))
    two = (Bind(var=y, value=const(1)), Evaluate(value=y + 1))
    assert not same(one, two)
    assert same(one, (Bind(var=Var(name="z"), value=const(1)), Evaluate(value=y + 1)))


def test_bound_dtypes_shapes_and_kinds_count() -> None:
    def with_var(var: Any) -> Bind:
        return Bind(var=var, value=const(1))

    assert not same(with_var(Var(name="x")), with_var(Var(name="x", dtype=dtype("int64"))))
    one = function('x = T.alloc_buffer((4,), "float32")\nx[0] = 1.0')
    for other in ('x = T.alloc_buffer((5,), "float32")', 'x = T.alloc_buffer((4,), "float32", scope="local")'):
        assert not same(one, function(f"{other}\nx[0] = 1.0"))
    by_axis = [
        function(f'for i in range(4):\n    with T.block("b"):\n        vi = T.axis.{kind}(4, i)\n        A[vi] = 1.0')
        for kind in ("spatial", "reduce")
    ]
    assert not same(*by_axis)


def test_symbols() -> None:
    def of(shape: str) -> PrimFunc:
        return function("A[0, 0] = 1.0", f"A: T.Buffer({shape}, 'float32')")

    assert same(of('("n", "m")'), of('("a", "b")'))
    assert not same(of('("n", "m")'), of('("n", "n")'))
    assert not same(of('("n", "n")'), of('("n", "m")'))
    assert not same(of('("n", "n * 2")'), of('("n", "n * 3")'))
    assert "symbolic dimensions: `n` `m` against `n`" in {
        each.reason for each in differences(of('("n", "m")'), of('("n", "n")'))
    }


def test_parameters() -> None:
    one = function("A[0] = 1.0", 'A: T.Buffer(("n",), "float32"), n: T.int64')
    assert same(one, function("B[0] = 1.0", 'B: T.Buffer(("k",), "float32"), k: T.int64'))
    assert not same(one, function("A[0] = 1.0", 'A: T.Buffer(("n",), "float32"), m: T.int64'))
    assert not same(one, function("A[0] = 1.0", 'A: T.Buffer(("n",), "float32")'))


def test_matched_regions_name_their_strides() -> None:
    def program(name: str) -> PrimFunc:
        stride = Var(name=name)
        a = Buffer(name="A", shape=(const(16),))
        part = Buffer(name="P", shape=(const(4),), strides=(stride,))
        region = BufferRegion(buffer=a, ranges=(Range(start=const(0), stop=const(4)),))
        body = (
            MatchBuffer(buffer=part, source=region),
            BufferStore(buffer=part, indices=(const(0),), value=const(1.0)),
            Evaluate(value=stride + 1),
        )
        return PrimFunc(name="f", params=(a,), body=body)

    assert same(program("s"), program("t"))


ZEROS = [
    (0.0, 0.0, True),
    (0.0, -0.0, False),
    (float("nan"), float("nan"), True),
    (1.0, 1.5, False),
    (float("inf"), float("inf"), True),
]


@pytest.mark.parametrize(("p", "q", "equal"), ZEROS)
def test_constants(p: float, q: float, equal: bool) -> None:
    assert same(const(p), const(q)) is equal
    assert (const(p) == const(q)) is equal
    if equal:
        assert hash(const(p)) == hash(const(q))
    assert same(Attrs({"a": p}), Attrs({"a": q})) is equal


def test_constants_of_other_dtypes() -> None:
    assert not same(const(1), const(1, "int64"))
    assert not same(const(1), const(True))
    assert not same(const(0), const(False))
    assert not same(const(0), const(0.0))


def test_attributes() -> None:
    def of(**attrs: Any) -> PrimFunc:
        x = Var(name="x")
        values = {key: value(x) if callable(value) else value for key, value in attrs.items()}
        return PrimFunc(name="f", params=(x,), body=(), attrs=Attrs(values))

    assert same(of(a=[1, {"b": 2}]), of(a=(1, {"b": 2})))
    assert same(of(a=1, b=2), of(b=2, a=1))
    assert same(of(a=lambda x: [x + 1]), of(a=lambda x: [x + 1]))
    for other in (
        of(a=[2, {"b": 2}]),
        of(a=[1]),
        of(a=[1, {"c": 2}]),
        of(),
        of(a=[1, {"b": 2}], b=1),
        of(a=lambda x: [1, x]),
        of(a=[True, {"b": 2}]),
    ):
        assert not same(of(a=[1, {"b": 2}]), other)
    (each,) = differences(of(a=[1, {"b": 2}]), of(a=[1, {"b": 3}]))
    assert (each.path, each.reason, str(each)) == (
        "attrs['a'][1]['b']",
        "2 against 3",
        "attrs['a'][1]['b']: 2 against 3",
    )
    only_left, only_right = differences(of(a=1), of(b=1))
    assert (only_left.path, only_left.reason) == ("attrs['a']", "only the left has it")
    assert (only_right.path, only_right.reason) == ("attrs['b']", "only the right has it")


def test_all_differences() -> None:
    one = function("A[0] = 1.0\nfor i in range(4):\n    A[i] = A[i] + 1.0\nA[1] = 2.0")
    two = function("A[0] = 2.0\nfor i in T.parallel(5):\n    A[i] = A[i] * 1.0\nX[1] = 2")
    found = differences(one, two)
    assert [each.path for each in found] == [
        "body[0].value",
        "body[1].kind",
        "body[1].stop",
        "body[1].body[0].value.op",
        "body[2].buffer",
        "body[2].value",
    ]
    assert [each.reason for each in found][1:4] == [
        "'serial' against 'parallel'",
        "Const `4` against Const `5`",
        "<op add> against <op mul>",
    ]
    assert len(differences(one, two, limit=2)) == 2


def test_differences_of_kinds_and_numbers() -> None:
    one, two = function("A[0] = 1.0\nA[1] = 1.0"), function("A[0] = 1.0")
    (each,) = differences(one, two)
    assert (each.path, each.right_path) == ("body[1]", "body")
    assert each.reason == "only the left has BufferStore `A[1] = 1.0`"
    (each,) = differences(function("return"), function("T.evaluate(n)"))
    assert each.path == "body[0]"
    assert each.reason == "Return `return` against Evaluate `T.evaluate(n)`"
    one = Block(name="b", axes=(), body=(), predicate=Var(name="p", dtype=dtype("bool")))
    (each,) = differences(one, Block(name="b", axes=(), body=()))
    assert (each.path, each.reason) == ("predicate", "Var `p` against nothing")
    (each,) = differences(const(1), Var(name="x"))
    assert str(each) == ".: Const `1` against Var `x`"


def test_what_is_inserted_shifts_nothing() -> None:
    one = function("A[0] = 1.0\nfor i in range(4):\n    A[i] = A[i] + 1.0\nA[1] = 2.0")
    two = function("X[0] = 1\nA[0] = 1.0\nX[1] = 2\nfor j in range(4):\n    A[j] = A[j] + 3.0\nA[1] = 2.0")
    found = differences(one, two)
    assert [(each.path, each.right_path, each.reason) for each in found] == [
        ("body", "body[0]", "only the right has BufferStore `X[0] = 1`"),
        ("body", "body[2]", "only the right has BufferStore `X[1] = 2`"),
        (
            "body[1].body[0].value.args[1]",
            "body[3].body[0].value.args[1]",
            "Const `T.float32(1.0)` against Const `T.float32(3.0)`",
        ),
    ]
    back = differences(two, one)
    assert [(each.path, each.right_path) for each in back] == [(each.right_path, each.path) for each in found]
    assert [each.left for each in back] == [each.right for each in found]


def test_what_is_removed_among_its_like_is_told_by_what_it_holds() -> None:
    one, two = function("A[0] = 1.0\nA[1] = 2.0\nA[2] = 3.0"), function("A[1] = 2.0\nA[2] = 3.0")
    (each,) = differences(one, two)
    assert (each.path, each.reason) == ("body[0]", "only the left has BufferStore `A[0] = 1.0`")


def test_a_dtype_that_follows_from_the_operands_is_told_once() -> None:
    def of(kind: str) -> PrimFunc:
        return function("A[0] = T.cast(y * y + y, 'float64')", f"A: T.Buffer((4,), 'float64'), y: T.{kind}")

    assert [str(each) for each in differences(of("float32"), of("float16"))] == [
        "params[1].dtype: float32 against float16"
    ]


MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def {0}(A: T.Buffer((4,), "int32")):
        A[0] = 1

    @T.prim_func
    def {1}(A: T.Buffer((4,), "int32")):
        A[1] = 2
"""


def test_functions_of_modules_are_compared_by_name() -> None:
    def of(first: str, second: str, text: str = MODULE) -> Any:
        return parse(HEADER + text.format(first, second))

    assert same(of("f", "g"), of("f", "g"))
    assert not same(of("f", "g"), of("f", "h"))
    assert [str(each) for each in differences(of("f", "g"), of("f", "h"))] == [
        "g: only the left has this function",
        "h: only the right has this function",
    ]
    (each,) = differences(of("f", "g"), of("f", "g", MODULE.replace("= 2", "= 3")))
    assert str(each) == "g.body[0].value: Const `2` against Const `3`"
    swapped = of("f", "g")
    swapped = swapped.replace(functions=swapped.functions[::-1])
    assert not same(of("f", "g"), swapped)
    (each,) = differences(of("f", "g"), swapped)
    assert str(each) == "functions: in the order f, g against g, f"


def test_tuples_and_values() -> None:
    assert structural_equal((const(1), const(2)), (const(1), const(2)))
    assert not structural_equal((const(1),), (const(1), const(2)))
    assert structural_equal(Attrs(), Attrs())
    with pytest.raises(
        TypeError, match=r"structural_equal\(\) takes a program \(Node\), .* not a str; did you mean parse"
    ):
        structural_equal(const(1), "x")  # type: ignore[arg-type]


def test_equality_with_itself_needs_no_identity_of_spans() -> None:
    text = body_text("A[0] = 1.0")
    assert same(parse(text), parse("\n\n" + text))


DEEP = """
from tirscript.ir import *

def nest(var):
    value, add = var, get_op("add")
    for _ in range(100_000):
        value = Call(op=add, args=(value, const(1)), dtype=value.dtype)
    return value

x = Var(name="x")
a, b = nest(x), nest(x)
assert structural_equal(a, b)
assert structural_hash(a) == structural_hash(b)
assert a == b
assert not structural_equal(a, nest(Var(name="y")))
assert sum(1 for _ in walk(a)) == 200_001
assert verify(PrimFunc(name="f", params=(x,), body=(Evaluate(value=a),))) == []
"""


def test_deep() -> None:
    """100,000 levels, in a process whose functions are not wrapped for checking."""
    path = os.pathsep.join(map(str, tirscript.__path__)) + "/.."
    result = subprocess.run(
        [sys.executable, "-c", DEEP], env={"PYTHONPATH": path, "TIRSCRIPT_CHECK": "0"}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr[-2000:]


SHAPES = st.recursive(
    st.sampled_from(["i", "n"]),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(SHAPES, SHAPES)
def test_equality_follows_the_text(left: str, right: str) -> None:
    """Two bodies are equal where their text is, whatever the names."""

    def of(text: str, i: str, n: str) -> PrimFunc:
        body = f"for {i} in range(4):\n    X[{i}] = ({text}) + {n}".replace("i)", f"{i})")
        renamed = text.replace("n", "\0").replace("i", i).replace("\0", n)
        return function(
            f"for {i} in range(4):\n    X[{i}] = {renamed} + {n}", f'X: T.Buffer((16,), "int32"), {n}: T.int32'
        )

    assert same(of(left, "i", "n"), of(right, "k", "m")) == (left == right)


def test_for_and_extent() -> None:
    assert For(var=Var(name="i"), start=const(2), stop=const(6), body=()).extent == const(4)
    stop = Var(name="n")
    assert For(var=Var(name="i"), start=const(0), stop=stop, body=()).extent is stop
    assert structural_equal(For(var=Var(name="i"), start=const(1), stop=stop, body=()).extent, stop - 1)
    assert isinstance(const(1), Const)
