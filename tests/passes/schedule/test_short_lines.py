"""Lines of symbolic length: reduced in lanes where they are long, one by one where they are short, in one function."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import Attrs, For, PrimFunc, walk
from tirscript.ir.stmt import If
from tirscript.ir.verify import verify
from tirscript.passes import get_pass
from tirscript.passes.schedule.default_cpu import CpuFacts, for_lengths, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)

SUM = """
@T.prim_func
def main(A: T.Buffer(("n", "m"), "{dtype}"), B: T.Buffer(("n",), "{dtype}")):
    for i in range(n):
        B[i] = T.{dtype}(0)
        for j in range(m):
            B[i] += A[i, j]
"""
SOFTMAX = """
@T.prim_func
def main(A: T.Buffer(("n", "m"), "{dtype}"), B: T.Buffer(("n", "m"), "{dtype}")):
    for i in range(n):
        greatest: T.{dtype} = T.min_value("{dtype}")
        for j in range(m):
            greatest = T.max(greatest, A[i, j])
        total: T.{dtype} = T.{dtype}(0)
        for j in range(m):
            B[i, j] = T.exp(A[i, j] - greatest)
            total += B[i, j]
        for j in range(m):
            B[i, j] = B[i, j] / total
"""
ARGMAX = """
@T.prim_func
def main(A: T.Buffer(("n", "m"), "{dtype}"), at: T.Buffer(("n",), "int64"), best: T.Buffer(("n",), "{dtype}")):
    for i, k in T.grid(n, m):
        with T.block("at"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = T.int64(-1)
                best[vi] = T.min_value("{dtype}")
            better: T.bool = A[vi, vk] > best[vi]
            at[vi] = T.if_then_else(better, T.int64(vk), at[vi])
            best[vi] = T.if_then_else(better, A[vi, vk], best[vi])
"""


def program(text: str, dtype: str = "float32") -> PrimFunc:
    found = parse(text.format(dtype=dtype))
    assert isinstance(found, PrimFunc)
    return found


def versions(func: PrimFunc, facts: CpuFacts = FACTS) -> If | None:
    body = for_lengths(func, facts).body
    return body[0] if len(body) == 1 and type(body[0]) is If else None


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (SUM, "float32"),
        (SUM, "int32"),
        (SOFTMAX, "float32"),
        (SOFTMAX, "float64"),
        (ARGMAX, "float32"),
        (ARGMAX, "int8"),
    ],
)
def test_each_length_has_the_result_of_the_loops(text: str, dtype: str) -> None:
    func = program(text, dtype)
    assert versions(func) is not None
    built = tirscript.build(for_lengths(func, FACTS))
    rng = np.random.default_rng(3)
    for n, m in ((1, 1), (3, 0), (0, 5), (5, 7), (2, 19), (3, 20), (4, 39), (4, 40), (3, 41), (2, 100)):
        given = rng.integers(-9, 9, (n, m)).astype(dtype)
        results = [np.full(n, 7, "int64"), np.full(n, 7, dtype)] if text is ARGMAX else [np.full(n, 7, dtype)]
        if text is SOFTMAX:
            results = [np.full((n, m), 7, dtype)]
        wanted = [one.copy() for one in results]
        interpret(func, given, *wanted)
        built(given, *results)
        for found, expected in zip(results, wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


TOTAL = """
    total: T.float32 = 0.0
    for i in range(n):
        total = total * 0.5 + B[i]
    B[0] = total
"""


@pytest.mark.parametrize("behind", ["", TOTAL])  # the total becomes a buffer, which is allocated before all else
def test_lengths_come_from_handles_before_they_are_asked(behind: str) -> None:
    func = program(f"""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        B[i] = 0.0
        for j in range(m):
            B[i] += A[i, j]
{behind}""")
    made = for_lengths(func, FACTS)
    assert type(made.body[-1]) is If and not verify(made)
    for m in (3, 100):
        assert_same_result(
            func, made, inputs=lambda rng, m=m: [rng.random((5, m), "float32"), np.zeros(5, "float32")], tolerance=1e-5
        )


@pytest.mark.parametrize(
    ("dtype", "bits", "condition"),
    [("float32", 512, "m < 40"), ("float64", 512, "m < 20"), ("float32", 128, "m < 10"), ("int8", 256, "m < 80")],
)
def test_lines_are_long_from_some_vectors_on(dtype: str, bits: int, condition: str) -> None:
    found = versions(program(SUM, dtype), CpuFacts(bits, 2))
    assert found is not None and str(found.condition) == condition
    for_all = for_lengths(program(SUM, dtype), CpuFacts(bits, 2)).script()
    assert for_all.count("in T.parallel(n)") == 2  # both are done by all threads
    assert "B_rf" not in for_all.partition("    else:")[0]


def test_scalar_parameters_are_lengths_too() -> None:
    func = program("""
@T.prim_func
def main(A: T.Buffer((8, 100), "float32"), B: T.Buffer((8,), "float32"), m: T.int32):
    for i, j in T.grid(8, m):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0.0
            B[vi] += A[vi, vj]
""")
    found = versions(func)
    assert found is not None and str(found.condition) == "m < 40"


def test_there_is_one_version_where_lanes_are_not_asked_for_or_lengths_are_known() -> None:
    assert versions(program(SUM).replace(attrs=Attrs({"fastmath": False}))) is None
    known = program(SUM.replace('"m"', "100").replace("range(m)", "range(100)"))
    assert versions(known) is None
    loops = program(SUM.replace("range(n)", "T.serial(n, annotations={{'a': 1}})"))
    assert get_pass("default_cpu", vector_bits=512)(loops) is loops


def test_the_versions_have_blocks_and_buffers_of_their_own() -> None:
    twice = """
@T.prim_func
def main(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for i, j in T.grid(n, m):
        with T.block("S_short"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0.0
            B[vi] += A[vi, vj]
    for i, j in T.grid(n, m):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = 0.0
            C[vi] += A[vi, vj] * A[vi, vj]
"""
    func = program(twice)
    made = for_lengths(func, FACTS)
    tirscript.ir.verify(made)
    assert parse(made.script()).script() == made.script()
    built = tirscript.build(made)
    for m in (3, 50):
        given = np.arange(2.0 * m, dtype="float32").reshape(2, m)
        first, second = np.zeros(2, "float32"), np.zeros(2, "float32")
        built(given, first, second)
        np.testing.assert_allclose(first, given.sum(1), rtol=1e-6)
        np.testing.assert_allclose(second, (given**2).sum(1), rtol=1e-6)


MOMENTS = """
@T.prim_func
def main(X: T.Buffer(("n", "c", "w"), "{dtype}"), M: T.Buffer(("c",), "{dtype}"), Q: T.Buffer(("c",), "{dtype}")):
    for k in range(c):
        s: T.{dtype} = T.{dtype}(0)
        q: T.{dtype} = T.{dtype}(0)
        for i, x in T.grid(n, w):
            s += X[i, k, x]
            q += X[i, k, x] * X[i, k, x]
        M[k] = s
        Q[k] = q
"""
ONWARD = """
@T.prim_func
def main(A: T.Buffer(("n", "m"), "{dtype}"), x: T.Buffer(("m",), "{dtype}"), y: T.Buffer(("n",), "{dtype}"), t: T.Buffer((), "{dtype}")):
    for i, j in T.grid(n, m):
        y[i] += A[i, j] * x[j]
    for i, j in T.grid(n, m):
        t[()] += A[i, j]
"""


def test_several_lines_that_share_their_lanes_are_long_sooner() -> None:
    func = program(MOMENTS)
    found = versions(func)
    assert found is not None and str(found.condition) == "w < 16"
    short, _, long = for_lengths(func, FACTS).script().partition("    else:")
    assert "s_rf" in long and "q_rf" in long
    assert short.count("in T.grid(n, w)") == 1  # one loop goes on making both sums of short lines
    for shape in ((1, 1, 1), (2, 3, 15), (3, 2, 16), (2, 3, 17), (5, 1, 33), (0, 2, 40), (2, 2, 0)):
        given = np.random.default_rng(5).integers(-9, 9, shape).astype("float32")
        results = [np.full(shape[1], 7, "float32") for _ in range(2)]
        wanted = [one.copy() for one in results]
        interpret(func, given, *wanted)
        tirscript.build(for_lengths(func, FACTS))(given, *results)
        np.testing.assert_array_equal(results, wanted)


def test_sums_that_go_on_from_what_is_there_have_lanes_too() -> None:
    func = program(ONWARD)
    made = for_lengths(func, FACTS).script()
    assert "y_own_rf" in made and "t_own_rf" in made
    for n, m in ((1, 1), (0, 5), (3, 0), (3, 39), (2, 41), (7, 131)):
        rng = np.random.default_rng(n)
        given = [rng.integers(-9, 9, shape).astype("float32") for shape in ((n, m), (m,), (n,), ())]
        wanted = [one.copy() for one in given]
        interpret(func, *wanted)
        tirscript.build(for_lengths(func, FACTS))(*given)
        for one, other in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_whole_vectors_ask_for_no_end_of_the_line() -> None:
    func = program(SUM, "float32")
    long = for_lengths(func, FACTS).script().partition("    else:")[2]
    whole, rest = long.split('T.block("')[2:4]
    assert whole.startswith('B_rf_update"') and " < m" not in whole
    assert rest.startswith('B_rf_update_1"') and " < m" in rest


def test_short_sums_of_one_array_that_plain_loops_make_together_stay_in_one_loop() -> None:
    """Real and imaginary parts beside each other: the sums of the two wait for each other no longer than for one."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer(("m", 2)), H: T.Buffer(("t", 2)), Y: T.Buffer(("n", 2))):
    for i in range(n):
        Y[i, 0] = 0.0
        Y[i, 1] = 0.0
        for k in range(t):
            Y[i, 0] += X[i + k, 0] * H[k, 0] - X[i + k, 1] * H[k, 1]
            Y[i, 1] += X[i + k, 0] * H[k, 1] + X[i + k, 1] * H[k, 0]
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(vector_bits=512))
    (chosen,) = [node for node in walk(made.body) if type(node) is If and "t <" in str(node.condition)]
    assert sum(type(node) is For for node in walk(chosen.then)) == 1, made.script()
    for terms in (1, 5, 50):
        rng = np.random.default_rng(terms)
        x, h = (rng.integers(-9, 9, (size, 2)).astype("float32") for size in (terms + 18, terms))
        wanted, found = np.zeros((19, 2), "float32"), np.zeros((19, 2), "float32")
        tirscript.interpret(func, x, h, wanted)
        tirscript.build(made)(x, h, found)
        np.testing.assert_array_equal(found, wanted)
