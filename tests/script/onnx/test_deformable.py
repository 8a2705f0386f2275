"""Convolutions that look at places which are computed, against onnxruntime."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import tirscript
from tirscript.ir import DiagnosticError

random = np.random.default_rng(19)
CHANNELS, FILTERS, IMAGE, KERNEL = 4, 6, (7, 6), (3, 2)


def model_of(
    shapes: dict[str, tuple[int | str, ...]], kind: int = onnx.TensorProto.FLOAT, opset: int = 19, **attrs: Any
) -> Any:
    names = [name if name in shapes else "" for name in ("x", "w", "offset", "bias", "mask")]
    node = helper.make_node("DeformConv", names, ["y"], name="tried", **attrs)
    inputs = [helper.make_tensor_value_info(name, kind, shapes[name]) for name in names if name]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def shapes_of(
    made: tuple[int | str, int | str], groups: int = 1, parts: int = 1, more: tuple[str, ...] = ()
) -> dict[str, tuple[int | str, ...]]:
    """The shapes of the inputs, which give images of the size `made`."""
    taps = KERNEL[0] * KERNEL[1] * parts
    shapes: dict[str, tuple[int | str, ...]] = {
        "x": (2, CHANNELS, *IMAGE),
        "w": (FILTERS, CHANNELS // groups, *KERNEL),
        "offset": (2, 2 * taps, *made),
        "bias": (FILTERS,),
        "mask": (2, taps, *made),
    }
    return {name: shape for name, shape in shapes.items() if name in ("x", "w", "offset", *more)}


def arrays(shapes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: random.normal(size=shape).astype("float32") * np.float32(2 if name == "offset" else 1)
        for name, shape in shapes.items()
    }


def wanted_of(model: Any, feeds: dict[str, Any]) -> Any:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


@pytest.mark.parametrize(
    ("made", "more", "attrs"),
    [
        ((5, 5), (), {}),
        ((7, 7), ("bias", "mask"), {"pads": [1, 1, 1, 1], "group": 2, "offset_group": 2}),
        ((3, 3), ("mask",), {"strides": [2, 2], "offset_group": 4}),
        ((6, 8), ("bias",), {"pads": [2, 1, 1, 3], "dilations": [2, 2]}),
    ],
)
def test_results(made: tuple[int, int], more: tuple[str, ...], attrs: dict[str, Any]) -> None:
    shapes = shapes_of(made, attrs.get("group", 1), attrs.get("offset_group", 1), more)
    model, feeds = model_of(shapes, **attrs), arrays(shapes)
    module = tirscript.from_onnx(model)
    for found in (tirscript.interpret(module, *feeds.values()), tirscript.build(module)(*feeds.values())):
        np.testing.assert_allclose(found, wanted_of(model, feeds), rtol=1e-4, atol=3e-5)


def test_results_of_sizes_that_are_symbolic() -> None:
    shapes = shapes_of((4, 4), more=("mask",))
    open_shapes = shapes_of(("p", "q"), more=("mask",)) | {"x": ("n", CHANNELS, "h", "w")}
    for name in ("offset", "mask"):
        open_shapes[name] = ("n", *open_shapes[name][1:])
    model, feeds = model_of(open_shapes, pads=[1, 1, 1, 1], strides=[2, 2]), arrays(shapes)
    found = tirscript.build(tirscript.from_onnx(model))(*feeds.values())
    np.testing.assert_allclose(found, wanted_of(model, feeds), rtol=1e-4, atol=3e-5)


def test_places_of_float16_are_told_apart_in_float32() -> None:
    """Thousandths of an element, as far from the first as 60 elements."""
    image = (1, 1, 4, 64)
    shapes: dict[str, tuple[int | str, ...]] = {"x": image, "w": (1, 1, 1, 1), "offset": (1, 2, 4, 64)}
    x = np.arange(64, dtype="float16") * np.ones(image, "float16")
    offset = np.stack([np.zeros((4, 64)), np.full((4, 64), 0.25)])[None].astype("float16")
    model = model_of(shapes, onnx.TensorProto.FLOAT16)
    found = tirscript.build(tirscript.from_onnx(model))(x, np.ones((1, 1, 1, 1), "float16"), offset)
    np.testing.assert_allclose(found[..., :63], x[..., :63].astype("float32") + 0.25, rtol=2e-3)


def sample(image: np.ndarray, place: tuple[float, ...]) -> float:
    """What stands at a place between the elements of an image, around which there are zeros."""
    low = [int(np.floor(at)) for at in place]
    total = 0.0
    for corner in itertools.product((0, 1), repeat=len(place)):
        at = tuple(one + more for one, more in zip(low, corner, strict=True))
        if all(0 <= one < size for one, size in zip(at, image.shape, strict=True)):
            share = [1 - abs(one - exact) for one, exact in zip(at, place, strict=True)]
            total += float(np.prod(share)) * float(image[at])
    return total


def test_images_of_three_dimensions() -> None:
    """onnxruntime has none of these."""
    image, kernel = (4, 5, 4), (2, 2, 1)
    made = tuple(size - taps + 1 for size, taps in zip(image, kernel, strict=True))
    offset = (1, 3 * 4, *made)
    model = model_of({"x": (1, 2, *image), "w": (3, 2, *kernel), "offset": offset})
    feeds = arrays({"x": (1, 2, *image), "w": (3, 2, *kernel), "offset": offset})
    x, w, moved = feeds["x"][0], feeds["w"], feeds["offset"][0].reshape(4, 3, *made)
    wanted = np.zeros((3, *made))
    for at in np.ndindex(made):
        for tap, step in enumerate(np.ndindex(kernel)):
            place = tuple(at[axis] + step[axis] + float(moved[tap, axis][at]) for axis in range(3))
            for channel in range(2):
                wanted[(slice(None), *at)] += w[(slice(None), channel, *step)] * sample(x[channel], place)
    found = tirscript.build(tirscript.from_onnx(model))(*feeds.values())
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "attrs", "words"),
    [
        ({}, {"offset_group": 3}, "not those of its groups"),
        ({"offset": (2, 12, 5, 4)}, {}, r"its input 2 has the shape \(2, 12, 5, 4\), not \(2, 12, 5, 5\)"),
        ({"mask": (2, 12, 5, 5)}, {}, r"its input 4 has the shape \(2, 12, 5, 5\), not \(2, 6, 5, 5\)"),
        ({}, {"strides": [0, 1]}, "are not all 1 or more"),
        ({}, {"dilations": [1, -1]}, "are not all 1 or more"),
        ({"x": (2, CHANNELS, 7)}, {}, "its data has 3 dimensions; images have 4 or 5"),
    ],
)
def test_what_does_not_fit(change: dict[str, Any], attrs: dict[str, Any], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(model_of(shapes_of((5, 5)) | change, **attrs))
