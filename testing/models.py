"""Published architectures with random weights, as ONNX models: what importers, passes and backends are tried on.

They need the package onnx (`pip install tirscript[onnx]`) and no network. Weights are drawn with a seed, of such a size
that values stay near 1 from layer to layer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

OPSET = 17


class Maker:
    """Nodes and constants of a model under construction."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.count = 0

    def weight(self, name: str, *shape: int, fan_in: int = 0, value: float | None = None) -> str:
        """A tensor of weights: normal, with the variance 1 / fan_in; or all of one value."""
        if value is not None:
            return self.constant(name, np.full(shape, value, np.float32))
        scale = 1 / math.sqrt(fan_in or shape[-1])
        return self.constant(name, (self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, name: str, array: Any) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, *inputs: str, name: str = "", outputs: int = 1, **attrs: Any) -> Any:
        """A node; the name of its output, or a tuple of them."""
        from onnx import helper

        self.count += 1
        base = name or f"{op.lower()}_{self.count}"
        made = [base] if outputs == 1 else [f"{base}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), made, name=f"node_{base}", **attrs))
        return made[0] if outputs == 1 else tuple(made)

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        product = self.node("MatMul", x, self.weight(f"{name}.weight", inputs, outputs, fan_in=inputs))
        return str(self.node("Add", product, self.weight(f"{name}.bias", outputs, fan_in=inputs), name=name))

    def norm(self, x: str, name: str, size: int) -> str:
        scale, bias = self.weight(f"{name}.weight", size, value=1.0), self.weight(f"{name}.bias", size, value=0.0)
        return str(self.node("LayerNormalization", x, scale, bias, name=name, axis=-1, epsilon=1e-5))

    def model(self, name: str, inputs: dict[str, tuple[Any, list[Any]]], outputs: dict[str, list[Any]]) -> Any:
        from onnx import TensorProto, checker, helper

        kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
        given = [helper.make_tensor_value_info(key, kinds[kind], shape) for key, (kind, shape) in inputs.items()]
        made = [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, name, given, made, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        checker.check_model(model)
        return model


def resnet18(*, size: int = 224, width: int = 64, classes: int = 1000, batch: int | str = 1, seed: int = 0) -> Any:
    """ResNet-18 (He et al., 2015) on images of `size` by `size`; `width` channels in its first stage."""
    m = Maker(seed)

    def convolution(x: str, name: str, channels: tuple[int, int], kernel: int, stride: int, relu: bool = True) -> str:
        inside, outside = channels
        weight = m.weight(f"{name}.weight", outside, inside, kernel, kernel, fan_in=inside * kernel * kernel // 2)
        pads = [kernel // 2] * 4
        found = m.node(
            "Conv", x, weight, name=f"{name}.conv", pads=pads, strides=[stride] * 2, kernel_shape=[kernel] * 2
        )
        mean = m.weight(f"{name}.mean", outside, fan_in=100)
        spread = m.constant(f"{name}.var", m.random.uniform(0.5, 1.5, outside).astype(np.float32))
        scale = m.constant(f"{name}.scale", m.random.uniform(0.5, 1.0, outside).astype(np.float32))
        shift = m.weight(f"{name}.shift", outside, fan_in=100)
        found = m.node("BatchNormalization", found, scale, shift, mean, spread, name=f"{name}.bn")
        return str(m.node("Relu", found, name=f"{name}.relu")) if relu else str(found)

    x = convolution("image", "stem", (3, width), 7, 2)
    x = str(m.node("MaxPool", x, name="stem.pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
    channels = width
    for stage in range(4):
        wide = width << stage
        for block in range(2):
            name = f"layer{stage + 1}.{block}"
            stride = 2 if stage and not block else 1
            inner = convolution(x, f"{name}.0", (channels, wide), 3, stride)
            inner = convolution(inner, f"{name}.1", (wide, wide), 3, 1, relu=False)
            if stride != 1 or channels != wide:
                x = convolution(x, f"{name}.down", (channels, wide), 1, stride, relu=False)
            x = str(m.node("Relu", m.node("Add", inner, x, name=f"{name}.sum"), name=f"{name}.out"))
            channels = wide
    x = m.node("Flatten", m.node("GlobalAveragePool", x, name="pool"), name="features")
    weight, bias = m.weight("fc.weight", classes, channels), m.weight("fc.bias", classes)
    m.node("Gemm", x, weight, bias, name="logits", transB=1)
    return m.model("resnet18", {"image": ("float32", [batch, 3, size, size])}, {"logits": [batch, classes]})


def bert(
    *, layers: int = 12, hidden: int = 768, heads: int = 12, vocabulary: int = 30522, longest: int = 512, seed: int = 0
) -> Any:
    """An encoder as BERT's (Devlin et al., 2018), on tokens of a symbolic number `seq` in a symbolic `batch`."""
    m = Maker(seed)
    words = m.node("Gather", m.weight("words", vocabulary, hidden, fan_in=4), "tokens", name="embedded")
    length = m.node("Gather", m.node("Shape", "tokens"), m.constant("one", np.array(1)))
    stop = m.node("Unsqueeze", length, m.constant("axis0", np.array([0])))
    zero, first = m.constant("start", np.array([0])), m.constant("first", np.array([0]))
    places = m.node("Slice", m.weight("positions", longest, hidden, fan_in=4), zero, stop, first, name="places")
    x = m.norm(str(m.node("Add", words, places)), "embeddings.norm", hidden)
    # 0 where the mask is 1, and so low that softmax gives 0 where it is 0
    missing = m.node("Sub", m.constant("unit", np.float32(1)), "mask")
    low = m.node("Mul", missing, m.constant("lowest", np.float32(-10000)))
    bias = str(m.node("Unsqueeze", low, m.constant("axes12", np.array([1, 2])), name="mask_bias"))
    for layer in range(layers):
        x = _encoder(m, x, bias, f"layer{layer}", hidden, heads)
    m.node("Identity", x, name="encoded")
    inputs = {"tokens": ("int64", ["batch", "seq"]), "mask": ("float32", ["batch", "seq"])}
    return m.model("bert", inputs, {"encoded": ["batch", "seq", hidden]})


def _encoder(m: Maker, x: str, bias: str, name: str, hidden: int, heads: int) -> str:
    split = m.constant(f"{name}.split", np.array([0, 0, heads, hidden // heads]))
    parts = [
        m.node("Transpose", m.node("Reshape", m.linear(x, f"{name}.{part}", hidden, hidden), split), perm=perm)
        for part, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
    ]
    scale = m.constant(f"{name}.scale", np.float32(1 / math.sqrt(hidden // heads)))
    scores = m.node("Add", m.node("Mul", m.node("MatMul", parts[0], parts[1]), scale), bias, name=f"{name}.scores")
    mixed = m.node("MatMul", m.node("Softmax", scores, axis=-1, name=f"{name}.weights"), parts[2])
    joined = m.node("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = m.node("Reshape", joined, m.constant(f"{name}.join", np.array([0, 0, hidden])))
    attended = m.linear(str(joined), f"{name}.output", hidden, hidden)
    x = m.norm(str(m.node("Add", x, attended)), f"{name}.norm1", hidden)
    inner = _gelu(m, m.linear(x, f"{name}.up", hidden, 4 * hidden), name)
    return m.norm(str(m.node("Add", x, m.linear(inner, f"{name}.down", 4 * hidden, hidden))), f"{name}.norm2", hidden)


def _gelu(m: Maker, x: str, name: str) -> str:
    """As PyTorch exports it: x * (erf(x / sqrt(2)) + 1) / 2."""
    root, one, half = (m.constant(f"{name}.gelu{at}", np.float32(v)) for at, v in enumerate((math.sqrt(2), 1.0, 0.5)))
    erf = m.node("Add", m.node("Erf", m.node("Div", x, root)), one)
    return str(m.node("Mul", m.node("Mul", x, erf), half, name=f"{name}.gelu"))


def gpt2(
    *, layers: int = 12, hidden: int = 768, heads: int = 12, vocabulary: int = 50257, longest: int = 1024, seed: int = 0
) -> Any:
    """A step of a decoder as GPT-2's (Radford et al., 2019): one token, keys and values of a symbolic number `past`."""
    m = Maker(seed)
    size = hidden // heads
    embedding = m.weight("words", vocabulary, hidden, fan_in=4)
    word = m.node("Gather", embedding, "token", name="embedded")
    past = m.node("Shape", "past_key_0", start=2, end=3, name="place")
    place = m.node("Gather", m.weight("positions", longest, hidden, fan_in=4), past, name="position")
    x = str(m.node("Add", word, place, name="hidden"))
    inputs: dict[str, tuple[Any, list[Any]]] = {"token": ("int64", ["batch", 1])}
    outputs: dict[str, list[Any]] = {"logits": ["batch", 1, vocabulary]}
    for layer in range(layers):
        name = f"layer{layer}"
        for part in ("key", "value"):
            inputs[f"past_{part}_{layer}"] = ("float32", ["batch", heads, "past", size])
            outputs[f"{part}_{layer}"] = ["batch", heads, "total", size]
        wide = m.linear(m.norm(x, f"{name}.norm1", hidden), f"{name}.qkv", hidden, 3 * hidden)
        sizes = m.constant(f"{name}.thirds", np.array([hidden] * 3))
        split = m.constant(f"{name}.split", np.array([0, 0, heads, size]))
        query, key, value = (
            m.node("Transpose", m.node("Reshape", part, split), perm=[0, 2, 1, 3])
            for part in m.node("Split", wide, sizes, axis=-1, outputs=3, name=f"{name}.parts")
        )
        key = m.node("Concat", f"past_key_{layer}", key, axis=2, name=f"key_{layer}")
        value = m.node("Concat", f"past_value_{layer}", value, axis=2, name=f"value_{layer}")
        scale = m.constant(f"{name}.scale", np.float32(1 / math.sqrt(size)))
        scores = m.node("Mul", m.node("MatMul", query, m.node("Transpose", key, perm=[0, 1, 3, 2])), scale)
        mixed = m.node("MatMul", m.node("Softmax", scores, axis=-1), value)
        joined = m.node("Transpose", mixed, perm=[0, 2, 1, 3])
        joined = m.node("Reshape", joined, m.constant(f"{name}.join", np.array([0, 0, hidden])))
        x = str(m.node("Add", x, m.linear(str(joined), f"{name}.output", hidden, hidden)))
        inner = m.linear(m.norm(x, f"{name}.norm2", hidden), f"{name}.up", hidden, 4 * hidden)
        x = str(m.node("Add", x, m.linear(_tanh_gelu(m, inner, name), f"{name}.down", 4 * hidden, hidden)))
    x = m.norm(x, "final", hidden)
    m.node("MatMul", x, m.node("Transpose", embedding, perm=[1, 0]), name="logits")
    return m.model("gpt2", inputs, outputs)


def _tanh_gelu(m: Maker, x: str, name: str) -> str:
    """As PyTorch exports GPT-2's: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))."""
    values = (0.5, 3.0, 0.044715, math.sqrt(2 / math.pi), 1.0)
    half, three, cubic, root, one = (m.constant(f"{name}.gelu{at}", np.float32(v)) for at, v in enumerate(values))
    inner = m.node("Add", x, m.node("Mul", m.node("Pow", x, three), cubic))
    bent = m.node("Add", m.node("Tanh", m.node("Mul", inner, root)), one)
    return str(m.node("Mul", m.node("Mul", x, half), bent, name=f"{name}.gelu"))


__all__ = ["Maker", "bert", "gpt2", "resnet18"]
