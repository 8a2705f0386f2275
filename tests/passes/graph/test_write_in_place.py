"""Kernels that write into an argument that is not needed any more."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir.verify import verify
from tirscript.passes.graph import static_memory_plan, write_in_place
from tirscript.passes.graph.static_memory_plan import lifetimes, plan
from tirscript.passes.graph.write_in_place import element_by_element
from tirscript.script import parse

KERNEL = """
    @T.prim_func(private=True)
    def grow(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("B"):
                v = T.axis.spatial(64, i)
                {store}
"""
HEAD = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def turn(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("B"):
                v = T.axis.spatial(64, i)
                B[v] = A[63 - v]

    @T.prim_func(private=True)
    def add(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("C"):
                v = T.axis.spatial(64, i)
                C[v] = A[v] + B[v]
"""
MAIN = """
    @T.prim_func
    def main(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
        h = T.alloc_buffer((64,), "float32")
        M.turn(x, h)
        k = T.alloc_buffer((64,), "float32")
        M.grow(h, k)
        m = T.alloc_buffer((64,), "float32")
        M.grow(k, m)
        M.turn(m, y)
"""


def module(body=MAIN, store="B[v] = A[v] * 2.0 + 1.0"):
    return parse(HEAD + KERNEL.format(store=store) + body)


def run(program):
    x, y = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    tirscript.interpret(program, x, y, entry="main")
    return y


def test_a_chain_of_kernels_works_in_one_buffer():
    before = module()
    after = write_in_place(before)
    assert verify(after) == []
    text = after["main"].script(header=False)
    assert "alloc_buffer" in text and text.count("alloc_buffer") == 1
    assert text.count("grow_in_place(h)") == 2 and "turn(h, y)" in text
    assert [one.name for one in after.functions] == ["grow_in_place", "turn", "add", "main"], "`grow` is called no more"
    assert "A[v] = A[v] * 2.0 + 1.0" in after["grow_in_place"].script()
    np.testing.assert_array_equal(run(after), run(before))
    y = np.zeros(64, "float32")
    tirscript.build(after)["main"](np.arange(64, dtype="float32"), y)
    np.testing.assert_array_equal(y, run(before))
    assert plan(lifetimes(before["main"])).total == 512 and plan(lifetimes(after["main"])).total == 256
    assert static_memory_plan(after) is not None


@pytest.mark.parametrize(
    "body",
    [
        # used again
        MAIN.replace("M.turn(m, y)", "M.add(h, m, y)").replace("M.grow(k, m)", "M.turn(k, m)"),
        # used again through a view
        MAIN.replace("M.grow(h, k)", 'w = T.decl_buffer((64,), "float32", data=h.data)\n        M.grow(h, k)')
        .replace("M.turn(m, y)", "M.add(w, m, y)")
        .replace("M.grow(k, m)", "M.turn(k, m)"),
        # a parameter
        MAIN.replace("M.grow(h, k)", "M.grow(x, k)").replace("M.grow(k, m)", "M.turn(k, m)"),
        # a result
        MAIN.replace("M.grow(h, k)", "M.turn(h, k)")
        .replace("M.grow(k, m)", "M.turn(k, m)")
        .replace("M.turn(m, y)", "M.grow(m, y)"),
    ],
)
def test_what_is_needed_stays(body):
    before = module(body)
    after = write_in_place(before)
    assert after["main"] is before["main"]


def test_what_lies_in_the_same_memory_is_one_argument():
    """`view` is `h` by another name, so `add(h, view)` reads what it would write twice; the views after it are of it."""
    body = """
    @T.prim_func
    def main(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
        h = T.alloc_buffer((64,), "float32")
        M.turn(x, h)
        k = T.alloc_buffer((64,), "float32")
        M.grow(h, k)
        view = T.decl_buffer((64,), "float32", data=k.data)
        m = T.alloc_buffer((64,), "float32")
        M.add(k, view, m)
        M.turn(m, y)
"""
    before = module(body)
    after = write_in_place(before)
    assert "grow_in_place(h)" in after["main"].script() and "add(h, view, m)" in after["main"].script()
    np.testing.assert_array_equal(run(after), run(before))


@pytest.mark.parametrize(
    ("store", "fits"),
    [
        ("B[v] = A[v]", True),
        ("B[v] = A[v] + A[v]", True),
        ("B[v] = A[63 - v]", False),
        ("B[v] = A[v] + A[0]", False),
        ("B[v] = B[v] + A[v]", False),
        ("B[63 - v] = A[v]", False),
        ("B[v // 2] = A[v // 2]", False),  # twice the same element
        ("B[v] = A[v]\n                B[0] = 1.0", False),
    ],
)
def test_which_kernels_work_element_by_element(store, fits):
    assert element_by_element(module(store=store)["grow"]) == ([(0, 1)] if fits else [])


def test_an_element_that_is_stored_twice_is_not_written_in_place():
    text = KERNEL.format(store="B[v] = A[v] * 2.0").replace("for i in range(64)", "for i, j in T.grid(64, 2)")
    assert element_by_element(parse(HEAD + text)["grow"]) == []
    half = KERNEL.format(store="B[v] = A[v] * 2.0").replace("T.axis.spatial(64, i)", "T.axis.spatial(64, i // 2)")
    assert element_by_element(parse(HEAD + half)["grow"]) == []
    apart = text.replace("v = T.axis.spatial(64, i)", 'v, _ = T.axis.remap("SS", [i, j])')
    assert element_by_element(parse(HEAD + apart)["grow"]) == []
