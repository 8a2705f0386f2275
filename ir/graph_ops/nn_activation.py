"""Activations of neural networks, on each element."""

from __future__ import annotations

from typing import Any

from ..expr import Expr, const
from ..graph import GraphType, OpCall
from ..graph_op import BROADCAST, NEVER, GraphOp, Parameter
from ..op import OPS
from . import dims
from . import reference as ref
from .attrs import attr, integer, real
from .elementwise import np_sigmoid, unary
from .kernel import elementwise
from .reference import wide
from .rules import FLOATS, NUMBERS, Types, axis_of, common_dtype, equal_dims, refuse, tensor
from .table import register


def _softplus(x: Expr, *, beta: float, threshold: float) -> Expr:
    scaled = x * const(beta, x.dtype)
    soft = OPS["log1p"](OPS["exp"](scaled)) / const(beta, x.dtype)
    return OPS["Select"](scaled > const(threshold, x.dtype), x, soft)


def _np_softplus(x: Any, beta: float, threshold: float) -> Any:
    import numpy as np

    with np.errstate(over="ignore"):
        return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta).astype(x.dtype)


def _selu(x: Expr) -> Expr:
    alpha, scale = const(_ALPHA, x.dtype), const(_SCALE, x.dtype)
    return scale * OPS["Select"](x > const(0, x.dtype), x, alpha * (OPS["exp"](x) - const(1, x.dtype)))


def _np_selu(x: Any) -> Any:
    import numpy as np

    with np.errstate(over="ignore"):
        return (_SCALE * np.where(x > 0, x, _ALPHA * (np.exp(x) - 1))).astype(x.dtype)


_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805
_HALF_ROOT, _ROOT = 0.7071067811865476, 0.7978845608028654  # 1 / sqrt(2) and sqrt(2 / pi)


def _gelu(x: Expr) -> Expr:
    kind = x.dtype
    return x * (const(0.5, kind) * (const(1, kind) + OPS["erf"](x * const(_HALF_ROOT, kind))))


def _np_gelu(x: Any) -> Any:
    return (x * (0.5 * (1 + ref.erf(x * _HALF_ROOT)))).astype(x.dtype)


def _gelu_tanh(x: Expr) -> Expr:
    kind = x.dtype
    inner = const(_ROOT, kind) * (x + const(0.044715, kind) * (x * x * x))
    return const(0.5, kind) * x * (const(1, kind) + OPS["tanh"](inner))


def _np_gelu_tanh(x: Any) -> Any:
    import numpy as np

    return (0.5 * x * (1 + np.tanh(_ROOT * (x + 0.044715 * x**3)))).astype(x.dtype)


def _np_relu(x: Any) -> Any:
    import numpy as np

    return np.where(x > 0, x, np.zeros_like(x))


def _np_relu6(x: Any) -> Any:
    import numpy as np

    found = _np_relu(x)
    return np.where(found < 6, found, np.full_like(x, 6))


def _leaky(x: Expr, *, alpha: float) -> Expr:
    return OPS["Select"](x > const(0, x.dtype), x, x * const(alpha, x.dtype))


def _np_leaky(x: Any, alpha: float) -> Any:
    import numpy as np

    return np.where(x > 0, x, x * x.dtype.type(alpha))


def _relu(x: Expr) -> Expr:
    return OPS["max"](x, const(0, x.dtype))


def _relu6(x: Expr) -> Expr:
    return OPS["min"](_relu(x), const(6, x.dtype))


_SLOPE = attr("alpha", real, 0.01)

unary("nn.relu", _relu, _np_relu, "x where it is positive, otherwise 0.", kinds=NUMBERS, operand="data")
unary("nn.relu6", _relu6, _np_relu6, "x within 0 and 6.", kinds=NUMBERS, operand="data")
unary("nn.leakyrelu", _leaky, wide(_np_leaky), "x where it is positive, otherwise alpha * x.", _SLOPE, operand="data")
unary("nn.gelu", _gelu, wide(_np_gelu), "x times the normal distribution's function at x.", operand="data")
unary("nn.gelu_tanh", _gelu_tanh, wide(_np_gelu_tanh), "gelu approximated by tanh.", operand="data")
unary(
    "nn.silu",
    lambda x: x * OPS["sigmoid"](x),
    wide(lambda x: x * np_sigmoid(x)),
    "x * sigmoid(x).",
    operand="data",
)
unary("nn.selu", _selu, wide(_np_selu), "scale * (x where positive, otherwise alpha * (exp(x) - 1)).", operand="data")
unary(
    "nn.softplus",
    _softplus,
    wide(_np_softplus),
    "log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold.",
    attr("beta", real, 1.0),
    attr("threshold", real, 20.0),
    operand="data",
    narrow=NEVER,
)


def _infer_prelu(call: OpCall, types: Types) -> GraphType:
    data, alpha = (tensor(call, types, at, FLOATS) for at in (0, 1))
    if alpha.rank not in (None, 1):
        refuse(call, f"`alpha` must have 1 dimension, not {alpha.rank}")
    common_dtype(call, (data, alpha), ("`data`", "`alpha`"))
    if data.rank is not None:
        axis = axis_of(call, call.attrs["axis"], data.rank)
        if data.shape is not None and alpha.shape is not None and dims.number(alpha.shape[0]) != 1:
            what = f"dimension {axis} of `data` and the length of `alpha` differ"
            equal_dims(call, data.shape[axis], alpha.shape[0], what)
    return data


def _np_prelu(x: Any, alpha: Any, axis: int) -> Any:
    import numpy as np

    slope = alpha.reshape([-1 if at == axis % x.ndim else 1 for at in range(x.ndim)])
    return np.where(x > 0, x, x * slope)


def _prelu(x: Expr, alpha: Expr) -> Expr:
    return OPS["Select"](x > const(0, x.dtype), x, x * alpha)


register(
    GraphOp(
        "nn.prelu",
        (Parameter("data"), Parameter("alpha"), attr("axis", integer, 1)),
        _infer_prelu,
        "x where it is positive, otherwise x times the slope of its channel; one slope is that of all.",
        "G.nn.prelu(data: (2, 3, 4), alpha: (3,), axis=1)",
        reference=wide(_np_prelu),
        legalize=elementwise(_prelu, along={1: "axis"}),
        fusion=BROADCAST,
    )
)
