"""Asserts that programs compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.script import HEADER, function
from hypothesis import given, settings

import tirscript
from tirscript.backend.default_pipeline import default_pipeline
from tirscript.ir import Module, PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import parse
from tirscript.testing import assert_same_result, copies, inputs_for, programs
from tirscript.testing.draw import Arguments


def differ(a: Any, b: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_same_result(a, b, **options)
    return str(caught.value)


def loop(body: str, params: str = 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")') -> PrimFunc:
    return function(f"for i in range(n):\n    {body}", params)


def test_the_same_by_other_means() -> None:
    assert_same_result(loop("B[i] = A[i] * 2.0"), loop("B[i] = A[i] + A[i]"))
    assert_same_result(loop("B[i] = A[i] * 3.0"), loop("B[i] = A[i] + A[i] + A[i]"))
    assert_same_result(function("return n * 2", returns=" -> T.int32"), function("return n + n", returns=" -> T.int32"))


@pytest.mark.parametrize("kind", ["float32x3", "int8x4", "bfloat16x2", "boolx4"])
def test_elements_that_are_vectors(kind: str) -> None:
    params = f'A: T.Buffer(("n",), "{kind}"), B: T.Buffer(("n",), "{kind}")'
    copied = loop("B[i] = A[i]", params)
    assert_same_result(copied, loop("B[n - 1 - i] = A[n - 1 - i]", params))
    assert "leaves another value" in differ(copied, loop("B[n - 1 - i] = A[i]", params))

    @settings(max_examples=5, database=None, deadline=None)
    @given(inputs_for(copied))
    def drawn(arguments: list[Any]) -> None:
        tirscript.interpret(copied, *arguments)
        assert arguments[0].shape[1] == int(kind[-1])

    drawn()


def test_another_value_is_told_with_its_element() -> None:
    one = loop("B[i] = A[i] * 2.0")
    text = differ(one, function("for i in range(n):\n    B[i] = A[i] * 2.0\nB[0] = 7.0", one_params()))
    assert "`b`, interpreted, leaves another value than `a`, interpreted, in argument 1: [0] is " in text
    assert "np.float32(7.0) instead of np.float32(" in text
    assert "(1 of " in text
    assert "the arguments were float32[" in text and "+    B[0] = 7.0" in text


def one_params() -> str:
    return 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")'


def test_another_return_value() -> None:
    one, other = (function(f"return n + {k}", returns=" -> T.int32") for k in (1, 2))
    assert "`b`, interpreted, returns" in differ(one, other)


def test_a_failure_of_one_of_both() -> None:
    one = loop("B[i] = A[i]")
    other = function("for i in range(n):\n    B[i] = A[i + 1]", one_params())
    assert "`b`, interpreted, fails where `a`, interpreted, does not:\n" in differ(one, other)
    assert "out of bounds" in differ(one, other)
    stops = function('assert A[0] == A[1], "no"\nfor i in range(n):\n    B[i] = A[i]', one_params())
    assert "no" in differ(one, stops)


def test_native_code_is_run_too(monkeypatch: pytest.MonkeyPatch) -> None:
    one = function("A[0] = 1.0")
    other = one.replace(docstring="natively wrong")
    from tirscript.backend import build as module

    build = module.build
    wrong = function("A[0] = 2.0")
    for program, name in ((one, "a"), (other, "b")):
        monkeypatch.setattr(
            module, "build", lambda x, program=program, **options: build(wrong if x is program else x, **options)
        )
        assert f"`{name}`, run natively, leaves another value" in differ(one, other)
        assert_same_result(one, other, native=False)


def test_tolerance_and_edges() -> None:
    params = 'A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")'
    forward = function("B[0] = 0.0\nfor i in range(64):\n    B[0] = B[0] + A[i]", params)
    backward = function("B[0] = 0.0\nfor i in range(64):\n    B[0] = B[0] + A[63 - i]", params)
    assert_same_result(forward, backward)
    assert "in argument 1" in differ(forward, backward, tolerance=0.0)
    doubled = loop("B[i] = A[i] + 0.0")
    assert_same_result(doubled, loop("B[i] = A[i]"), tolerance=0.0)
    zero, zeros = (function(f"for i in range(64):\n    A[i] = {value}", params) for value in ("A[i] - A[i]", "0.0"))
    assert "nan" in differ(zero, zeros, edges=True)
    assert_same_result(zero, zeros)


def test_integers_are_equal_or_not() -> None:
    params = 'A: T.Buffer((8,), "int64")'
    one, other = (function(f"A[0] = 9007199254740992 + {k}", params) for k in (0, 1))
    assert "in argument 0" in differ(one, other, tolerance=1.0)


def test_arguments_are_drawn_until_the_program_takes_them() -> None:
    gather = function(
        'for i in range(8):\n    B[i] = A[X[i]]\nassert m > 0, "positive"',
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), X: T.Buffer((8,), "int32"), m: T.int32',
    )
    assert_same_result(gather, DEFAULT_LOWERING(gather), runs=8)
    never = function("A[0] = A[T.min(n, -1)]")
    with pytest.raises(ValueError, match=r"none of the arguments that were tried: .*out of bounds.*; give arguments"):
        assert_same_result(never, never)


def test_given_arguments() -> None:
    given = []

    def inputs(rng: Any) -> list[Any]:
        given.append(rng.normal(size=3).astype("float32"))
        return [given[-1], np.zeros(3, "float32")]

    one = loop("B[i] = A[i] * 2.0")
    assert_same_result(one, loop("B[i] = A[i] + A[i]"), inputs=inputs, runs=2)
    assert len(given) == 2 and not np.array_equal(given[0], given[1])
    pointer = function("T.evaluate(0)", "p: T.handle")
    with pytest.raises(ValueError, match="`p` is a pointer to nothing known, which cannot be drawn; give arguments by"):
        assert_same_result(pointer, pointer)
    with pytest.raises(ValueError, match="runs is 0"):
        assert_same_result(one, one, runs=0)


MODULE = """@I.ir_module
class M:
    @T.prim_func
    def f(A: T.Buffer((4,), "int32")):
        A[0] = {0}

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[1] = {1}
"""


def test_modules_and_their_functions() -> None:
    def of(*numbers: int) -> Any:
        return parse(HEADER + MODULE.format(*numbers))

    assert_same_result(of(1, 2), of(3, 2))
    assert "[0] is np.int32(3) instead of np.int32(1)" in differ(of(1, 2), of(3, 2), entry="f")
    assert_same_result(of(1, 2), function("A[1] = 2", 'A: T.Buffer((4,), "int32")'))


def test_arrays_lie_as_the_parameters_say() -> None:
    """No array of numpy fitted them, and copies of those that were given did neither."""
    params = (
        'A: T.Buffer((4, 3), "float32", strides=(5, 1), align=128), B: T.Buffer((4, 3), "float32", strides=(1, 4)), '
        'C: T.Buffer((2,), "float32x4", strides=(2,))'
    )
    body = "for i, j in T.grid(4, 3):\n    A[i, j] = A[i, j] + B[i, j]\nC[0] = C[1]"
    func = function(body, params)
    assert_same_result(func, func)

    def given(rng: Any) -> list[Any]:
        return copies(Arguments(func, rng).draw())

    assert_same_result(func, func, inputs=given)


def test_sizes_of_symbols() -> None:
    func = function("A[0, 0] = 1.0", 'A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n - 4", "n * m // 2"), "int8")')
    for seed in range(5):
        a, b = Arguments(func, np.random.default_rng(seed)).draw()
        n, m = a.shape
        assert b.shape == (n - 4, n * m // 2) and min(b.shape) > 0 and 1 <= m <= 8


@settings(max_examples=8, deadline=None)
@given(programs())
def test_lowering_keeps_results(func: PrimFunc) -> None:
    try:
        assert_same_result(func, DEFAULT_LOWERING(func), runs=1)
    except ValueError as problem:  # asks for what the drawn arguments do not have
        assert "inputs=" in str(problem)


@pytest.mark.parametrize("edges", [False, True])
def test_scalars_of_every_kind_are_drawn(edges: bool) -> None:
    kinds = ["bool", "int8", "uint8", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]
    for kind in kinds:
        func = function("B[0] = x", f'x: T.{kind}, B: T.Buffer((1,), "{kind}")')
        assert_same_result(func, func, edges=edges, runs=2)


GRAPHS = (
    HEADER.replace("tir as T", "tir as T, graph as G")
    + """@I.ir_module
class M:
    @T.prim_func
    def more(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + 1.0

    @G.graph_func
    def main(
        x: G.Tensor((4,), "float32"),
        t: G.Tuple(G.Tensor(("n", 4), "float32"), G.Shape((3, "n"))),
        s: G.Prim("int64"),
    ):
        y = G.call_tir(M.more, (x,), out=G.Tensor((4,), "float32"))
        return (G.nn.relu(y), (G.add(t[0], y), y))
"""
)


def test_graph_functions_and_what_becomes_of_them() -> None:
    module, other = parse(GRAPHS), parse(GRAPHS.replace("1.0", "1.5"))
    assert_same_result(module, module, runs=1)
    assert_same_result(module, default_pipeline()(module), runs=1)
    for changed in (other, default_pipeline()(other)):
        assert "`b`, interpreted, returns (array(" in differ(module, changed, runs=1)
    doubled = (
        HEADER.replace("tir as T", "graph as G")
        + """@G.graph_func
def double(x: G.Tensor(("n",), "float32")):
    return G.add(x, x)
"""
    )
    assert_same_result(parse(doubled), parse(doubled), runs=1)
    unknown = parse(doubled.replace('("n",), "float32"', "ndim=1"))
    with pytest.raises(ValueError, match=r"the dtype of the parameter `x` is not known(.|\n)*by `inputs=`"):
        assert_same_result(unknown, unknown, native=False)


def in_place(step: int) -> Module:
    made = parse(f"""
from tirscript.script import ir as I, tir as T, graph as G

@I.ir_module
class M:
    @T.prim_func(private=True)
    def add(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + {step}.0

    @G.graph_func(pure=False)
    def main(pair: G.Tuple(G.Tensor((4,), "float32"), G.Tensor((4,), "float32"))):
        first = pair[0]
        M.add(first)
        return pair[1]
""")
    assert isinstance(made, Module)
    return made


def test_arrays_in_tuples_are_copied_and_compared() -> None:
    assert_same_result(in_place(1), in_place(1))
    with pytest.raises(AssertionError, match="leaves another value than `a`, interpreted, in argument 0"):
        assert_same_result(in_place(1), in_place(2))


@pytest.mark.parametrize(
    ("dim", "drawn"), [("n // (n - 1)", True), ("n % (n - n)", False), ("1 + n // (n - n)", False)]
)
def test_sizes_by_which_a_dimension_is_divided_are_not_zero(dim: str, drawn: bool) -> None:
    func = parse(
        "@T.prim_func\ndef f(a: T.handle):\n    n = T.int32()\n"
        f'    A = T.match_buffer(a, (n, {dim}), "int8")\n    A[0, 0] = T.int8(1)\n'
    )
    assert isinstance(func, PrimFunc)
    arguments = Arguments(func, np.random.default_rng(0))
    if drawn:
        assert arguments.draw()[0].shape[1] > 0
    else:
        with pytest.raises(ValueError, match="no sizes from 1 to 8"):
            arguments.draw()
