"""The same kernels in the styles people write them: each becomes the blocks that schedules know, with the same results."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)


def kernel(body: str, size: int = 4096) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    params = f"X: T.Buffer(({size},)), M: T.Buffer((64, 64)), N: T.Buffer((64, 64)), Y: T.Buffer((4,))"
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def results(func: PrimFunc) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    size = int(func.param_buffers[0].shape[0].value)  # type: ignore[attr-defined]
    arrays = [random.standard_normal(shape).astype("float32") for shape in (size, (64, 64), (64, 64), 4)]
    tirscript.build(func)(*arrays)
    return arrays


SUMS = {
    "a variable": "s: T.float32 = 0.0\nfor i in range(4096):\n    s += X[i]\nY[0] = s",
    "a condition": "s: T.float32 = 0.0\nfor i in range(4096):\n    if X[i] > T.float32(0):\n        s += X[i]\nY[0] = s",
    "taken off": "s: T.float32 = 0.0\nfor i in range(4096):\n    s -= X[i]\nY[0] = s",
    "another begin": "s: T.float32 = X[0]\nfor i in range(1, 4097):\n    s += X[i - 1]\nY[0] = s",
    "either": "s: T.float32 = 0.0\nfor i in range(4096):\n    if X[i] > T.float32(0):\n        s += X[i] * X[i]\n    else:\n        s += T.float32(1)\nY[0] = s",
    "changed behind it": "s: T.float32 = 0.0\nfor i in range(4096):\n    s += X[i] * X[i]\nfor i in range(4096):\n    X[i] = X[i] + s\nY[0] = s",
    "two": "s: T.float32 = 0.0\nq: T.float32 = 0.0\nfor i in range(4096):\n    s += X[i]\n    q += X[i] * X[i]\nY[0] = s\nY[1] = q",
}
# several sums of one loop, which share a name, a condition, or have one for either of two values
SHARING = {
    "a name": "for i in range(4096):\n    x = T.abs(X[i])\n    s += x\n    q += x * x",
    "a condition": "for i in range(4096):\n    if X[i] > T.float32(0):\n        s += X[i]\n        q += X[i] * X[i]",
    "a name under it": "for i in range(4096):\n    if X[i] > T.float32(0):\n        x = T.abs(X[i])\n        s += x\n        q += x * x",
    "either": "for i in range(4096):\n    if X[i] > T.float32(0):\n        s += X[i]\n    else:\n        s += T.float32(1)\n    q += X[i]",
}


@pytest.mark.parametrize("name", SHARING)
def test_sums_that_share_something_are_made_in_lanes(name: str) -> None:
    func = kernel(f"s: T.float32 = 0.0\nq: T.float32 = 0.0\n{SHARING[name]}\nY[0] = s\nY[1] = q")
    assert default_schedule(func, FACTS).func.script().count("_rf_update") >= 2
    x, _, _, y = results(func)
    kept = x[x > 0].astype("float64")
    both = {"a name": np.abs(x).astype("float64"), "either": np.where(x > 0, x, 1).astype("float64")}.get(name, kept)
    np.testing.assert_allclose(y[:2], [both.sum(), x.sum() if name == "either" else (both**2).sum()], rtol=1e-3)


# what one of the two reads or asks for is changed by the other, or before it
@pytest.mark.parametrize(
    "body",
    [
        "if X[i] > T.float32(0):\n        s += X[i]\n        q += s",
        "if q < T.float32(9):\n        s += X[i]\n        q += X[i] * X[i]",
        "x = X[i]\n    if X[i] > T.float32(0):\n        X[i] = T.float32(1)\n    else:\n        X[i] = T.float32(2)\n    s += x",
        "x = X[i]\n    X[i] = T.float32(1)\n    s += x\n    q += X[i]",
    ],
)
def test_sums_that_need_each_other_keep_their_order(body: str) -> None:
    head = "s: T.float32 = 0.0\nq: T.float32 = 0.0\nfor i in range(50):\n    "
    func = kernel(f"{head}{body}\nY[0] = s\nY[1] = q", 50)
    assert_same_result(func, default_schedule(func, FACTS).func)


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(300000):\n    s += X[i] * X[i]",  # parts of which the last one is shorter
        "for i in range(720):\n    if X[i] > T.float32(0):\n        s += X[i] * X[i]",
    ],
)
def test_sums_with_masks_are_made_in_lanes_that_these_have(body: str) -> None:
    func = kernel(f"s: T.float32 = 0.0\n{body}\nY[0] = s", 300000)
    assert set(re.findall(r"T\.vectorized\((\d+)\)", default_schedule(func, FACTS).func.script())) <= {
        "4",
        "16",
        "32",
        "64",
    }
    x, _, _, y = results(func)
    taken = x.astype("float64") if "300000" in body else np.maximum(x[:720], 0)
    np.testing.assert_allclose(y[0], (taken**2).sum(), rtol=1e-4)


def test_a_sum_of_what_is_changed_under_a_condition_is_made_in_lanes() -> None:
    body = "s: T.float32 = 0.0\nfor i in range(150000):\n    s += X[i] * X[i]\nif s > T.float32(1):\n    for i in range(150000):\n        X[i] = X[i] / s\nY[0] = s"
    func = kernel(body, 150000)
    assert "_rf_update" in default_schedule(func, FACTS).func.script()
    x, _, _, y = results(func)
    wanted = np.random.default_rng(1).standard_normal(150000).astype("float32").astype("float64")
    np.testing.assert_allclose(y[0], (wanted**2).sum(), rtol=1e-4)
    np.testing.assert_allclose(x, wanted / (wanted**2).sum(), rtol=1e-4)


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_variables_are_made_in_lanes(name: str) -> None:
    func = kernel(SUMS[name])
    text = default_schedule(func, FACTS).func.script()
    assert text.count("_rf_update") >= (2 if name == "two" else 1) and "T.vectorized" in text
    x = results(func)[0].astype("float64")
    wanted = {
        "a variable": x.sum(),
        "a condition": x[x > 0].sum(),
        "taken off": -x.sum(),
        "another begin": x[0] + x.sum(),
        "either": np.where(x > 0, x * x, 1.0).sum(),
        "changed behind it": ((x - results(func)[3][0]) ** 2).sum() if name == "changed behind it" else 0,
        "two": x.sum(),
    }
    np.testing.assert_allclose(results(func)[3][0], wanted[name], rtol=1e-4, atol=1e-3)
    if name == "two":
        np.testing.assert_allclose(results(func)[3][1], (x * x).sum(), rtol=1e-4)


def test_loops_go_along_what_they_store() -> None:
    made = default_schedule(
        kernel("for j, i in T.grid(64, 64):\n    M[i, j] = N[i, j] * T.float32(2)"), FACTS
    ).func.script()
    assert re.search(r"for i, j in|for i in (.|\n)*for j in", made)
    assert_same_result(kernel("for j, i in T.grid(64, 64):\n    M[i, j] = N[i, j] * T.float32(2)"), parse(made))


@pytest.mark.parametrize(
    "body",
    [
        # the condition keeps the index inside
        "for i in range(4096):\n    if X[i] > T.float32(0):\n        Y[T.cast(X[i], 'int32') % 4] += X[i]",
        "for i in range(9):\n    if i < 4:\n        Y[i] += X[i]",
        # and depends on what is added to
        "for i in range(4):\n    if Y[i] > T.float32(0):\n        Y[i] += X[i]",
        "for i in range(4):\n    if X[i] > T.float32(0):\n        Y[i] *= X[i]",
        "for i in range(4):\n    if X[i] > T.float32(0):\n        Y[i] += Y[3 - i]",
    ],
)
def test_what_stays_under_its_condition(body: str) -> None:
    func = kernel(body)
    made = with_blocks(func).script()
    assert " if " in made.partition("main")[2].replace("else", "") or "T.where" in made
    assert "-0.0" not in made
    assert_same_result(func, default_schedule(func, FACTS).func)


@pytest.mark.parametrize("index", ["int8", "uint8", "uint32", "int64"])
def test_histograms_of_any_index_under_a_condition(index: str) -> None:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((9,), "{index}"), H: T.Buffer((3,), "int32")):
    for i in range(9):
        b = A[i]
        if A[i] < 3:
            H[b] = H[b] + 1
""")
    assert isinstance(func, PrimFunc)
    H = np.zeros(3, "int32")
    tirscript.build(func)(np.array([0, 1, 2, 2, 5, 9, 3, 1, 0], index), H)
    assert list(H) == [2, 2, 2]


def test_a_sum_of_minus_zero_keeps_its_sign() -> None:
    func = kernel("for i in range(4):\n    if X[i] > T.float32(9):\n        Y[i] += X[i]")
    arrays = [np.zeros(shape, "float32") for shape in (4096, (64, 64), (64, 64))]
    y = np.full(4, -0.0, "float32")
    tirscript.build(func)(*arrays, y)
    assert np.signbit(y).all() and "-0.0" in with_blocks(func).script()


def test_two_sums_whose_begins_depend_on_each_other_stay_together() -> None:
    func = kernel(
        "Y[0] = X[0]\nY[1] = Y[0]\nfor i in range(4096):\n    Y[0] = Y[0] + X[i]\n    Y[1] = Y[1] + X[i] * X[i]\n", 4096
    )
    np.testing.assert_allclose(
        results(func)[3][1], float((results(func)[0] ** 2).sum() + results(func)[0][0]), rtol=1e-4
    )
    x, y = results(func)[0].astype("float64"), results(func)[3]
    np.testing.assert_allclose(y[:2], [x[0] + x.sum(), x[0] + (x * x).sum()], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("start", [1, 5, -3])
def test_loops_that_begin_elsewhere(start: int) -> None:
    func = kernel(
        f"for i in range({start}, 20):\n    for j in range({start}, 60):\n        M[i + 3, j + 3] = N[i + 3, 59 - j] + T.cast(i, 'float32')"
    )
    made = with_blocks(func)
    assert "T.block(" in made.script()
    assert_same_result(func, made)


TOTALS = {
    "the least of sums": "Y[0] = 1.0e30\nfor j in range(64):\n    d: T.float32 = 0.0\n    for i in range(64):\n        d += T.abs(M[j, i] - X[i])\n    Y[0] = T.min(Y[0], d)",
    "by rows": "for n in range(4):\n    Y[n] = 1.0e30\n    for j in range(64):\n        d: T.float32 = 0.0\n        for i in range(64):\n            d += T.abs(M[j, i] - N[n, i])\n        Y[n] = T.min(Y[n], d)",
    "where it is": "for n in range(4):\n    best: T.float32 = 1.0e30\n    at: T.int32 = 0\n    for j in range(64):\n        d: T.float32 = 0.0\n        for i in range(64):\n            d += (M[j, i] - N[n, i]) * (M[j, i] - N[n, i])\n        if d < best:\n            best = d\n            at = j\n    Y[n] = T.float32(at)",
}


@pytest.mark.parametrize("name", TOTALS)
def test_totals_of_variables(name: str) -> None:
    func = kernel(TOTALS[name])
    x, m, n, y = results(func)
    rows = (m[None, :, :] - (x[None, None, :64] if name == "the least of sums" else n[:4, None, :])).astype("float64")
    sums = (rows * rows if name == "where it is" else abs(rows)).sum(axis=2)
    wanted = sums.argmin(axis=1) if name == "where it is" else sums.min(axis=1)
    np.testing.assert_allclose(y[: len(wanted)], wanted, rtol=1e-5)
    if name != "the least of sums":  # the sums are made for all rows, before they are looked through
        assert "for n, j, i in T.grid(4, 64, 64)" in with_blocks(func).script()


def test_sums_that_are_too_many_to_keep() -> None:
    body = "for n in range(10000):\n    Y[n % 4] = 1.0e30\n    for j in range(10000):\n        d: T.float32 = 0.0\n        for i in range(2):\n            d += T.abs(X[n - n // 4096 * 4096] - X[i])\n        Y[n % 4] = T.min(Y[n % 4], d)"
    assert "alloc_buffer((10000, 10000)" not in with_blocks(kernel(body)).script()


def test_what_reads_backward_along_its_result_is_made_in_vectors_of_results() -> None:
    body = "for n in range(4096):\n    s: T.float32 = 0.0\n    for k in range(64):\n        if n - k >= 0:\n            s += M[0, k] * X[n - k]\n    N[n // 64, n % 64] = s"
    func = kernel(body)
    assert 'scope="local"' in default_schedule(func, FACTS).func.script()
    x, m, n, _ = results(func)
    wanted = np.convolve(x.astype("float64"), m[0].astype("float64"))[:4096]
    np.testing.assert_allclose(n.reshape(-1), wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_what_is_dear_share_it(dtype: str) -> None:
    """In float64 the library computes it."""
    text = f"""
@T.prim_func
def main(X: T.Buffer((512,), "{dtype}"), R: T.Buffer((512,), "{dtype}"), I: T.Buffer((512,), "{dtype}")):
    for k in range(512):
        re: T.{dtype} = 0.0
        im: T.{dtype} = 0.0
        for t in range(512):
            re += X[t] * T.cos(T.{dtype}(0.0123) * T.{dtype}(k * t % 512))
            im += X[t] * T.sin(T.{dtype}(0.0123) * T.{dtype}(k * t % 512))
        R[k] = re
        I[k] = im
"""
    func = parse(text)
    assert isinstance(func, PrimFunc)
    assert with_blocks(func).script().count("for t in range(512)") == 1
    x = np.random.default_rng(0).standard_normal(512).astype(dtype)
    r, i = np.zeros_like(x), np.zeros_like(x)
    tirscript.build(func)(x, r, i)
    k = np.arange(512)
    angles = np.dtype(dtype).type(0.0123) * (np.outer(k, k) % 512).astype(dtype)
    np.testing.assert_allclose(r, np.cos(angles.astype("float64")) @ x.astype("float64"), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(i, np.sin(angles.astype("float64")) @ x.astype("float64"), rtol=1e-3, atol=1e-3)


def test_sums_that_lanes_choose_stay() -> None:
    body = "for i in range(4):\n    s: T.float32x16 = T.broadcast(T.float32(0), 16)\n    for k in range(64):\n        s = T.Select(T.ramp(k, 1, 16) < T.broadcast(50, 16), s + N[k, 0:16], s)\n    M[i, 0:16] = s"
    func = kernel(body)
    _, m, n, _ = results(func)
    wanted = [sum(n[k, lane] for k in range(64) if k + lane < 50) for lane in range(16)]
    np.testing.assert_allclose(m[0, :16], wanted, rtol=1e-4, atol=1e-4)
