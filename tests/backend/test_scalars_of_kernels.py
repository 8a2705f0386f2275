"""What a tensor function returns to the graph function that calls it."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.testing import assert_round_trip

MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def count(state: T.Buffer((1,), "int64"), by: T.int64) -> T.int64:
        state[0] = state[0] + by
        return state[0]

    @T.prim_func
    def first(A: T.Buffer(("n",), "float32")) -> T.float32:
        return A[0]

    @T.prim_func
    def clear(A: T.Buffer((1,), "int64")):
        A[0] = 0

    @G.graph_func(pure=False)
    def main(x: G.Tensor(("n",), "float32"), state: G.Tensor((1,), "int64")):
        cls = M
        n = T.int64()
        a = cls.count(state, n)
        b = cls.count(state, n)
        c = cls.first(x)
        cls.count(state, a)
        y = G.full((a, b), c)
        return a, b, c, G.sum(y), x * c

    @G.graph_func(pure=False)
    def empty(state: G.Tensor((1,), "int64")):
        cls = M
        return cls.clear(state)
"""


def test_a_scalar_is_the_value_of_the_call() -> None:
    program = tirscript.parse(MODULE)
    assert_round_trip(program)
    assert 'a: G.Prim("int64") = M.count(state, G.prim_value(n))' in program.script()
    x = np.array([2.5, 1.0, 4.0], "float32")
    for make in (lambda: tirscript.build(program), lambda: None):
        function = make()
        state = np.array([10], "int64")
        a, b, c, y, z = function(x, state) if function is not None else tirscript.interpret(program, x, state)
        assert (a, b, c, int(state[0])) == (13, 16, 2.5, 29)
        assert y == 13 * 16 * 2.5 and (z == x * 2.5).all()


def test_one_that_returns_nothing_gives_an_empty_tuple() -> None:
    program = tirscript.parse(MODULE)
    state = np.array([10], "int64")
    assert tirscript.build(program)["empty"](state) == ()
    assert state[0] == 0


def test_in_a_pure_function_the_way_out_is_to_say_that_it_has_effects() -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(MODULE.replace("(pure=False)\n    def main", "\n    def main"))
    assert {one.code for one in caught.value.diagnostics} == {"T216"}
    assert all("pure=False" in str(one.hint) for one in caught.value.diagnostics)


def test_a_match_that_fails_says_the_same_from_native_code_and_from_the_interpreter() -> None:
    program = tirscript.parse(
        '@G.graph_func\ndef main(x: G.Tensor(("n",), "float32"), k: G.Prim("int64")):\n'
        '    return G.match_cast(x, G.Tensor((k + 1,), "float32"))\n'
    )
    x = np.ones(3, "float32")
    for run in (tirscript.build(program), lambda *args: tirscript.interpret(program, *args)):
        assert (run(x, 2) == x).all()
        with pytest.raises((DiagnosticError, AssertionError)) as caught:
            run(x, 5)
        assert "dimension 0 of the value of `G.match_cast`: expected `k + 1`" in str(caught.value)
        assert "G.match_cast(x, G.Tensor((k + 1,)" in str(caught.value)


FALLS_THROUGH = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), most: T.int32) -> T.int32:
        for i in range(4):
            if A[i] > most:
                return M.halved(A[i])

    @T.prim_func(private=True)
    def halved(x: T.int32) -> T.int32:
        if x % 2 == 0:
            return x // 2
"""


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_function_that_comes_to_its_end_returns_nothing(target: str) -> None:
    """It returned what was in memory."""
    program = tirscript.parse(FALLS_THROUGH)
    native = tirscript.build(program, target=target)
    values = np.array([1, 2, 8, 9], "int32")
    assert native(values, 2) == tirscript.interpret(program, values, 2) == 4
    for most, name in ((9, "main"), (8, "halved")):
        said = f"`{name}` returns int32, but its end was reached without `return`"
        with pytest.raises((tirscript.DiagnosticError, AssertionError), match=said):
            native(values, most)
        with pytest.raises(tirscript.DiagnosticError, match=said):
            tirscript.interpret(program, values, most)


def test_ways_that_all_return_check_nothing() -> None:
    text = "@T.prim_func\ndef f(n: T.int32) -> T.int32:\n    if n > 3:\n        return 3\n    else:\n        return n\n"
    program = tirscript.parse(text)
    native = tirscript.build(program)
    assert (native(2), native(7)) == (2, 3)
    source = tirscript.build(program, target="c").source()
    assert "its end was reached" not in source
