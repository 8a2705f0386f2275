"""Element by element: arithmetic, comparisons, elementary functions, activations, casts."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce as fold

from tirscript.ir.constant import numpy_dtype
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.graph import GraphExpr, OpCall, ShapeExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.table import FOREIGN_GRAPH_OPS
from tirscript.ir.node import Attrs

from ..node import Node
from .table import OPERATORS, onnx_op

# one graph operator for one ONNX operator, on the same arguments
_SAME = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
    "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor", "IsNaN": "isnan",
    "Log": "log", "Neg": "negative", "Not": "logical_not", "Relu": "nn.relu", "Round": "round", "Sigmoid": "sigmoid",
    "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Equal": "equal", "Less": "less",
    "LessOrEqual": "less_equal",
    "Greater": "greater", "GreaterOrEqual": "greater_equal", "And": "logical_and", "Or": "logical_or",
    "Xor": "logical_xor", "Where": "where", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "BitwiseNot": "bitwise_not",
}  # fmt: skip


def _same(op: str) -> Callable[[Node], GraphExpr]:
    return lambda node: node.last(op, *node.agreeing(*node.tensors()))


for _name, _op in _SAME.items():
    onnx_op(_name)(_same(_op))


@onnx_op("Identity")
def identity(node: Node) -> GraphExpr:
    return node.tensor(0)


@onnx_op("Dropout")
def dropout(node: Node) -> GraphExpr | tuple[GraphExpr, ...]:
    """All of its input, with a mask of all elements: nothing is dropped but in training."""
    x = node.tensor(0)
    training = node.scalar(2) if node.has(2) else 0
    if training is None or (training and (node.scalar(1) if node.has(1) else 0.5) != 0):
        raise node.wrong("training, which drops elements at random, is not supported")
    if not any(node.proto.output[1:]):
        return x
    mask = node.op("ones", ShapeExpr(node.shape(x)), "bool" if node.opset >= 10 else str(node.dtype(x)))
    return x, mask


@onnx_op("Shrink")
def shrink(node: Node) -> GraphExpr:
    x = node.tensor(0)
    kind = node.dtype(x)
    bias, limit = (node.constant(node.attr(name, default), kind) for name, default in (("bias", 0.0), ("lambd", 0.5)))
    below = node.op("less", x, node.op("negative", limit))
    high = node.op("where", node.op("greater", x, limit), node.op("subtract", x, bias), node.constant(0, kind))
    return node.last("where", below, node.op("add", x, bias), high)


@onnx_op("Mod")
def modulo(node: Node) -> GraphExpr:
    # with `fmod` of the sign of the dividend, else of that of the divisor
    return node.last("mod" if node.attr("fmod", 0) else "floor_mod", *node.agreeing(*node.tensors()))


@onnx_op("Pow")
def power(node: Node) -> GraphExpr:
    a, b = node.agreeing(*node.tensors())
    kind = node.dtype(a)
    exponent = node.scalar(1)
    if exponent == 2:
        return node.last("multiply", a, a)
    if exponent == 0.5 and kind.is_float:
        return node.last("sqrt", a)
    if kind.is_int and node.dtype(b).is_float:  # the power of a float, of which the whole part is kept
        a, b = (node.op("astype", one, "float64") for one in (a, b))
        return node.last("astype", node.op("power", a, b), str(kind))
    return node.last("power", a, b if node.dtype(b) is kind else node.op("astype", b, str(kind)))


@onnx_op("Max", "Min", "Sum", "Mean")
def variadic(node: Node) -> GraphExpr:
    op = {"Max": "maximum", "Min": "minimum"}.get(node.proto.op_type, "add")
    given = node.agreeing(*node.tensors())
    if len(given) == 1:
        return given[0]
    total = fold(lambda a, b: node.op(op, a, b), given)
    if node.proto.op_type != "Mean":
        return total
    return node.last("divide", total, node.constant(len(given), node.dtype(total)))


@onnx_op("Cast")
def cast(node: Node) -> GraphExpr:
    kind = node.importer.dtype(int(node.attr("to")), "what it casts to")
    value = node.tensor(0)
    if kind.is_bool and not node.dtype(value).is_bool:
        return node.last("not_equal", value, node.constant(0, node.dtype(value)))
    return _cast_to(node, value, kind)


def _cast_to(node: Node, value: GraphExpr, kind: DType) -> GraphExpr:
    """A cast; to 8 bits it gives the largest for what is beyond it, where the node does not say otherwise."""
    if kind.bits == 8 and kind.is_float and node.attr("saturate", 1):
        from ml_dtypes import finfo

        largest = float(finfo(numpy_dtype(kind)).max)
        for beyond, limit in (("less", -largest), ("greater", largest)):  # nan is neither
            bound = node.constant(limit, node.dtype(value))
            value = node.op("where", node.op(beyond, value, bound), bound, value)
    return node.last("astype", value, str(kind))


@onnx_op("BitCast")
def bit_cast(node: Node) -> GraphExpr:
    """The same bits as another type, that has as many."""
    kind, value = node.importer.dtype(int(node.attr("to")), "what it casts to"), node.tensor(0)
    have = node.dtype(value)
    if _width(have) != _width(kind):
        raise node.wrong(f"{have} has other bits than {kind}, {_width(have)} and not {_width(kind)}")
    if kind is have:
        return value
    if have.is_bool:  # a byte of 0 or 1
        value = node.op("astype", value, "uint8")
    if kind.is_bool:
        whole = _seen_as(node, value, dtype("uint8"))
        return node.last("not_equal", whole, node.constant(0, dtype("uint8")))
    return _seen_as(node, value, kind)


def _seen_as(node: Node, value: GraphExpr, kind: DType) -> GraphExpr:
    """The bytes of a tensor as elements of another type, which are as many."""
    view = OpCall(FOREIGN_GRAPH_OPS["memory.view"], (value,), attrs=Attrs({"dtype": str(kind)}))
    return node.importer.emit(view, node.output)


def _width(kind: DType) -> int:
    """The bits of an element in memory."""
    return 8 if kind.is_bool else kind.bits


@onnx_op("CastLike")
def cast_like(node: Node) -> GraphExpr:
    kind = node.dtype(node.tensor(1))
    data = node.data(0)
    if data is not None and data.size == 1:  # a number that is known stays so
        return node.kept(data.array.astype(numpy_dtype(kind)))
    return _cast_to(node, node.tensor(0), kind)


@onnx_op("Clip")
def clip(node: Node) -> GraphExpr:
    x = node.tensor(0)
    limits: list[GraphExpr | None] = []
    for at, name in ((1, "min"), (2, "max")):
        if name in node.attrs:
            limits.append(node.constant(node.attr(name), node.dtype(x)))
        else:
            limits.append(node.tensor(at) if node.has(at) else None)
    for limit, op in zip(limits, ("maximum", "minimum"), strict=True):
        if limit is not None:
            x = node.op(op, x, limit)
    return x


@onnx_op("Reciprocal")
def reciprocal(node: Node) -> GraphExpr:
    x = node.tensor(0)
    return node.last("divide", node.constant(1, node.dtype(x)), x)


@onnx_op("Softplus")
def softplus(node: Node) -> GraphExpr:
    x = node.tensor(0)
    return node.last("log_add_exp", x, node.constant(0, node.dtype(x)))


@onnx_op("Softsign")
def softsign(node: Node) -> GraphExpr:
    x = node.tensor(0)
    return node.last("divide", x, node.op("add", node.op("abs", x), node.constant(1, node.dtype(x))))


@onnx_op("LeakyRelu")
def leaky_relu(node: Node) -> GraphExpr:
    return node.last("nn.leakyrelu", node.tensor(0), alpha=float(node.attr("alpha", 0.01)))


@onnx_op("PRelu")
def prelu(node: Node) -> GraphExpr:
    x, slope = node.tensors()
    shape, slopes = node.shape(x), node.shape(slope)
    if len(slopes) == 1 < len(shape) - 1 and dims.same(slopes[0], shape[1]) and dims.differ(slopes[0], shape[-1]):
        # one for each channel, as the first versions have it
        slope = node.op("reshape", slope, ShapeExpr((slopes[0], *[dims.ONE] * (len(shape) - 2))))
    x, slope = node.agreeing(x, slope)
    zero = node.constant(0, node.dtype(x))
    return node.last("where", node.op("less", x, zero), node.op("multiply", x, slope), x)


@onnx_op("Elu", "Selu", "Celu")
def elu(node: Node) -> GraphExpr:
    name, x = node.proto.op_type, node.tensor(0)
    kind = node.dtype(x)
    alpha = float(node.attr("alpha", 1.67326319217681884765625 if name == "Selu" else 1.0))
    inner = node.op("divide", x, node.constant(alpha, kind)) if name == "Celu" else x
    grown = node.op(
        "subtract", node.op("exp", node.op("minimum", inner, node.constant(0, kind))), node.constant(1, kind)
    )
    low = node.op("multiply", grown, node.constant(alpha, kind))
    found = node.op("where", node.op("greater", x, node.constant(0, kind)), x, low)
    if name != "Selu":
        return found
    return node.last("multiply", found, node.constant(float(node.attr("gamma", 1.05070102214813232421875)), kind))


@onnx_op("HardSigmoid")
def hard_sigmoid(node: Node) -> GraphExpr:
    return hard_sigmoid_of(node, node.tensor(0), float(node.attr("alpha", 0.2)), float(node.attr("beta", 0.5)))


def hard_sigmoid_of(node: Node, x: GraphExpr, alpha: float, beta: float) -> GraphExpr:
    """alpha * x + beta between 0 and 1."""
    kind = node.dtype(x)
    line = node.op("add", node.op("multiply", x, node.constant(alpha, kind)), node.constant(beta, kind))
    return node.op("minimum", node.op("maximum", line, node.constant(0, kind)), node.constant(1, kind))


@onnx_op("HardSwish")
def hard_swish(node: Node) -> GraphExpr:
    return node.last("multiply", node.tensor(0), hard_sigmoid_of(node, node.tensor(0), 1 / 6, 0.5))


@onnx_op("Mish")
def mish(node: Node) -> GraphExpr:
    x = node.tensor(0)
    grown = node.op("log_add_exp", x, node.constant(0, node.dtype(x)))
    return node.last("multiply", x, node.op("tanh", grown))


@onnx_op("ThresholdedRelu")
def thresholded_relu(node: Node) -> GraphExpr:
    x = node.tensor(0)
    limit = node.constant(float(node.attr("alpha", 1.0)), node.dtype(x))
    return node.last("where", node.op("greater", x, limit), x, node.constant(0, node.dtype(x)))


@onnx_op("Gelu")
def gelu(node: Node) -> GraphExpr:
    return node.last("nn.gelu_tanh" if node.attr("approximate", "none") == "tanh" else "nn.gelu", node.tensor(0))


@onnx_op("IsInf")
def is_inf(node: Node) -> GraphExpr:
    x = node.tensor(0)
    found = node.op("isinf", x)
    if node.attr("detect_negative", 1) and node.attr("detect_positive", 1):
        return found
    side = "greater" if node.attr("detect_positive", 1) else "less"
    return node.last("logical_and", found, node.op(side, x, node.constant(0, node.dtype(x))))


@onnx_op("BitShift")
def bit_shift(node: Node) -> GraphExpr:
    return node.last("left_shift" if node.attr("direction") == "LEFT" else "right_shift", *node.tensors())


__all__ = ["OPERATORS", "hard_sigmoid_of"]
