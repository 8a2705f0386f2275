"""Histograms by the default schedule: which loops it does in parts, and that the parts are always the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm import parallel
from tirscript.ir import Attrs, PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
COUNT = "for i in range({n}):\n    H[A[i]] = H[A[i]] + 1"
GIVEN = 'A: T.Buffer(({n},), "int32"), H: T.Buffer(({bins},), "int32")'
WEIGHTS = 'A: T.Buffer(({n},), "int32"), W: T.Buffer(({n},), "float32"), H: T.Buffer(({bins},), "float32")'
IMAGE = 'A: T.Buffer((300, 1000), "uint8"), H: T.Buffer((256,), "int32")'


def kernel(body: str, params: str = GIVEN, n: int = 300000, bins: int = 100) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.format(n=n, bins=bins).strip("\n").split("\n"))
    found = parse(f"@T.prim_func\ndef main({params.format(n=n, bins=bins)}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def steps(func: PrimFunc, facts: CpuFacts = FACTS) -> str:
    return str(default_schedule(func, facts).trace)


def native(func: PrimFunc, facts: CpuFacts = FACTS) -> Any:
    return tirscript.build(default_schedule(func, facts).func, pipeline=DEFAULT_LOWERING)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Loops that can run in parallel do, with three threads."""
    monkeypatch.setattr(parallel, "WORK", 0.0)
    monkeypatch.setattr(parallel, "ROUSE", 0.0)
    before = tirscript.get_num_threads()
    tirscript.set_num_threads(3)
    yield
    tirscript.set_num_threads(before)


def test_counts_of_loops_as_they_are_written(eager: None) -> None:
    func = kernel(f"for i in range({{bins}}):\n    H[i] = 0\n{COUNT}", n=300007)
    built = native(func)
    text = built.lowered.script()
    assert "T.parallel(18)" in text and "T.prefetch" in text
    assert "H_own_3[A[vi]] = " in default_schedule(func, FACTS).script()
    given, found = np.random.default_rng(1).integers(0, 100, 300007).astype("int32"), np.full(100, 7, "int32")
    built(given, found)
    assert (found == np.bincount(given, minlength=100)).all()


def test_what_is_there_before_counts_too(eager: None) -> None:
    given = np.random.default_rng(2).integers(-50, 100, 300000).astype("int32")
    found = np.arange(100, dtype="int32")
    native(kernel("for i in range({n}):\n    if A[i] >= 0:\n        H[A[i]] += 1"))(given, found)
    assert (found == np.arange(100) + np.bincount(given[given >= 0], minlength=100)).all()


def test_images(eager: None) -> None:
    func = kernel("for i, j in T.grid(300, 1000):\n    b = A[i, j]\n    H[b] += 1", IMAGE)
    given, found = np.random.default_rng(3).integers(0, 256, (300, 1000)).astype("uint8"), np.zeros(256, "int32")
    built = native(func)
    assert "H_own_3[b] = " in default_schedule(func, FACTS).script()
    built(given, found)
    assert (found == np.bincount(given.ravel(), minlength=256)).all()


def test_two_dimensions(eager: None) -> None:
    func = kernel(
        """
for i in range({n}):
    x = T.cast(P[i, 0] * T.float32(8), "int32")
    y = T.cast(P[i, 1] * T.float32(5), "int32")
    if x >= 0 and x < 8 and y >= 0 and y < 5:
        H[x, y] = H[x, y] + T.int64(1)
        M[x] = T.max(M[x], i)""",
        'P: T.Buffer(({n}, 2), "float32"), H: T.Buffer((8, 5), "int64"), M: T.Buffer((8,), "int32")',
    )
    points = (np.random.default_rng(4).random((300000, 2)) * 1.2).astype("float32")
    found, last = np.zeros((8, 5), "int64"), np.full(8, -1, "int32")
    native(func)(points, found, last)
    x, y = ((points * np.asarray([8, 5], "float32")).astype("int32")).T
    within = (x < 8) & (y < 5)
    wanted, greatest = np.zeros((8, 5), "int64"), np.full(8, -1, "int32")
    np.add.at(wanted, (x[within], y[within]), 1)
    np.maximum.at(greatest, x[within], np.arange(300000, dtype="int32")[within])
    assert (found == wanted).all() and (last == greatest).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_sums_of_floats_do_not_depend_on_the_threads(threads: int, eager: None) -> None:
    func = kernel("for i in range({n}):\n    H[A[i]] = H[A[i]] + W[i]", WEIGHTS)
    rng = np.random.default_rng(5)
    given, weights = rng.integers(0, 100, 300000).astype("int32"), rng.random(300000).astype("float32")
    found, again = np.zeros((2, 100), "float32")
    native(func)(given, weights, found)
    tirscript.set_num_threads(threads)
    native(func, CpuFacts(512, 16))(given, weights, again)
    assert (found.view("int32") == again.view("int32")).all()
    exact = np.bincount(given, weights.astype("float64"), 100)
    assert np.abs(found - exact).max() < 1e-6 * exact.max()


def test_symbolic_sizes(eager: None) -> None:
    func = parse("""
@T.prim_func
def main(a: T.handle, w: T.handle, H: T.Buffer((10,), "int64")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    W = T.match_buffer(w, (n,), "int64")
    for i in range(n):
        H[A[i]] = H[A[i]] + W[i]
""")
    assert isinstance(func, PrimFunc)
    built = native(func)
    assert "if n >= 262144:" in built.lowered.script()
    for n in (0, 1, 5000, 262143, 262144, 300001):
        rng = np.random.default_rng(n)
        given, weights = rng.integers(0, 10, n).astype("int32"), rng.integers(-9, 9, n)
        wanted, found = (np.arange(10, dtype="int64") for _ in range(2))
        np.add.at(wanted, given, weights)
        built(given, weights, found)
        assert (found == wanted).all()


ROWS = 'A: T.Buffer((64, 5000), "int32"), H: T.Buffer((64, 10), "int32")'
TAKEN = {
    "plain": kernel(COUNT),
    "from elsewhere": kernel("for i in range(5, {n}):\n    H[A[i]] = H[A[i]] + 1"),
    "least": kernel("for i in range({n}):\n    H[A[i]] = T.min(H[A[i]], i)"),
    "weights": kernel("for i in range({n}):\n    H[A[i]] = H[A[i]] + W[i]", WEIGHTS),
    "few rows": kernel(
        "for i in range(3):\n    for j in range({n}):\n        H[A[i, j]] += 1",
        'A: T.Buffer((3, {n}), "int32"), H: T.Buffer(({bins},), "int32")',
    ),
    "a block": kernel(
        'for i in range({n}):\n    with T.block("b"):\n        vi = T.axis.reduce({n}, i)\n        H[A[vi]] += 1'
    ),
}


@pytest.mark.parametrize("name", list(TAKEN))
def test_what_is_taken(name: str) -> None:
    made = default_schedule(TAKEN[name], FACTS)
    assert str(made.trace).count("privatize") == 1 and "T.parallel" in made.script()
    again = Trace.parse(str(made.trace)).replay(Schedule(with_blocks(TAKEN[name])))
    assert again.script() == made.script()


LEFT = {
    "few": kernel(COUNT, n=30000),
    "many bins": kernel(COUNT, bins=5000),
    "products of floats": kernel("for i in range({n}):\n    H[A[i]] = H[A[i]] * W[i]", WEIGHTS),
    "greatest of floats": kernel("for i in range({n}):\n    H[A[i]] = T.max(H[A[i]], W[i])", WEIGHTS),
    "exact floats": TAKEN["weights"].replace(attrs=Attrs({"fastmath": False})),
    "a scatter": kernel("for i in range({n}):\n    H[A[i]] = i"),
    "a chain": kernel("for i in range({n}):\n    H[A[i]] = H[A[i]] + H[0]"),
    "known places": kernel("for i in range({n}):\n    if A[i] > 3:\n        H[i % 7] = H[i % 7] + A[i]"),
    "buffers that may overlap": TAKEN["plain"].replace(attrs=Attrs({"tir.noalias": False})),
    "a view": kernel('V = T.Buffer((2,), "int32", data=H.data)\nV[0] = 1\n' + COUNT),
}


@pytest.mark.parametrize("name", list(LEFT))
def test_what_is_left(name: str) -> None:
    assert "privatize" not in steps(LEFT[name])


def test_what_may_overlap_gets_no_blocks() -> None:
    assert with_blocks(LEFT["buffers that may overlap"]) is LEFT["buffers that may overlap"]
    assert with_blocks(TAKEN["plain"]) is not TAKEN["plain"]


def test_one_thread_takes_turns_and_no_more() -> None:
    alone = CpuFacts(512, 1)
    assert "T.parallel" not in default_schedule(TAKEN["plain"], alone).script()
    assert "H_own_3" in default_schedule(TAKEN["plain"], alone).script()
    large = kernel(COUNT, n=4000000, bins=20000)
    assert "privatize" in steps(large) and "privatize" not in steps(large, alone)
    assert "_own_1" not in default_schedule(large, FACTS).script()


def test_rows_that_count_for_themselves_run_at_once() -> None:
    func = kernel("for i, j in T.grid(64, 5000):\n    H[i, A[i, j]] = H[i, A[i, j]] + 1", ROWS)
    text = default_schedule(func, FACTS).script()
    assert "for i in T.parallel(64):" in text and "H_own" not in text


def test_elements_beside_each_other_stay_vectors() -> None:
    func = kernel(
        "for i, j in T.grid({n}, 8):\n    H[A[i], j] = H[A[i], j] + W[i, j]",
        'A: T.Buffer(({n},), "int32"), W: T.Buffer(({n}, 8), "float32"), H: T.Buffer(({bins}, 8), "float32")',
    )
    text = default_schedule(func, FACTS).script()
    assert "H_parts" in text and "H_own_1" not in text and "prefetch" not in text


def test_loops_become_blocks() -> None:
    func = kernel("""
for i in range(8):
    H[i] = 0
for i in range(8):
    for j in range(4):
        b = A[i * 4 + j]
        if b >= 0:
            H[b] = H[b] + j
for i in range(8):
    if A[i] > 3:
        H[0] = A[i]""")
    made = with_blocks(func)
    assert (
        made.script().split("main")[1]
        == parse(
            """
@T.prim_func
def main(A: T.Buffer((300000,), "int32"), H: T.Buffer((100,), "int32")):
    for i in range(8):
        with T.block("H"):
            vi = T.axis.spatial(8, i)
            H[vi] = 0
    for i, j in T.grid(8, 4):
        with T.block("H_1"):
            vi, vj = T.axis.remap("RR", [i, j])
            b = A[vi * 4 + vj]
            if b >= 0:
                H[b] = H[b] + vj
    for i in range(8):
        if A[i] > 3:
            H[0] = A[i]
"""
        )
        .script()
        .split("main")[1]
    )
    assert_same_result(func, made)
