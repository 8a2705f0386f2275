"""Rows in which each element needs the one before go side by side, to the last bit as they were written."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import copies

PARAMS = 'A: T.Buffer((N, 37), "float32"), B: T.Buffer((N, 37), "float32"), H: T.Buffer((N,), "uint32")'
TAKEN = {
    "a recurrence": """
for n in range(N):
    h: T.float32 = 0.0
    for t in range(37):
        h = T.float32(0.5) * h + A[n, t]
        B[n, t] = h
""",
    "in place": """
for n in range(1, N):
    for t in range(1, 37):
        A[n, t] = T.float32(0.5) * A[n, t - 1] + B[n, t]
""",
    "two, with a condition": """
for n in range(N):
    x1: T.float32 = 0.0
    x2: T.float32 = A[n, 3]
    for t in range(37):
        y: T.float32 = T.float32(0.5) * x1 - T.float32(0.25) * x2 + A[n, t]
        x2 = x1
        if y > 1.0:
            x1 = y * T.float32(0.5)
        else:
            x1 = y
        B[n, t] = y
    for t in range(5):
        x1 = x1 * T.float32(0.5) + B[n, t]
    B[n, 0] = x1
""",
    "a hash": """
for n in range(N):
    h: T.uint32 = T.uint32(2166136261)
    for t in range(37):
        h = (h ^ T.reinterpret("uint32", A[n, t])) * T.uint32(16777619)
        B[n, t] = T.cast(h, "float32")
    H[n] = h
""",
    "to and fro": """
for n in range(N):
    h: T.float32 = 0.0
    for t in range(37):
        h = T.float32(0.5) * h + A[n, t]
        B[n, t] = h
    for t in range(37):
        h = T.float32(0.5) * h + B[n, 36 - t]
        A[n, 36 - t] = h
""",
    "beside steps that wait for none": """
for n in range(N):
    for t in range(37):
        A[n, t] = A[n, t] * T.float32(0.5)
    h: T.float32 = 0.0
    for t in range(37):
        h = T.float32(0.5) * h + A[n, t]
        B[n, t] = h
    for t in range(37):
        A[n, t] = B[n, t] - h
""",
    "a buffer as a variable": """
h = T.alloc_buffer((1,), "float32")
for n in range(N):
    h[0] = 0.0
    for t in range(37):
        h[0] = T.float32(0.5) * h[0] + A[n, t]
        B[n, t] = h[0]
""",
}
GATHERED = {
    "more steps than LLVM writes out": """
for n in range(N):
    h: T.float32 = 0.0
    for t in range(37):
        h = h * A[n, t] + h * B[n, t] + h // A[n, t]
    B[n, 0] = h
""",
    "to and fro, with what is dear": """
for n in range(N):
    h: T.float32 = 1.0
    for t in range(37):
        h = A[n, 36 - t] / (h * h + T.float32(1.0))
        B[n, t] = h
    for t in range(37):
        B[n, t] = B[n, t] - h
""",
    "what a condition changes": """
for n in range(N):
    a: T.float32 = -9.0
    b: T.float32 = -9.0
    for t in range(37):
        if A[n, t] > a:
            b = a
            a = A[n, t]
        elif A[n, t] > b:
            b = A[n, t]
    B[n, 0] = a
    B[n, 1] = b
""",
}
LEFT = {
    "rows that need each other": """
for n in range(1, N):
    for t in range(1, 37):
        B[n, t] = T.float32(0.5) * B[n, t - 1] + B[n - 1, t]
""",
    "extremes": """
for n in range(N):
    m: T.float32 = A[n, 0]
    for t in range(37):
        m = T.max(m, A[n, t])
        B[n, t] = m
""",
    "lengths of their own": """
for n in range(N):
    m: T.let[T.int32] = T.min(n + 3, 37)
    h: T.float32 = 0.0
    for t in range(m):
        h = A[n, t] * h + B[n, t]
        B[n, t] = h
""",
    "sums of integers": """
for n in range(N):
    h: T.uint32 = T.uint32(0)
    for t in range(n):
        h = h + T.reinterpret("uint32", A[n, t])
    H[n] = h
""",
    "rows that LLVM gathers": """
for n in range(N):
    h: T.uint32 = T.uint32(2166136261)
    for t in range(37):
        h = (h ^ T.reinterpret("uint32", A[n, t])) * T.uint32(16777619)
    H[n] = h
""",
}


def kernel(body: str, rows: int) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.replace("N", str(rows)).strip().splitlines())
    found = parse(f"@T.prim_func\ndef main({PARAMS.replace('N', str(rows))}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def same_as_interpreted(func: PrimFunc, made: PrimFunc, rows: int) -> None:
    random = np.random.default_rng(rows)
    wanted = [random.standard_normal((rows, 37)).astype("float32") for _ in range(2)] + [np.zeros(rows, "uint32")]
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(made)(*found)
    assert all(map(np.array_equal, wanted, found))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [9, 23])
@pytest.mark.parametrize("name", TAKEN)
def test_rows_side_by_side(name: str, rows: int, threads: int) -> None:
    func = kernel(TAKEN[name], rows)
    made = scheduled(func, CpuFacts(vector_bits=512, threads=threads))
    assert "n_0 * 4 + " in made.script()
    assert not verify(made) and structural_equal(parse(made.script()), made)
    same_as_interpreted(func, made, rows)


@pytest.mark.long
@pytest.mark.parametrize("name", TAKEN)
def test_rows_of_unknown_number(name: str) -> None:
    lines = "\n".join(f"    {line}" for line in TAKEN[name].replace("range(N)", "range(n_rows)").strip().splitlines())
    params = PARAMS.replace("N", '"n_rows"')
    func = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n".replace("range(1, N)", "range(1, n_rows)"))
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert "n_0 * 4 + " in made.script()
    assert not verify(made) and structural_equal(parse(made.script()), made)
    for rows in (0, 1, 3, 4, 5, 8, 23):
        same_as_interpreted(func, made, rows)


@pytest.mark.parametrize("name", GATHERED)
def test_lanes_that_gather(name: str) -> None:
    func = kernel(GATHERED[name], 39)
    made = scheduled(func, CpuFacts(vector_bits=512, reassociate=False))
    assert "T.vectorized(32)" in made.script() or "T.float32x32" in made.script()
    assert not verify(made) and structural_equal(parse(made.script()), made)
    same_as_interpreted(func, made, 39)
    assert "T.vectorized(" not in scheduled(kernel(GATHERED[name], 9), CpuFacts(vector_bits=512)).script()


@pytest.mark.parametrize(
    ("columns", "bits", "value", "gathers"),
    [
        (512, 512, "h * T.float32(0.5) + A[n, t]", False),  # all rows in one place of the cache
        (500, 256, "h * T.float32(0.5) + A[n, t]", False),
        (512, 512, "T.tanh(h * T.float32(0.5) + A[n, t])", True),
        (500, 256, "T.tanh(h * T.float32(0.5) + A[n, t])", True),
        (500, 128, "T.tanh(h * T.float32(0.5) + A[n, t])", False),
    ],
)
def test_what_is_worth_gathering(columns: int, bits: int, value: str, gathers: bool) -> None:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((64, {columns})), B: T.Buffer((64,))):
    for n in range(64):
        h: T.float32 = 0.0
        for t in range({columns}):
            h = {value}
        B[n] = h
""")
    assert isinstance(func, PrimFunc)
    assert ("T.vectorized(" in scheduled(func, CpuFacts(vector_bits=bits)).script()) == gathers


@pytest.mark.parametrize("name", LEFT)
def test_rows_that_stay(name: str) -> None:
    func = kernel(LEFT[name], 23)
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert "n_0 * 4" not in made.script()
    same_as_interpreted(func, made, 23)


def test_few_rows_stay() -> None:
    func = kernel(TAKEN["a recurrence"], 7)
    assert "n_0" not in scheduled(func, CpuFacts(vector_bits=512)).script()


def short(row: int, dtype: str) -> PrimFunc:
    shape = f"(40000, {row})"
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({shape}, "{dtype}")):
    for n in range(40000):
        h: T.{dtype} = T.cast(0, "{dtype}")
        for t in range({row}):
            h = h * T.cast(3, "{dtype}") + A[n, t]
            B[n, t] = h
""")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    ("row", "dtype", "bits", "stays"),
    [
        (8, "float32", 512, True),
        (8, "float32", 256, True),
        (8, "uint8", 512, True),
        (8, "uint8", 256, False),
        (9, "float32", 512, False),  # stores of farther rows would be scattered
    ],
)
def test_short_rows_stay_as_llvm_makes_vectors_of_them(row: int, dtype: str, bits: int, stays: bool) -> None:
    func = short(row, dtype)
    for threads in (1, 2):
        text = scheduled(func, CpuFacts(vector_bits=bits, threads=threads)).script()
        assert ("n_0 * 4" not in text) is stays
        assert ("T.parallel(" in text) is (threads == 2)


@pytest.mark.parametrize(
    ("body", "stays"),
    [
        ("for t in range(12):\n        h = h * T.float32(0.5) + T.exp(A[n, t])", True),
        ("for t in range(14):\n        h = h * T.float32(0.5) + T.exp(A[n, t])", False),
        ("for t in range(10):\n        h = h * T.float32(0.5) + T.tanh(A[n, t])", False),
        # what is read again, or is the same in all steps, is in a register
        ("for t in range(8):\n        B[n, t % 8] = T.exp(A[n, 36] * A[n, t]) * B[n, t % 8]\n        h = h * A[n, 36] + B[n, t % 8] * B[n, t % 8] * A[n, t]", True),
    ],
)  # fmt: skip
def test_steps_with_functions_that_llvm_writes_out(body: str, stays: bool) -> None:
    func = kernel(f"for n in range(N):\n    h: T.float32 = 0.0\n    {body}\n    H[n] = T.reinterpret('uint32', h)", 23)
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert ("n_0" not in made.script()) is stays
