"""Products of a batch, or of many rows, with one operand of the columns: what is packed is packed once, what is read again stays near."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import For, PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse


def product(batch: int | str, rows: int | str, own: bool = False) -> PrimFunc:
    """A product of a batch of matrices with one matrix, or with one of its `own` for each; names are symbolic sizes."""
    shapes = [repr((batch, rows, 20)), repr((batch, 20, 40) if own else (20, 40)), repr((batch, rows, 40))]
    found = parse(f"""
@T.prim_func
def product(
    A: T.Buffer({shapes[0]}, "float32"), W: T.Buffer({shapes[1]}, "float32"), C: T.Buffer({shapes[2]}, "float32")
):
    for b, i, j, k in T.grid({batch}, {rows}, 40, 20):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0.0
            C[vb, vi, vj] += A[vb, vi, vk] * W[{"vb, " if own else ""}vk, vj]
""")
    assert isinstance(found, PrimFunc)
    return found


def around(body: object, name: str) -> list[str]:
    """The lengths of the loops around the block of a name."""
    loops = [node for node in walk(body) if type(node) is For]  # type: ignore[arg-type]
    found = [loop for loop in loops if any(type(node) is Block and node.name == name for node in walk(loop.body))]
    return [loop.stop.script().strip() for loop in found]


SYMBOLIC = ("many", "n")


@pytest.mark.long
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("sizes", [SYMBOLIC, ("many", 30), (5, 30)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_panel_is_for_all_of_a_batch(sizes: tuple[int | str, int | str], own: bool, threads: int) -> None:
    kernel = product(*sizes, own)
    made = default_schedule(kernel, CpuFacts(vector_bits=512, threads=threads)).func
    (copy,) = [
        node.name
        for node in walk(made.body)
        if type(node) is Block and node.name.startswith("W_") and not node.name.endswith("init")
    ]
    batch = str(sizes[0])
    if threads == 1:
        assert (batch in around(made.body, copy)) == own
    native = tirscript.build(made, pipeline=DEFAULT_LOWERING)
    rng = np.random.default_rng(1)
    for b, n in ((5, 30), (1, 1), (2, 9), (4, 8), (0, 3), (3, 0)):
        if any(isinstance(size, int) and size != one for size, one in zip(sizes, (b, n), strict=True)):
            continue
        A = rng.integers(-9, 9, (b, n, 20)).astype("float32")
        W = rng.integers(-9, 9, (b, 20, 40) if own else (20, 40)).astype("float32")
        for run in (native, lambda *given: interpret(made, *given)):
            C = np.full((b, n, 40), np.nan, "float32")
            run(A, W, C)
            np.testing.assert_array_equal(C, A @ W)


@pytest.mark.parametrize(("rows", "inside"), [(2048, True), (16, False)])
def test_threads_share_each_of_a_batch_of_unknown_length(rows: int, inside: bool) -> None:
    """It may be a batch of one. Where one takes less than it takes to wake threads, they share the batch."""
    made = default_schedule(product("many", rows, own=True), CpuFacts(vector_bits=512, threads=4)).func
    shared = [str(node.stop) for node in walk(made.body) if type(node) is For and node.kind == "parallel"]
    assert shared and ("many" not in shared) == inside
    native = tirscript.build(made, pipeline=DEFAULT_LOWERING)
    rng = np.random.default_rng(1)
    for many in (0, 1, 3):
        A, W = (rng.integers(-9, 9, (many, *shape)).astype("float32") for shape in ((rows, 20), (20, 40)))
        C = np.full((many, rows, 40), np.nan, "float32")
        native(A, W, C)
        np.testing.assert_array_equal(C, A @ W)


@pytest.mark.parametrize("threads", [1, 4])
def test_short_lines_of_a_batch_of_unknown_length_are_joined(threads: int) -> None:
    kernel = parse("""
@T.prim_func
def main(xh: T.handle, W: T.Buffer((T.int64(48), T.int64(64)), "float32"), yh: T.handle):
    n = T.int64()
    X = T.match_buffer(xh, (n, T.int64(64), T.int64(28), T.int64(28)), "float32")
    Y = T.match_buffer(yh, (n, T.int64(48), T.int64(28), T.int64(28)), "float32")
    for b, f, y, x, c in T.grid(n, T.int64(48), T.int64(28), T.int64(28), T.int64(64)):
        with T.block("Y"):
            vb, vf, vy, vx, vc = T.axis.remap("SSSSR", [b, f, y, x, c])
            with T.init():
                Y[vb, vf, vy, vx] = T.float32(0)
            Y[vb, vf, vy, vx] = Y[vb, vf, vy, vx] + X[vb, vc, vy, vx] * W[vf, vc]
""")
    assert isinstance(kernel, PrimFunc)
    made = default_schedule(kernel, CpuFacts(vector_bits=512, threads=threads)).func
    assert "T.int64(800)" in made.script()  # 28 lines of 28, in whole vectors
    native = tirscript.build(made, pipeline=DEFAULT_LOWERING)
    rng = np.random.default_rng(1)
    W = rng.integers(-9, 9, (48, 64)).astype("float32")
    for many in (0, 1, 3):
        X = rng.integers(-9, 9, (many, 64, 28, 28)).astype("float32")
        Y = np.full((many, 48, 28, 28), np.nan, "float32")
        native(X, W, Y)
        np.testing.assert_array_equal(Y, np.einsum("bcyx,fc->bfyx", X, W))


def test_rows_of_a_batch_are_rows_of_the_tile() -> None:
    """Where neither length is known, those that lie beside each other: tiles of a batch would read a panel for each row.

    Rows of all of the batch are one dimension where they share a matrix.
    """
    made = default_schedule(product(*SYMBOLIC, own=True), CpuFacts(vector_bits=512)).func
    assert any(length == "many" for length in around(made.body, "C_update"))
    assert any("n" in length.replace("many", "") and "8" in length for length in around(made.body, "C_update"))
    made = default_schedule(product(*SYMBOLIC), CpuFacts(vector_bits=512, threads=2)).func
    assert any("many * n" in length for length in around(made.body, "C_update"))
    assert "T.parallel(" in made.script()


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "threads", "by_rows"),
    [
        (4096, 64, 128, 1, True),
        (4096, 60, 130, 1, True),
        (4096, 64, 128, 2, False),  # one panel for each thread
        (512, 64, 128, 1, False),  # the rows stay in the cache
        (4096, 320, 128, 1, False),  # the panels do not
        ("n", 64, 128, 1, False),
    ],
)
def test_rows_do_all_panels_that_stay_near(
    rows: int | str, columns: int, depth: int, threads: int, by_rows: bool
) -> None:
    """A panel that is done by itself reads all rows, which come from memory for each."""
    kernel = parse(f"""
@T.prim_func
def product(A: T.Buffer(({rows!r}, {depth})), B: T.Buffer(({depth}, {columns})), C: T.Buffer(({rows!r}, {columns}))):
    for i, j in T.grid({rows}, {columns}):
        C[i, j] = 0.0
        for k in range({depth}):
            C[i, j] += A[i, k] * B[k, j]
""")
    assert isinstance(kernel, PrimFunc)
    made = default_schedule(kernel, CpuFacts(vector_bits=512, threads=threads)).func
    outermost = re.search(r"\b([ij])_0", made.script())
    assert outermost is not None and outermost[1] == ("i" if by_rows else "j")
    rng = np.random.default_rng(1)
    A, B = rng.integers(-9, 9, (rows if isinstance(rows, int) else 9, depth)), rng.integers(-9, 9, (depth, columns))
    C = np.full((len(A), columns), np.nan, "float32")
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(A.astype("float32"), B.astype("float32"), C)
    np.testing.assert_array_equal(C, A @ B)


def test_known_rows_are_tiled_rather_than_a_batch_of_unknown_length() -> None:
    kernel = product("many", 64, own=False)
    made = default_schedule(kernel, CpuFacts(vector_bits=512, threads=1)).func
    # one of a batch would be rounded up to eight
    assert "T.ceildiv" not in made.script()
    native = tirscript.build(made, pipeline=DEFAULT_LOWERING)
    for batch in (0, 1, 3):
        A, W = np.ones((batch, 64, 20), "float32"), np.arange(800, dtype="float32").reshape(20, 40)
        C = np.full((batch, 64, 40), np.nan, "float32")
        native(A, W, C)
        np.testing.assert_array_equal(C, A @ W)
