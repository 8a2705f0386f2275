"""Stores that go past the caches: which do, and that a fence follows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from helpers.script import function

import tirscript
from tirscript.backend.llvm import Host, emit_assembly, emit_ir, host
from tirscript.ir import DiagnosticError
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import parse

PARAMS = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32'
LOOP = """
for i in T.serial(4, annotations={"pragma_nontemporal": %s}):
    for j in T.vectorized(16):
        B[i * 16 + j] = A[i * 16 + j] + T.float32(1)
for i in range(4):
    for j in T.vectorized(16):
        A[i * 16 + j] = T.float32(0)
"""


def text(body: str, **options: Any) -> str:
    return emit_ir(DEFAULT_LOWERING(function(body, PARAMS)), optimized=False, **options)


def stores(found: str) -> list[bool]:
    """Which vectors are stored past the caches; one of 16 lanes goes in four pieces."""
    found = re.sub(
        r"( +store <4 x float>.*, align 16, !nontemporal !\d+\n(.*getelementptr.*\n|.*shufflevector.*\n)*){4}",
        "store <pieces> !nontemporal\n",
        found,
    )
    return ["!nontemporal" in line for line in found.splitlines() if line.lstrip().startswith("store <")]


def test_the_stores_of_an_annotated_loop_and_no_others() -> None:
    found = text(LOOP % True)
    assert stores(found) == [True, False]
    assert re.search(r"call void @llvm.x86.sse.sfence\(\)\n  ret i32 0", found)
    plain = text(LOOP % False)
    assert stores(plain) == [False, False] and "sfence" not in plain
    if host().triple.startswith("x86_64"):
        assembly = emit_assembly(DEFAULT_LOWERING(function(LOOP % True, PARAMS)))
        assert "movnt" in assembly and "sfence" in assembly


def test_every_way_out_has_the_fence() -> None:
    found = text("if n > 3:\n    return\n" + LOOP.strip() % True)
    returns = [at for at, line in enumerate(found.splitlines()) if line.startswith("  ret ")]
    assert len(returns) == 2
    assert all("sfence" in found.splitlines()[at - 1] for at in returns)
    other = Host("aarch64-unknown-linux-gnu", "generic", "+neon")
    assert "fence seq_cst\n  ret i32 0" in text(LOOP % True, target=other)


def test_a_block_says_it_for_its_stores_in_a_parallel_vector_loop() -> None:
    body = """
    for i in T.parallel(4, annotations={"grain": 1}):
        for j in T.vectorized(16):
            with T.block("B"):
                v = T.axis.spatial(64, i * 16 + j)
                T.block_attr({"pragma_nontemporal": True})
                B[v] = A[v] + T.float32(1)
    """
    found = text(body)
    assert stores(found) == [True]
    part = next(one for one in found.split("define ") if "!nontemporal" in one)
    assert ".part." in part.splitlines()[0] and "sfence" in part  # by the thread that stored
    func = function(body, PARAMS)
    a, b, c = np.arange(64, dtype="float32"), np.zeros(64, "float32"), np.zeros(64, "float32")
    tirscript.build(func)(a, b, 1)
    tirscript.interpret(func, a, c, 1)
    assert (b == a + 1).all() and (c == b).all()


@pytest.mark.parametrize(
    "inner",
    [
        "B[i * 16] = T.float32(1)",  # single elements are gathered better by the caches
        "T_local = T.alloc_buffer((16,), 'float32')\n    T_local[0:16] = T.broadcast(T.float32(1), 16)",
        "B[i * 16:i * 16 + 16] = A[0:16]\n    T.evaluate(0)",
    ],
)
def test_what_stays_in_the_function_or_is_small_does_not(inner: str) -> None:
    found = text(f'for i in T.serial(4, annotations={{"pragma_nontemporal": True}}):\n    {inner}')
    assert ("!nontemporal" in found) == ("A[0:16]" in inner)


def test_the_value_is_true_or_false() -> None:
    with pytest.raises(DiagnosticError, match=r"T404.*'pragma_nontemporal' is 'yes'"):
        text(LOOP % '"yes"')


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bool"])
@pytest.mark.parametrize("lanes", [16, 2, 5, 13, 62])
@pytest.mark.parametrize("offset", [0, 1, 2, 7])
def test_vectors_of_any_size_at_any_address(dtype: str, lanes: int, offset: int) -> None:
    source = f"""
@T.prim_func
def main(A: T.Buffer((3, {lanes}), "{dtype}"), B: T.Buffer((3, {lanes}), "{dtype}")):
    for i in T.serial(3, annotations={{"pragma_nontemporal": True}}):
        for j in T.vectorized({lanes}):
            B[i, j] = A[i, j]
"""
    built = tirscript.build(parse(source), pipeline=DEFAULT_LOWERING)
    given = np.arange(3 * lanes).reshape(3, lanes).astype(dtype)
    memory = np.full(3 * lanes + 32, 77).astype(dtype)
    built(given, memory[offset : offset + 3 * lanes].reshape(3, lanes))
    wanted = np.full_like(memory, 77)
    wanted[offset : offset + 3 * lanes] = given.ravel()
    assert (memory == wanted).all()


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="x86 writes memory in lines")
@pytest.mark.parametrize("lanes", [13, 14, 16, 30])
def test_all_parts_of_a_line_go_past_the_caches_in_their_order(lanes: int) -> None:
    where = f"i * {lanes}:i * {lanes} + {lanes}"
    body = f"for i in T.serial(4, annotations={{'pragma_nontemporal': True}}):\n    B[{where}] = A[{where}]"
    func = function(body, 'A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")')
    found = emit_assembly(DEFAULT_LOWERING(func))
    kernel = next(part for part in found.split(".Lfunc_end") if "sfence" in part)
    ordinary = re.findall(r"\tv?mov\w+\s+%[xyz]mm\d+, (?!.*%rsp).*\(.*", kernel)
    assert [line for line in ordinary if "movnt" not in line] == []
    vectors = re.findall(r"movnt(?:ps|dq|pd)\s+%xmm\d+, (-?\d*)\(", kernel)
    places = [int(place or 0) for place in vectors]
    runs = [places[at : at + lanes // 4] for at in range(0, len(places), lanes // 4)]
    assert runs and all(run == list(range(run[0], run[0] + 16 * len(run), 16)) for run in runs)
