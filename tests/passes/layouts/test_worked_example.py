"""The example that the project began with: grow, addone, grow on 14 elements in tiles of 4, at each step."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module
from tirscript.ir.expr import Call
from tirscript.ir.graph import GraphBind
from tirscript.ir.rewrite import walk
from tirscript.passes.layouts import conversion_of, lift_layout_blocks, reflow
from tirscript.passes.layouts.calls import called
from tirscript.passes.schedule import Schedule
from tirscript.script import parse
from tirscript.testing.golden import Golden

TEXT = """
from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import tir as T


@I.ir_module
class Model:
    @T.prim_func(private=True)
    def grow(A: T.Buffer((14,), "{dtype}"), B: T.Buffer((14,), "{dtype}")):
        for i in range(14):
            with T.block("grow"):
                vi = T.axis.spatial(14, i)
                B[vi] = A[vi] * {two}

    @T.prim_func(private=True)
    def middle(A: T.Buffer((14,), "{dtype}"), B: T.Buffer((14,), "{dtype}")):
        for i in range(14):
            with T.block("middle"):
                vi = T.axis.spatial(14, i)
                B[vi] = {middle}

    @G.graph_func
    def main(x: G.Tensor((14,), "{dtype}")):
        cls = Model
        with G.dataflow():
            a = G.call_tir(cls.grow, (x,))
            b = G.call_tir(cls.middle, (a,))
            c = G.call_tir(cls.grow, (b,))
            G.output({outputs})
        return {outputs}
"""
CASES = {
    "addone": {"dtype": "int32", "two": "2", "middle": "A[vi] + 1", "outputs": "c"},
    "exp": {"dtype": "float32", "two": "2.0", "middle": "T.exp(A[vi])", "outputs": "c"},
    "branch": {"dtype": "int32", "two": "2", "middle": "A[vi] + 1", "outputs": "b, c"},
}


def tiled(case: str, which: str) -> Module:
    """The module with one of its functions in tiles of 4, its interface unchanged."""
    module = parse(TEXT.format(**CASES[case]))
    assert isinstance(module, Module)
    sch = Schedule(module)
    sch.work_on(which)
    for name in "AB":
        # the padding of what exp and addone make is not theirs to promise
        pad = 0 if name == "A" or which == "grow" else None
        sch.transform_layout(which, name, lambda i: (i // 4, i % 4), pad_value=pad, keep_interface=True)
    return sch.mod


def conversions(module: Module) -> list[str]:
    """The conversions that `main` makes, in order."""
    found = []
    for node in walk(module["main"]):
        target = called(node.value, module) if type(node) is GraphBind else None
        conversion = None if target is None else conversion_of(target[0])
        if conversion is not None:
            found.append("pad" if conversion.packs else "crop")
    return found


def selects(module: Module) -> int:
    """Values that are chosen, outside of conversions."""
    funcs = [func for func in module.prim_funcs if conversion_of(func) is None]
    return sum(
        type(node) is Call and node.op.name in ("if_then_else", "Select") for func in funcs for node in walk(func)
    )


def arguments(case: str) -> np.ndarray:
    return (np.arange(14) / 8).astype(CASES[case]["dtype"]) if case == "exp" else np.arange(14, dtype="int32")


@pytest.mark.parametrize("which", ["grow", "middle"])
@pytest.mark.parametrize("case", CASES)
def test_each_step(case: str, which: str, golden: Golden) -> None:
    plain = parse(TEXT.format(**CASES[case]))
    steps = {"0_scheduled": tiled(case, which)}
    steps["1_lifted"] = lift_layout_blocks(steps["0_scheduled"])
    done = reflow(steps["1_lifted"])
    steps["2_reflowed"] = done.module
    expected = tirscript.interpret(plain, arguments(case))
    for name, module in steps.items():
        golden.check(module, name=name)
        got = tirscript.interpret(module, arguments(case))
        assert np.array_equal(got, expected), name
    golden.check_text(str(done), name="3_decisions")
    left = conversions(done.module)
    # what the branch returns is cropped in the middle; where addone alone is packed, that is the only crop
    assert left == (["pad", "crop", "crop"] if (case, which) == ("branch", "grow") else ["pad", "crop"])
    assert len(left) < len(conversions(steps["1_lifted"])) or which == "middle"
    assert selects(done.module) == done.report.selects == 0
    assert done.report.branches == 0 and done.report.conversions == len(left)


@pytest.mark.parametrize("case", CASES)
def test_native_code_agrees(case: str) -> None:
    done = reflow(lift_layout_blocks(tiled(case, "grow"))).module
    expected = tirscript.interpret(parse(TEXT.format(**CASES[case])), arguments(case))
    got = tirscript.build(done)(arguments(case))
    assert np.allclose(got, expected, rtol=1e-6)
