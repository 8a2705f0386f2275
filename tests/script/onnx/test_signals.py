"""Transforms of signals of lengths that only the call knows, and the filters of mel frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import tirscript
from tirscript.ir import DiagnosticError

from .test_importer import F, model


@pytest.mark.long
@pytest.mark.parametrize("length", [5, 8])
@pytest.mark.parametrize(
    ("parts", "attrs"), [(1, {"onesided": 1}), (2, {}), (2, {"inverse": 1})], ids=["half", "complex", "inverse"]
)
def test_a_transform_of_a_length_that_only_the_call_knows(parts: int, attrs: dict[str, Any], length: int) -> None:
    given = model([helper.make_node("DFT", ["x"], ["y"], **attrs)], {"x": (F, ["b", "n", parts])}, ["y"], {}, 20)
    module = tirscript.from_onnx(given)
    x = np.random.default_rng(0).random((2, length, parts), "float32")
    signal = x[..., 0] + 1j * x[..., 1] if parts == 2 else x[..., 0]
    wanted = np.fft.ifft(signal) if attrs.get("inverse") else np.fft.fft(signal)
    wanted = wanted[:, : length // 2 + 1] if attrs.get("onesided") else wanted
    for found in (tirscript.interpret(module, x), tirscript.build(module)(x)):
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, 1e-5, 1e-5)


def test_frames_of_a_signal_of_any_length() -> None:
    """What `torch.stft` becomes."""
    node = helper.make_node("STFT", ["x", "step", "window"], ["y"])
    window = np.hanning(16).astype("float32")
    given = model([node], {"x": (F, ["b", "n"])}, ["y"], {"step": np.array(5), "window": window}, 17)
    built = tirscript.build(tirscript.from_onnx(given))
    for length in (16, 43):
        x = np.random.default_rng(1).random((2, length), "float32")
        frames = np.lib.stride_tricks.sliding_window_view(x, 16, 1)[:, ::5] * window
        found = built(x)
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], np.fft.rfft(frames), 1e-5, 1e-5)


def test_filters_of_mel_frequencies() -> None:
    names = ["bins", "length", "rate", "low", "high"]
    numbers = [np.array(8), np.array(32), np.array(8000), np.float32(0), np.float32(4000)]
    kept = dict(zip(names, map(np.asarray, numbers), strict=True))
    nodes = [helper.make_node("MelWeightMatrix", names, ["w"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
    given = model(nodes, {"x": (F, ["n", 17])}, ["y"], kept, 17)
    x = np.random.default_rng(2).random((3, 17), "float32")
    (wanted,) = ReferenceEvaluator(given).run(None, {"x": x})  # type: ignore[misc]
    np.testing.assert_allclose(tirscript.interpret(tirscript.from_onnx(given), x), wanted, 1e-5, 1e-6)
    given.graph.input.append(helper.make_tensor_value_info("bins", onnx.TensorProto.INT64, []))
    del given.graph.initializer[0]
    with pytest.raises(DiagnosticError, match="its numbers are not known before the model runs"):
        tirscript.from_onnx(given)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "words"),
    [
        ("DFT", [["n", 3]], {}, "the last axis is not that of the real and imaginary parts"),
        ("DFT", [[1, "n", 2]], {"onesided": 1, "inverse": 1}, "the length of the inverse of one side is not known"),
        ("DFT", [[1, 9999, 1]], {}, "a transform of 9999 elements is longer than what is supported"),
        ("STFT", [["n", 99, 1], []], {}, "its step is not known before the model runs"),
    ],
)
def test_what_of_transforms_is_not_supported(op: str, inputs: Any, attrs: dict[str, Any], words: str) -> None:
    names = [f"x{at}" for at in range(len(inputs))]
    kinds = {name: (F if at == 0 else onnx.TensorProto.INT64, inputs[at]) for at, name in enumerate(names)}
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(model([helper.make_node(op, names, ["y"], **attrs)], kinds, ["y"], {}, 20))


@pytest.mark.parametrize("shape", [(2, 5, 2), (2, 4, 3, 2), (3, 6, 1)])
@pytest.mark.parametrize("length", [None, 5, 8, 9])
def test_the_inverse_of_one_side(shape: tuple[int, ...], length: int | None) -> None:
    """As `torch.fft.irfft` is exported: the numbers that have these frequencies, those of the other side with them."""
    constants = {"axis": np.array(1)} if length is None else {"axis": np.array(1), "length": np.array(length)}
    names = ["x", "length" if length else "", "axis"]
    node = helper.make_node("DFT", names, ["y"], onesided=1, inverse=1)
    module = tirscript.from_onnx(model([node], {"x": (F, list(shape))}, ["y"], constants, 20))
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    given = x[..., 0] + (1j * x[..., 1] if shape[-1] == 2 else 0)
    wanted = np.fft.irfft(given, length, axis=1)[..., None]
    for found in (tirscript.interpret(module, x), tirscript.build(module)(x)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
