"""Lines whose elements share what they read by twos, threes, ...: written out, so that vectors need no gathers."""

from __future__ import annotations

import pytest

from tirscript.ir import PrimFunc
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
FOURTH = "X[i // 4] if i % 4 == 0 else T.float32(0)"
WEIGHED = "X[i // 4] * (T.float32(0.75) if i % 4 < 2 else T.float32(0.25))"


def scheduled(value: str, size: str, width: str) -> tuple[PrimFunc, str]:
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer(({size},)), Y: T.Buffer(({width},))):
    for i in range({width.strip('"')}):
        Y[i] = {value}
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, FACTS)
    assert verify(made.func) == []
    return func, str(made.trace)


@pytest.mark.parametrize("value", [FOURTH, WEIGHED])
@pytest.mark.parametrize(("size", "width"), [("512", "2048"), ('"n"', '"n * 4"')])
def test_elements_that_share_one_are_written_out(value: str, size: str, width: str) -> None:
    func, trace = scheduled(value, size, width)
    assert "unroll" in trace and "[None, 4]" in trace
    assert_same_result(func, default_schedule(func, FACTS).func, runs=1)


def test_lines_in_lines_are_written_out() -> None:
    func = parse("""
@T.prim_func
def main(P: T.Buffer((9, 130), "uint8"), Q: T.Buffer((9, 260), "int8")):
    for y, x in T.grid(9, 260):
        v = T.if_then_else(x % 2 == 0, P[y, x // 2] & T.uint8(15), P[y, x // 2] >> T.uint8(4))
        Q[y, x] = T.cast(v, "int8") - T.int8(8)
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, FACTS)
    assert "[None, 2]" in str(made.trace)
    assert_same_result(func, made.func, runs=1)


@pytest.mark.parametrize(
    ("value", "size", "width"),
    [
        (FOURTH, "513", "2050"),  # the last ones share one by two
        (FOURTH, "16", "64"),  # too few for vectors
        ("X[i] if i % 4 == 0 else T.float32(0)", "2048", "2048"),  # nothing is shared
        ("X[i // 4]", "512", "2048"),  # nothing is asked
        ("X[i // 2] if i % 4 == 0 else T.float32(0)", "1024", "2048"),
        ("X[i // 16] if i % 16 == 0 else T.float32(0)", "128", "2048"),
    ],
)
def test_other_lines_are_not(value: str, size: str, width: str) -> None:
    func, trace = scheduled(value, size, width)
    assert "unroll" not in trace or "[None, 4]" not in trace
    assert_same_result(func, default_schedule(func, FACTS).func, runs=1)
