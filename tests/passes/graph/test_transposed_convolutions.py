"""Transposed convolutions become a contraction and the sums of what meets at a place, or convolutions of phases."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Block, Module, walk
from tirscript.passes import get_pass
from tirscript.passes.graph import GRAPH_LOWERING, bind_params
from tirscript.passes.schedule.default_cpu.nests import factors
from tirscript.script import parse


def transposed(data: tuple[int, ...], weight: tuple[int, ...], more: str, kind: str = "float32") -> Module:
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor({data}, "{kind}"), w: G.Tensor({weight}, "{kind}")):
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


def kernels(module: Module, w: np.ndarray) -> list[str]:
    """The blocks of the kernel where the weight is known."""
    bound = bind_params(module, {"w": w})
    (kernel,) = get_pass("legalize_ops")(bound).prim_funcs
    return [node.name for node in walk(kernel.body) if type(node) is Block]


PHASES = [
    ((2, 6, 5, 7), (6, 4, 4, 4), "strides=[2, 2], padding=[1, 1, 1, 1]", True),
    ((1, 5, 4, 4), (5, 17, 4, 4), "strides=[2, 2], padding=[1, 2, 0, 1]", True),
    ((1, 3, 9, 8), (3, 20, 2, 2), "strides=[2, 2]", True),
    ((1, 3, 9, 8), (3, 3, 6, 3), "strides=[3, 1], padding=[2, 1, 1, 1], output_padding=[2, 0]", True),
    ((1, 12, 9, 8), (12, 4, 4, 4), "strides=[2, 2], padding=[1, 1, 1, 1], groups=3", True),
    ((1, 4, 30), (4, 3, 16), "strides=[8], padding=[4, 4]", True),
    ((1, 2, 4, 5, 4), (2, 3, 2, 4, 3), "strides=[2, 2, 1], padding=[0, 1, 1, 0, 1, 1]", True),
    ((1, 6, 5, 7), (6, 4, 3, 3), "strides=[2, 2]", False),  # not the same number of products for each phase
    ((1, 6, 5, 7), (6, 4, 3, 3), "dilation=[2, 2]", False),
    ((1, 6, 1, 1), (6, 4, 4, 4), "", False),  # nearly all products would be with zeros
]


@pytest.mark.long
@pytest.mark.parametrize(("data", "weight", "more", "phases"), PHASES)
def test_known_weights_are_summed_in_phases(data, weight, more, phases):
    module, random = transposed(data, weight, more), np.random.default_rng(3)
    x, w = (random.integers(-4, 5, shape).astype("float32") for shape in (data, weight))
    assert ("conv" in kernels(module, w)) == phases
    bound = bind_params(module, {"w": w})
    wanted = tirscript.interpret(module, x, w)
    np.testing.assert_array_equal(tirscript.interpret(get_pass("legalize_ops")(bound), x), wanted)
    np.testing.assert_array_equal(tirscript.build(bound)(x), wanted)


def test_weights_of_which_one_is_not_finite_are_not_multiplied_with_zeros():
    module = transposed((1, 1, 3), (1, 1, 2), "strides=[1]")
    x, finite, infinite = np.float32([[[1, 2, 3]]]), np.float32([[[1, 2]]]), np.float32([[[1, np.inf]]])
    assert "conv" in kernels(module, finite) and "conv" not in kernels(module, infinite)
    bound = bind_params(module, {"w": infinite})
    np.testing.assert_array_equal(tirscript.build(bound)(x), np.float32([[[1, np.inf, np.inf, np.inf]]]))


def test_integers_are_summed_in_phases_whatever_the_weights_are():
    module = transposed((1, 3, 5), (3, 2, 4), "strides=[2], padding=[1, 1]", "int32")
    (kernel,) = get_pass("legalize_ops")(module).prim_funcs
    assert "conv" in [node.name for node in walk(kernel.body) if type(node) is Block]
    random = np.random.default_rng(3)
    x, w = (random.integers(-9, 9, shape).astype("int32") for shape in ((1, 3, 5), (3, 2, 4)))
    np.testing.assert_array_equal(tirscript.build(module)(x, w), tirscript.interpret(module, x, w))


def test_elementwise_work_joins_the_phases():
    module = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((1, 8, 5, 5), "float32"), w: G.Tensor((8, 16, 4, 4), "float32")):
        with G.dataflow():
            a = G.nn.conv2d_transpose(x, w, strides=[2, 2], padding=[1, 1, 1, 1])
            b = G.nn.relu(G.multiply(a, G.const(2.0)))
            y = G.tanh(b)
            G.output(y)
        return y
""")
    assert isinstance(module, Module)
    random = np.random.default_rng(3)
    x, w = (random.standard_normal(shape).astype("float32") for shape in ((1, 8, 5, 5), (8, 16, 4, 4)))
    bound = bind_params(module, {"w": w})
    assert len(GRAPH_LOWERING(bound).prim_funcs) == 2  # the kernel, and what calls it
    np.testing.assert_allclose(tirscript.build(bound)(x), tirscript.interpret(module, x, w), rtol=1e-4, atol=1e-5)
