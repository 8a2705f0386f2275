"""Padding without a value: who reads it is told, when the graph is compiled where that is proved, else at run time."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.ir import Module
from tirscript.passes.layouts import lift_layout_blocks, reflow
from tirscript.passes.lint import lint
from tirscript.script import parse

MODEL = """
@I.ir_module
class Model:
    @T.prim_func(private=True)
    def f(A: T.Buffer((14,), "int32"), B: T.Buffer((4,), "int32")):
        P = T.alloc_buffer((4, 4), "int32")
        {pad}
        for i, j in T.grid(4, {columns}):
            with T.block("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + {term}

    @G.graph_func
    def main(x: G.Tensor((14,), "int32")):
        with G.dataflow():
            y = G.call_tir(Model.f, (x,))
            G.output(y)
        return y
"""
BARE = """for i in range(14):
            with T.block("P_pad"):
                v0 = T.axis.spatial(14, i)
                T.block_attr({"preproc": "pad"})
                P[v0 // 4, v0 % 4] = A[v0]"""
VALUE = """for i, j in T.grid(4, 4):
            with T.block("P_pad"):
                v0, v1 = T.axis.remap("SS", [i, j])
                T.block_attr({"preproc": "pad"})
                P[v0, v1] = A[v0 * 4 + v1] if v0 * 4 + v1 < 14 else 0"""


def model(pad: str = BARE, columns: int = 4, term: str = "P[vi, vj]") -> Module:
    made = parse(MODEL.format(pad=pad, columns=columns, term=term))
    assert isinstance(made, Module)
    return made


def test_an_index_that_reaches_the_padding_is_shown() -> None:
    before = model()
    lifted = lift_layout_blocks(before)
    assert "f_pad_A" in lifted.script()
    with pytest.raises(DiagnosticError) as caught:
        reflow(lifted)
    (found,) = caught.value.diagnostics
    assert found.code == "T612" and found.span is not None and found.span.text == "P[vi, vj]"
    assert found.message == "`f_packed` reads padding of `P`, in which nothing is stored: i = 3, j = 2"
    assert "`f_pad_A` packs it without a pad value" in str(found)
    assert found.message in [one.message for one in lint(lifted)]
    again = parse(lifted.script())
    assert isinstance(again, Module)
    with pytest.raises(DiagnosticError, match="i = 3, j = 2"):
        reflow(again)


def test_the_interpreter_tells_it_too() -> None:
    for made in (model(), lift_layout_blocks(model())):
        with pytest.raises(DiagnosticError, match=r"`P\[3, 2\]` is read, but nothing was stored there"):
            tirscript.interpret(made, np.arange(14, dtype="int32"))
    (one,) = [one for one in lint(model()) if one.code == "T612"]
    assert one.message == "`P` is read before it is written: i = 3, j = 2"


@pytest.mark.parametrize(
    ("pad", "columns", "term"),
    [
        (VALUE, 4, "P[vi, vj]"),  # 0 is there
        (BARE, 2, "P[vi, vj]"),  # the padding begins behind
        (BARE, 4, "(P[vi, vj] if vi * 4 + vj < 14 else 0)"),
    ],
)
def test_what_reads_elements_alone_is_right(pad: str, columns: int, term: str) -> None:
    before = model(pad, columns, term)
    lifted = lift_layout_blocks(before)
    done = reflow(lifted)
    assert not [one for one in lint(lifted) if one.code == "T612"]
    x = np.arange(14, dtype="int32")
    for made in (lifted, done.module):
        assert np.array_equal(tirscript.interpret(made, x), tirscript.interpret(before, x))


def test_what_depends_on_data_is_left_to_run_time() -> None:
    before = model(term="(P[vi, vj] if A[vi] > 5 else 0)")
    lifted = lift_layout_blocks(before)
    assert reflow(lifted).module is lifted
    for made in (before, lifted):
        assert tirscript.interpret(made, np.zeros(14, "int32")).tolist() == [0] * 4
        with pytest.raises(DiagnosticError, match="nothing was stored there"):
            tirscript.interpret(made, np.full(14, 9, "int32"))
