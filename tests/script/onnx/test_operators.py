"""Every operator of the table against onnxruntime: the imported graph, run by the interpreter."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest

import tirscript
from tirscript.ir import DiagnosticError, Module
from tirscript.script import parse
from tirscript.script.onnx.operators import OPERATORS
from tirscript.script.onnx.shapes import INTEGERS

random = np.random.default_rng(11)
ort.set_default_logger_severity(4)


def f(*shape: int, low: float = -2.0, high: float = 2.0, kind: str = "float32") -> Any:
    return random.uniform(low, high, shape).astype(kind)


def i(*shape: int, low: int = 0, high: int = 9, kind: str = "int64") -> Any:
    return random.integers(low, high, shape).astype(kind)


def b(*shape: int) -> Any:
    return random.integers(0, 2, shape).astype(bool)


def boxes(batch: int, count: int) -> Any:
    corners = f(batch, count, 2, low=0, high=3)
    return np.concatenate([corners, corners + f(batch, count, 2, low=-1, high=2)], 2)


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


class C:
    """A node: the arrays that it is given, which of them are constants, and its attributes."""

    def __init__(
        self, *given: Any, const: tuple[int, ...] = (), outputs: int = 1, opset: int = 17, **attrs: Any
    ) -> None:
        self.given, self.const, self.outputs, self.opset, self.attrs = given, const, outputs, opset, attrs


GRAMS: dict[str, Any] = {
    "ngram_counts": [0, 4],
    "ngram_indexes": [6, 5, 1, 2, 3, 4, 0],
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
    "weights": [2.0, 0.5, 3.0, 4.0, 5.0, 6.0, 7.0],
}
UNARY = "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor IsNaN Log Neg Relu Sigmoid Sign Sin Sinh"
UNARY += " Sqrt Tan Tanh Identity Reciprocal Softplus Softsign HardSwish"
DOMAIN = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 5), "Log": (0.1, 5), "Sqrt": (0, 5)}
BINARY = "Add Sub Mul Div Equal Less LessOrEqual Greater GreaterOrEqual"

CASES: dict[str, list[C]] = {
    **{name: [C(f(3, 5, low=DOMAIN.get(name, (-3, 3))[0], high=DOMAIN.get(name, (-3, 3))[1]))] for name in UNARY.split()},
    **{name: [C(f(2, 3, 4, low=0.5), f(3, 1, low=0.5)), C(i(4, low=1), i(4, low=1))] for name in BINARY.split()},
    "Div": [
        C(f(2, 3, 4, low=0.5), f(3, 1, low=0.5)), C(i(6, low=-9), i(6, low=1)),
        C(np.int32([-(2**31), -(2**31), 5, -7]), np.int32([3, 2, -(2**31), -3])),
    ],
    "Pow": [
        C(f(2, 3, 4, low=0.5), f(3, 1, low=0.5)), C(i(4, low=1), i(4, low=1)), C(i(9, high=99, kind="int32"), np.float32(0.5), const=(1,)),
        C(i(9, low=9999, high=30000, kind="int32"), f(1, low=1, high=2)),
    ],
    **{name: [C(b(3, 4), b(4))] for name in ("And", "Or", "Xor")},
    **{name: [C(i(3, 4, kind="uint8"), i(4, kind="uint8"), opset=18)] for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "BitwiseNot": [C(i(3, 4, kind="uint8"), opset=18)],
    "Not": [C(b(3))],
    "Mish": [C(f(3, 5), opset=18)],
    "BitShift": [C(i(4, kind="uint32"), i(4, high=5, kind="uint32"), direction=way) for way in ("LEFT", "RIGHT")],
    "Dropout": [C(f(3, 4)), C(f(3, 4), outputs=2), C(f(3, 4), np.float32(0), np.array(True), const=(1, 2), outputs=2)],
    "Round": [C(np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609, 1e9, -0.4]))],
    "Shrink": [C(f(3, 5)), C(f(3, 5), bias=0.3, lambd=1.0)],
    "Mod": [
        C(i(6, low=-9), i(6, low=1)), C(f(6), f(6, low=0.5), fmod=1),
        C(np.int32([-(2**31), -(2**31), 5, -7]), np.int32([3, 2, -(2**31), -3]), fmod=1),
    ],
    "Max": [C(f(3, 4), f(4), f(3, 1))],
    "Min": [C(f(3, 4), f(4))],
    "Sum": [C(f(3, 4), f(4), f(3, 1)), C(f(3))],
    "Mean": [C(f(3, 4), f(4), f(3, 1))],
    "Where": [C(b(3, 1), f(3, 4), f(4))],
    "Cast": [C(f(3, 4), to=6), C(f(3), to=11), C(i(3), to=1), C(f(4), to=9)],
    "CastLike": [C(f(3), i(1), const=(1,))],
    "Clip": [C(f(4, 3), np.float32(-1), np.float32(0.5), const=(1, 2)), C(f(4), min=-1.0, opset=7), C(f(4), f(), f(low=2, high=3))],
    "LeakyRelu": [C(f(3, 4), alpha=0.3)],
    "PRelu": [C(f(2, 3, 4), f(3, 1))],
    "Elu": [C(f(3, 4), alpha=0.7)],
    "Selu": [C(f(3, 4))],
    "Celu": [C(f(3, 4), alpha=1.5)],
    "HardSigmoid": [C(f(3, 4), alpha=0.3, beta=0.4)],
    "ThresholdedRelu": [C(f(3, 4), alpha=0.5)],
    "Gelu": [C(f(3, 4), opset=20), C(f(3, 4), opset=20, approximate="tanh")],
    "IsInf": [C(np.float32([1, np.inf, -np.inf])), C(np.float32([1, np.inf, -np.inf]), detect_negative=0)],
    "Reshape": [C(f(2, 3, 4), ints(0, -1), const=(1,)), C(f(2, 6), ints(3, 4), const=(1,))],
    "Flatten": [C(f(2, 3, 4)), C(f(2, 3, 4), axis=0), C(f(2, 3, 4), axis=-1)],
    "Transpose": [C(f(2, 3, 4)), C(f(2, 3, 4), perm=[1, 2, 0])],
    "Concat": [C(f(2, 3), f(2, 1), axis=1), C(f(2, 3), axis=-2)],
    "Split": [C(f(2, 6), outputs=3, axis=1), C(f(2, 6), ints(2, 4), const=(1,), outputs=2, axis=-1)],
    "Slice": [
        C(f(5, 6), ints(1, -3), ints(4, 100), const=(1, 2)),
        C(f(5, 6), ints(0), ints(-1), ints(1), const=(1, 2, 3)),
        C(f(5, 6), ints(-1), ints(-100), ints(1), ints(-2), const=(1, 2, 3, 4)),
        C(f(5, 6), ints(4), ints(1), ints(0), ints(-1), const=(1, 2, 3, 4)),
        C(f(5, 6), ints(7), ints(9), ints(0), const=(1, 2, 3)),
        C(f(5, 6), ints(-1), ints(-7), ints(1), ints(-1), const=(1, 2, 3, 4)),
        C(f(5, 6), ints(-1), ints(1 - 2**63), ints(1), ints(-1), const=(1, 2, 3, 4)),
        C(f(5, 6), ints(-9), ints(-(2**63)), ints(1), ints(-1), const=(1, 2, 3, 4)),
        C(f(5, 6), ints(-(2**63)), ints(2**62), ints(1), const=(1, 2, 3)),
    ],
    "Squeeze": [C(f(1, 3, 1)), C(f(1, 3, 1), ints(-1), const=(1,))],
    "Unsqueeze": [C(f(3), ints(0, 2), const=(1,)), C(f(3), axes=[0], opset=11)],
    "Expand": [C(f(3, 1), ints(2, 1, 4), const=(1,))],
    "Tile": [C(f(2, 3), ints(2, 2), const=(1,))],
    "Pad": [
        C(f(2, 3), ints(1, 0, 2, 1), const=(1,)), C(f(2, 3), ints(1, 0, 2, -1), f(), const=(1,)),
        C(ints(1, 2), ints(1, 1), np.array(2**60 + 1), const=(1, 2)),
        C(f(2, 3), ints(0, 1, 1, 1), np.float32(7), const=(1, 2)),
        C(f(4, 5), ints(1, 2, 1, 2), const=(1,), mode="reflect"),
        C(f(4, 5), ints(1, 2, 1, 2), const=(1,), mode="edge"),
        C(f(4, 5), ints(1, 2), np.float32(0), ints(1), const=(1, 2, 3), opset=18),
    ],
    "Trilu": [
        C(f(3, 4)), C(f(3, 4), np.array(1), const=(1,), upper=0), C(f(2, 3, 4), np.array(1)), C(f(3, 4), np.array(-1), upper=0),
    ],
    "DepthToSpace": [C(f(1, 8, 2, 3), blocksize=2), C(f(1, 8, 2, 3), blocksize=2, mode="CRD")],
    "SpaceToDepth": [C(f(1, 2, 4, 6), blocksize=2)],
    "EyeLike": [C(f(3, 4), k=1)],
    "ReduceSum": [C(f(2, 3, 4)), C(f(2, 3, 4), ints(1), const=(1,), keepdims=0)],
    **{name: [C(f(2, 3, 4, low=0.5)), C(f(2, 3, 4, low=0.5), axes=[-1, 0], keepdims=0),
              C(i(2, 3, low=1, kind="int32"), axes=[1]), C(f(2, 3, low=0.5), opset=18, noop_with_empty_axes=1)]
       for name in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2",
                    "ReduceLogSum")},
    "ReduceLogSumExp": [
        C(f(2, 3, 4)), C(f(2, 3, 4), axes=[-1, 0], keepdims=0), C(np.float32([[-np.inf, -np.inf], [1, np.inf], [-np.inf, 2]]), axes=[1]),
        C(f(2, 3), opset=18, noop_with_empty_axes=1), C(i(2, 3, kind="int32"), axes=[1], keepdims=0),
    ],
    "ArgMax": [C(f(3, 4), axis=1), C(f(3, 4), axis=-2, keepdims=0), C(i(3, 9, high=3), axis=1, select_last_index=1)],
    "ArgMin": [C(f(3, 4))],
    "CumSum": [C(f(3, 4), np.array(1), const=(1,)), C(f(3, 4), np.array(0), const=(1,), reverse=1, exclusive=1)],
    "Gather": [C(f(5, 3), i(2, 2, high=5)), C(f(5, 3), ints(-1, 0), const=(1,)), C(f(5, 3), np.array(2), axis=1)],
    "GatherElements": [C(f(4, 3), i(2, 3, low=-4, high=4)), C(f(4, 3), i(2, 3, low=-4, high=4), const=(1,))],
    "GatherND": [C(f(4, 3, 2), i(5, 2, high=3)), C(f(2, 3, 4), i(2, 1, high=3), batch_dims=1), C(f(4, 3), np.array([[-1, 2], [0, -3]]), const=(1,))],
    "ScatterElements": [C(f(4, 3), np.array([[0, -1, 2]]), f(1, 3)), C(f(4, 3), np.array([[0, 1, 2]]), f(1, 3), axis=0, reduction="add", opset=16)],
    "Scatter": [C(f(4, 3), np.array([[0, 1, 2]]), f(1, 3), opset=9)],
    "TensorScatter": [C(f(2, 3, 5, 4), f(2, 3, 2, 4), ints(1, 3), opset=24), C(f(2, 5, 4), f(2, 2, 4), opset=24), C(f(2, 5, 4), f(2, 3, 4), ints(4, 1), opset=24, mode="circular"), C(f(2, 3, 5), f(2, 3, 2), ints(0, 3), opset=24, axis=-1)],
    "ScatterND": [C(f(4, 3), np.array([[0], [2]]), f(2, 3)), C(f(4, 3), np.array([[-1], [0]]), f(2, 3), const=(1,)), C(f(4), ints(-3, 1).reshape(2, 1), f(2))],
    "NonZero": [C(i(3, 4, high=2))],
    "Compress": [C(f(3, 4), np.array([True, False, True]), axis=0), C(f(2, 3), np.array([False, True, True, False, True]))],
    "Unique": [
        C(i(3, 4, high=3), outputs=4),
        C(i(9, high=4), outputs=4, sorted=0),
        C(i(5, 2, high=2), outputs=4, axis=0),
        C(i(2, 6, high=2), outputs=4, axis=-1, sorted=0),
    ],
    "ReverseSequence": [C(f(4, 3, 2), ints(1, 4, 2)), C(f(2, 3, 2), ints(3, 1), time_axis=1, batch_axis=0)],
    "OneHot": [C(i(4, low=-5, high=5), np.array(5), np.float32([2, 7]), const=(1, 2)), C(i(2, 3, high=4), np.array(4), np.float32([0, 1]), const=(1, 2), axis=1), C(i(4, low=-5, high=5).astype("float32"), np.float32(5), np.float32([2, 7]), const=(1, 2))],
    "TopK": [C(f(3, 7), ints(3), const=(1,), outputs=2), C(f(7, 3), ints(2), const=(1,), outputs=2, axis=0, largest=0)],
    "Resize": [
        C(f(1, 2, 3, 4), f(0), f(0), ints(1, 2, 6, 7), const=(1, 2, 3)),
        C(f(1, 2, 4, 4), f(0), f(0), ints(1, 2, 7, 3), const=(1, 2, 3), mode="linear"),
        C(f(1, 2, 4, 4), f(0), np.float32([1, 1, 2, 1.5]), const=(1, 2), mode="linear", coordinate_transformation_mode="align_corners"),
        C(f(1, 2, 4, 4), f(0), f(0), ints(1, 2, 6, 8), const=(1, 2, 3), mode="cubic", coordinate_transformation_mode="pytorch_half_pixel"),
        C(f(1, 2, 4, 5), f(0), f(0), ints(1, 2, 8, 5), const=(1, 2, 3), nearest_mode="floor", coordinate_transformation_mode="asymmetric"),
        C(f(1, 1, 2, 3, 3), f(0), f(0), ints(1, 1, 4, 4, 6), const=(1, 2, 3), mode="linear"),
        *[C(f(1, 2, 7, 6), f(0), np.float32([1, 1, 1.7, 0.3]), const=(1, 2), mode="nearest", nearest_mode=nearest)
          for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")],
        *[C(f(1, 2, 7, 5), f(0), np.float32([1, 1, 0.5, 2.3]), const=(1, 2), mode=mode, coordinate_transformation_mode=where)
          for mode, where in (("linear", "half_pixel"), ("cubic", "asymmetric"), ("linear", "pytorch_half_pixel"))],
        C(f(1, 1, 5, 4), f(0), np.float32([1, 1, 1.5, 0.7]), const=(1, 2), mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1),
        C(f(6, 4), f(0), np.float32([2, 1.5]), const=(1, 2), mode="linear", coordinate_transformation_mode="align_corners"),
        C(f(1, 3, 6), f(0), np.float32([1, 1, 2]), const=(1, 2), mode="linear"),
        C(f(1, 1, 10, 20), f(0), np.float32([1, 1, 0.7, 0.9]), const=(1, 2), mode="linear"),
        C(f(1, 1, 10, 5), f(0), np.float32([1, 1, 0.75, 1.5]), const=(1, 2), mode="linear", coordinate_transformation_mode="align_corners"),
        C(f(1, 4, 3, 2), f(0), np.float32([1, 2, 2, 1]), const=(1, 2)),
        C(i(1, 1, 6, 5, high=200, kind="uint8"), f(0), np.float32([1, 1, 1.3, 1]), const=(1, 2), mode="linear"),
        *[C(f(1, 1, 9, 7), f(0), f(0), ints(11, 15), const=(1, 2, 3), opset=18, axes=[2, 3], keep_aspect_ratio_policy=policy)
          for policy in ("not_larger", "not_smaller")],
    ],
    "Upsample": [C(f(1, 2, 3, 3), scales=[1.0, 1.0, 2.0, 2.0], opset=7), C(f(1, 2, 3, 3), np.float32([1, 1, 2, 2]), const=(1,), opset=9), C(f(1, 2, 3, 3), np.float32([1, 1, 2, 2]), const=(1,), opset=9, mode="linear")],
    "NonMaxSuppression": [
        *[C(boxes(1, 9), f(1, 2, 9, low=0, high=1), ints(most), np.float32([0.2]), np.float32([0.3]), const=(2, 3)) for most in (0, 1, 4, 99)],
        C(boxes(2, 8), np.round(f(2, 3, 8), 1), ints(8), np.array(0.4, "float32")),
        C(f(1, 7, 4, low=0.5, high=3), f(1, 1, 7), ints(5), np.float32([0.1]), center_point_box=1),
        C(np.float32([[[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0.5, 0, 1.5, 1]]]), f(1, 1, 5), ints(5), np.float32([1 / 3])),
        C(boxes(1, 3), f(1, 1, 3)),
    ],
    "RoiAlign": [
        C(f(2, 3, 8, 9), f(4, 2, low=0, high=4).repeat(2, 1) + np.float32([0, 1, 3, 5]), i(4, high=2), output_height=3, output_width=2, spatial_scale=0.7),
        C(f(2, 1, 8, 9), np.float32([[1, 1, 6, 5]]), ints(1), opset=10, output_height=2, output_width=2, sampling_ratio=2),
        C(f(1, 1, 8, 9), np.float32([[1, 1, 6, 5]]), ints(0), output_height=2, output_width=2, coordinate_transformation_mode="output_half_pixel"),
    ],
    "GridSample": [
        C(f(2, 3, 4, 5), f(2, 3, 2, 2, low=-1.3, high=1.3)),
        C(f(1, 2, 4, 4), f(1, 2, 3, 2, low=-1.3, high=1.3), mode="nearest", padding_mode="border"),
        C(f(1, 2, 4, 4), f(1, 2, 3, 2, low=-1.3, high=1.3), mode="bicubic", padding_mode="reflection", align_corners=1),
    ],
    "MatMul": [C(f(2, 3, 4), f(4, 5)), C(f(4), f(4, 3)), C(i(2, 3, kind="int32"), i(3, 2, kind="int32"))],
    "Einsum": [C(f(2, 3), f(3, 4), equation="ij,jk->ki")],
    "Gemm": [C(f(2, 3), f(3, 4)), C(f(3, 2), f(4, 3), f(4), transA=1, transB=1, alpha=0.5, beta=2.0)],
    "Conv": [
        C(f(1, 4, 7, 6), f(6, 4, 3, 3), f(6), pads=[1, 0, 2, 1], strides=[2, 1]),
        C(f(1, 4, 7, 6), f(4, 1, 3, 3), group=4, auto_pad="SAME_UPPER", strides=[2, 2]),
        C(f(1, 4, 7, 6), f(4, 2, 2, 2), group=2, auto_pad="SAME_LOWER"),
        C(f(2, 3, 9), f(4, 3, 3), f(4), dilations=[2]),
        C(f(1, 2, 4, 4, 4), f(3, 2, 2, 2, 2), auto_pad="VALID"),
    ],
    "ConvTranspose": [
        C(f(1, 3, 4, 5), f(3, 2, 3, 3), f(2), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
        C(f(1, 4, 5), f(4, 2, 3), group=2),
        C(f(1, 3, 4, 5), f(3, 2, 3, 3), strides=[2, 2], output_shape=[7, 10]),
        C(f(1, 1, 3, 3), f(1, 2, 3, 3), strides=[3, 2], output_shape=[10, 8]),
        C(f(1, 3, 4, 5), f(3, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
        C(f(1, 3, 4, 5), f(3, 2, 3, 3), strides=[2, 2], auto_pad="SAME_LOWER"),
    ],
    "MaxPool": [
        C(f(1, 2, 7, 6), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0]),
        C(f(1, 2, 7, 6), kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        C(f(1, 2, 9), kernel_shape=[3], dilations=[2]),
        C(f(2, 3, 7, 6), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0], outputs=2),
        C(i(2, 2, 6, 6, high=3).astype("float32"), kernel_shape=[3, 3], pads=[1, 1, 1, 1], outputs=2),
        C(f(2, 2, 5, 6), kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, storage_order=1, outputs=2),
        C(f(2, 2, 9), kernel_shape=[3], dilations=[2], outputs=2),
        C(f(1, 2, 4, 5, 6), kernel_shape=[2, 2, 2], strides=[2, 2, 2], auto_pad="SAME_UPPER", outputs=2),
    ],
    "DFT": [
        *[C(f(2, 7, 3, parts), opset=opset, onesided=half, inverse=back, **({"axis": 1} if opset == 17 else {}))
          for parts, opset, half, back in ((1, 17, 0, 0), (1, 17, 1, 0), (2, 17, 0, 0), (2, 17, 0, 1))],
        C(f(2, 6, 5, 1), opset=20, onesided=1), C(f(2, 6, 1), np.array(9), np.array(1), const=(1, 2), opset=20),
        C(f(2, 6, 2), np.array(4), const=(1,), opset=20),
    ],
    "STFT": [
        C(f(2, 40, 1), np.array(5), f(8), np.array(8), const=(1, 3)), C(f(1, 40, 1), np.array(4), f(16), const=(1,), onesided=0),
        C(f(1, 40, 2), np.array(7), None, np.array(9), const=(1, 3), onesided=0),
    ],
    "MaxUnpool": [
        C(f(1, 2, 2, 2), ints(2, 3, 10, 13, 19, 26, 28, 31).reshape(1, 2, 2, 2), kernel_shape=[2, 2], strides=[2, 2]),
        C(f(1, 1, 2, 2), ints(1, 5, 12, 19).reshape(1, 1, 2, 2), ints(1, 1, 5, 5), const=(2,), kernel_shape=[2, 2], strides=[2, 2]),
        C(f(1, 1, 3), ints(0, 3, 6).reshape(1, 1, 3), ints(1, 1, 7), kernel_shape=[2], strides=[2]),
    ],
    "Col2Im": [
        C(f(2, 18, 16), ints(8, 8), ints(3, 3), const=(1, 2), opset=18, strides=[2, 2], pads=[1, 1, 1, 1]),
        C(f(1, 12, 9), ints(6, 7), ints(2, 3), const=(1, 2), opset=18, strides=[2, 1], dilations=[1, 2]),
        C(f(1, 6, 4), ints(6), ints(3), const=(1, 2), opset=18),
    ],
    "AveragePool": [
        C(f(1, 2, 7, 6), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        C(f(1, 2, 7, 6), kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        C(f(1, 2, 4, 4, 4), kernel_shape=[2, 2, 2]),
        C(f(1, 2, 7, 6), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1, ceil_mode=1, opset=19),
        C(f(1, 2, 4, 4), kernel_shape=[2, 2], strides=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1, ceil_mode=1, opset=19),
        C(f(1, 2, 7, 6), kernel_shape=[2, 2], strides=[2, 2], count_include_pad=1, ceil_mode=1, opset=19),
        C(f(1, 1, 14, 14, 14), kernel_shape=[5, 5, 5], strides=[3, 3, 3], dilations=[2, 2, 2], count_include_pad=1, ceil_mode=1, opset=19),
    ],
    "LpPool": [C(f(1, 2, 7, 6), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 0]), C(f(1, 2, 9), kernel_shape=[3], p=3)],
    "GlobalLpPool": [C(f(2, 3, 4, 5)), C(f(2, 3, 4), p=1)],
    "LRN": [C(f(2, 6, 3, 4), size=3), C(f(1, 5, 4, 2), size=5, alpha=0.1, beta=0.5, bias=2.0)],
    "Hardmax": [C(f(2, 3, 4)), C(f(2, 3, 4), axis=1), C(f(2, 3, 4), axis=1, opset=11)],
    "GlobalAveragePool": [C(f(2, 3, 4, 5))],
    "GlobalMaxPool": [C(f(2, 3, 4, 5))],
    "BatchNormalization": [
        C(f(2, 3, 4, 4), f(3), f(3), f(3), f(3, low=0.5), epsilon=1e-3),
        C(f(2, 3, 4), f(3), f(3), f(3), f(3, low=0.5), training_mode=1, momentum=0.7, outputs=3),
    ],
    "LayerNormalization": [C(f(2, 3, 4), f(4), f(4)), C(f(2, 3, 4), f(3, 4), axis=1, epsilon=1e-3), C(f(2, 3, 4), f(4), outputs=3),
        C(f(2, 3, 4), f(1), f(1)), C(f(2, 3, 4), f(3, 4), f(4)), C(f(2, 3, 4), f(4), axis=1),
    ],
    "RMSNormalization": [C(f(2, 3, 4), f(4), opset=23), C(f(2, 3, 4), f(4), axis=1, opset=23)],
    "InstanceNormalization": [C(f(2, 3, 4, 5), f(3), f(3))],
    "GroupNormalization": [C(f(2, 4, 3, 3), f(2), f(2), num_groups=2, opset=18), C(f(2, 4, 3), f(4), f(4), num_groups=2, opset=21)],
    "Softmax": [C(f(2, 3, 4)), C(f(2, 3, 4), axis=1), C(f(2, 3, 4), axis=1, opset=11)],
    "LogSoftmax": [C(f(2, 3, 4), axis=0)],
    "LpNormalization": [C(f(3, 4)), C(np.float32([[0, 0], [3, 4]])), C(f(3, 4), axis=0, p=1)],
    "MatMulInteger": [
        C(i(3, 4, kind="uint8"), i(4, 2, kind="uint8"), np.uint8(3), np.uint8(5), const=(2, 3)),
        C(i(2, 3, 4, kind="uint8"), i(4, 2, low=-9, kind="int8"), np.uint8(3), i(2, kind="int8"), const=(1, 2, 3)),
        C(i(3, 4, kind="uint8"), i(4, 2, low=-9, kind="int8"), np.uint8(3), np.int8(0), const=(1, 2, 3)),
        C(i(3, 4, low=-9, kind="int8"), i(2, 4, 2, low=-9, kind="int8")),
        C(i(4, kind="uint8"), i(4, 2, low=-9, kind="int8"), np.uint8(3), const=(1, 2)),
    ],
    "ConvInteger": [C(i(1, 2, 5, 5, kind="uint8"), i(3, 2, 3, 3, kind="uint8"), np.uint8(2), const=(2,), pads=[1, 1, 1, 1])],
    "QLinearMatMul": [
        C(i(3, 4, kind="uint8"), np.float32(0.1), np.uint8(3), i(4, 2, kind="uint8"), np.float32(0.2), np.uint8(5),
          np.float32(0.05), np.uint8(100), const=(1, 2, 4, 5, 6, 7)),
    ],
    "QLinearConv": [
        C(i(1, 2, 5, 5, kind="uint8"), np.float32(0.1), np.uint8(3), i(3, 2, 3, 3, low=-9, kind="int8"), f(3, low=0.1, high=0.3),
          np.zeros(3, np.int8), np.float32(0.2), np.uint8(120), i(3, low=-50, high=50, kind="int32"),
          const=(1, 2, 3, 4, 5, 6, 7, 8), pads=[1, 1, 1, 1]),
    ],
    "RNN": [
        C(f(3, 2, 4), f(1, 5, 4), f(1, 5, 5), f(1, 10), hidden_size=5, outputs=2),
        C(f(3, 2, 4), f(2, 5, 4), f(2, 5, 5), hidden_size=5, outputs=2, direction="bidirectional", activations=["Relu", "Tanh"]),
        C(f(4, 3, 4), f(1, 5, 4), f(1, 5, 5), f(1, 10), i(3, low=1, high=5, kind="int32"), f(1, 3, 5), hidden_size=5, outputs=2),
        *[C(f(3, 2, 4), f(1, 5, 4), f(1, 5, 5), hidden_size=5, outputs=2, activations=[name], clip=2.5)
          for name in ("Softsign", "Softplus", "LeakyRelu", "Elu", "HardSigmoid")],
        *[C(f(3, 2, 4), f(1, 5, 4), f(1, 5, 5), hidden_size=5, outputs=2, activations=[name], activation_alpha=[0.4],
            activation_beta=[0.3]) for name in ("ThresholdedRelu", "ScaledTanh", "Affine", "Elu")],
        C(f(3, 2, 4), f(2, 5, 4), f(2, 5, 5), hidden_size=5, outputs=2, direction="bidirectional",
          activations=["HardSigmoid", "LeakyRelu"], activation_alpha=[0.3, 0.1], activation_beta=[0.4]),
    ],
    "GRU": [
        C(f(3, 2, 4), f(1, 15, 4), f(1, 15, 5), f(1, 30), hidden_size=5, outputs=2),
        C(f(3, 2, 4), f(1, 15, 4), f(1, 15, 5), f(1, 30), hidden_size=5, outputs=2, linear_before_reset=1, direction="reverse"),
        C(f(3, 2, 4), f(1, 15, 4), f(1, 15, 5), hidden_size=5, outputs=2, linear_before_reset=1, clip=0.4),
        C(f(3, 2, 4), f(2, 15, 4), f(2, 15, 5), hidden_size=5, outputs=2, direction="bidirectional"),
        C(f(4, 3, 4), f(2, 15, 4), f(2, 15, 5), f(2, 30), ints(2, 4, 1).astype("int32"), f(2, 3, 5), hidden_size=5, outputs=2,
          direction="bidirectional"),
        C(f(3, 2, 4), f(1, 15, 4), f(1, 15, 5), hidden_size=5, outputs=2, activations=["HardSigmoid", "ScaledTanh"],
          activation_alpha=[0.3, 0.9], activation_beta=[0.4, 0.8]),
    ],
    "LSTM": [
        C(f(3, 2, 4), f(1, 20, 4), f(1, 20, 5), f(1, 40), hidden_size=5, outputs=3),
        C(f(3, 2, 4), f(2, 20, 4), f(2, 20, 5), f(2, 40), None, f(2, 2, 5), f(2, 2, 5), f(2, 15),
          hidden_size=5, outputs=3, direction="bidirectional"),
        C(f(3, 2, 4), f(1, 20, 4), f(1, 20, 5), hidden_size=5, outputs=3, direction="reverse", clip=0.7),
        C(f(3, 2, 4), f(1, 20, 4), f(1, 20, 5), f(1, 40), None, None, f(1, 2, 5), hidden_size=5, outputs=3, clip=0.3),
        C(f(3, 2, 4), f(1, 20, 4), f(1, 20, 5), f(1, 40), None, None, f(1, 2, 5), f(1, 15), hidden_size=5, outputs=3, input_forget=1),
        C(f(4, 3, 4), f(2, 20, 4), f(2, 20, 5), f(2, 40), ints(2, 4, 1).astype("int32"), f(2, 3, 5), f(2, 3, 5), hidden_size=5, outputs=3,
          direction="bidirectional"),
        C(f(3, 2, 4), f(1, 20, 4), f(1, 20, 5), hidden_size=5, outputs=3, activations=["HardSigmoid", "Softsign", "ScaledTanh"],
          activation_alpha=[0.3, 0.9], activation_beta=[0.4, 0.8]),
    ],
    "Det": [C(f(4, 4)), C(f(2, 3, 5, 5)), C(np.float32([[[0, 2], [3, 4]], [[0, 1], [0, 2]]])), C(f(2, 1, 1)), C(f(2, 7, 7))],
    "TfIdfVectorizer": [
        *[C(i(5, 12, low=2, high=9), mode=mode, max_skip_count=skips, min_gram_length=least, max_gram_length=2, **GRAMS)
          for mode in ("TF", "IDF", "TFIDF") for skips in (0, 5) for least in (1, 2)],
        C(i(12, low=2, high=9, kind="int32"), mode="TFIDF", max_skip_count=30, min_gram_length=1, max_gram_length=1, **GRAMS),
    ],
    "QuantizeLinear": [
        C(f(3, 4), np.float32(0.1), np.uint8(128), const=(1, 2)),
        C(f(3, 4), f(3, low=0.05, high=0.2), np.zeros(3, np.int8), const=(1, 2), axis=0),
        C(np.arange(-9, 9, dtype="float32").reshape(3, 6), np.float32(2), np.uint8(7), const=(1, 2)),
        C(np.float32([1e9, -1e9, 3e38, 4194303.5, -5e6, 254.5]), np.float32(1), np.uint8(7), const=(1, 2)),
        C(np.arange(-9, 9, dtype="float32").reshape(3, 6), np.float32([2, 6, 4]), np.array([1, 0, 2], np.int8), axis=0),
        C(f(3, 4), np.float32(0.01), const=(1,), opset=21, output_dtype=onnx.TensorProto.INT8),
        C(f(3, 6), f(3, 3, low=0.01, high=0.1), i(3, 3, low=-9, kind="int8"), opset=21, block_size=2),
        C(f(5, 2), f(2, 2, low=0.01, high=0.1), opset=21, axis=0, block_size=3),
    ],
    "DequantizeLinear": [
        C(i(3, 4, kind="uint8"), np.float32(0.1), np.uint8(3), const=(1, 2)),
        C(i(3, 4, kind="int8"), np.float32(0.5), const=(1,)),
        C(i(6, 2, kind="uint8"), f(3, 2), i(3, 2, kind="uint8"), opset=21, axis=0, block_size=2),
        C(i(2, 5, kind="int8"), f(2, 2), opset=21, axis=-1, block_size=3),
        *[C(i(2, 6, high=7).astype(kind), f(2, 2), i(2, 2, high=7).astype(kind), const=(0, 2), opset=21, block_size=3)
          for kind in (ml_dtypes.int4, ml_dtypes.uint4)],
        C(i(2, 6, low=-8, high=8).astype(ml_dtypes.int4), f(), const=(0,), opset=21),
    ],
}  # fmt: skip
# those whose results depend on integers that are known, and the constants, are tried in test_importer
ELSEWHERE = {
    "Bernoulli", "BitCast", "Constant", "ConstantOfShape", "CumProd", "DeformConv", "MelWeightMatrix", "Multinomial", "RandomNormal",
    "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Range", "SimplifiedLayerNormalization",
}  # fmt: skip


def model_of(op: str, case: C) -> tuple[Any, dict[str, Any]]:
    names = ["" if one is None else f"x{at}" for at, one in enumerate(case.given)]
    kinds = {
        name: onnx.helper.np_dtype_to_tensor_dtype(np.asarray(one).dtype)
        for name, one in zip(names, case.given, strict=True)
        if name
    }
    outs = [f"y{at}" for at in range(case.outputs)]
    node = onnx.helper.make_node(op, names, outs, name="tried", **case.attrs)
    given = enumerate(zip(names, case.given, strict=True))
    feeds = {name: one for at, (name, one) in given if name and at not in case.const}
    inputs = [onnx.helper.make_tensor_value_info(name, kinds[name], one.shape) for name, one in feeds.items()]
    kept = [onnx.numpy_helper.from_array(np.asarray(case.given[at]), names[at]) for at in case.const]
    values = [onnx.ValueInfoProto(name=name) for name in outs]
    graph = onnx.helper.make_graph([node], "g", inputs, values, kept)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", case.opset)])
    model.ir_version = 10
    return model, feeds


ALL = [(op, at) for op, cases in CASES.items() for at in range(len(cases))]


@pytest.mark.parametrize(("op", "at"), ALL, ids=[f"{op}-{at}" for op, at in ALL])
def test_an_operator_is_what_onnxruntime_makes_of_it(op: str, at: int) -> None:
    model, feeds = model_of(op, CASES[op][at])
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, feeds)
    module = tirscript.from_onnx(model)
    found = tirscript.interpret(module, *feeds.values())
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        # the angles of onnxruntime's transforms are no nearer
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-4 if op in ("DFT", "STFT") else 2e-6)
    text = module.script()
    again = parse(text, constants=tirscript.ConstantStore(module))
    assert isinstance(again, Module) and again.script() == text


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("float32", (2, 3, 4, 4)), ("float16", (3, 3, 3)), ("float64", (0, 3, 3)), ("float64", (2, 0, 0))],
)
def test_a_determinant_of_sizes_that_the_call_knows(kind: str, shape: tuple[int, ...]) -> None:
    x = f(*shape, kind=kind)
    model, _ = model_of("Det", C(x, opset=22))
    for at, dim in enumerate(model.graph.input[0].type.tensor_type.shape.dim):
        dim.dim_param = f"d{at}"
    module = tirscript.from_onnx(model)
    for found in (tirscript.interpret(module, x), tirscript.build(module)(x)):
        assert found.dtype == kind
        tolerance = 2e-2 if kind == "float16" else 1e-5
        np.testing.assert_allclose(found, np.linalg.det(x.astype("float64")), rtol=tolerance, atol=tolerance)
    if shape[-1]:
        with pytest.raises(DiagnosticError, match=r"expected `d\d`, which is"):
            tirscript.interpret(module, x[..., :-1])


@pytest.mark.parametrize(
    ("have", "want"),
    [
        ("float32", "int32"),
        ("int64", "float64"),
        ("uint8", "int8"),
        ("float16", "uint16"),
        ("bool", "uint8"),
        ("int8", "bool"),
    ],
)
def test_the_same_bits_as_another_type(have: str, want: str) -> None:
    x = i(3, 4, high=2 if "bool" in (have, want) else 100, kind=have)
    model, _ = model_of("BitCast", C(x, to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(want)), opset=26))
    module = tirscript.from_onnx(model)
    for found in (tirscript.interpret(module, x), tirscript.build(module)(x)):
        assert found.dtype == want
        np.testing.assert_array_equal(found, x.view(want))


def test_every_operator_of_the_table_is_tried() -> None:
    assert {name for name in OPERATORS if "." not in name} == set(CASES) | ELSEWHERE
    assert set(INTEGERS) - set(OPERATORS) == {"Shape", "Size"}


@pytest.mark.parametrize(
    ("op", "case", "words"),
    [
        ("Cast", C(f(3), to=8), "is of the type string"),
        ("BitCast", C(f(3), to=11, opset=26), "float32 has other bits than float64, 32 and not 64"),
        ("Det", C(f(3), opset=22), "matrices have 2 or more"),
        ("Det", C(f(3, 4), opset=22), "its matrices have 3 rows and 4 columns"),
        *[("TfIdfVectorizer", C(i(3), mode="IDF", max_skip_count=0, min_gram_length=1, max_gram_length=2, **{**GRAMS, **change}), words)
          for change, words in (
            ({"pool_int64s": [2, 3, 5, 5, 5, 6, 7, 8, 6, 7]}, "a sequence of 1 is there twice"),
            ({"pool_int64s": [2, 3, 5]}, "its sequences of 1 are from 0 to 4 of 3 numbers"),
            ({"ngram_indexes": [0, 1, 2]}, "its 7 sequences have the places"),
            ({"ngram_indexes": [0, 1, 2, 3, 4, 5, -1]}, "its 7 sequences have the places"),
            ({"ngram_indexes": [0, 1, 2, 3, 4, 5, 5]}, "sequences of different weights have one place"),
            ({"ngram_indexes": [0, 1, 2, 3, 4, 5, 1 << 40]}, "more than is supported"),
            ({"weights": [1.0]}, "it has 1 weight for 7 sequences"),
          )],
        ("Dropout", C(f(3), np.float32(0.5), np.array(True), const=(1, 2)), "training, which drops elements at random"),
        ("GRU", C(f(3, 1, 1), f(1, 3, 1), f(1, 3, 1), hidden_size=1, activations=["Elu", "Sin"]), "the activations"),
        ("GRU", C(f(3, 1, 1), f(1, 3, 1), f(1, 3, 1), hidden_size=1, activations=["Elu"]), "the activations"),
        ("RNN", C(f(3, 1, 1), f(1, 1, 1), f(1, 1, 1), hidden_size=1, activations=["Affine"], activation_alpha=[0.3]),
         "the activation Affine has no `activation_beta`"),
        ("LSTM", C(f(3, 1, 1), f(1, 4, 1), f(1, 4, 1), hidden_size=1, direction="upward"), "the direction `upward` is not known"),
        ("LpPool", C(f(1, 1, 4), kernel_shape=[3], ceil_mode=1, opset=18), "`ceil_mode` is not supported"),
        ("Resize", C(f(1, 1, 3, 3), f(0), np.float32([1, 1, 2, 2]), const=(1, 2), coordinate_transformation_mode="corners"), "corners is not supported"),
        ("Resize", C(f(1, 1, 3, 3), f(0), np.float32([1, 1, 1 << 29, 1.5]), const=(1, 2)), "an axis of 1,610,612,736 elements is too long"),
        ("ConvTranspose", C(f(1, 1, 4), f(1, 1, 3), output_shape=[99]), "larger than what dimension 0 can give"),
        ("Expand", C(f(3), ints(1, 3).reshape(1, 2)), "the sizes it expands to are not known before the model runs"),
        ("Reshape", C(f(6), ints(-1, -1), const=(1,)), "more than one size is -1"),
        ("Gather", C(f(3), ints(0, 3), const=(1,)), "its index 3 is none of 3 elements"),
        ("Gather", C(f(3), ints(0, -4), const=(1,)), "its index -4 is none of 3 elements"),
        ("Pad", C(f(2, 3), ints(-3, 0, 0, 0), const=(1,)), "it takes 3 of the 2 elements of axis 0"),
        ("Pad", C(f(2, 3), ints(3, 0, 0, 0), const=(1,), mode="wrap", opset=19), "by more than there may be"),
        ("Squeeze", C(f(1, 3), ints(-1), const=(1,)), "dimension 1 is 3 and cannot be left out"),
        ("TopK", C(f(7), ints(3, 2), outputs=2), "its input 1 has 2 elements, not 1"),
        ("Softmax", C(f(2, 3), axis=5), "axis 5 is none of the 2"),
        ("MatMul", C(f(2, 3), f(4, 5)), "matmul"),
        ("QuantizeLinear", C(f(4), np.float32(0.5), np.array(1, ml_dtypes.int4), const=(2,), opset=21), "takes numbers of the type int4"),
        ("DequantizeLinear", C(i(6, 2, kind="int8"), f(2, 2), opset=21, axis=0, block_size=2), r"\(2, 2\) are not the scales of blocks of 2"),
    ],
)  # fmt: skip
def test_what_is_not_supported_names_the_node(op: str, case: C, words: str) -> None:
    model, _ = model_of(op, case)
    with pytest.raises(DiagnosticError, match=words) as caught:
        tirscript.from_onnx(model)
    assert "`tried`" in str(caught.value)


def test_integers_of_four_bits_are_no_results() -> None:
    """They are bytes here, and would have another type."""
    model, _ = model_of("Identity", C(np.array([1, 2], ml_dtypes.uint4), const=(0,), opset=21))
    with pytest.raises(DiagnosticError, match="the output `y0` is of the type uint4, which is not supported"):
        tirscript.from_onnx(model)
