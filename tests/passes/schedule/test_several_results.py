"""Blocks that reduce to several results which need each other: searches of any form, and running variances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Block, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.passes.schedule.default_cpu.outer_vectors import has_vectors
from tirscript.passes.schedule.default_cpu.several_results import with_several_results
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result

# what is reduced: the shape, the loops, their axes, the element, and its index
ALONG = ("(37, 131)", "i, k in T.grid(37, 131)", 'vi, vk = T.axis.remap("SR", [i, k])', "A[vi, vk]", "vk")
ACROSS = ("(131, 37)", "i, k in T.grid(37, 131)", 'vi, vk = T.axis.remap("SR", [i, k])', "A[vk, vi]", "vk")
SEVERAL = (
    "(3, 37, 70)",
    "i, k, l in T.grid(37, 3, 70)",
    'vi, vk, vl = T.axis.remap("SRR", [i, k, l])',
    "A[vk, vi, vl]",
    "vk * 70 + vl",
)
BESIDE = (
    "(37, 13, 7)",
    "i, k, l in T.grid(37, 13, 7)",
    'vi, vk, vl = T.axis.remap("SRR", [i, k, l])',
    "A[vi, vk, vl]",
    "vk * 7 + vl",
)
TIES = "m[vi] > {x} or (m[vi] == {x} and at[vi] {than} {index})"
TAKES = "{x} > m[vi] or ({x} == m[vi] and {index} {than} at[vi])"
# conditions for the index and for the element, and whether what is there is kept where they hold
FORMS = {
    "first": (TIES.replace("{than}", "<"), "m[vi] > {x}", True),
    "last": (TIES.replace("{than}", ">"), "m[vi] > {x}", True),
    "plain": ("m[vi] >= {x}", "m[vi] >= {x}", True),
    "least": ("m[vi] < {x}", "m[vi] <= {x}", True),
    "takes": (TAKES.replace("{than}", "<"), "{x} >= m[vi]", False),
    "takes the last": (TAKES.replace("{than}", ">"), "{x} >= m[vi]", False),
}


def search(
    over: tuple[str, ...], form: str, dtype: str = "float32", index: str = "int32", begin: str = "-1", kept: bool = True
) -> PrimFunc:
    """A search of one of the forms, with the greatest element as a result where that is `kept`."""
    shape, loops, axes, x, at = over
    of_index, of_element, keeps = FORMS[form]
    place = at if index == "int32" else f'T.cast({at}, "{index}")'
    first, second = [one.format(x=x, index=place, than="{than}") for one in (of_index, of_element)]
    sides = [("at[vi]", place), ("m[vi]", x)]
    (a, b), (c, d) = sides if keeps else [(new, old) for old, new in sides]
    lowest = f'T.{"max" if form == "least" else "min"}_value("{dtype}")'
    text = f"""
@T.prim_func
def main(A: T.Buffer({shape}, "{dtype}"), at: T.Buffer((37,), "{index}"), m: T.Buffer((37,), "{dtype}")):
    for {loops}:
        with T.block("at"):
            {axes}
            with T.init():
                at[vi] = {begin}
                m[vi] = {lowest}
            where: T.let[T.{index}] = T.Select({first}, {a}, {b})
            most: T.let[T.{dtype}] = T.if_then_else({second}, {c}, {d})
            at[vi] = where
            m[vi] = most
"""
    if not kept:
        text = text.replace(f', m: T.Buffer((37,), "{dtype}")', "").replace(
            "    for", f'    m = T.alloc_buffer((37,), "{dtype}")\n    for', 1
        )
    made = parse(text)
    assert isinstance(made, PrimFunc)
    return made


def hard(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Few different values; lines of zeros of both signs, and with nan and infinities, among floats."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0 if dtype == "uint8" else -2, 3, shape).astype(dtype)
    if dtype.startswith("float"):
        special = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape).astype(dtype)
        A = np.where(rng.random(shape) < [0.01, 0.5, 0][seed % 3], special, A)
        if seed % 3 == 2:
            A = np.copysign(np.minimum(A, 0), rng.choice([-1, 1], shape)).astype(dtype)
            A[0] = rng.choice([-0.0, 0.0], A[0].shape)
    return A


def assert_found_alike(func: PrimFunc) -> None:
    """The schedule finds the same bits as the function as it is written, in one thread and in two."""
    made = [scheduled(func, facts) for facts in (CpuFacts(512, 1), CpuFacts(256, 2))]
    assert all(has_vectors(one.body) for one in made)
    plain, *others = [tirscript.build(one, pipeline=DEFAULT_LOWERING) for one in (func, *made)]
    params: list[Any] = list(func.params)
    for seed in range(6):
        A = hard(params[0].constant_shape(), str(params[0].dtype), seed)
        results = []
        for function in (plain, *others):
            out = [np.zeros(param.constant_shape(), str(param.dtype)) for param in params[1:]]
            function(A, *out)
            results.append([one.tobytes() for one in out])
        assert results[1:] == results[:1] * len(others)


@pytest.mark.parametrize(("form", "kept"), [(form, kept) for form, kept in itertools.product(FORMS, [True, False])])
def test_each_form_finds_what_it_says(form: str, kept: bool) -> None:
    assert_found_alike(search(ALONG, form, kept=kept))


@pytest.mark.parametrize(
    ("over", "form"), list(itertools.product([ACROSS, SEVERAL, BESIDE], ["first", "last", "takes"]))
)
def test_other_axes(over: tuple[str, ...], form: str) -> None:
    assert_found_alike(search(over, form))


@pytest.mark.parametrize(
    ("dtype", "index"),
    [("float64", "int32"), ("float16", "int32"), ("int32", "int64"), ("uint8", "int32"), ("float32", "int64")],
)
def test_other_dtypes(dtype: str, index: str) -> None:
    for form in ("first", "last"):
        assert_found_alike(search(ALONG, form, dtype, index))


def test_an_index_that_may_begin_behind_the_first_decides_as_it_is_written() -> None:
    for begin in ("0", "60"):
        assert_found_alike(search(ACROSS, "first", begin=begin))


def test_the_interpreter_finds_the_same() -> None:
    func = search(ALONG, "first")
    A = hard((37, 131), "float32", 0)
    want, found = [[np.zeros(37, "int32"), np.zeros(37, "float32")] for _ in range(2)]
    tirscript.interpret(func, A, *want)
    tirscript.build(func)(A, *found)
    assert [one.tobytes() for one in want] == [one.tobytes() for one in found]


def test_lines_without_nan_are_searched_once() -> None:
    def blocks(func: PrimFunc) -> set[str]:
        return {node.name for node in walk(with_several_results(func).body) if type(node) is Block}

    assert blocks(search(ALONG, "first")) == {"m_nans", "at"}
    assert not blocks(search(ALONG, "first", dtype="int32")) and not blocks(search(ACROSS, "first"))
    assert not blocks(search(ALONG, "takes", kept=False))


EVERYTHING = """
@T.prim_func
def main(A: T.Buffer((70, {n}), "float32"), at: T.Buffer((), "int32")):
    m = T.alloc_buffer((), "float32")
    for k, l in T.grid(70, {n}):
        with T.block("at"):
            vk, vl = T.axis.remap("RR", [k, l])
            with T.init():
                at[()] = -1
                m[()] = T.min_value("float32")
            where: T.let[T.int32] = T.Select(m[()] >= A[vk, vl], at[()], vk * {n} + vl)
            most: T.let[T.float32] = T.Select(m[()] > A[vk, vl], m[()], A[vk, vl])
            at[()] = where
            m[()] = most
"""


@pytest.mark.parametrize("n", [90, 7])
def test_a_search_through_everything(n: int) -> None:
    func = parse(EVERYTHING.format(n=n))
    assert isinstance(func, PrimFunc)
    assert_found_alike(func)


@T.prim_func
def variance(A: T.Buffer((40, 50), "float32"), mean: T.Buffer((40,), "float32"), total: T.Buffer((40,), "float32")):
    for i, k in T.grid(40, 50):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                mean[vi] = 0.0
                total[vi] = 0.0
            away = A[vi, vk] - mean[vi]
            now = mean[vi] + away / T.cast(vk + 1, "float32")
            more = total[vi] + away * (A[vi, vk] - now)
            mean[vi] = now
            total[vi] = more


def test_results_that_need_each_other_go_in_lanes() -> None:
    made = scheduled(variance, CpuFacts(512, 2))
    assert has_vectors(made.body)
    assert_same_result(variance, made)


def test_sums_that_need_no_other_stay_blocks() -> None:
    @T.prim_func
    def sums(A: T.Buffer((40, 50), "float32"), s: T.Buffer((40,), "float32"), q: T.Buffer((40,), "float32")):
        for i, k in T.grid(40, 50):
            with T.block("s"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    s[vi] = 0.0
                    q[vi] = 0.0
                a = s[vi] + A[vi, vk]
                b = q[vi] + A[vi, vk] * A[vi, vk]
                s[vi] = a
                q[vi] = b

    assert with_several_results(sums) is sums
    overlapping = variance.replace(attrs=type(variance.attrs)({"tir.noalias": False}))
    assert with_several_results(overlapping) is overlapping
