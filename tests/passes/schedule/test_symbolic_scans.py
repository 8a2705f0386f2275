"""Scans of lines whose length only the call knows."""

import itertools

import numpy as np
import pytest

import tirscript
from tirscript.ir.func import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

WIDE = CpuFacts(512, 1)
PARAMS = 'A: T.Buffer(("n", "m"), "{d}"), B: T.Buffer(("n", "m"), "{d}"), C: T.Buffer(("n",), "{d}")'
LINES = {
    "sums up to each": "s = T.{d}(0)\nfor j in range(m):\n    s += A[i, j]\n    B[i, j] = s",
    "sums before each": "s = T.{d}(0)\nfor j in range(m):\n    B[i, j] = s\n    s += A[i, j]",
    "begun before": "B[i, 0] = A[i, 0]\nfor j in range(1, m):\n    B[i, j] = B[i, j - 1] + A[i, j]",
    "begun inside": "for j in range(m):\n    B[i, j] = A[i, j] if j == 0 else B[i, j - 1] + A[i, j]",
    "stored behind": "B[i, 0] = T.{d}(3)\nfor j in range(m - 1):\n    B[i, j + 1] = B[i, j] + A[i, j]",
}
# the first element is stored where no iteration is, and the sum is read where there may be none
OTHERS = {
    "ends early": "B[i, 0] = A[i, 0]\nfor j in range(1, m - 3):\n    B[i, j] = B[i, j - 1] + A[i, j]",
    "read behind": "s = T.{d}(5)\nfor j in range(m):\n    s += A[i, j]\n    B[i, j] = s\nC[i] = s",
}


def lines(text: str, dtype: str) -> PrimFunc:
    body = "".join(f"        {line}\n" for line in text.format(d=dtype).split("\n"))
    found = parse(f"@T.prim_func\ndef main({PARAMS.format(d=dtype)}):\n    for i in range(n):\n{body}")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("name", [*LINES, *OTHERS])
def test_they_are_done_in_pieces(name: str) -> None:
    for dtype in ("float32", "int64"):
        func = lines((LINES | OTHERS)[name], dtype)
        made = default_schedule(func, WIDE)
        assert ("blocked_scan" in str(made.trace)) == (name in LINES)
        built = [tirscript.build(one, pipeline=DEFAULT_LOWERING) for one in (func, made.func)]
        for n, m in itertools.product((1, 3), (1, 4, 15, 16, 17, 100)):
            given = np.random.default_rng(m).integers(0, 9, (n, m)).astype(dtype)
            wanted, found = ([np.full((n, m), 7, dtype), np.full((n,), 7, dtype)] for _ in range(2))
            for run, results in zip(built, (wanted, found), strict=True):
                run(given, *results)
            for a, b in zip(wanted, found, strict=True):
                np.testing.assert_array_equal(a, b)


def test_no_line_and_lines_of_nothing() -> None:
    built = tirscript.build(lines(LINES["sums up to each"], "int32"))
    for n, m in ((0, 5), (3, 0)):
        built(np.ones((n, m), "int32"), np.ones((n, m), "int32"), np.ones((n,), "int32"))


def test_floats_keep_their_order_where_they_must() -> None:
    func = lines(LINES["sums up to each"], "float32")
    assert "blocked_scan" not in str(default_schedule(func, CpuFacts(512, 1, reassociate=False)).trace)
