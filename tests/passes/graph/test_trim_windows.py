"""Windows of convolutions without what only sees the border."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import GraphFunc, Module
from tirscript.ir.constant import ConstantTensor
from tirscript.ir.graph import GraphBind, GraphConst, OpCall
from tirscript.ir.rewrite import rewrite, walk
from tirscript.passes.graph import trim_windows


def layer(shape: tuple[Any, ...], weight: Any, **attrs: Any) -> Module:
    """One convolution of a constant weight; names in `shape` are symbolic."""
    names = {"constant": weight}
    said = ", ".join(f"{name}={value!r}" for name, value in attrs.items())
    text = f"""
@I.ir_module
class Model:
    @G.graph_func
    def main(x: G.Tensor({shape!r}, "float32")):
        with G.dataflow():
            y = G.nn.conv{weight.ndim - 2}d(x, G.const(constant), {said})
            G.output(y)
        return y
"""
    found = tirscript.parse(text, names=names)
    assert isinstance(found, Module)
    return found


def convolution(module: Module) -> OpCall:
    return next(one for one in walk(module["main"]) if type(one) is OpCall and one.op.name.startswith("nn.conv"))


def window_of(module: Module) -> tuple[int, ...]:
    """The window of the convolution in a module."""
    weight = convolution(module).args[1]
    bound = {one.var: one.value for one in walk(module["main"]) if type(one) is GraphBind}
    data = bound.get(weight, weight)  # type: ignore[call-overload]
    assert isinstance(data, GraphConst)
    return data.data.shape[2:]


def check(module: Module, x: Any, window: tuple[int, ...], padding: list[int]) -> None:
    made = trim_windows(module)
    assert isinstance(made, Module) and isinstance(made["main"], GraphFunc)
    assert window_of(made) == window
    assert list(convolution(made).attrs["padding"]) == padding
    wanted = tirscript.interpret(module, x)
    np.testing.assert_allclose(tirscript.interpret(made, x), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tirscript.build(module)(x), wanted, rtol=1e-4, atol=1e-5)


def given(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")


def test_of_one_pixel_the_centre_is_enough() -> None:
    module = layer(("n", 3, 1, 1), given(4, 3, 3, 3), padding=[1, 1, 1, 1])
    check(module, given(2, 3, 1, 1), (1, 1), [0, 0, 0, 0])


def test_each_axis_by_itself() -> None:
    module = layer((2, 3, 1, 5), given(4, 3, 3, 3), padding=[1, 1, 1, 1])
    check(module, given(2, 3, 1, 5), (1, 3), [0, 1, 0, 1])
    module = layer((2, 3, "h", 1), given(4, 3, 3, 3), padding=[1, 1, 1, 1])
    check(module, given(2, 3, 4, 1), (3, 1), [1, 0, 1, 0])


def test_dilated_windows_see_small_maps_by_their_centre() -> None:
    module = layer((1, 3, 5, 5), given(4, 3, 3, 3), padding=[6, 6, 6, 6], dilation=[6, 6])
    check(module, given(1, 3, 5, 5), (1, 1), [0, 0, 0, 0])
    module = layer((1, 3, 7, 7), given(4, 3, 3, 3), padding=[6, 6, 6, 6], dilation=[6, 6])
    check(module, given(1, 3, 7, 7), (3, 3), [6, 6, 6, 6])


@pytest.mark.parametrize(
    ("size", "window", "attrs", "kept", "border"),
    [
        (1, 5, {"padding": [2, 2]}, 1, [0, 0]),
        (2, 5, {"padding": [2, 2]}, 3, [1, 1]),
        (1, 5, {"padding": [0, 4]}, 1, [0, 0]),
        (1, 4, {"padding": [3, 0]}, 1, [0, 0]),
        (2, 3, {"padding": [1, 1], "strides": [2]}, 2, [0, 0]),  # the first row of the window sees the border alone
        (3, 7, {"padding": [3, 3], "strides": [3]}, 3, [0, 0]),
        (2, 3, {"padding": [1, 3], "dilation": [2]}, 2, [1, 1]),
        (2, 2, {"padding": [1, 0], "strides": [2], "dilation": [2]}, 2, [1, 0]),  # a border is not below zero
        (4, 3, {"padding": [1, 1]}, 3, [1, 1]),
        (1, 2, {"padding": [2, 2]}, 2, [2, 2]),  # results of the border alone: the whole window is seen
    ],
)
def test_lines(size: int, window: int, attrs: dict[str, Any], kept: int, border: list[int]) -> None:
    check(layer((2, 3, size), given(4, 3, window), **attrs), given(2, 3, size), (kept,), border)


def test_groups_and_other_layouts() -> None:
    module = layer((2, 4, 1, 1), given(4, 1, 3, 3), padding=[1, 1, 1, 1], groups=4)
    check(module, given(2, 4, 1, 1), (1, 1), [0, 0, 0, 0])
    weight = given(3, 1, 4, 5)
    module = layer((2, 1, 1, 4), weight, padding=[1, 0, 1, 0], data_layout="NHWC", kernel_layout="HWIO")
    made = trim_windows(module)
    assert isinstance(made, Module)
    x = given(2, 1, 1, 4)
    np.testing.assert_allclose(tirscript.interpret(made, x), tirscript.interpret(module, x), rtol=1e-5)
    assert convolution(made).attrs["padding"] == (0, 0, 0, 0)


def test_weights_that_are_not_finite_stay() -> None:
    """Infinity times the zeros of the border is nan."""
    weight = given(4, 3, 3, 3)
    weight[0, 0, 0, 0] = np.inf
    module = layer((1, 3, 1, 1), weight, padding=[1, 1, 1, 1])
    assert trim_windows(module) is module


def test_weights_that_are_not_known_stay() -> None:
    module = tirscript.parse("""
@I.ir_module
class Model:
    @G.graph_func
    def main(x: G.Tensor((1, 3, 1, 1), "float32"), w: G.Tensor((4, 3, 3, 3), "float32")):
        with G.dataflow():
            y = G.nn.conv2d(x, w, padding=[1, 1, 1, 1])
            G.output(y)
        return y
""")
    assert isinstance(module, Module) and trim_windows(module) is module


def test_weights_whose_elements_are_not_at_hand_stay() -> None:
    module = layer((1, 3, 1, 1), given(4, 3, 3, 3), padding=[1, 1, 1, 1])
    missing = GraphConst(ConstantTensor(f"sha256:{1:064x}", (4, 3, 3, 3), "float32"))
    without: Module = rewrite(module, {GraphConst: lambda one: missing})
    assert trim_windows(without) is without


def test_a_border_may_be_wider_than_anything_that_could_be_computed() -> None:
    """Its places are not looked at one by one; all of the window is seen from some place in it."""
    module = layer((1, 3, 1), given(4, 3, 3), padding=[10**12, 10**12])
    assert window_of(trim_windows(module)) == (3,)
