"""Operators of onnxruntime's own domain, and what its optimizers make of models, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import tirscript
from tirscript.ir import DiagnosticError, Module
from tirscript.script import parse
from tirscript.script.onnx.operators import OPERATORS
from tirscript.testing import models

random = np.random.default_rng(12)
ort.set_default_logger_severity(4)


def f(*shape: int, low: float = -2.0, high: float = 2.0) -> Any:
    return random.uniform(low, high, shape).astype("float32")


def i(*shape: int, low: int = 0, high: int = 9, kind: str = "int64") -> Any:
    return random.integers(low, high, shape).astype(kind)


def u8(*shape: int) -> Any:
    return i(*shape, high=256, kind="uint8")


def i8(*shape: int) -> Any:
    return i(*shape, low=-128, high=128, kind="int8")


def i32(values: Any) -> Any:
    return np.array(values, np.int32)


class C:
    """A node: the arrays that it is given, which of them are constants, which outputs it has, and its attributes.

    `off` is by how much integers may differ: they come from floats that are rounded in another order. `keys` says for
    each line of the batch how many keys there are: what is behind them is not said.
    """

    def __init__(
        self,
        *given: Any,
        const: tuple[int, ...] = (),
        outputs: str = "0",
        off: int = 0,
        keys: tuple[int, ...] = (),
        **attrs: Any,
    ) -> None:
        self.given, self.const, self.outputs, self.off, self.attrs = given, const, outputs, off, attrs
        self.keys = keys


S, Z = np.float32(0.05), np.uint8(120)
# quantized inputs: the elements, their scale and their zero point
X = (u8(2, 3, 4), np.float32(0.03), np.uint8(100))
Y = (u8(3, 1), np.float32(0.04), np.uint8(130))
IMAGE = (u8(1, 6, 7, 3), np.float32(0.03), np.uint8(100))
BY: dict[str, Any] = {"epsilon": 1e-5}

LINE, BYTES = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4), np.arange(12).reshape(3, 4)

CASES: dict[str, list[C]] = {
    "Gelu": [C(f(3, 5))],
    "BiasGelu": [C(f(2, 3, 5), f(5))],
    "FastGelu": [C(f(3, 5)), C(f(3, 5), f(5))],
    "QuickGelu": [C(f(3, 5)), C(f(3, 5), alpha=1.3)],
    "FusedMatMul": [
        C(f(2, 3, 4), f(2, 4, 5), alpha=0.3),
        C(f(2, 4, 3), f(2, 5, 4), transA=1, transB=1),
        C(f(3, 2, 4, 5), f(3, 2, 5, 6), transBatchA=0, alpha=2.0),
        C(f(3, 2, 2, 5), f(5, 2, 2, 4), transBatchA=1, transBatchB=1),
        C(f(2, 2, 4, 5), f(3, 2, 4, 2), transBatchA=1, transBatchB=1, transA=1, transB=1),
        C(f(4), f(2, 4, 3), transA=1),
    ],
    "TransposeMatMul": [C(f(2, 4, 3), f(2, 5, 4), transA=1, transB=1, alpha=0.5)],
    "FusedGemm": [
        C(f(2, 3), f(3, 4), f(4), activation="Relu"),
        C(f(3, 2), f(4, 3), f(4), transA=1, transB=1, alpha=0.5, beta=2.0, activation="LeakyRelu", activation_alpha=0.2),
        C(f(2, 3), f(3, 4), activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.4),
    ],
    "FusedConv": [
        C(f(1, 4, 7, 6), f(6, 4, 3, 3), f(6), pads=[1, 0, 2, 1], activation="Relu"),
        C(f(1, 4, 5, 5), f(4, 1, 3, 3), group=4, activation="Clip", activation_params=[-0.5, 2.0]),
        C(f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 3, 3), activation="Sigmoid"),
        C(f(1, 2, 5, 5), f(3, 2, 3, 3), activation="LeakyRelu", activation_params=[0.3]),
        C(f(1, 2, 5), f(3, 2, 3), activation="Tanh"),
    ],
    "NhwcMaxPool": [C(u8(1, 6, 7, 3), kernel_shape=[3, 2], strides=[2, 2])],
    "SkipLayerNormalization": [
        C(f(2, 3, 8), f(2, 3, 8), f(8), f(8)),
        C(f(2, 3, 8), f(3, 8), f(8), None, f(8), outputs="0..3", **BY),
    ],
    "SkipSimplifiedLayerNormalization": [
        C(f(2, 3, 8), f(2, 3, 8), f(8)),
        C(f(2, 3, 8), f(2, 3, 8), f(8), f(8), outputs="0..3", **BY),
    ],
    "EmbedLayerNormalization": [
        C(i(2, 3, kind="int32"), i(2, 3, high=2, kind="int32"), f(9, 8), f(5, 8), f(2, 8), f(8), f(8),
          i32([[1, 1, 0], [1, 1, 1]]), outputs="01"),
        C(i(2, 3, kind="int32"), None, f(9, 8), f(5, 8), None, f(8), f(8), None, i(2, 3, high=5, kind="int32"), outputs="012", **BY),
    ],
    "QLinearAdd": [C(*X, *Y, S, Z), C(i8(4), S, np.int8(3), i8(4), S, np.int8(-4), S)],
    "QLinearMul": [C(*X, *Y, np.float32(0.1), Z)],
    "QuantizeLinear": [
        C(LINE, np.float32(0.01), np.array(7, kind), const=(1, 2)) for kind in ("uint8", "int16", "uint16")
    ],
    "DequantizeLinear": [
        C(BYTES.astype("uint16"), np.float32(0.1), np.uint16(7), const=(1, 2)),
        C(BYTES.astype("int16"), np.float32([0.1, 0.5, 0.2]), const=(1,), axis=0),
        C(np.array([[-8, 7], [0, 3]], ml_dtypes.int4), np.float32(0.3), const=(0,)),
    ],
    "QLinearSigmoid": [C(*X, np.float32(1 / 256), np.uint8(0), const=(1, 2, 3, 4), off=1)],
    "QLinearLeakyRelu": [C(*X, S, Z, alpha=0.2, const=(1, 2, 3, 4), off=1)],
    "QLinearSoftmax": [
        C(*X, np.float32(1 / 256), np.uint8(0), opset=13, axis=-1, const=(1, 2, 3, 4), off=1),
        C(*X, np.float32(1 / 256), np.uint8(0), opset=13, axis=1, const=(1, 2, 3, 4), off=1),
        C(*X, np.float32(1 / 256), np.uint8(0), opset=11, axis=1, const=(1, 2, 3, 4), off=1),
    ],
    "QLinearGlobalAveragePool": [C(*IMAGE, S, Z, off=1), C(*IMAGE, S, Z, channels_last=1, off=1)],
    "QLinearAveragePool": [
        C(*IMAGE, S, Z, kernel_shape=[3, 2], off=1),
        C(*IMAGE, S, Z, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], channels_last=1, off=1),
    ],
    "QLinearConcat": [C(S, Z, *X, u8(2, 3, 2), S, np.uint8(9), axis=-1, const=(0, 1, 3, 4, 6, 7), off=1)],
    "QLinearWhere": [C(random.integers(0, 2, (3, 4)).astype(bool), *X, *Y, S, Z, const=(2, 3, 5, 6, 7, 8), off=1)],
    "QLinearConv": [
        C(*IMAGE, i8(4, 3, 3, 3), f(4, low=0.01, high=0.02), np.zeros(4, np.int8), np.float32(0.5), Z, i(4, low=-50, high=50, kind="int32"),
          channels_last=1, pads=[1, 1, 1, 1], const=(1, 2, 3, 4, 5, 6, 7, 8)),
        C(u8(1, 3, 5, 6), S, Z, u8(4, 3, 3, 3), S, Z, np.float32(0.5), Z, const=(1, 2, 3, 4, 5, 6, 7)),
    ],
    "QGemm": [
        C(u8(3, 4), S, Z, i8(5, 4), f(5, low=0.01, high=0.02), i(5, high=1, kind="int8"), i(5, kind="int32"), np.float32(0.3), Z, transB=1,
          const=(1, 2, 4, 5, 7, 8)),
        C(u8(3, 4), S, Z, u8(4, 5), S, Z, alpha=0.5, const=(1, 2, 4, 5)),
        C(u8(3, 4), S, Z, u8(4, 5), S, Z, None, S, const=(1, 2, 4, 5, 7)),
    ],
    "MatMulIntegerToFloat": [
        C(u8(2, 3, 4), i8(4, 5), S, np.float32(0.02), np.uint8(3), np.int8(2), f(5)),
        C(u8(3, 4), i8(4, 5), S, f(5, low=0.01, high=0.02), None, i8(5)),
    ],
    "DynamicQuantizeMatMul": [
        C(f(2, 3, 4), i8(4, 5), S, np.int8(2), f(5)),
        C(f(3, 4, low=0.5), u8(4, 5), f(5, low=0.01, high=0.02), u8(5)),
        C(np.zeros((3, 4), "float32"), u8(4, 5), S),
    ],
    "Attention": [
        C(f(2, 3, 8), f(8, 24), f(24), num_heads=2),
        C(f(2, 3, 8), f(8, 20), f(20), i32([[1, 1, 0], [1, 1, 1]]), num_heads=2, qkv_hidden_sizes=[8, 8, 4], outputs="0"),
        C(f(2, 3, 8), f(8, 24), f(24), i32([2, 3]), num_heads=2, outputs="01", unidirectional=1),
        C(f(2, 3, 8), f(8, 24), None, i32([3, 2, 1, 0]), num_heads=2, scale=0.3),
        C(f(2, 3, 8), f(8, 24), f(24), i(2, 3, 7, high=2, kind="int32"), f(2, 2, 2, 4, 4), num_heads=2, outputs="01"),
        C(f(2, 3, 8), f(8, 24), f(24), None, f(2, 2, 2, 4, 4), num_heads=2, outputs="01", unidirectional=1),
        C(f(2, 3, 8), f(8, 24), f(24), None, None, f(1, 2, 3, 3), num_heads=2),
    ],
    "MultiHeadAttention": [
        C(f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), num_heads=2),
        C(f(2, 3, 8), f(2, 5, 8), f(2, 5, 12), f(28), i32([[1, 1, 0, 1, 0], [1, 1, 1, 1, 1]]), num_heads=2),
        C(f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, i32([2, 3]), f(1, 2, 3, 3), num_heads=2, scale=0.4),
        C(f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4), num_heads=2),
        C(f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), f(24), None, None, f(2, 2, 4, 4), f(2, 2, 4, 4), num_heads=2, outputs="012", unidirectional=1),
    ],
    "RotaryEmbedding": [
        C(f(2, 3, 8), np.array([4]), f(9, 2), f(9, 2)),
        C(f(2, 2, 3, 8), i(2, 3), f(9, 4), f(9, 4)),
        C(f(2, 2, 3, 8), i(2, 3), f(9, 4), f(9, 4), interleaved=1),
        C(f(2, 3, 16), i(2, 3), f(9, 2), f(9, 2), num_heads=2, rotary_embedding_dim=4),
    ],
    "GroupQueryAttention": [
        C(f(2, 5, 32), f(2, 5, 16), f(2, 5, 16), None, None, i32([4, 2]), np.int32(5), const=(6,), num_heads=4, kv_num_heads=2,
          outputs="012", keys=(5, 3)),
        C(f(2, 1, 32), f(2, 1, 16), f(2, 1, 16), f(2, 2, 6, 8), f(2, 2, 6, 8), i32([6, 3]), np.int32(7), const=(6,), num_heads=4,
          kv_num_heads=2, outputs="012", keys=(7, 4)),
        C(f(2, 1, 128), None, None, f(2, 2, 6, 16), f(2, 2, 6, 16), i32([6, 3]), np.int32(7), f(9, 8), f(9, 8), const=(6,),
          num_heads=4, kv_num_heads=2, do_rotary=1, outputs="012", keys=(7, 4)),
        C(f(1, 3, 64), f(1, 3, 32), f(1, 3, 32), f(1, 2, 6, 16), f(1, 2, 6, 16), i32([8]), np.int32(9), f(9, 8), f(9, 8), const=(6,),
          num_heads=4, kv_num_heads=2, do_rotary=1, rotary_interleaved=1, outputs="012", scale=0.2),
        C(f(1, 5, 32), f(1, 5, 16), f(1, 5, 16), None, None, i32([4]), np.int32(5), const=(6,), num_heads=4, kv_num_heads=2, outputs="012",
          local_window_size=2),
        C(f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), f(1, 2, 6, 8), f(1, 2, 6, 8), i32([3]), np.int32(4), const=(6,), num_heads=4, kv_num_heads=2,
          outputs="012", keys=(4,)),
        C(f(2, 3, 32), f(2, 3, 16), f(2, 3, 16), None, None, i32([2, 2]), np.int32(3), None, None, None, f(1, 4, 3, 3), const=(6,),
          num_heads=4, kv_num_heads=2, outputs="012"),
    ],
    "MatMulNBits": [
        C(f(2, 3, 32), u8(5, 2, 8), f(10), const=(1, 2), K=32, N=5, block_size=16),
        C(f(3, 40), u8(5, 3, 8), f(5, 3), u8(5, 2), None, f(5), const=(1, 2, 3, 5), K=40, N=5, block_size=16),
        C(f(3, 40), u8(5, 3, 8), f(5, 3), f(5, 3, low=6, high=9), const=(1, 2, 3), K=40, N=5, block_size=16),
        C(f(3, 32), u8(5, 1, 32), f(5), u8(5), const=(1, 2, 3), K=32, N=5, block_size=32, bits=8),
        C(f(3, 64), u8(5, 2, 8), f(5, 2), u8(5, 1), const=(1, 2, 3), K=64, N=5, block_size=32, bits=2),
    ],
}  # fmt: skip


def whole(nodes: list[Any], inputs: list[Any], outputs: list[str], weights: dict[str, Any]) -> Any:
    kept = [numpy_helper.from_array(one, name) for name, one in weights.items()]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], kept)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 10
    return model


def model_of(op: str, case: C) -> tuple[Any, dict[str, Any]]:
    """The model of one node, and what its inputs that are no constants are given."""
    names = ["" if one is None else f"x{at}" for at, one in enumerate(case.given)]
    outs = [f"y{one}" if one != "." else "" for one in case.outputs]
    node = helper.make_node(op, names, outs, name="tried", domain="com.microsoft", **case.attrs)
    arrays = {name: np.asarray(one) for name, one in zip(names, case.given, strict=True) if name}
    kept = {f"x{at}": arrays[f"x{at}"] for at in case.const}
    feeds = {name: one for name, one in arrays.items() if int(name[1:]) not in case.const}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for name, one in feeds.items()
    ]
    model = whole([node], inputs, [one for one in outs if one], kept)
    return model, feeds


def close(found: Any, wanted: Any, off: int = 0, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if found.dtype.kind in "iu":
        assert np.abs(found.astype("int64") - wanted.astype("int64")).max() <= off
    else:
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def run(model: Any, feeds: dict[str, Any]) -> list[Any]:
    found: list[Any] = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, feeds
    )
    return found


ALL = [(op, at) for op, cases in CASES.items() for at in range(len(cases))]


@pytest.mark.parametrize(("op", "at"), ALL, ids=[f"{op}-{at}" for op, at in ALL])
def test_an_operator_is_what_onnxruntime_makes_of_it(op: str, at: int) -> None:
    case = CASES[op][at]
    model, feeds = model_of(op, case)
    module = tirscript.from_onnx(model)
    found = tirscript.interpret(module, *feeds.values())
    for one, other in zip(found if isinstance(found, tuple) else (found,), run(model, feeds), strict=True):
        for line, count in enumerate(case.keys if one.ndim == 4 else ()):
            one[line, :, count:] = other[line, :, count:]
        close(one, other, case.off)
    text = module.script()
    again = parse(text, constants=tirscript.ConstantStore(module))
    assert isinstance(again, Module) and again.script() == text


def like(op: str, attrs: dict[str, Any], *given: Any) -> Any:
    """What the interpreter makes of a node that onnxruntime has no code for on processors."""
    model, feeds = model_of(op, C(*given, **attrs))
    return tirscript.interpret(tirscript.from_onnx(model), *feeds.values())


def fused(op: str, attrs: dict[str, Any], *given: Any) -> Any:
    return run(*model_of(op, C(*given, **attrs)))[0]


def test_convolutions_with_channels_last() -> None:
    x, w, b, z = f(1, 5, 6, 2), f(3, 2, 3, 3), f(3), f(1, 3, 4, 3)
    wanted = fused("FusedConv", {}, x.transpose(0, 3, 1, 2), w, b).transpose(0, 2, 3, 1)
    close(like("NhwcConv", {}, x, w, b), wanted)
    attrs = {"activation": "Relu", "strides": [2, 1], "pads": [1, 1, 1, 1]}
    z = f(1, 3, 6, 3)
    turned = [one.transpose(0, 3, 1, 2) for one in (x, z)]
    wanted = fused("FusedConv", attrs, turned[0], w, b, turned[1]).transpose(0, 2, 3, 1)
    close(like("NhwcFusedConv", attrs, x, w, b, z), wanted)


def test_sums_that_diffusion_models_fuse() -> None:
    x, bias, skip = f(2, 3, 8), f(8), f(2, 3, 8)
    close(like("BiasAdd", {}, x, bias, skip), x + bias + skip)
    left, right = np.split(x + bias, 2, axis=-1)
    close(like("BiasSplitGelu", {}, x, bias), left * fused("Gelu", {}, right))


@pytest.mark.parametrize("last", [0, 1])
def test_norms_of_groups(last: int) -> None:
    x, gamma, beta, skip, bias = f(2, 4, 3, 8), f(8), f(8), f(2, 8), f(8)

    def wanted(x: Any) -> Any:
        parts = x.reshape(2, 12, 2, 4).astype("float64")
        mean, spread = (one(parts, axis=(1, 3), keepdims=True) for one in (np.mean, np.var))
        found = ((parts - mean) / np.sqrt(spread + 1e-5)).reshape(x.shape) * gamma + beta
        return (found / (1 + np.exp(-found))).astype("float32")

    given = x if last else x.transpose(0, 3, 1, 2)
    found = like("GroupNorm", {"groups": 2, "activation": 1, "channels_last": last}, given, gamma, beta)
    close(found if last else found.transpose(0, 2, 3, 1), wanted(x), rtol=1e-5, atol=1e-5)
    if last:
        total = x + skip[:, None, None] + bias
        attrs = {"groups": 2, "activation": 1, "outputs": "01"}
        found, added = like("SkipGroupNorm", attrs, x, gamma, beta, skip, bias)
        close(added, total)
        close(found, wanted(total), rtol=1e-5, atol=1e-5)


def test_queries_keys_and_values_packed_together() -> None:
    query, key, value, bias = f(2, 3, 2, 4), f(2, 5, 2, 4), f(2, 5, 2, 4), f(24)
    flat = [one.reshape(*one.shape[:2], 8) for one in (query, key, value)]
    attrs = {"num_heads": 2}
    wanted = fused("MultiHeadAttention", attrs, *flat, bias)
    close(like("MultiHeadAttention", attrs, flat[0], np.stack([key, value], 3), None, bias), wanted)
    whole = np.stack([query, key[:, :3], value[:, :3]], 3)
    wanted = fused("MultiHeadAttention", attrs, flat[0], flat[1][:, :3], flat[2][:, :3], bias)
    close(like("MultiHeadAttention", attrs, whole, None, None, bias), wanted)


def test_means_of_quantized_tensors() -> None:
    found = like("QLinearReduceMean", {"axes": [1], "keepdims": 0}, *X, S, Z)
    mean = (X[0].astype("float32") - 100).mean(1) * X[1] / S + 120
    assert found.dtype == np.uint8 and np.abs(found - np.clip(np.rint(mean), 0, 255)).max() <= 1


ELSEWHERE = {
    "DynamicQuantizeLSTM",
    "NhwcConv",
    "NhwcFusedConv",
    "BiasAdd",
    "BiasSplitGelu",
    "GroupNorm",
    "SkipGroupNorm",
    "QLinearReduceMean",
}


@pytest.mark.parametrize("each", [False, True])
def test_layers_of_bytes_are_those_of_what_the_bytes_stand_for(each: bool) -> None:
    """onnxruntime rounds the input and the states to bytes, too, so that it is near."""
    steps, batch, size, hidden = 3, 2, 4, 5
    x, w, r = f(steps, batch, size), i8(2, size, 4 * hidden), i8(2, hidden, 4 * hidden)
    scales = [f(*((2, 4 * hidden) if each else (2,)), low=0.002, high=0.004) for _ in range(2)]
    points = [i8(*one.shape) // 16 * (not each) for one in scales]
    bias = f(2, 8 * hidden)
    given = (x, w, r, bias, None, None, None, None, scales[0], points[0], scales[1], points[1])
    model, feeds = model_of(
        "DynamicQuantizeLSTM",
        C(*given, const=(1, 2, 3, 8, 9, 10, 11), outputs="012", hidden_size=hidden, direction="bidirectional"),
    )
    real = [
        ((one.astype("float32") - np.reshape(point, (2, 1, -1))) * np.reshape(scale, (2, 1, -1))).transpose(0, 2, 1)
        for one, scale, point in zip((w, r), scales, points, strict=True)
    ]
    module = tirscript.from_onnx(model)
    for one, other in zip(tirscript.interpret(module, *feeds.values()), run(model, feeds), strict=True):
        close(one, other, rtol=0.05, atol=0.02)
    node = helper.make_node(
        "LSTM", ["x0", "w", "r", "b"], ["y0", "y1", "y2"], hidden_size=hidden, direction="bidirectional"
    )
    float_model = whole(
        [node],
        [helper.make_tensor_value_info("x0", 1, x.shape)],
        ["y0", "y1", "y2"],
        {"w": real[0].astype("float32"), "r": real[1].astype("float32"), "b": bias},
    )
    for one, other in zip(tirscript.interpret(module, x), run(float_model, {"x0": x}), strict=True):
        close(one, other)


def test_every_operator_of_the_table_is_tried() -> None:
    assert {one for one in OPERATORS if one.startswith("com.")} == {
        f"com.microsoft.{one}" for one in (*CASES, *ELSEWHERE)
    }


@pytest.mark.parametrize(
    ("op", "case", "words"),
    [
        ("FusedGemm", C(f(2, 3), f(3, 4), activation="Softplus"), "the activation Softplus"),
        ("SkipLayerNormalization", C(f(2, 3, 8), f(2, 3, 8), f(8), outputs="01"), "the mean and the deviation"),
        ("QLinearAdd", C(u8(3), f(3), u8(3), u8(3), S, Z, S, Z), "a scale for each row is not supported"),
        ("Attention", C(f(2, 3, 8), f(8, 24), num_heads=2, do_rotary=1), "its attribute `do_rotary`"),
        ("Attention", C(f(2, 3, 8), f(8, 24), None, i(8, kind="int32"), num_heads=2), "a mask whose length is neither"),
        ("MultiHeadAttention", C(f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), num_heads=2, outputs="0..3"), "its output 3"),
        ("MultiHeadAttention", C(f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), num_heads=2, unidirectional=1), "in one direction"),
        ("GroupQueryAttention", C(f(2, 5, 32), f(2, 5, 16), f(2, 5, 16), None, None, i(2, kind="int32"), np.int32(5), num_heads=4, kv_num_heads=2,
                                  softcap=3.0), "its attribute `softcap`"),
        ("GroupQueryAttention", C(f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), f(1, 2, 6, 8), f(1, 2, 6, 8), i(1, kind="int32"), np.int32(5), num_heads=4,
                                  kv_num_heads=2), "its total length is not known"),
        ("MatMulNBits", C(f(2, 32), u8(5, 2, 8), f(10), K=32, N=5, block_size=16, bits=3), "only weights of 2, 4 and 8 bits"),
        ("MatMulNBits", C(f(2, 32), u8(5, 2, 9), f(10), K=32, N=5, block_size=16), "its weights are not 5 lines"),
        ("Gleu", C(f(2)), "the operator `com.microsoft.Gleu`"),
    ],
)  # fmt: skip
def test_what_is_not_supported_names_the_node(op: str, case: C, words: str) -> None:
    model, _ = model_of(op, case)
    with pytest.raises(DiagnosticError, match=words) as caught:
        tirscript.from_onnx(model)
    assert "`tried`" in str(caught.value)


SMALL = {"layers": 2, "hidden": 32, "heads": 2, "vocabulary": 50, "longest": 32}


def optimized(model: Any, folder: Path, level: str) -> Any:
    """The model as onnxruntime's optimizer leaves it."""
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(options.optimized_model_filepath)


def example(name: str) -> tuple[Any, dict[str, Any]]:
    if name == "resnet18":
        return models.resnet18(size=32, width=8, classes=10), {"image": f(1, 3, 32, 32)}
    if name == "bert":
        return models.bert(**SMALL), {"tokens": i(2, 7, high=50), "mask": np.ones((2, 7), "float32")}
    past = {f"past_{part}_{layer}": f(2, 2, 5, 16) for layer in range(2) for part in ("key", "value")}
    return models.gpt2(**SMALL), {"token": i(2, 1, high=50), **past}


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet18", "bert", "gpt2"])
@pytest.mark.parametrize("quantized", [False, True])
def test_optimized_models(name: str, quantized: bool, tmp_path: Path) -> None:
    model, feeds = example(name)
    bound = 1e-4
    if quantized:
        from onnxruntime.quantization import quantize_dynamic

        onnx.save(model, tmp_path / "model.onnx")
        quantize_dynamic(tmp_path / "model.onnx", tmp_path / "quantized.onnx")
        model, bound = onnx.load(tmp_path / "quantized.onnx"), 2e-2  # bytes on the border between two
    wanted = run(model, feeds)
    made = optimized(model, tmp_path, "EXTENDED")
    assert any(node.domain == "com.microsoft" for node in made.graph.node)
    found = tirscript.build(tirscript.from_onnx(made))(*(feeds[one.name] for one in made.graph.input))
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        close(one, other, rtol=bound, atol=bound)


def test_encoders_of_sizes_that_only_the_call_knows() -> None:
    """Tables, a norm, attention with a mask, and a norm of a sum, as the transformers' optimizer makes of BERT."""
    hidden = 8
    weights = {
        "words": f(9, hidden), "places": f(7, hidden), "segments": f(2, hidden), "gamma": f(hidden), "beta": f(hidden),
        "w": f(hidden, 3 * hidden), "b": f(3 * hidden),
    }  # fmt: skip
    ms = {"domain": "com.microsoft"}
    nodes = [
        helper.make_node("EmbedLayerNormalization", ["ids", "kinds", "words", "places", "segments", "gamma", "beta", "mask"],
                         ["x", "count"], **ms),
        helper.make_node("Attention", ["x", "w", "b", "count"], ["mixed"], num_heads=2, **ms),
        helper.make_node("SkipLayerNormalization", ["mixed", "x", "gamma", "beta"], ["y"], **ms),
    ]  # fmt: skip
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.INT32, ["batch", "seq"])
        for name in ("ids", "kinds", "mask")
    ]
    model = whole(nodes, inputs, ["y"], weights)
    built = tirscript.build(tirscript.from_onnx(model))
    for batch, seq in ((1, 1), (3, 6)):
        mask = (np.arange(seq) < random.integers(1, seq + 1, (batch, 1))).astype("int32")
        feeds = {"ids": i(batch, seq, kind="int32"), "kinds": i(batch, seq, high=2, kind="int32"), "mask": mask}
        close(built(*feeds.values()), run(model, feeds)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_decoders_of_sizes_that_only_the_call_knows() -> None:
    """A layer as exporters of language models write it: first several tokens, then one after the other."""
    hidden, heads, shared, size = 32, 2, 1, 16
    wide = (heads + 2 * shared) * size
    weights = {
        "gamma": f(hidden), "skip": f(hidden), "bits": u8(wide, 2, 8), "scales": f(wide, 2, low=0.01, high=0.02), "out": f(hidden, hidden),
        "cos": f(32, size // 2), "sin": f(32, size // 2), "one": np.array(1), "ones": np.array([1]),
    }  # fmt: skip
    ms = {"domain": "com.microsoft"}
    nodes = [
        helper.make_node("Shape", ["mask"], ["mask_shape"]),
        helper.make_node("Gather", ["mask_shape", "one"], ["total64"], axis=0),
        helper.make_node("Cast", ["total64"], ["total"], to=6),
        helper.make_node("ReduceSum", ["mask", "ones"], ["sums"], keepdims=0),
        helper.make_node("Sub", ["sums", "one"], ["ends64"]),
        helper.make_node("Cast", ["ends64"], ["ends"], to=6),
        helper.make_node("SimplifiedLayerNormalization", ["x", "gamma"], ["normed"], epsilon=1e-5),
        helper.make_node("MatMulNBits", ["normed", "bits", "scales"], ["qkv"], K=hidden, N=wide, block_size=16, **ms),
        helper.make_node("GroupQueryAttention", ["qkv", "", "", "past_key", "past_value", "ends", "total", "cos", "sin"],
                         ["mixed", "key", "value"], num_heads=heads, kv_num_heads=shared, do_rotary=1, **ms),
        helper.make_node("MatMul", ["mixed", "out"], ["back"]),
        helper.make_node("SkipSimplifiedLayerNormalization", ["back", "x", "skip"], ["y", "", "", "sum"], epsilon=1e-5, **ms),
    ]  # fmt: skip
    real, past = onnx.TensorProto.FLOAT, ["batch", shared, "past", size]
    inputs = [
        helper.make_tensor_value_info("x", real, ["batch", "new", hidden]),
        helper.make_tensor_value_info("mask", onnx.TensorProto.INT64, ["batch", "total"]),
        helper.make_tensor_value_info("past_key", real, past),
        helper.make_tensor_value_info("past_value", real, past),
    ]
    model = whole(nodes, inputs, ["y", "sum", "key", "value"], weights)
    built = tirscript.build(tirscript.from_onnx(model))
    keys = [np.zeros((2, shared, 0, size), "float32")] * 2
    for new in (4, 1, 1):
        total = keys[0].shape[2] + new
        feeds = {
            "x": f(2, new, hidden),
            "mask": np.ones((2, total), "int64"),
            "past_key": keys[0],
            "past_value": keys[1],
        }
        found, wanted = built(*feeds.values()), run(model, feeds)
        for one, other in zip(found, wanted, strict=True):
            close(one, other, rtol=1e-4, atol=1e-4)
        keys = list(found[2:])


def test_layouts_of_one_processor_are_refused() -> None:
    """What onnxruntime makes of convolutions at the level "all"."""
    model, _ = model_of("Conv", C(f(1, 8, 4, 4), f(8, 8, 3, 3)))
    model.graph.node[0].domain = "com.microsoft.nchwc"
    with pytest.raises(DiagnosticError, match=r'(?s)`com.microsoft.nchwc.Conv`.*level "extended" only'):
        tirscript.from_onnx(model)
