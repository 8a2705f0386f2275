"""Padding that is `T.undef`, in graphs: it goes from kernel to kernel, and is told where something depends on it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.interpreter import failure

from tirscript import build, interpret, parse, register_library

PADDED = """\
from tirscript.script import graph as G, ir as I, tir as T

@I.ir_module
class M:
    @T.prim_func(private=True)
    def fill(C: T.Buffer((4,), "float32"), D: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("pad"):
                vi = T.axis.spatial(8, i)
                T.block_attr("preproc", "pad")
                D[vi] = T.if_then_else(vi < 4, C[vi], T.undef("float32"))

    @T.prim_func(private=True)
    def crop(D: T.Buffer((8,), "float32"), E: T.Buffer((4,), "float32")):
        for i in range(4):
            E[i] = D[i + {first}]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        u = G.call_tir(M.fill, (x,), out=G.Tensor((8,), "float32"))
        e = G.call_tir(M.crop, (u,), out=G.Tensor((4,), "float32"))
        return {result}
"""


def test_padding_that_is_undefined_goes_from_kernel_to_kernel() -> None:
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(interpret(parse(PADDED.format(first=0, result="e")), x), x)
    np.testing.assert_array_equal(build(parse(PADDED.format(first=0, result="e")))(x), x)


@pytest.mark.parametrize(
    ("first", "result", "element", "place"),
    [
        (2, "e", "E[2]", "E[i] = D[i + 2]"),  # a kernel that copies padding
        (0, "(e, u)", "D[4]", "D[vi] = "),  # a result that holds it
        (0, "G.add(u, u)", "D[4]", "D[vi] = "),  # an operator that takes all of it
        (0, 'G.call_pure_packed("test.halves", u, ty_args=G.Tensor((8,), "float32"))', "D[4]", "D[vi] = "),
    ],
)
def test_padding_that_is_undefined_is_told_where_it_is_used(first: int, result: str, element: str, place: str) -> None:
    register_library("test.halves", np.copy, override=True)
    problem = failure(parse(PADDED.format(first=first, result=result)), np.zeros(4, np.float32))
    assert problem.code == "T306" and f"`{element}`" in problem.message and problem.span.text.startswith(place)
