"""Copies of constants that are made when a function is compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import ConstantStore, PrimFunc, constant
from tirscript.passes import get_pass
from tirscript.passes.constants import pack_constants
from tirscript.script import parse

W = np.arange(64 * 32, dtype="float32").reshape(64, 32)
TEXT = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((32,), "float32")):
    # weights
    W = T.constant("{digest}", (64, 32), "float32")
    # panels
    P = T.alloc_buffer((2, 64, 16), "float32")
    for i, j in T.grid(64, 32):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            {store} = {value}
    for j, i in T.grid(32, 64):
        with T.block("B"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                B[vj] = 0.0
            B[vj] += A[vi] * P[vj // 16, vi, vj % 16]
"""


def program(store: str = "P[vj // 16, vi, vj % 16]", value: str = "W[vi, vj]", extra: str = "") -> PrimFunc:
    data = constant(W)
    text = TEXT.format(digest=data.digest, store=store, value=value) + extra
    found = parse(text, constants=ConstantStore.of(data) if hasattr(ConstantStore, "of") else _store(data))
    assert isinstance(found, PrimFunc)
    return found


def _store(data: object) -> ConstantStore:
    store = ConstantStore()
    store.add(data)
    return store


def test_a_copy_is_made_once() -> None:
    func = program()
    made = pack_constants(func)
    text = made.script()
    assert text.count("T.constant") == 1 and 'T.block("P")' not in text and "(2, 64, 16)" in text
    assert "# panels" in text
    a = np.random.default_rng(3).random(64, "float32")
    results = []
    for one in (func, made):
        b = np.zeros(32, "float32")
        tirscript.interpret(one, a, b)
        results.append(b)
    np.testing.assert_array_equal(*results)
    assert pack_constants(made) is made


def test_the_constant_stays_where_it_is_read_too() -> None:
    made = pack_constants(program(extra="    B[0] = W[0, 0]\n"))
    assert made.script().count("T.constant") == 2


@pytest.mark.parametrize(
    ("store", "value", "extra"),
    [
        ("P[0, vi, vj % 16]", "W[vi, vj]", ""),  # not all of the target
        ("P[vj // 16, vi, vj % 16]", "W[vi, vj] * 2.0", ""),
        ("P[vj // 16, vi, vj % 16]", "A[vi]", ""),
        ("P[vj // 16, vi, vj % 16]", "W[vi, vj]", "    P[0, 0, 0] = 1.0\n"),
        ("P[vj // 16, vi, vj % 16]", "W[vi, vj]", '    T.evaluate(T.call_packed("f", P.data))\n'),
    ],
)
def test_what_is_no_copy_stays(store: str, value: str, extra: str) -> None:
    func = program(store, value, extra)
    assert pack_constants(func) is func
    assert get_pass("pack_constants", limit=10)(program()) is not None


def test_large_copies_stay() -> None:
    func = program()
    assert pack_constants(func, limit=64 * 32 - 1) is func


def test_schedules_copy_constants() -> None:
    sch = tirscript.Schedule(program())
    copied = sch.cache_read("P", "W", "global")
    assert sch.get(copied).name == "W_global"
