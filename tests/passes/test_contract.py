"""Fused multiply-adds: what is fused, by the pass and by the primitive, and that it is what runs."""

import numpy as np
import pytest

import tirscript
from tirscript import Schedule, parse
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.passes import get_pass

TEXT = """
@T.prim_func
def main(A: T.Buffer((8,), "{dtype}"), B: T.Buffer((8,), "{dtype}"), C: T.Buffer((8,), "{dtype}")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = {value}
"""


def program(value: str, dtype: str = "float32"):
    return parse(TEXT.format(value=value, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "value, fused",
    [
        ("C[vi] + A[vi] * B[vi]", "T.fma(A[vi], B[vi], C[vi])"),
        ("A[vi] * B[vi] + C[vi]", "T.fma(A[vi], B[vi], C[vi])"),
        ("C[vi] - A[vi] * B[vi]", "T.fma(-A[vi], B[vi], C[vi])"),
        ("A[vi] * B[vi] - C[vi]", "T.fma(A[vi], B[vi], -C[vi])"),
        ("A[vi] * B[vi] + C[vi] * A[vi]", "T.fma(C[vi], A[vi], A[vi] * B[vi])"),
        ("C[vi] + (A[vi] * B[vi] + B[vi] * A[vi])", "T.fma(B[vi], A[vi], T.fma(A[vi], B[vi], C[vi]))"),
        ("C[vi] + (A[vi] * B[vi] - B[vi] * A[vi])", "T.fma(-B[vi], A[vi], T.fma(A[vi], B[vi], C[vi]))"),
        ("C[vi] - (A[vi] * B[vi] + B[vi] * A[vi])", "T.fma(-B[vi], A[vi], T.fma(-A[vi], B[vi], C[vi]))"),
        ("C[vi] - (A[vi] * B[vi] - B[vi] * A[vi])", "T.fma(B[vi], A[vi], T.fma(-A[vi], B[vi], C[vi]))"),
        ("C[vi] + (A[vi] + B[vi] * A[vi]) * B[vi]", "T.fma(T.fma(B[vi], A[vi], A[vi]), B[vi], C[vi])"),
    ],
)
def test_what_is_fused(value, fused, dtype):
    want = program(fused, dtype)
    assert structural_equal(get_pass("contract")(program(value, dtype)), want)
    sch = Schedule(program(value, dtype))
    sch.contract("C")
    assert structural_equal(sch.func, want)


@pytest.mark.parametrize(
    "value, dtype",
    [("C[vi] + A[vi]", "float32"), ("A[vi] * B[vi]", "float32"), ("C[vi] + A[vi] * B[vi]", "int32")]
    + [("C[vi] + A[vi] * B[vi]", kind) for kind in ("float16", "bfloat16")],
)
def test_what_is_left(value, dtype):
    func = program(value, dtype)
    assert get_pass("contract")(func) is func
    sch = Schedule(func)
    with pytest.raises(DiagnosticError, match="adds no product of float32 or float64"):
        sch.contract("C")
    assert sch.func is func


def test_rounds_once_in_the_interpreter_and_natively():
    func = get_pass("contract")(program("C[vi] + A[vi] * B[vi]"))
    a = np.full(8, 1 + 2.0**-12, "float32")
    for run in (tirscript.interpret, tirscript.build(func)):
        c = np.full(8, -(1 + 2.0**-11), "float32")
        args = (func, a, a, c) if run is tirscript.interpret else (a, a, c)
        run(*args)
        assert (c == 2.0**-24).all()  # lost where the product is rounded first
