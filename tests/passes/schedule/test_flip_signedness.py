"""Bytes of the other sign in a product, and the sums that make up for it."""

from __future__ import annotations

from typing import Any

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.script import parse
from tirscript.testing import assert_same_result

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((2, 6, 9), "{a}"), B: T.Buffer((9, 5), "{b}"), C: T.Buffer((2, 6, 5), "int32")):
    for n, i, j, k in T.grid(2, 6, 5, 9):
        with T.block("C"):
            vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
            with T.init():
                C[vn, vi, vj] = 0
            C[vn, vi, vj] += {value}
"""
PLAIN = 'T.cast(A[vn, vi, vk], "int32") * T.cast(B[vk, vj], "int32")'


def product(a: str = "int8", b: str = "int8", value: str = PLAIN) -> PrimFunc:
    found = parse(PRODUCT.format(a=a, b=b, value=value))
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("a", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("b", ["int8", "uint8"])
@pytest.mark.parametrize("turned", [False, True])
def test_sums_are_the_same(a: str, b: str, turned: bool) -> None:
    factors = PLAIN.split(" * ")
    func = product(a, b, " * ".join(factors[::-1] if turned else factors))
    s = Schedule(func, verify=True)
    rest = s.flip_signedness(s.cache_read("C", "B", "global"))
    assert rest.name == "A_sum"
    other = "uint8" if b == "int8" else "int8"
    assert f'B_global = T.alloc_buffer((9, 5), "{other}")' in s.script()
    assert_same_result(func, s.func, edges=True)
    assert Trace.parse(str(s.trace)).replay(Schedule(func)).script() == s.script()


def test_padded_operands() -> None:
    func = product()
    s = Schedule(func, verify=True)
    s.pad_einsum("C", [1, 4, 4, 4])
    s.flip_signedness("B_pad")
    assert_same_result(func, s.func, edges=True)


def test_sums_over_all_that_is_added_up() -> None:
    """Also over what the other operand alone has."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((6,), "int8"), B: T.Buffer((6, 7, 5), "int8"), C: T.Buffer((5,), "int32")):
    for j, k, l in T.grid(5, 6, 7):
        with T.block("C"):
            vj, vk, vl = T.axis.remap("SRR", [j, k, l])
            with T.init():
                C[vj] = 0
            C[vj] += T.cast(A[vk], "int32") * T.cast(B[vk, vl, vj], "int32")
""")
    assert isinstance(func, PrimFunc)
    s = Schedule(func, verify=True)
    s.flip_signedness(s.cache_read("C", "B", "global"))
    assert_same_result(func, s.func, edges=True)


def read(s: Schedule) -> Any:
    return s.flip_signedness(s.cache_read("C", "B", "global"))


def inside(s: Schedule) -> None:
    copy = s.cache_read("C", "B", "global")
    s.compute_at(copy, s.get_loops("C")[0])
    s.flip_signedness(copy)


def begun(s: Schedule) -> None:
    copy = s.cache_read("C", "B", "global")
    s.decompose_reduction("C", s.get_loops("C")[-1])
    s.flip_signedness(copy)


@pytest.mark.parametrize(
    ("value", "step", "reason"),
    [
        (PLAIN, lambda s: s.flip_signedness("C"), "`C` is not allocated in the function"),
        (PLAIN, inside, "the block `B_global` stands in the loops of `C`"),
        (PLAIN, begun, "is not a sum that begins with 0"),
        (PLAIN.replace("*", "+"), read, "does not add up products of whole numbers, each converted"),
        (PLAIN + ' * T.cast(B[vk, 0], "int32")', read, "is not read at one place alone"),
    ],
)
def test_refusals(value: str, step: Any, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        step(Schedule(product(value=value)))


def test_floats_are_no_bytes() -> None:
    text = PRODUCT.format(a="int32", b="int32", value="A[vn, vi, vk] * B[vk, vj]")
    with pytest.raises(ScheduleError, match="`B_global` is of int32, not of bytes"):
        read(Schedule(parse(text)))
