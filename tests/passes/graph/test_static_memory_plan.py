"""The arena of a function's temporaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import const
from tirscript.passes import Sequential
from tirscript.passes.arenas import ALIGN
from tirscript.passes.graph.static_memory_plan import Lifetime, lifetimes, plan, static_memory_plan
from tirscript.script import parse

MODULE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def addone(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(100):
            B[i] = A[i] + 1.0

    @T.prim_func(private=True)
    def add(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32"), C: T.Buffer((100,), "float32")):
        for i in range(100):
            C[i] = A[i] + B[i]

    @T.prim_func
    def main(x: T.Buffer((100,), "float32"), y: T.Buffer((100,), "float32"), n: T.int32):
        a = T.alloc_buffer((100,), "float32")
        M.addone(x, a)
        b = T.alloc_buffer((100,), "float32")
        M.addone(a, b)
        c = T.alloc_buffer((100,), "float32")
        view = T.decl_buffer((10, 10), "float32", data=b.data)
        M.add(a, b, c)
        d = T.alloc_buffer((100,), "float32")
        M.addone(c, d)
        e = T.alloc_buffer((n,), "float32")
        M.add(d, c, y)
        y[0] = view[0, 0]
"""


def test_temporaries_share_memory_where_they_are_not_alive_at_once() -> None:
    module = parse(MODULE)
    found = {one.buffer.name: (one.first, one.last) for one in lifetimes(module["main"])}
    assert found == {"a": (1, 6), "b": (3, 11), "c": (6, 10), "d": (8, 10)}  # `view` keeps `b` alive
    made = plan(lifetimes(module["main"]))
    assert {buffer.name: at for buffer, at in made.offsets.items()} == {"a": 0, "b": 448, "c": 896, "d": 0}
    assert (made.total, made.separate, made.live) == (3 * 448, 4 * 448, 3 * 448)
    planned = static_memory_plan(module)
    text = planned["main"].script()
    assert 'arena = T.alloc_buffer((1344,), "uint8", align=64)' in text
    assert 'c = T.decl_buffer((100,), "float32", data=T.address_of(arena[896]))' in text
    assert 'e = T.alloc_buffer((n,), "float32")' in text
    x = np.arange(100, dtype="float32")
    expected = 2 * x + 3 + 2 * x + 4
    expected[0] = 2
    for run in (tirscript.interpret, lambda m, *args: tirscript.build(m)["main"](*args)):
        y = np.zeros(100, "float32")
        run(planned, x, y, 7)
        np.testing.assert_array_equal(y, expected)


def test_one_temporary_stays_as_it_is() -> None:
    func = parse(
        "@T.prim_func\ndef f(x: T.Buffer((4,))):\n    a = T.alloc_buffer((4,))\n    a[0] = x[0]\n    x[1] = a[0]\n"
    )
    assert static_memory_plan(func) is func


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 12), st.integers(0, 6)), max_size=20))
def test_no_two_that_are_alive_at_once_overlap(drawn: list[tuple[int, int, int]]) -> None:
    given_ = [
        Lifetime(Buffer(f"b{at}", (const(size),)), size, first, first + length)
        for at, (size, first, length) in enumerate(drawn)
    ]
    made = plan(given_)
    for one in given_:
        start = made.offsets[one.buffer]
        assert start % ALIGN == 0
        assert start + one.bytes <= made.total
        for other in given_:
            if other is not one and other.first <= one.last and one.first <= other.last and other.bytes and one.bytes:
                there = made.offsets[other.buffer]
                assert start + one.bytes <= there or there + other.bytes <= start
    assert made.live <= made.total <= made.separate


BOUNDED = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32"), w: G.Tensor((4, 4), "float32")):
        G.func_attr({"tir_var_upper_bound": {"n": 8, "other": 3}})
        with G.dataflow():
            a = G.matmul(x, w)
            b = G.matmul(a, w)
            c = G.concat((b, b, x), axis=0)
            d = G.matmul(c, w)
            G.output(d)
        return d
"""


def test_symbolic_sizes_are_planned_as_at_their_largest() -> None:
    module = parse(BOUNDED)
    lowered = Sequential.parse("legalize_ops,graph_to_tensor")(module)
    sizes = {one.buffer.name: one.bytes for one in lifetimes(lowered["main"])}
    assert sizes == {"a": 8 * 16, "b": 8 * 16, "c": 24 * 16}
    planned = static_memory_plan(lowered)
    text = planned["main"].script()
    assert 'assert n <= 8, "n is above 8, its `tir_var_upper_bound`"' in text
    assert 'arena = T.alloc_buffer((512,), "uint8", align=64)' in text
    assert 'c = T.decl_buffer((n * 3, 4), "float32", data=arena.data)' in text
    built = tirscript.build(module)
    w = np.eye(4, dtype="float32") * 2
    for n in (1, 5, 8):
        x = np.arange(4 * n, dtype="float32").reshape(n, 4)
        np.testing.assert_array_equal(built(x, w), np.concatenate([8 * x, 8 * x, 2 * x]))
    with pytest.raises(AssertionError, match="n is above 8"):
        built(np.ones((9, 4), "float32"), w)


def test_without_a_bound_symbolic_sizes_are_allocations_of_their_own() -> None:
    lowered = Sequential.parse("legalize_ops,graph_to_tensor")(parse(BOUNDED.replace('"n": 8, ', "")))
    assert lifetimes(lowered["main"]) == []
    assert static_memory_plan(lowered)["main"] is lowered["main"]


def test_a_bound_that_is_no_size() -> None:
    lowered = Sequential.parse("legalize_ops,graph_to_tensor")(parse(BOUNDED.replace('"n": 8', '"n": -8')))
    with pytest.raises(DiagnosticError, match="`tir_var_upper_bound` says of `n` -8, which is no size"):
        static_memory_plan(lowered)


def test_bounds_that_are_no_dict() -> None:
    """It was an internal error."""
    text = BOUNDED.replace('{"n": 8, "other": 3}', '"float32"')
    with pytest.raises(DiagnosticError, match=r"T401.*`tir_var_upper_bound` is 'float32', and not a dict"):
        tirscript.build(parse(text))
