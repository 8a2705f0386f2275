"""Loops that look up narrow elements run one element after the other; those that do more become vectors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm.lookups import looks_up
from tirscript.ir import For, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import tir as T


def table(element: str, result: str, number: int = 0) -> PrimFunc:
    @T.prim_func
    def plain(A: T.Buffer((1000,), "uint8"), L: T.Buffer((256,), element), B: T.Buffer((1000,), result)):
        for i in range(1000):
            B[i] = T.cast(L[A[i]], result)

    @T.prim_func
    def scaled(A: T.Buffer((1000,), "uint8"), L: T.Buffer((256,), element), B: T.Buffer((1000,), result)):
        for i in range(1000):
            B[i] = T.cast(L[A[i]], result) * T.cast(3, result) + T.cast(A[i], result)

    @T.prim_func
    def dear(A: T.Buffer((1000,), "uint8"), L: T.Buffer((256,), element), B: T.Buffer((1000,), result)):
        for i in range(1000):
            B[i] = T.cast(T.exp(T.cast(L[A[i]], "float32") * 0.01), result)

    return (plain, scaled, dear)[number]


def rows(element: str) -> PrimFunc:
    @T.prim_func
    def rows(A: T.Buffer((40,), "int32"), L: T.Buffer((256, 64), element), B: T.Buffer((40, 64), element)):
        for i, j in T.grid(40, 64):
            B[i, j] = L[A[i], j] ^ T.cast(1, element)

    return rows


def inner(func: PrimFunc) -> For:
    """The innermost loop as it is lowered."""
    return [node for node in walk(DEFAULT_LOWERING(func)) if type(node) is For][-1]


@pytest.mark.parametrize(
    ("func", "wanted"),
    [
        (table("uint8", "uint8"), True),
        (table("int16", "float32", 1), True),
        (table("float16", "float32"), True),
        (table("uint8", "float32", 2), False),
        (table("int32", "int32"), False),
        (rows("uint8"), False),
    ],
)
def test_what_looks_up_narrow_elements(func: PrimFunc, wanted: bool) -> None:
    assert looks_up(inner(func)) == wanted


@pytest.mark.parametrize("number", [0, 1])
def test_no_lanes_are_taken_apart(number: int) -> None:
    func = table("uint8", "int32", number)
    for built in (tirscript.build(func), tirscript.build(func, pipeline=DEFAULT_LOWERING)):
        assert not re.search(r"insertelement <\d+ x i8>", built.llvm_ir())
        rng = np.random.default_rng(number)
        given, elements = rng.integers(0, 256, 1000).astype("uint8"), rng.integers(0, 256, 256).astype("uint8")
        found = np.zeros(1000, "int32")
        built(given, elements, found)
        wanted = elements[given].astype("int32")
        np.testing.assert_array_equal(found, wanted * 3 + given if number else wanted)


def test_rows_that_are_looked_up_are_vectors() -> None:
    assert re.search(r"load <\d+ x i8>", tirscript.build(rows("uint8"), pipeline=DEFAULT_LOWERING).llvm_ir())
