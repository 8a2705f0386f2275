"""Plain loops along memory that hold others run in vectors, to the last bit as they were written."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import tirscript
from tirscript.ir import BufferStore, For, PrimFunc, structural_equal, walk
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.passes.schedule.default_cpu.outer_vectors import has_vectors, outer_vectors
from tirscript.script import parse
from tirscript.testing import assert_same_result, copies

FACTS = CpuFacts(vector_bits=512)
PARAMS = (
    'L: T.Buffer((19, 19), "float32"), X: T.Buffer((19, "n"), "float32"), Y: T.Buffer((19, "n"), "float32"), '
    'I: T.Buffer((20,), "int32")'
)

TAKEN = {
    "a recurrence down columns": """
for j in range(N):
    s: T.float32 = 0.0
    for i in range(19):
        s = T.float32(0.5) * s + X[i, j]
        Y[i, j] = s
""",
    "substitution": """
for i in range(19):
    for j in range(N):
        s: T.float32 = X[i, j]
        for k in range(i):
            s -= L[i, k] * Y[k, j]
        Y[i, j] = s * L[i, i]
""",
    "a part of each line": """
for k in range(19):
    for j in range(k, N):
        d: T.float32 = 0.0
        for i in range(k, 19):
            d += L[i, k] * Y[i, j]
        for i in range(k, 19):
            Y[i, j] -= d * L[i, k]
""",
    "as much as memory says": """
for j in range(N):
    for i in range(19):
        Y[i, j] = 0.0
        for k in range(I[i], I[i + 1]):
            Y[i, j] += L[0, k] * X[k, j]
""",
    "conditions": """
for j in range(N):
    best: T.float32 = -1.0
    at: T.int32 = 3
    for i in range(19):
        if X[i, j] > best:
            best = X[i, j]
            at = i
        else:
            Y[i, j] = X[i, j] / (best - X[i, j] + T.float32(1.5))
    Y[0, j] = best + T.float32(at)
""",
    "steps in time": """
for t in range(1, 19):
    for j in range(N):
        s: T.float32 = X[t, j]
        for k in range(16):
            s += Y[t - 1, k] * L[t, k]
        Y[t, j] = s
""",
}
LEFT = {
    "a column that needs the one before": """
for j in range(1, N):
    for i in range(1, 19):
        Y[i, j] = Y[i - 1, j - 1] + X[i, j]
""",
    "a loop that is left": """
for j in range(N):
    for i in range(19):
        if X[i, j] > 1.0:
            break
        Y[i, j] = 1.0
""",
    "a variable of all columns": """
s: T.float32 = 0.0
for j in range(N):
    for i in range(I[0], 19):
        s = T.float32(0.5) * s + X[i, j]
        Y[i, j] = s
""",
}


def kernel(body: str, size: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.replace("N", size).strip().splitlines())
    params = PARAMS if size == "n" else PARAMS.replace('"n"', size)
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def arguments(columns: int) -> list[np.ndarray]:
    random = np.random.default_rng(columns)
    floats = [random.standard_normal(shape).astype("float32") for shape in ((19, 19), (19, columns), (19, columns))]
    return [*floats, np.minimum(np.arange(20) * 2, 19).astype("int32")]


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("columns", [19, 64, 131])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("name", TAKEN)
def test_lanes_do_what_iterations_do(name: str, symbolic: bool, columns: int, threads: int) -> None:
    func = kernel(TAKEN[name], "n" if symbolic else str(columns))
    made = outer_vectors(func, CpuFacts(vector_bits=512, threads=threads))
    assert structural_equal(parse(made.script()), made) and not verify(made)
    assert any(type(node) is BufferStore and node.value.dtype.is_vector for node in walk(made.body))
    wanted = arguments(columns)
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(made)(*found)
    assert all(map(np.array_equal, wanted, found))


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_a_loop(name: str) -> None:
    func = kernel(LEFT[name], "131")
    assert outer_vectors(func, FACTS) is func
    wanted = arguments(131)
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(func)(*found)
    assert all(map(np.array_equal, wanted, found))


def test_no_columns_and_few() -> None:
    for name in TAKEN:
        func = kernel(TAKEN[name], "n")
        for columns in (0, 1, 5, 16) if name != "steps in time" else (16,):
            wanted = arguments(columns)
            found = copies(wanted)
            tirscript.interpret(func, *wanted)
            tirscript.build(outer_vectors(func, FACTS))(*found)
            assert all(map(np.array_equal, wanted, found))


def test_one_column_is_left() -> None:
    func = kernel(TAKEN["steps in time"], "33")
    made = outer_vectors(func, CpuFacts(vector_bits=128))
    assert "j in range(32, 33)" in made.script()
    wanted = arguments(33)
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(made)(*found)
    assert all(map(np.array_equal, wanted, found))


@pytest.mark.parametrize(("kind", "stop", "lasts"), [("uint8", "T.uint8(200)", [200]), ("int8", "n", [5, 11, 74, 127])])
def test_counters_of_a_byte(kind: str, stop: str, lasts: list[int]) -> None:
    func = parse(f"""
@T.prim_func
def main(n: T.{kind}, X: T.Buffer((20, 200)), Y: T.Buffer((20, 200))):
    for j in T.serial(T.{kind}(10), {stop}):
        s: T.float32 = 0.0
        for i in range(20):
            s = T.float32(0.5) * s + X[i, j]
            Y[i, j] = s
""")
    for bits in (128, 512):
        made = outer_vectors(func, CpuFacts(vector_bits=bits))
        assert made is not func
        for last in lasts:  # lanes behind 127 would be those from -128 on
            assert_same_result(func, made, inputs=lambda rng, n=last: [n, *rng.random((2, 20, 200)).astype("float32")])


@pytest.mark.parametrize("index", ["j + T.uint8(100)", "j * T.uint8(3)", "T.uint8(99) - j"])
def test_indices_of_a_byte_begin_anew_at_zero(index: str) -> None:
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer((20, 256)), Y: T.Buffer((20, 256))):
    for j in T.serial(T.uint8(200)):
        s: T.float32 = 0.0
        for i in range(20):
            s = T.float32(0.5) * s + X[i, {index}]
            Y[i, j + T.uint8(101)] = s
""")
    for bits in (128, 512):
        made = outer_vectors(func, CpuFacts(vector_bits=bits))
        assert (made is func) == (index != "j + T.uint8(100)")
        assert_same_result(func, made, runs=1)


def test_vectors_of_columns_that_are_read_again_are_outermost() -> None:
    text = outer_vectors(kernel(TAKEN["substitution"], "128"), CpuFacts(vector_bits=512, threads=2)).script()
    assert text.index("in range(19)") > text.index("j_0")
    text = outer_vectors(kernel(TAKEN["steps in time"], "128"), FACTS).script()  # each step needs all of the one before
    assert text.index("in range(1, 19)") < text.index("j_0")


def test_order_that_users_ask_for_is_left() -> None:
    body = "T.func_attr({'tir.is_scheduled': True})\n" + TAKEN["substitution"].strip()
    func = kernel(body, "128")
    assert scheduled(func, FACTS) is func


@pytest.mark.parametrize(("steps", "kind"), [(16, "unroll"), (400, "serial")])
def test_short_loops_in_vectors_are_written_out(steps: int, kind: str) -> None:
    body = f"""
for j in range(N):
    s: T.float32 = 0.0
    for k in range({steps}):
        s = s * T.float32(0.5) + X[k % 19, j] * T.float32(k)
    Y[0, j] = s
"""
    func = kernel(body, "128")
    made = outer_vectors(func, FACTS)
    kinds = {str(node.kind) for node in walk(made.body) if isinstance(node, For) and node.var.name == "k"}
    assert kind in kinds and kinds <= {kind, "vectorized"}
    assert_same_result(func, made, runs=1)


def test_deep_nests_are_looked_at_once_for_each_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("tirscript.passes.schedule.default_cpu.outer_vectors")
    seen: list[object] = []
    extent = module.constant_extent
    monkeypatch.setattr(module, "constant_extent", lambda loop: seen.append(loop) or extent(loop))
    for depth, looks in ((16, 16), (200, 200)):
        names, sizes = ", ".join(f"i{at}" for at in range(depth)), ", ".join(["2"] * depth)
        func = parse(f"""
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for {names} in T.grid({sizes}):
        A[0] = 1.0
""")
        assert isinstance(func, PrimFunc)
        seen.clear()
        assert module._work(func.body[0]) >= 1 << depth
        assert len(seen) == looks
    assert module.outer_vectors(func, CpuFacts()) is func


def test_bytes_that_are_looked_up_are_no_vectors() -> None:
    """No processor gathers them, whatever the place is called."""
    func = parse(
        """@T.prim_func
def main(A: T.Buffer((8, 256), "uint8"), B: T.Buffer((8, 256), "uint8")):
    for i, j in T.grid(8, 256):
        m: T.uint8 = A[i, j]
        for k in range(5):
            low = j + k * 3 - 7
            at = T.max(0, T.min(255, low))
            if A[i, at] > m and A[i, at] < A[i, 7]:
                m = A[i, at]
        B[i, j] = m
"""
    )
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert "uint8x" not in made.script()
    assert_same_result(func, made)


BAND = """
@T.prim_func
def main(A: T.Buffer((n, 7), "float32"), x: T.Buffer((n,), "float32"), y: T.Buffer((n,), "float32")):
    for i in range(n):
        s: T.float32 = 0.0
        for d in range(7):
            if i + d >= 3 and i + d - 3 < n:
                s += A[i, d] * x[i + d - 3]
        y[i] = s
"""


@pytest.mark.parametrize("size", ["20011", '"n"'])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_are_only_written_out_leave_rows_to_vectors_but_keep_their_threads(size: str, threads: int) -> None:
    text = BAND.replace("((n, 7)", f"(({size}, 7)").replace("((n,)", f"(({size},)")
    band = parse(text if size == '"n"' else text.replace("< n", f"< {size}").replace("range(n)", f"range({size})"))
    made = scheduled(band, CpuFacts(512, threads))
    loops = [node for node in walk(made.body) if type(node) is For]
    assert any(loop.kind == "parallel" for loop in loops) is (threads > 1)
    assert has_vectors(made.body) or size == '"n"'
    rng = np.random.default_rng(0)
    a, x, y = rng.random((20011, 7), "float32"), rng.random(20011, "float32"), np.zeros(20011, "float32")
    wide = np.pad(x, 3)
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(a, x, y)
    np.testing.assert_allclose(y, sum(a[:, d] * wide[d : d + 20011] for d in range(7)), rtol=1e-5)
