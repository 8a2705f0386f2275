"""What is told of the layouts of values: maps that functions name, and padding that is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirscript import BlockBuilder
from tirscript.ir import Module, constant
from tirscript.ir.graph import GraphConst, GraphVar
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.passes.graph import legalize_ops
from tirscript.passes.layouts import reflow, value_layouts
from tirscript.script import parse

TILES = "(T.index_map(lambda i: (i // 4, i % 4)), (14,))"
MODEL = """
@I.ir_module
class Model:
    @T.prim_func(private=True)
    def pack(A: T.Buffer((14,), "float32"), P: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("pack"):
                v0, v1 = T.axis.remap("SS", [i, j])
                P[v0, v1] = A[v0 * 4 + v1] if v0 * 4 + v1 < 14 else T.float32({pad})

    @T.prim_func(private=True)
    def work(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        T.func_attr({{"layouts": {{"A": {a}, "B": {b}}}}})
{body}

    @T.prim_func(private=True)
    def crop(P: T.Buffer((4, 4), "float32"), A: T.Buffer((14,), "float32")):
        for i in range(14):
            A[i] = P[i // 4, i % 4]

    @G.graph_func
    def main(x: G.Tensor((14,), "float32")):
        cls = Model
        with G.dataflow():
            p = G.call_tir(cls.pack, (x,))
            q = G.call_tir(cls.work, (p,))
            y = G.call_tir(cls.crop, (q,))
            G.output(y)
        return y
"""
WHOLE = """
for i, j in T.grid(4, 4):
    B[i, j] = {value}
"""
FILL = """
for j in range(2):
    B[3, j + 2] = T.float32({value})
"""

WHERE = """
for i, j in T.grid(4, 4):
    with T.block("where"):
        v0, v1 = T.axis.remap("SS", [i, j])
        T.where(i * 4 + j < {first})
        B[v0, v1] = 1.0
"""


def told(body: str, pad: str = "0", a: str = TILES, b: str = TILES) -> dict[str, str]:
    lines = "\n".join(" " * 8 + line for line in body.strip().splitlines())
    module = parse(MODEL.format(body=lines, pad=pad, a=a, b=b))
    assert isinstance(module, Module)
    found = value_layouts(module["main"], module)
    return {one.name: str(mapping) for one, mapping in found.items() if type(one) is GraphVar}


MAP = "(i0) -> (i0 // 4, i0 % 4) in (4, 4)"


@pytest.mark.parametrize(
    ("body", "pad", "expected"),
    [
        (WHOLE.format(value="A[i, j] + 1.0"), "2", ", pad 3.0"),
        (WHOLE.format(value="T.max(A[i, j], 0.0)"), "-2", ", pad 0.0"),
        (WHOLE.format(value="T.exp(A[i, j])"), "1", ""),  # not worked out
        (WHOLE.format(value="A[3 - i, j] + 1.0"), "2", ""),  # elements come into the padding
        (WHOLE.format(value="A[i, j] + 1.0") + FILL.format(value=7), "2", ", pad 7.0"),  # the last one counts
        (WHOLE.format(value="A[i, j] + 1.0").replace("4, 4", "3, 4"), "2", ""),  # nothing is stored there
        (WHOLE.format(value="2.0").replace("4, 4", "3, 4") + FILL.format(value=7), "2", ", pad 7.0"),
        (FILL.format(value=7).replace("2)", "1)", 1), "2", ""),  # one place of two
        (FILL.format(value=7).replace("2)", "1)", 1) + FILL.format(value=7), "2", ", pad 7.0"),
        (WHOLE.format(value="A[i, j] + 1.0") + FILL.format(value=7).replace("2)", "1)", 1), "2", ""),  # 7 and 3
        (WHERE.format(first=13) + FILL.format(value=7), "2", ", pad 7.0"),
        (WHERE.format(first=16), "2", ", pad 1.0"),
        (WHERE.format(first=15), "2", ""),
    ],
)
def test_padding_is_proved(body: str, pad: str, expected: str) -> None:
    found = told(body, pad)
    assert found["p"] == f"{MAP}, pad {float(pad)}"
    assert found["q"] == MAP + expected
    assert set(found) == {"p", "q"}


def test_one_layout_after_the_other() -> None:
    assert told(WHOLE.format(value="A[3 - i, j]"), "2")["q"] == "(i0) -> (3 - i0 // 4, i0 % 4) in (4, 4), pad 2.0"


def test_a_layout_that_is_undone_is_none() -> None:
    bb = BlockBuilder()
    x = bb.tensor("x", (2, 3), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            turned = bb.emit(GRAPH_OPS["permute_dims"](x), "turned")
            out = bb.emit_output(GRAPH_OPS["permute_dims"](turned), "out")
        bb.emit_func_output(out)
    module = legalize_ops(bb.get())
    found = {one.name: str(mapping) for one, mapping in value_layouts(module["main"], module).items()}
    assert found == {"turned": "(i0, i1) -> (i1, i0) in (3, 2)"}


def test_a_sum_keeps_what_it_begins_with() -> None:
    body = """
for i, j, k in T.grid(4, 4, 8):
    with T.block("sum"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            B[vi, vj] = 0.0
        B[vi, vj] = B[vi, vj] + A[vi, vj]
"""
    assert told(body, "0")["q"] == f"{MAP}, pad 0.0"
    assert told(body, "1")["q"] == MAP  # 8, if someone counts


@pytest.mark.parametrize(
    "other",
    [
        "(T.index_map(lambda i: (i // 5, i % 5)), (14,))",  # needs 5 columns
        "(T.index_map(lambda i: (i // 4, i % 4)), (40,))",  # needs 10 rows
        "(T.index_map(lambda i: (i // 4, i // 4)), (14,))",  # elements lie on each other
        "(T.index_map(lambda i: (i,)), (14,))",
        "(T.index_map(lambda i: (i // 4, i % 4)), (2, 7))",
        "(T.index_map(lambda i: (i // 4, i % 4)),)",
        "(T.index_map(lambda i: (i // 4, i % 4)), ('x',))",
        "'tiles'",
    ],
)
def test_an_attribute_that_cannot_be_is_not_repeated(other: str) -> None:
    """The map of q comes from the crop; without it nothing would be told."""
    found = told(WHOLE.format(value="A[i, j] + 1.0"), "2", b=other)
    assert found == {"p": f"{MAP}, pad 2.0", "q": MAP}


def blocks(n: Any, c: Any, h: Any, w: Any) -> tuple[Any, ...]:
    return n, c // 4, h, w, c % 4


def test_a_network_with_packed_constants() -> None:
    rng, bb = np.random.default_rng(0), BlockBuilder()
    x = bb.tensor("x", (1, 3, 4, 4), "float32")
    weight = GraphConst(constant(rng.standard_normal((5, 3, 1, 1)).astype("float32")))
    with bb.function("main", [x]):
        with bb.dataflow():
            conv = bb.emit(GRAPH_OPS["nn.conv2d"](x, weight), "conv")
            out = bb.emit_output(GRAPH_OPS["nn.relu"](conv), "out")
        bb.emit_func_output(out)
    asked = {"conv": {"data": blocks, "out": blocks}}
    done = reflow(legalize_ops(bb.get()), layouts=asked, decide=lambda _: True)
    for module in (done.module, parse(done.module.script(constants="inline"))):
        assert isinstance(module, Module)
        found = value_layouts(module["main"], module)
        words = {getattr(one, "name", "constant"): str(mapping) for one, mapping in found.items()}
        assert words["constant"] == (
            "(i0, i1, i2, i3) -> (i0 // 4, i1 // 4, i2, i3, i1 % 4, i0 % 4) in (2, 1, 1, 1, 4, 4), pad 0.0"
        )
        assert words["x_packed"] == "(i0, i1, i2, i3) -> (i0, i1 // 4, i2, i3, i1 % 4) in (1, 1, 4, 4, 4), pad 0.0"
        # inf * 0 is nan, so beyond 5 channels the sums are 0 or nan, of which the relu makes 0
        assert words["conv_packed"] == "(i0, i1, i2, i3) -> (i0, i1 // 4, i2, i3, i1 % 4) in (1, 2, 4, 4, 4)"
        assert words["out_packed"] == "(i0, i1, i2, i3) -> (i0, i1 // 4, i2, i3, i1 % 4) in (1, 2, 4, 4, 4), pad 0.0"
