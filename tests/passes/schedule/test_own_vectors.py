"""Lines that are divided by one number go in vectors of ours, of which the code generator makes one division."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block, For
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

WIDE = CpuFacts(512, 1)


def lines(value: str, rows: object, columns: object, dtype: str = "float32") -> PrimFunc:
    shape = ", ".join(f'"{size}"' if isinstance(size, str) else str(size) for size in (rows, columns))
    found = parse(f"""
@T.prim_func
def lines(A: T.Buffer(({shape}), "{dtype}"), D: T.Buffer(({shape.split(",")[0]},), "{dtype}"),
          B: T.Buffer(({shape}), "{dtype}")):
    for i, j in T.grid({rows}, {columns}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = {value}
""")
    assert isinstance(found, PrimFunc)
    return found


def lanes(func: PrimFunc, facts: CpuFacts = WIDE) -> dict[str, int]:
    """The lanes of the blocks that the default schedule makes vectors of."""
    return {
        block.name: int(loop.extent.value)  # type: ignore[attr-defined]
        for loop in walk(default_schedule(func, facts).func.body)
        if type(loop) is For and loop.kind == "vectorized"
        for block in walk(loop.body)
        if type(block) is Block
    }


@pytest.mark.parametrize(
    ("value", "columns", "wanted"),
    [
        ("A[vi, vj] / D[vi]", 1024, 16),
        ("B[vi, vj] / D[vi]", 1024, 16),
        ("(A[vi, vj] - D[0]) / D[1] + D[2]", 1024, 16),
        ("A[vi, vj] / D[vi]", 240, 0),  # too few vectors to prepare it for
        ("A[vi, vj] / T.float32(3)", 256, 16),
        ("A[vi, vj] / T.float32(0.5)", 1024, 0),  # times 2
        ("A[vi, vj] * D[vi]", 1024, 0),
        ("D[vi] / A[vi, vj]", 1024, 0),
        ("A[vi, vj] / A[vi, 2 * vj - vj]", 1024, 0),
        ("A[vi, 1023 - vj] / D[vi]", 1024, 0),  # backwards
        ("A[vi, vj] * A[vi, vj] * A[vi, vj] * A[vi, vj] * A[vi, vj] / D[vi]", 1024, 0),  # does something meanwhile
    ],
)
def test_which_lines(value: str, columns: int, wanted: int) -> None:
    assert lanes(lines(value, 8, columns)) == ({"B": wanted} if wanted else {})


def test_which_processors() -> None:
    func = lines("A[vi, vj] / D[vi]", 8, 1024)
    assert lanes(func, CpuFacts(256, 1)) == {"B": 8}
    assert lanes(lines("A[vi, vj] / D[vi]", 8, 1024, "float64")) == {"B": 8}
    assert lanes(func, CpuFacts(512, 1, fuses=False)) == {}
    assert lanes(func, CpuFacts(128, 1)) == {}


def test_lines_of_symbolic_length() -> None:
    """The rest has a loop of its own: a vector, or single elements where the next line would wait for it."""
    assert lanes(lines("A[vi, vj] / D[vi]", "m", "n")) == {"B": 16, "B_1": 16}
    assert lanes(lines("B[vi, vj] / D[vi]", "m", "n")) == {"B": 16}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", ["A[vi, vj] / D[vi]", "B[vi, vj] / D[vi]", "A[vi, vj] / T.float32(7) + D[0]"])
def test_results(dtype: str, value: str) -> None:
    value = value.replace("float32", dtype)
    random = np.random.default_rng(5)
    dynamic = tirscript.build(lines(value, "m", "n", dtype))
    for rows, columns in ((3, 1024), (2, 1031), (1, 257), (5, 17), (4, 1), (0, 9), (2, 0)):
        a, b = (random.standard_normal((rows, columns)).astype(dtype) for _ in range(2))
        d = (1 + random.random(max(1, rows))).astype(dtype)[:rows]
        kernels = [dynamic]
        if rows and columns:
            kernels.append(tirscript.build(lines(value, rows, columns, dtype)))
        for kernel in kernels:
            if "D[0]" in value and not rows:
                continue
            found, wanted = b.copy(), b.copy()
            kernel(a, d, found)
            divided = {"A": a, "B": b}[value[0]]
            wanted = divided / d[:, None] if "D[vi]" in value else divided / np.array(7, dtype) + d[0]
            assert np.array_equal(found, wanted), (rows, columns)


@pytest.mark.parametrize(("length", "wanted"), [(44, [16, 12]), (9, [9]), (48, []), (300, [])])
def test_short_lines_at_other_places_than_their_axes_say(length: int, wanted: list[int]) -> None:
    """Those of a Kronecker product, whose last vectors are not whole; LLVM makes vectors of others."""
    func = parse(f"""
@T.prim_func
def kron(A: T.Buffer((4, 3), "int32"), B: T.Buffer((5, {length}), "int32"), C: T.Buffer((20, {3 * length}), "int32")):
    for i, j, k, l in T.grid(4, 3, 5, {length}):
        with T.block("C"):
            vi, vj, vk, vl = T.axis.remap("SSSS", [i, j, k, l])
            C[vi * 5 + vk, vj * {length} + vl] = A[vi, vj] * B[vk, vl]
""")
    assert isinstance(func, PrimFunc)
    assert list(lanes(func).values()) == wanted
    a, b = np.arange(12, dtype="int32").reshape(4, 3), np.arange(5 * length, dtype="int32").reshape(5, length)
    found = np.zeros((20, 3 * length), "int32")
    tirscript.build(func)(a, b, found)
    assert np.array_equal(found, np.kron(a, b))
