"""Updates in private copies: the primitive against the loop as it stands, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.script import parse
from tirscript.testing import assert_same_result


def kernel(body: str, params: str = 'A: T.Buffer((50,), "int32"), H: T.Buffer((8,), "int32")') -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def in_parts(func: PrimFunc, parts: int, lanes: int = 1, least: int = 0) -> Schedule:
    schedule = Schedule(func, verify=True)
    schedule.parallel(schedule.privatize("i", parts, lanes, least))
    return schedule


COUNT = "for i in range(50):\n    H[A[i] & 7] = H[A[i] & 7] + 1"
TWO = 'A: T.Buffer((9, 11), "int32"), H: T.Buffer((4, 2), "int32"), S: T.Buffer((4,), "int64")'
KERNELS = {
    "count": kernel(COUNT),
    "value first": kernel("for i in range(50):\n    H[A[i] & 7] = A[i] * H[A[i] & 7]"),
    "from a number": kernel("for i in range(3, 47):\n    H[A[i] & 7] = H[A[i] & 7] ^ i"),
    "under a condition": kernel("for i in range(50):\n    if A[i] >= 0 and A[i] < 8:\n        H[A[i]] = H[A[i]] + 1"),
    "by a name": kernel("for i in range(50):\n    b = A[i] & 7\n    if b != 3:\n        H[b] = T.max(H[b], A[i])"),
    "searched": kernel("""
for i in range(50):
    low: T.int32 = 0
    high: T.int32 = 7
    while low < high:
        middle = (low + high) // 2
        if A[middle * 7] < A[i]:
            low = middle + 1
        else:
            high = middle
    H[low] = T.min(H[low], i)"""),
    "two buffers": kernel(
        """
for i in range(9):
    for j in range(11):
        if A[i, j] % 3 != 0:
            H[A[i, j] & 3, A[i, j] & 1] = H[A[i, j] & 3, A[i, j] & 1] + 1
        S[A[i, j] & 3] = S[A[i, j] & 3] + T.int64(A[i, j])""",
        TWO,
    ),
    "a block": kernel(
        """
for i, j in T.grid(9, 11):
    with T.block("count"):
        vi, vj = T.axis.remap("RR", [i, j])
        T.where(i + j < 15)
        T.reads(A[vi, vj])
        T.writes(H[0:4, 1])
        H[A[vi, vj] & 3, 1] = H[A[vi, vj] & 3, 1] + vj""",
        TWO,
    ),
    "bools": kernel(
        "for i in range(50):\n    B[A[i] & 7] = B[A[i] & 7] or A[i] > 5",
        'A: T.Buffer((50,), "int32"), B: T.Buffer((8,), "bool")',
    ),
    "one element": kernel("for i in range(50):\n    if A[i] > 3:\n        H[2] = H[2] | A[i]"),
    "of no dimensions": kernel(
        "for i in range(50):\n    C[()] = C[()] + A[i]", 'A: T.Buffer((50,), "int32"), C: T.Buffer((), "int32")'
    ),
}


@pytest.mark.parametrize("name", list(KERNELS))
def test_it_does_the_same(name: str) -> None:
    for parts, lanes in ((3, 2), (7, 1)):
        made = in_parts(KERNELS[name], parts, lanes)
        assert_same_result(KERNELS[name], made.func)
        text = made.script()
        assert "T.parallel" in text and f"_own_{lanes}" not in text
        assert (lanes == 1 or f"_own_{lanes - 1}" in text) and (lanes > 1 or "_own_" not in text)
        again = Trace.parse(str(made.trace)).replay(Schedule(KERNELS[name]))
        assert again.script() == made.script()


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 700),
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(1, 5),
    st.sampled_from(("int8", "uint8", "int32", "int64", "float32", "float64", "float16")),
    st.sampled_from(("add", "min", "max")),
)
def test_natively_it_is_what_numpy_counts(n: int, bins: int, parts: int, lanes: int, dtype: str, op: str) -> None:
    value = {"add": "H[A[i]] + W[i]", "min": "T.min(H[A[i]], W[i])", "max": "T.max(W[i], H[A[i]])"}[op]
    func = kernel(
        f"for i in range({n}):\n    H[A[i]] = {value}",
        f'A: T.Buffer(({n},), "int32"), W: T.Buffer(({n},), "{dtype}"), H: T.Buffer(({bins},), "{dtype}")',
    )
    rng = np.random.default_rng(n * bins)
    at, weights = rng.integers(0, bins, n).astype("int32"), rng.integers(0, 3, n).astype(dtype)
    found = rng.integers(0, 100, bins).astype(dtype)
    wanted = found.copy()
    {"add": np.add, "min": np.minimum, "max": np.maximum}[op].at(wanted, at, weights)
    tirscript.build(in_parts(func, min(parts, n), lanes).func, pipeline=DEFAULT_LOWERING)(at, weights, found)
    assert (found == wanted).all()  # whole numbers are exact in any order


@pytest.mark.parametrize(("parts", "lanes", "least"), [(4, 1, 0), (3, 4, 0), (4, 2, 10)])
def test_any_number_of_iterations(parts: int, lanes: int, least: int) -> None:
    func = parse("""
@T.prim_func
def main(a: T.handle, H: T.Buffer((8,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    for i in range(n):
        H[A[i]] = H[A[i]] + i
""")
    assert isinstance(func, PrimFunc)
    made = in_parts(func, parts, lanes, least).func
    assert (f"if n >= {least}:" in made.script()) == (least > 0)
    native = tirscript.build(made, pipeline=DEFAULT_LOWERING)
    for n in (0, 1, 2, 3, 9, 10, 11, 12, 13, 97):
        given = np.random.default_rng(n).integers(0, 8, n).astype("int32")
        wanted, found, also = (np.arange(8, dtype="int32") for _ in range(3))
        np.add.at(wanted, given, np.arange(n, dtype="int32"))
        native(given, found)
        interpret(made, given, also)
        assert (found == wanted).all() and (also == wanted).all()


def test_loops_that_run_backward_do_not_run() -> None:
    func = parse("""
@T.prim_func
def main(k: T.int32, n: T.int32, A: T.Buffer((40, 30), "int32"), H: T.Buffer((8,), "int32")):
    for i in range(k, n):
        for j in range(i, n - 3):
            for l in range(0, -5):
                H[7] = H[7] + 1
            H[A[i, j]] = H[A[i, j]] + j
""")
    assert isinstance(func, PrimFunc)
    given = np.random.default_rng(1).integers(0, 7, (40, 30)).astype("int32")
    for parts, lanes in ((1, 4), (3, 1), (4, 3)):
        native = tirscript.build(in_parts(func, parts, lanes).func, pipeline=DEFAULT_LOWERING)
        for k, n in ((0, 30), (7, 30), (9, 11), (11, 9), (30, 0), (5, 5), (3, 2)):
            wanted, found = np.arange(8, dtype="int32"), np.arange(8, dtype="int32")
            interpret(func, k, n, given, wanted)
            native(k, n, given, found)
            assert (found == wanted).all()


def test_a_loop_that_is_left_alone_has_blocks_of_its_own() -> None:
    func = parse("""
@T.prim_func
def main(a: T.handle, H: T.Buffer((8,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    for i in range(n):
        with T.block("count"):
            vi = T.axis.reduce(n, i)
            H[A[vi]] += 1
    for i in range(8):
        with T.block("count_1"):
            vi = T.axis.spatial(8, i)
            H[vi] = H[vi] * 2
""")
    assert isinstance(func, PrimFunc)
    schedule = Schedule(func, verify=True)
    schedule.privatize(schedule.get_loops("count")[0], 2, 2, 9)
    names = [block.name for block in schedule.get_child_blocks("root")]
    assert len(names) == len(set(names))
    assert [name for name in names if name.startswith("count")] == ["count", "count_2", "count_3", "count_4", "count_1"]


def test_elements_that_no_iteration_is_at_stay_what_they_are() -> None:
    given = np.zeros(50, "int32")
    for value, first in (("H[A[i]] + T.float32(1)", -0.0), ("T.max(H[A[i]], T.float32(1))", np.nan)):
        func = kernel(
            f"for i in range(50):\n    H[A[i]] = {value}",
            'A: T.Buffer((50,), "int32"), H: T.Buffer((8,), "float32")',
        )
        found = np.full(8, first, "float32")
        wanted = found.copy()
        tirscript.build(in_parts(func, 4, 3).func, pipeline=DEFAULT_LOWERING)(given, found)
        assert (found[1:].view("int32") == wanted[1:].view("int32")).all()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("for i in range(50):\n    H[A[i]] = i", "what it stores to `H` is no update"),
        ("for i in range(50):\n    H[A[i]] = H[A[i]] - 1", "what it stores to `H` is no update"),
        ("for i in range(50):\n    H[A[i]] = H[A[i] + 1] + 1", "what it stores to `H` is no update"),
        ("for i in range(50):\n    H[A[i]] = H[A[i]] + H[i % 8]", "what it stores to `H` is no update"),
        ("for i in range(50):\n    H[H[i % 8]] = H[H[i % 8]] + 1", "reads `H` elsewhere"),
        ("for i in range(50):\n    if H[0] > 3:\n        H[A[i]] = H[A[i]] + 1", "reads `H` elsewhere"),
        (
            "for i in range(50):\n    H[A[i]] = H[A[i]] + 1\n    H[0] = T.max(H[0], i)",
            "combines elements of `H` by different operators",
        ),
        (
            "total: T.int32 = 0\nfor i in range(50):\n    total = total + A[i]\n    H[A[i]] = H[A[i]] + total",
            "variable `total` from outside",
        ),
        ("for i in range(50):\n    T.print(A[i])\n    H[A[i]] = H[A[i]] + 1", "something else than loops"),
        ("for i in range(50):\n    assert A[i] >= 0, 'less'\n    H[A[i]] = H[A[i]] + 1", "something else than loops"),
        ("for i in range(50):\n    if A[i] > 3:\n        break\n    H[A[i]] = H[A[i]] + 1", "has a `break` of its own"),
        (
            "for i in range(50):\n    for j in T.parallel(2):\n        H[A[i]] = H[A[i]] + j",
            "the loop `j` in it is parallel",
        ),
        ("for i in range(0, 50, 2):\n    H[A[i]] = H[A[i]] + 1", "counts by a step"),
        ("for i in T.parallel(50):\n    H[A[i]] = H[A[i]] + 1", "only a serial loop can be done in parts"),
        ("for i in range(2):\n    H[A[i]] = H[A[i]] + 1", "has 2 iterations, fewer than 4 parts"),
        ("for i in range(50):\n    b = A[i]", "it updates no buffer"),
        (
            'V = T.Buffer((8,), "int32", data=H.data)\nfor i in range(50):\n    H[A[i]] = H[A[i]] + V[0]',
            "the memory of `H` is reached by a view",
        ),
        (
            'for i in range(50):\n    with T.block("b"):\n        vi = T.axis.reduce(50, i)\n        with T.init():\n'
            "            H[0] = 0\n        H[0] = H[0] + A[vi]",
            "the block `b` has a T.init",
        ),
    ],
)
def test_what_is_refused(body: str, why: str) -> None:
    func = kernel(body)
    schedule = Schedule(func)
    with pytest.raises(ScheduleError, match=why) as caught:
        schedule.privatize("i", 4)
    assert caught.value.diagnostics[0].code == "T501" and caught.value.diagnostics[0].labels
    assert schedule.script() == func.script() and not schedule.trace.steps


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((0,), "`parts` is 0"),
        ((4, 0), "`lanes` is 0"),
        ((4, 1, -1), "`least` is -1"),
        ((4, 1, 9), "the loop has 50 iterations in each run"),
    ],
)
def test_wrong_arguments(arguments: tuple[int, ...], why: str) -> None:
    with pytest.raises(ScheduleError, match=why) as caught:
        Schedule(kernel(COUNT)).privatize("i", *arguments)
    assert caught.value.diagnostics[0].code == "T503"


def test_types_that_have_no_copies() -> None:
    func = kernel(
        "for i in range(50):\n    H[A[i]] = T.max(H[A[i]], H[A[i]])",
        'A: T.Buffer((50,), "int32"), H: T.Buffer((8,), "float8_e4m3fn")',
    )
    with pytest.raises(ScheduleError, match="no update"):
        Schedule(func).privatize("i", 4)
    func = kernel(
        "for i in range(50):\n    H[A[i]] = T.max(H[A[i]], W[i])",
        'A: T.Buffer((50,), "int32"), W: T.Buffer((50,), "float8_e4m3fn"), H: T.Buffer((8,), "float8_e4m3fn")',
    )
    with pytest.raises(ScheduleError, match="has no infinity"):
        Schedule(func).privatize("i", 4)
    func = kernel(
        "for i in range(50):\n    H[A[i]] = H[A[i]] + W[0]",
        'A: T.Buffer((50,), "int32"), W: T.Buffer((50,), "float32x4"), H: T.Buffer((8,), "float32x4")',
    )
    with pytest.raises(ScheduleError, match="of which no copies are made"):
        Schedule(func).privatize("i", 4)
    func = kernel(
        "for i in range(T.int8(100)):\n    H[A[i]] = H[A[i]] + 1",
    )
    with pytest.raises(ScheduleError, match="fewer than 200 parts"):
        Schedule(func).privatize("i", 200)
