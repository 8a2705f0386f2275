"""Blocks that pack and crop become functions, where nothing else touches what they do."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module, PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Assume
from tirscript.passes import PASSES
from tirscript.passes.layouts import conversion_of, lift_layout_blocks, reflow
from tirscript.passes.schedule import Schedule
from tirscript.script import parse
from tirscript.testing.golden import Golden

PAD = """
        for i, j in T.grid(4, 4):
            with T.block("pad"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr("preproc", "pad")
                P[vi, vj] = T.if_then_else(vi * 4 + vj < 14, A[vi * 4 + vj], 0)"""
WORK = """
        for i, j in T.grid(4, 4):
            with T.block("work"):
                vi, vj = T.axis.remap("SS", [i, j])
                Q[vi, vj] = P[vi, vj] * 3"""
CROP = """
        for i in range(14):
            with T.block("crop"):
                vi = T.axis.spatial(14, i)
                T.block_attr("postproc", ["crop", 0])
                B[vi] = Q[vi // 4, vi % 4]"""


def module(body: str) -> Module:
    made = parse(
        f"""
from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import tir as T


@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
        P = T.alloc_buffer((4, 4), "int32")
        Q = T.alloc_buffer((4, 4), "int32"){body}

    @G.graph_func
    def main(x: G.Tensor((14,), "int32")):
        with G.dataflow():
            y = G.call_tir(M.f, (x,))
            z = G.call_tir(M.f, (y,))
            G.output(z)
        return z
"""
    )
    assert isinstance(made, Module)
    return made


def names(made: Module) -> list[str]:
    return [function.name for function in made.functions]


def test_three_functions(golden: Golden) -> None:
    before = module(PAD + WORK + CROP)
    golden.check_pass(before, PASSES["lift_layout_blocks"])
    made = lift_layout_blocks(before)
    assert names(made) == ["f_pad_A", "f_packed", "f_crop_B", "main"]
    crop = made["f_crop_B"]
    assert isinstance(crop, PrimFunc) and any(type(node) is Assume for node in walk(crop))
    found = conversion_of(crop)
    assert found is not None and found.mapping.pad_value is not None and found.mapping.pad_value.value == 0
    x = np.arange(14, dtype="int32")
    assert (tirscript.interpret(made, x) == x * 9).all()


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (PAD + WORK.replace("* 3", "* 3 + A[0]") + CROP, ["f_packed", "f_crop_B", "main"]),
        (WORK.replace("P[vi, vj]", "0") + PAD + CROP, ["f_pad_A", "f_packed", "f_crop_B", "main"]),
        (PAD + WORK + CROP.replace("B[vi] = Q", "B[vi] = 2 * Q"), ["f_pad_A", "f_packed", "main"]),
        (PAD.replace('"preproc"', '"other"') + WORK + CROP, ["f_packed", "f_crop_B", "main"]),
        (
            PAD.replace("vi * 4 + vj < 14, A", "vi * 4 + vj < 13, A") + WORK + CROP,
            ["f_packed", "f_crop_B", "main"],
        ),
        (
            (PAD + WORK + CROP).replace('"preproc"', '"other"').replace('"postproc"', '"another"'),
            ["f", "main"],
        ),
    ],
    ids=[
        "the parameter is used elsewhere",
        "work in front of the pad that does not need it",
        "a crop that computes",
        "one without a hint",
        "a pad that is none",
        "no hints",
    ],
)
def test_what_is_not_lifted(body: str, kept: list[str]) -> None:
    before = module(body)
    made = lift_layout_blocks(before)
    assert names(made) == kept
    assert (made is before) == (kept == ["f", "main"])
    x = np.arange(14, dtype="int32")
    assert (tirscript.interpret(made, x) == tirscript.interpret(before, x)).all()


def test_a_crop_without_a_number_promises_nothing() -> None:
    made = lift_layout_blocks(module(PAD + WORK + CROP.replace('["crop", 0]', '["crop"]')))
    found = conversion_of(made["f_crop_B"])  # type: ignore[arg-type]
    assert found is not None and found.mapping.pad_value is None


NAN = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(14):
            with T.block("f"):
                vi = T.axis.spatial(14, i)
                B[vi] = A[vi] + 1.0

    @G.graph_func
    def main(x: G.Tensor((14,), "float32")):
        with G.dataflow():
            y = G.call_tir(M.f, (x,))
            z = G.call_tir(M.f, (y,))
            G.output(z)
        return z
"""


def test_padding_of_nan_is_assumed_to_be_nan() -> None:
    """`x == nan` would hold nowhere, and LLVM may take code behind a false assumption away."""
    sch = Schedule(parse(NAN))
    sch.work_on("f")
    for name in "AB":
        sch.transform_layout("f", name, lambda i: (i // 4, i % 4), pad_value=float("nan"), keep_interface=True)
    made = lift_layout_blocks(sch.mod)
    assert "T.isnan(B_packed[ax0, ax1])" in made.script()
    found = conversion_of(made["f_crop_B"])
    assert found is not None and found.mapping.pad_value is not None and isnan(found.mapping.pad_value.value)
    done = reflow(made)
    assert done.report.conversions == 2
    x = np.arange(14, dtype="float32")
    for module in (made, done.module):
        assert (tirscript.interpret(module, x) == x + 2).all()
        assert (tirscript.build(module, debug=True)(x) == x + 2).all()


def test_a_public_function_stays() -> None:
    before = module(PAD + WORK + CROP)
    public = before.with_function(before["f"].replace(private=False))
    assert names(lift_layout_blocks(public)) == ["f_pad_A", "f_packed", "f_crop_B", "f", "main"]
