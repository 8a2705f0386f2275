"""`"fastmath": False` keeps the order of sums over several dimensions, whatever the order of the operands' dimensions."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc, Target
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse


def convolution(loops: str, axes: str, fastmath: bool) -> PrimFunc:
    """A convolution whose reduction runs over the dimensions in the order of `loops`, and names them in that of
    `axes`."""
    extents = {"c": 2, "v": 2, "u": 2, "f": 32, "y": 7, "x": 7}
    func = parse(f"""
@T.prim_func
def main(
    P: T.Buffer((2, 8, 8), "float32"), W: T.Buffer((32, 2, 2, 2), "float32"), Y: T.Buffer((32, 7, 7), "float32")
):
    T.func_attr({{"fastmath": {fastmath}}})
    for {", ".join(loops)} in T.grid({", ".join(str(extents[loop]) for loop in loops)}):
        with T.block("Y"):
            {", ".join("v" + axis for axis in axes)} = T.axis.remap(
                "{"".join("R" if axis in "cvu" else "S" for axis in axes)}", [{", ".join(axes)}]
            )
            with T.init():
                Y[vf, vy, vx] = 0.0
            Y[vf, vy, vx] = Y[vf, vy, vx] + P[vc, vy + vu, vx + vv] * W[vf, vc, vu, vv]
""")
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize(
    ("loops", "axes"),
    [("cfvuyx", "cfvuyx"), ("fyxuvc", "fyxuvc"), ("fyxvuc", "fyxcuv"), ("fyxcuv", "fyxvuc"), ("cfvuyx", "fyxcuv")],
)
def test_a_sum_of_several_dimensions_is_that_of_the_loops(loops: str, axes: str) -> None:
    kernel = convolution(loops, axes, False)
    rng = np.random.default_rng(5)
    P, W = rng.standard_normal((2, 8, 8), "float32"), rng.standard_normal((32, 2, 2, 2), "float32")
    wanted, found = np.zeros((2, 32, 7, 7), "float32")
    tirscript.build(kernel, pipeline=DEFAULT_LOWERING)(P, W, wanted)
    tirscript.build(kernel)(P, W, found)
    assert np.array_equal(wanted, found)


def test_products_in_the_order_of_the_loops_are_scheduled_all_the_same() -> None:
    machine = CpuFacts(512, 2)
    for fastmath in (True, False):
        assert "unroll" in str(default_schedule(convolution("cfvuyx", "cfvuyx", fastmath), machine).trace)


@pytest.mark.parametrize(
    ("target", "fuses"),
    [
        ("llvm -mcpu=x86-64", False),  # T.fma is a function there, called for each lane
        ("llvm -mcpu=sandybridge", False),
        ("llvm -mtriple=wasm32-unknown-unknown", False),
        ("llvm -mtriple=armv7-linux-gnueabihf -mcpu=generic", False),
        ("c", False),
        ("llvm -mcpu=haswell", True),
        ("llvm -mcpu=skylake-avx512", True),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=generic", True),
        ("llvm -mtriple=riscv64-linux-gnu", True),
        (None, True),
    ],
)
def test_products_are_fused_where_an_instruction_does(target: str | None, fuses: bool) -> None:
    product = parse("""
@T.prim_func
def product(A: T.Buffer((40, 40)), B: T.Buffer((40, 40)), C: T.Buffer((40, 40)), S: T.Buffer((40,))):
    for i, j, k in T.grid(40, 40, 40):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
    for i in range(40):
        S[i] = A[i, 0]
        for j in range(i):
            S[i] = S[i] - C[i, j] * S[j]
""")
    scheduled = get_pass("default_cpu", vector_bits=256)
    with nullcontext() if target is None else Target(target):
        made = scheduled(product)
    assert ("T.fma" in made.script()) == fuses
    said = get_pass("default_cpu", vector_bits=256, fuses=not fuses)(product)
    assert ("T.fma" in said.script()) != fuses
