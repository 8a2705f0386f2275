"""Transposed convolutions become a contraction and the sums of what meets at a place."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Block, Module, walk
from tirscript.passes import get_pass
from tirscript.passes.schedule.default_cpu.nests import factors
from tirscript.script import parse


def transposed(data: tuple[int, ...], weight: tuple[int, ...], more: str) -> Module:
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor({data}, "float32"), w: G.Tensor({weight}, "float32")):
        with G.dataflow():
            y = G.nn.conv{len(data) - 2}d_transpose(x, w, {more})
            G.output(y)
        return y
""")
    assert isinstance(found, Module)
    return found


CASES = [
    ((2, 6, 5, 7), (6, 4, 4, 4), "strides=[2, 2], padding=[1, 1, 1, 1]"),
    ((1, 6, 5, 7), (6, 4, 3, 3), "strides=[2, 3], padding=[1, 0, 2, 1], output_padding=[1, 2]"),
    ((1, 6, 5, 4), (6, 2, 3, 2), "strides=[2, 1], groups=3, dilation=[1, 2]"),
    ((1, 6, 5, 4), (6, 2, 3, 3), "strides=[2, 2], groups=2, dilation=[2, 2], padding=[2, 2, 2, 2]"),
    ((1, 4, 3, 3), (4, 2, 2, 2), "strides=[3, 3]"),
    ((1, 8, 9), (8, 1, 16), "strides=[8]"),
]


@pytest.mark.parametrize(("data", "weight", "more"), CASES)
def test_they_give_what_numpy_gives(data, weight, more):
    module, random = transposed(data, weight, more), np.random.default_rng(3)
    x, w = (random.standard_normal(shape).astype("float32") for shape in (data, weight))
    wanted = tirscript.interpret(module, x, w)
    np.testing.assert_allclose(tirscript.build(module)(x, w), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("data", "weight", "more"), CASES)
def test_no_product_is_under_a_condition(data, weight, more):
    (kernel,) = get_pass("legalize_ops")(transposed(data, weight, more)).prim_funcs
    blocks = {node.name: node for node in walk(kernel.body) if type(node) is Block}
    (store,) = blocks["spread"].body
    assert factors(store.value.args[1]) is not None  # of two loads


def test_what_is_not_finite_stays_at_its_places():
    """No product with zeros around the data or behind the window is added."""
    module = transposed((1, 1, 3), (1, 1, 3), "strides=[2]")
    x, w = np.float32([[[1, 2, np.inf]]]), np.float32([[[1, 2, 3]]])
    np.testing.assert_array_equal(tirscript.build(module)(x, w), np.float32([[[1, 2, 5, 4, np.inf, np.inf, np.inf]]]))
