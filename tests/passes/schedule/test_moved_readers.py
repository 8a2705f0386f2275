"""Readers that reverse_compute_at moves: reductions, and those of what several iterations make."""

from __future__ import annotations

import re

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.script import parse
from tirscript.testing import assert_same_result

ROWS = """
@T.prim_func
def main(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m", "n"), "float32")):
    greatest = T.alloc_buffer((m,), "float32")
    power = T.alloc_buffer((m, n), "float32")
    total = T.alloc_buffer((m,), "float32")
    for i, k in T.grid(m, n):
        with T.block("greatest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                greatest[vi] = T.min_value("float32")
            greatest[vi] = T.max(greatest[vi], A[vi, vk])
    for i, k in T.grid(m, n):
        with T.block("power"):
            vi, vk = T.axis.remap("SS", [i, k])
            power[vi, vk] = T.exp(A[vi, vk] - greatest[vi])
    for i, k in T.grid(m, n):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = 0.0
            total[vi] += power[vi, vk]
    for i, k in T.grid(m, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = power[vi, vk] / total[vi]
"""

# what makes C, what reads it
READ = """
@T.prim_func
def main(A: T.Buffer((12, 12), "int32"), B: T.Buffer((12,), "int32")):
    C = T.alloc_buffer((12, 12), "int32")
{made}    for x, k in T.grid(12, {terms}):
        with T.block("B"):
            vx, vk = T.axis.remap("SR", [x, k])
            with T.init():
                B[vx] = 1
            B[vx] += C[{read}] * A[vk, vx]
"""
PLAIN = """    for i, j in T.grid(12, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            {where}
            C[{at}] = A[vi, vj] + vj
"""
HALVES = """    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = A[vi, 0]
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            C[{at}] = A[vi, 1]
"""


def read(made: str, terms: int = 12, read: str = "vx, vk") -> PrimFunc:
    func = parse(READ.format(made=made, terms=terms, read=read))
    assert isinstance(func, PrimFunc)
    return func


ELEMENTS = """
@T.prim_func
def main(A: T.Buffer((12, 12), "int32"), B: T.Buffer((12,), "int32")):
    C = T.alloc_buffer((12,), "int32")
{made}    for x in range(12):
        with T.block("B"):
            vx = T.axis.spatial(12, x)
            B[vx] = C[vx] + 1
"""


def elements(made: str) -> PrimFunc:
    func = parse(ELEMENTS.format(made=made))
    assert isinstance(func, PrimFunc)
    return func


def plain(at: str = "vi, vj", where: str = "T.where(True)") -> str:
    return PLAIN.format(at=at, where=where)


@pytest.mark.parametrize("tile", [None, 4])
def test_sums_in_the_loop_over_rows(tile: int | None) -> None:
    func = parse(ROWS)
    assert isinstance(func, PrimFunc)
    s = Schedule(func, verify=True)
    loop = s.get_loops("greatest")[0]
    if tile is not None:
        loop, _ = s.split(loop, [None, tile])
    for block in ("power", "total", "B"):
        s.reverse_compute_at(block, loop)
    s.parallel(loop)
    assert len(s.get_child_blocks(loop)) == 4
    assert_same_result(func, s.func)
    assert Trace.parse(str(s.trace)).replay(Schedule(func)).script() == s.script()


def test_a_product_that_begins_with_what_the_iteration_made() -> None:
    func = parse(READ.format(made=plain(), terms=12, read="vx, vk").replace("= 1\n", "= C[vx, 3]\n"))
    assert isinstance(func, PrimFunc)
    s = Schedule(func, verify=True)
    s.reverse_compute_at("B", "i")
    assert_same_result(func, s.func)


@pytest.mark.parametrize(
    ("func", "loop", "words"),
    [
        (read(plain()), "j", "a reduction over `vk`, of which an iteration of the loop `j` may make only a part"),
        (read(plain(at="vj, vi")), "i", "a reduction over `vk`, of which"),
        (read(plain(), terms=2, read="vx, vx + vk - vx"), "i", "not one of its spatial or reduce axes alone"),
        (elements(plain(at="vj", where="T.where(i == j)")), "i", "`C` that a later iteration makes"),
        (elements(plain(at="vj", where="T.where(j <= i)")), "j", "`C` that a later iteration makes"),
        (elements(HALVES.format(at="vi + 6")), "i", "`C` that a later iteration makes"),
        (elements(HALVES.format(at="11 - vi")), "i", "`C` that a later iteration makes"),
    ],
)
def test_refused_where_later_iterations_make_the_rest(func: PrimFunc, loop: str, words: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(words)):
        Schedule(func).reverse_compute_at("B", loop)


def test_a_predicate_that_is_none_on_the_loop() -> None:
    """Every iteration makes all of its elements, though not in each step."""
    func = elements(plain(at="vi", where="T.where(j >= 3)"))
    s = Schedule(func, verify=True)
    s.reverse_compute_at("B", "i")
    assert_same_result(func, s.func)


def test_the_places_that_there_are() -> None:
    with pytest.raises(ScheduleError, match="in the loop, from 1 to 1"):
        Schedule(read(plain())).reverse_compute_at("B", "i", index=2)


def keeping(value: str) -> PrimFunc:
    func = parse(f"""
@T.prim_func
def main(V: T.Buffer((16,), "int32"), W: T.Buffer((16,), "int32")):
    C = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = V[vi] + 1
    for i in range(16):
        with T.block("W"):
            vi = T.axis.spatial(16, i)
            W[vi] = {value}
""")
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize(
    "value",
    [
        "T.Select(vi < 5, C[vi], W[vi])",
        "T.if_then_else(V[vi] > 0, W[vi], T.if_then_else(vi < 3, C[vi] * 2, W[vi]))",
    ],
)
def test_what_keeps_its_elements_moves(value: str) -> None:
    func = keeping(value)
    sch = Schedule(func)
    sch.reverse_compute_at("W", sch.get_loops("C")[0])
    assert_same_result(func, sch.func)


@pytest.mark.parametrize(
    "value",
    [
        "T.Select(vi < 5, C[vi], W[vi] + 1)",
        "T.Select(W[vi] > 5, C[vi], W[vi])",
        "T.Select(vi < 5, C[vi], W[15 - vi])",
    ],
)
def test_what_changes_its_elements_does_not(value: str) -> None:
    """It might be changed again, where an iteration runs the block for elements of others, too."""
    sch = Schedule(keeping(value))
    with pytest.raises(ScheduleError, match="reads what it writes"):
        sch.reverse_compute_at("W", sch.get_loops("C")[0])
