"""The kernels of kernels_cases.py that onnxruntime has operators for, as models of one or a few nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from kernels_cases import EPSILON, Case
from onnx import TensorProto, helper, numpy_helper

VERSION = onnxruntime.__version__
_TYPES = {
    "float32": TensorProto.FLOAT,
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
}
# what stands between the inputs a0, a1, ... and the output y: (operator, inputs, output, attributes)
Node = tuple[str, list[str], str, dict[str, Any]]
NODES: dict[str, list[Node]] = {
    "matmul": [("MatMul", ["a0", "a1"], "y", {})],
    "batch_matmul": [("MatMul", ["a0", "a1"], "y", {})],
    "gemv": [("MatMul", ["a0", "a1"], "y", {})],
    "int8_matmul": [("MatMulInteger", ["a0", "a1"], "y", {})],
    "softmax": [("Softmax", ["a0"], "y", {"axis": -1})],
    "layer_norm": [("LayerNormalization", ["a0", "a1", "a2"], "y", {"axis": -1, "epsilon": EPSILON})],
    "fused_gelu": [
        ("Mul", ["a0", "a1"], "t", {}),
        ("Add", ["t", "a2"], "x", {}),
        ("Gelu", ["x"], "y", {"approximate": "tanh"}),
    ],
    "total": [("ReduceSum", ["a0"], "y", {"keepdims": 1})],
    "argmax": [("ArgMax", ["a0"], "y", {"axis": 0, "keepdims": 1})],
    "cumsum": [("CumSum", ["a0", "zero"], "y", {})],
    "transpose": [("Transpose", ["a0"], "y", {"perm": [1, 0]})],
    "attention": [
        ("Transpose", ["a1"], "k", {"perm": [0, 2, 1]}),
        ("MatMul", ["a0", "k"], "s", {}),
        ("Mul", ["s", "scale"], "t", {}),
        ("Softmax", ["t"], "p", {"axis": -1}),
        ("MatMul", ["p", "a2"], "y", {}),
    ],
    "gather": [("Gather", ["a0", "a1"], "y", {"axis": 0})],
    "conv3x3": [("Conv", ["a0", "a1"], "y", {"pads": [1, 1, 1, 1]})],
    "conv1x1": [("Conv", ["a0", "a1"], "y", {})],
    "depthwise": [("Conv", ["a0", "a1"], "y", {"pads": [1, 1, 1, 1]})],
}
# convolutions in onnx have a batch, and filters with the channels of their group
_SHAPES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "conv3x3": lambda arrays: [arrays[0][None], arrays[1]],
    "conv1x1": lambda arrays: [arrays[0][None], arrays[1][:, :, None, None]],
    "depthwise": lambda arrays: [arrays[0][None], arrays[1][:, None]],
}


def model(case: Case, arrays: list[Any], shape: tuple[int, ...], dtype: str) -> bytes:
    """The model of a case as bytes."""
    nodes = []
    for op, inputs, output, attributes in NODES[case.kind]:
        if case.kind == "depthwise":
            attributes = {**attributes, "group": len(arrays[1])}
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
    constants = {"zero": np.array(0, "int64"), "scale": np.array(case.sizes[-1] ** -0.5, "float32")}
    used = {name for node in NODES[case.kind] for name in node[1]}
    graph = helper.make_graph(
        nodes,
        "kernel",
        [
            helper.make_tensor_value_info(f"a{at}", _TYPES[array.dtype.name], array.shape)
            for at, array in enumerate(arrays)
        ],
        [helper.make_tensor_value_info("y", _TYPES[dtype], shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items() if name in used],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return bytes(made.SerializeToString())


def prepare(case: Case, arguments: list[Any], options: dict[str, Any]) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What makes a runner of a case, by the name of the variant; the runner returns the results. Empty where
    onnxruntime has no operator for it."""
    if case.kind not in NODES:
        return {}
    arrays = [np.ascontiguousarray(one) for one in _SHAPES.get(case.kind, list)(arguments)]
    shape, dtype = case.outputs[0]
    given = (1, *shape) if case.kind in _SHAPES else shape
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options["threads"], 1
    session = onnxruntime.InferenceSession(
        model(case, arrays, given, dtype), settings, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for at, array in enumerate(arrays):
        binding.bind_cpu_input(f"a{at}", array)
    result = np.zeros(given, dtype)
    binding.bind_output("y", "cpu", 0, result.dtype, result.shape, result.ctypes.data)

    def run() -> Any:
        session.run_with_iobinding(binding)
        return result.reshape(shape)

    run.keep = (arrays, binding)  # type: ignore[attr-defined]
    return {"onnxruntime": lambda: run}
