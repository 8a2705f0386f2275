"""Nodes whose inputs are all small constants are computed while the model is read, by the reference of the standard:
they are sizes, axes and conditions more often than data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .node import Node

MOST = 4096  # elements of an input or a result
# what these give is new each time, or may be far larger than what they are given
_RANDOM = {
    "Bernoulli",
    "Dropout",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
_LARGE = {"BlackmanWindow", "Col2Im", "EyeLike", "HammingWindow", "HannWindow", "MaxUnpool", "MelWeightMatrix"}
_NEVER = _RANDOM | _LARGE | {"OneHot", "Pad", "Range", "Resize", "Upsample"}
# the input whose integers say how large the result is
_SIZES = {"ConstantOfShape": 0, "Expand": 1, "Tile": 1}


def folded(node: Node) -> list[Any] | None:
    """The results of a node as arrays; None where an input is not known, or the reference does not compute it."""
    import onnx

    proto = node.proto
    if not proto.input or proto.op_type in _NEVER or any(one.HasField("g") for one in proto.attribute):
        return None
    given = {}
    for name in proto.input:
        if name:
            array = _known(node, name)
            if array is None or array.size > MOST:
                return None
            given[name] = array
    sizes = _SIZES.get(proto.op_type)
    if sizes is not None and node.has(sizes):
        if math.prod(abs(int(one)) for one in given[proto.input[sizes]].reshape(-1)) > MOST:
            return None
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    outputs = [onnx.ValueInfoProto(name=name) for name in proto.output if name]
    inputs = [onnx.ValueInfoProto(name=name) for name in given]
    graph = helper.make_graph([proto], "folded", inputs, outputs)
    opset = helper.make_opsetid("", node.opset)
    try:
        found: Any = ReferenceEvaluator(helper.make_model(graph, opset_imports=[opset])).run(None, given)
    except Exception:  # what it does not know, or refuses, is left to the rule of the operator
        return None
    return found if all(getattr(one, "size", MOST + 1) <= MOST for one in found) else None


def _known(node: Node, name: str) -> Any | None:
    importer = node.importer
    if name in importer.kept:
        return None
    if name in importer.weights:
        return importer.weights[name].array
    ints = importer.ints.get(name)
    return None if ints is None else ints.array()


__all__ = ["folded"]
