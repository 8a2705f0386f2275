"""Products of symbolic numbers of rows: versions for one row and for some, which do not copy the other operand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse

WIDE = CpuFacts(vector_bits=512, threads=2)


def product(
    rows: object = "n", columns: object = 512, terms: object = 512, right: str = "W[vk, vj]", scalars: str = ""
) -> PrimFunc:
    """`C = A W`, or with `right` of "W[vj, vk]" of its transpose."""
    height = f'"{rows}"' if isinstance(rows, str) else rows
    shape = f"({terms}, {columns})" if right == "W[vk, vj]" else f"({columns}, {terms})"
    plain = [str(size).strip('"') for size in (columns, terms)]
    found = parse(f"""
@T.prim_func
def product(A: T.Buffer(({height}, {terms}), "float32"), W: T.Buffer({shape}, "float32"),
            C: T.Buffer(({height}, {columns}), "float32"){scalars}):
    for i, j, k in T.grid({rows}, {plain[0]}, {plain[1]}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * {right}
""")
    assert isinstance(found, PrimFunc)
    return found


def conditions(func: PrimFunc, facts: CpuFacts = WIDE) -> list[str]:
    """What there are versions for."""
    made = scheduled(func, facts)
    assert not verify(made) and structural_equal(parse(made.script()), made)
    return re.findall(r"^    (?:el)?if (.*):$", made.script(), re.MULTILINE)


def numbers(*shape: int) -> Any:
    """Whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype("float32")


@pytest.mark.parametrize("right", ["W[vk, vj]", "W[vj, vk]"])
@pytest.mark.parametrize("threads", [1, 2])
def test_large_products_have_versions_for_one_row_and_for_few(right: str, threads: int) -> None:
    func, facts = product(right=right), CpuFacts(vector_bits=512, threads=threads)
    assert conditions(func, facts) == ["n == 1", "n > 0 and n <= 8"]
    built = tirscript.build(scheduled(func, facts), bounds_check=True)
    w = numbers(512, 512)
    for rows in (0, 1, 2, 3, 7, 8, 9, 16, 17):
        a, found = numbers(rows, 512), np.full((rows, 512), 7, "float32")
        built(a, w, found)
        np.testing.assert_array_equal(found, a @ (w if right == "W[vk, vj]" else w.T))


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "wanted"),
    [
        ("n", 128, 128, ["n == 1"]),  # small
        ("n", 64, 64, []),  # smaller
        ("n", '"m"', 512, ["n == 1"]),  # other sizes are not known either
        ("n", 512, '"m"', ["n == 1"]),
        ("n", '"n"', 512, []),  # one row, and one column
        (5, 512, 512, []),
        ("n * 2", 512, 512, ["n * 2 > 0 and n * 2 <= 8"]),  # never one row
        ("n * m", 512, 512, ["n == 1 and m == 1", "n * m > 0 and n * m <= 8"]),
    ],
)
def test_which_products_have_versions(rows: object, columns: object, terms: object, wanted: list[str]) -> None:
    scalars = "" if rows in ("n", 5) else ", n: T.int64, m: T.int64"
    assert conditions(product(rows, columns, terms, scalars=scalars)) == wanted


def test_the_order_of_conditions_does_not_depend_on_addresses() -> None:
    rows = [f"n{at}" for at in range(4)]
    params = [f'A{n}: T.Buffer(("{n}", 256), "float32"), C{n}: T.Buffer(("{n}", 256), "float32")' for n in rows]
    products = [
        f"""
    for i, j, k in T.grid({n}, 256, 256):
        with T.block("C{n}"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C{n}[vi, vj] = T.float32(0)
            C{n}[vi, vj] += A{n}[vi, vk] * W[vk, vj]
"""
        for n in rows
    ]
    head = f'def products({", ".join(params)}, W: T.Buffer((256, 256), "float32")):'
    func = parse(f"@T.prim_func\n{head}{''.join(products)}")
    assert isinstance(func, PrimFunc)
    text = scheduled(func, WIDE).script()  # blocks are scheduled from the last to the first
    assert f"    if {' and '.join(f'{n} == 1' for n in reversed(rows))}:\n" in text


def test_shapes_that_are_rounded_up_as_rows_are() -> None:
    """Those of arguments stay what they are."""
    func = product("T.ceildiv(n, 8) * 8", 512, 512, scalars=", n: T.int64")
    assert conditions(func) == []


def test_what_is_copied_once_needs_no_versions() -> None:
    """Constants, and parameters of functions that only their own program calls, are copied when that is compiled."""
    assert conditions(product().replace(private=True)) == []


def test_what_is_around_a_product() -> None:
    """Rows that are made for it, and others that read it, of a batch."""
    func = parse("""
@T.prim_func
def layer(A: T.handle, W: T.Buffer((512, 512), "float32"), b: T.Buffer((512,), "float32"), C: T.handle):
    batch, n = T.int64(), T.int64()
    X = T.match_buffer(A, (batch, n, 512))
    Y = T.match_buffer(C, (batch, n, 512))
    scale = T.alloc_buffer((batch, n))
    R = T.alloc_buffer((batch, n, 512))
    P = T.alloc_buffer((batch, n, 512))
    for h, i, j in T.grid(batch, n, 512):
        with T.block("scale"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                scale[vh, vi] = 0.0
            scale[vh, vi] += X[vh, vi, vj]
    for h, i, j in T.grid(batch, n, 512):
        with T.block("R"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            R[vh, vi, vj] = X[vh, vi, vj] - scale[vh, vi]
    for h, i, j, k in T.grid(batch, n, 512, 512):
        with T.block("P"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                P[vh, vi, vj] = 0.0
            P[vh, vi, vj] += R[vh, vi, vk] * W[vk, vj]
    for h, i, j in T.grid(batch, n, 512):
        with T.block("Y"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            Y[vh, vi, vj] = T.max(P[vh, vi, vj] + b[vj], 0.0)
""")
    assert isinstance(func, PrimFunc)
    assert conditions(func) == ["n == 1", "n > 0 and n <= 8"]
    built = tirscript.build(func, bounds_check=True)
    w, b = numbers(512, 512), numbers(512)
    for batch, n in ((1, 1), (3, 1), (1, 4), (2, 8), (2, 11), (0, 3), (3, 0)):
        x, found = numbers(batch, n, 512), np.zeros((batch, n, 512), "float32")
        built(x, w, b, found)
        np.testing.assert_array_equal(found, np.maximum((x - x.sum(2, keepdims=True)) @ w + b, 0))


@pytest.mark.long
@pytest.mark.parametrize("demand", ["n >= 2", "n == 1", "n <= 8", "n > 16", "n % 4 == 0"])
@pytest.mark.parametrize("late", [False, True])
def test_what_is_assumed_of_a_size_does_not_stand_in_versions_where_it_never_holds(demand: str, late: bool) -> None:
    func = product(scalars=", n: T.int64")
    first, last = func.script().rstrip().split("\n    for ", 1)
    demands = f"    T.assume({demand})\n    T.static_assert({demand})\n"
    text = f"{first}\n    for {last}\n{demands}" if late else f"{first}\n{demands}    for {last}\n"
    found = parse(text)
    assert isinstance(found, PrimFunc)
    assert conditions(found) == ([] if late else ["n == 1", "n > 0 and n <= 8"])
    built = tirscript.build(found, bounds_check=True)
    for rows in (rows for rows in (1, 4, 8, 20) if eval(demand, {"n": rows})):
        a, w, c = numbers(rows, 512), numbers(512, 512), np.full((rows, 512), 7, "float32")
        built(a, w, c, rows)
        np.testing.assert_array_equal(c, a @ w)


@pytest.mark.parametrize("demand", ["m >= 64", "m == 3", "m < 5"])
def test_what_is_assumed_of_a_length_stands_ahead_of_the_version_for_short_lines(demand: str) -> None:
    found = parse(f"""
@T.prim_func
def sums(m: T.int64, A: T.Buffer((64, "m"), "float32"), B: T.Buffer((64,), "float32")):
    T.assume({demand})
    for i, k in T.grid(64, m):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] += A[vi, vk]
""")
    assert isinstance(found, PrimFunc)
    assert len(conditions(found)) == 1
    built = tirscript.build(found, bounds_check=True)
    for length in (length for length in (3, 64, 100) if eval(demand, {"m": length})):
        a, b = numbers(64, length), np.full(64, 7, "float32")
        built(length, a, b)
        np.testing.assert_array_equal(b, a.sum(1))
