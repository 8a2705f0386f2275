"""Searches for the greatest or least element through matrices: the same element, place and bits as in the loops."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Attrs, PrimFunc
from tirscript.passes.plain_loops.searches_by_rows import searches_by_rows
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
ELEMENT = "A[i, j, k]"
STYLES = {
    "flat": f"if {ELEMENT} > m:\n    m = {ELEMENT}\n    at = (i * 3 + j) * 67 + k",
    "least": f"if {ELEMENT} < m:\n    at = (i * 3 + j) * 67 + k\n    m = {ELEMENT}",
    "turned": f"if m < {ELEMENT}:\n    m = {ELEMENT}\n    at = k",
    "turned least": f"if m > {ELEMENT}:\n    m = {ELEMENT}\n    at = k - j",
    "places": f"if {ELEMENT} > m:\n    m = {ELEMENT}\n    at = i\n    P[0] = j\n    P[1] = k",
    "named": f"value = {ELEMENT}\nif value > m:\n    m = value\n    at = i * 1000 + k",
    "computed": f"if T.abs({ELEMENT}) * T.{{dtype}}(2) > m:\n    m = T.abs({ELEMENT}) * T.{{dtype}}(2)\n    at = j * 100 + k",
    "in an element": f"if {ELEMENT} > O[0]:\n    O[0] = {ELEMENT}\n    at = j * 100 + k",
}


def search(style: str, dtype: str = "float32", begin: str = "A[0, 0, 0]", row: int = 67) -> PrimFunc:
    lines = "\n".join(" " * 8 + line for line in style.format(dtype=dtype).splitlines())
    found = parse(f"""
@T.prim_func
def main(
    A: T.Buffer((2, 3, {row}), "{dtype}"), O: T.Buffer((2,), "{dtype}"), P: T.Buffer((3,), "int32")
):
    m: T.{dtype} = {begin}
    at: T.int32 = 7
    for i, j, k in T.grid(2, 3, {row}):
{lines}
    O[1] = m
    P[2] = at
""")
    assert isinstance(found, PrimFunc)
    return found


def taken(func: PrimFunc) -> bool:
    return "_row = T.alloc_buffer((2, 3)" in searches_by_rows(func).script()


def arrays(dtype: str, seed: int) -> list[np.ndarray]:
    """Few different elements, so that many are equal; of floats nan, infinities and zeros of both signs among them."""
    random = np.random.default_rng(seed)
    A = random.integers(0, 3, (2, 3, 67)).astype(dtype)
    if np.issubdtype(A.dtype, np.floating):
        others = [[-0.0, 0.0], [np.nan, -np.inf], [np.nan, np.inf], [np.nan, -0.0, -1.0], [-np.inf, -np.inf]][seed % 5]
        A = np.where(random.random(A.shape) < (0.5, 0.99)[seed % 2], random.choice(np.array(others, dtype), A.shape), A)
    return [A, np.zeros(2, dtype), np.zeros(3, "int32")]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("name", STYLES)
def test_styles(name: str, dtype: str) -> None:
    if dtype == "uint8" and name == "computed":
        return  # there is no magnitude of what has no sign
    func = search(STYLES[name], dtype)
    assert taken(func)
    made = searches_by_rows(func)
    native = tirscript.build(scheduled(func, FACTS))
    for seed in range(10 if "float" in dtype else 2):
        start = arrays(dtype, seed)
        want, found, fast = ([a.copy() for a in start] for _ in range(3))
        tirscript.interpret(func, *want)
        tirscript.interpret(made, *found)
        native(*fast)
        for a, b, c in zip(want, found, fast, strict=True):
            assert a.tobytes() == b.tobytes() == c.tobytes()


@pytest.mark.parametrize("begin", ["-T.infinity('float32')", "T.infinity('float32')", "T.float32(1)"])
def test_what_it_begins_with(begin: str) -> None:
    for name in ("flat", "least"):
        func = search(STYLES[name], begin=begin)
        assert taken(func)
        assert_same_result(func, searches_by_rows(func))
        assert_same_result(func, scheduled(func, FACTS))


@pytest.mark.parametrize(
    "style",
    [
        f"if {ELEMENT} >= m:\n    m = {ELEMENT}\n    at = k",  # the last one, and what is never found is as well
        f"if {ELEMENT} > m:\n    m = {ELEMENT}",  # nothing but a maximum
        f"if {ELEMENT} > m:\n    m = {ELEMENT}\n    at = at + 1",  # counts
        f"if {ELEMENT} > m:\n    m = {ELEMENT}\n    P[j] = k",  # one of each row
        f"if {ELEMENT} > m and k > 3:\n    m = {ELEMENT}\n    at = k",
        f"if {ELEMENT} > m:\n    m = {ELEMENT}\n    at = k\nelse:\n    at = 0",
        f"if {ELEMENT} > m:\n    m = A[i, j, 0]\n    at = k",
        f"if {ELEMENT} > O[j % 2]:\n    O[j % 2] = {ELEMENT}\n    at = k",
        "if A[i, j, k] + A[0, 0, P[0] % 67] > m:\n    m = A[i, j, k] + A[0, 0, P[0] % 67]\n    P[0] = k",
    ],
)
def test_what_is_no_such_search(style: str) -> None:
    func = search(style)
    assert not taken(func)


def test_few_elements_and_memory_that_may_be_the_same_stay() -> None:
    assert not taken(search(STYLES["flat"], row=5))
    assert not taken(search(STYLES["flat"]).replace(attrs=Attrs({"tir.noalias": False})))
