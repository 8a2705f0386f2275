"""Models whose tensors have sizes that depend on what is in others: read, built and interpreted as onnxruntime runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

import tirscript
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import parse

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
FAR = 1 << 62


def model(nodes: list[Any], inputs: dict[str, Any], outputs: list[str], **constants: Any) -> Any:
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    kept = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", given, [ValueInfoProto(name=name) for name in outputs], kept)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    return made


def ramp(*shape: int) -> Any:
    return (np.arange(int(np.prod(shape))) * 7 % 11).reshape(shape).astype("float32") / 10


MASK = [
    node("Greater", ["x", "half"], ["chosen"]),
    node("NonZero", ["chosen"], ["places"]),
    node("Transpose", ["places"], ["rows"], perm=[1, 0]),
    node("GatherND", ["x", "rows"], ["kept"]),
    node("Mul", ["kept", "two"], ["y"]),
]
# what `torch.arange(x.shape[0])` becomes
ARANGE = [
    node("Shape", ["x"], ["shape"]),
    node("ConstantOfShape", ["shape"], ["ones"], value=numpy_helper.from_array(np.ones(1, "int64"))),
    node("NonZero", ["ones"], ["places"]),
    node("Transpose", ["places"], ["column"]),
    node("Squeeze", ["column", "one"], ["flat"]),
    node("Cast", ["flat"], ["numbers"], to=F),
    node("Add", ["numbers", "x"], ["y"]),
]
TWICE = [
    *MASK[:-1],
    node("Greater", ["kept", "most"], ["again"]),
    node("Compress", ["kept", "again"], ["y"]),
    node("ReduceSum", ["y"], ["total"], keepdims=0),
    node("MatMul", ["u", "weights"], ["product"]),
    node("Add", ["product", "total"], ["z"]),
]
SLICE = [node("Slice", ["x", "begin", "end", "axes", "step"], ["s"]), node("Exp", ["s"], ["y"])]
RESHAPE = [node("Reshape", ["x", "sizes"], ["r"]), node("Exp", ["r"], ["y"])]


def numbers(*values: int) -> Any:
    return np.array(values, "int64")


CASES: dict[str, tuple[Any, list[list[Any]]]] = {
    "a mask": (
        model(MASK, {"x": (F, ["n", 4])}, ["y", "places"], half=np.float32(0.5), two=np.float32(2)),
        [[ramp(3, 4)], [ramp(7, 4)], [ramp(2, 4) * 0]],
    ),
    "arange": (model(ARANGE, {"x": (F, ["n"])}, ["y"], one=numbers(1)), [[ramp(5)], [ramp(1)]]),
    "two masks": (
        model(
            TWICE,
            {"x": (F, ["n"]), "u": (F, [2, 3])},
            ["y", "z"],
            half=np.float32(0.3),
            most=np.float32(0.7),
            weights=ramp(3, 2),
        ),
        [[ramp(20), ramp(2, 3)], [ramp(4) * 0, ramp(2, 3)]],
    ),
    "unique": (
        model([node("Unique", ["x"], ["a", "b", "c", "d"])], {"x": (F, ["n", 3])}, ["a", "b", "c", "d"]),
        [[ramp(4, 3)], [ramp(1, 3) * 0]],
    ),
    "unique as they come": (
        model([node("Unique", ["x"], ["a", "b", "c", "d"], sorted=0)], {"x": (F, [4, 3])}, ["a", "b", "c", "d"]),
        [[ramp(4, 3)[::-1].copy()]],
    ),
    "a reshape": (
        model(RESHAPE, {"x": (F, ["n", 6]), "sizes": (I, [3])}, ["y"]),
        [[ramp(4, 6), numbers(0, -1, 2)], [ramp(4, 6), numbers(2, 3, 4)], [ramp(2, 6), numbers(-1, 6, 1)]],
    ),
    "a slice": (
        model(
            SLICE,
            {"x": (F, ["n", 6, 3]), "begin": (I, [2]), "end": (I, [2]), "step": (I, [2])},
            ["y"],
            axes=numbers(1, 0),
        ),
        [
            [ramp(4, 6, 3), numbers(0, 1), numbers(5, FAR), numbers(2, 1)],
            [ramp(4, 6, 3), numbers(-1, -1), numbers(-FAR, -3), numbers(-2, -1)],
            [ramp(4, 6, 3), numbers(3, 1), numbers(1, 4), numbers(1, 1)],
        ],
    ),
    "a constant": (
        model([node("ConstantOfShape", ["sizes"], ["y"])], {"sizes": (I, [2])}, ["y"]),
        [[numbers(2, 3)], [numbers(0, 3)]],
    ),
    "a range": (
        model([node("Range", ["a", "b", "two"], ["y"])], {"a": (I, []), "b": (I, [])}, ["y"], two=np.int64(2)),
        [[np.array(2), np.array(9)], [np.array(9), np.array(2)]],
    ),
    "the largest": (
        model([node("TopK", ["x", "k"], ["a", "b"])], {"x": (F, ["n", 6]), "k": (I, [1])}, ["a", "b"]),
        [[ramp(3, 6), numbers(2)], [ramp(3, 6), numbers(6)], [ramp(3, 6), numbers(0)]],
    ),
    "compressed": (
        model([node("Compress", ["x", "c"], ["y"], axis=1)], {"x": (F, ["n", 4]), "c": (B, [4])}, ["y"]),
        [[ramp(3, 4), np.array([1, 0, 1, 1], bool)], [ramp(3, 4), np.zeros(4, bool)]],
    ),
    "repeated": (
        model([node("Tile", ["x", "k"], ["y"])], {"x": (F, ["n", 2]), "k": (I, [2])}, ["y"]),
        [[ramp(3, 2), numbers(2, 3)]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_onnxruntime(name: str) -> None:
    given, draws = CASES[name]
    module = tirscript.from_onnx(given)
    assert structural_equal(parse(module.script()), module)
    built = tirscript.build(module)["main"]
    session = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])
    for args in draws:
        wanted = session.run(None, dict(zip([one.name for one in session.get_inputs()], args, strict=True)))
        for found in (built(*args), tirscript.interpret(module, *args)):
            for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
                np.testing.assert_allclose(one, other, rtol=1e-5)


def test_how_many_sizes_there_are_must_be_known() -> None:
    given = model([node("Reshape", ["x", "sizes"], ["y"])], {"x": (F, ["n", 6]), "sizes": (I, ["k"])}, ["y"])
    with pytest.raises(DiagnosticError, match="how many sizes it reshapes to is not known before the model runs"):
        tirscript.from_onnx(given)


def test_callers_do_not_know_what_is_computed() -> None:
    """The result says it so in the text of TVM, too, which has no names there that no parameter has."""
    nodes = [node("NonZero", ["x"], ["places"]), node("Shape", ["places"], ["sizes"])]
    module = tirscript.from_onnx(model(nodes, {"x": (F, ["n", 3])}, ["places", "sizes"]))
    text = module.script(dialect="tvm")
    assert 'R.Tensor(dtype="int64", ndim=2), R.Tensor((2,), "int64")' in text and "places_1 = T.int64()" in text
    assert structural_equal(parse(text), module) and structural_equal(parse(module.script()), module)
