"""Numbers in fewer bits: values as integers times a scale, from a zero point."""

from __future__ import annotations

from typing import Any

from ..dtype import FLOAT32, DType, dtype
from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import BROADCAST, NEVER, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from ..words import counted
from .attrs import attr, element_type, integer
from .kernel import elementwise
from .reference import converted, numpy_dtype
from .rules import FLOATS, NUMBERS, Types, axis_of, equal_dims, like, refuse, tensor
from .table import register

_AXIS = attr("axis", integer, -1)


def _check(call: OpCall, kind: TensorType, types: Types) -> None:
    for at in (1, 2):
        one = tensor(call, types, at, FLOATS if at == 1 else ())
        name = call.op.values[at].name
        if one.rank not in (None, 0, 1):
            refuse(call, f"`{name}` is a scalar or a vector, not of {counted(one.rank, 'dimension')}")
        if one.rank == 1 and kind.rank is not None:
            axis = axis_of(call, call.attrs["axis"], kind.rank)
            if kind.shape is not None and one.shape is not None:
                what = f"dimension {axis} of `data` and the length of `{name}` differ"
                equal_dims(call, kind.shape[axis], one.shape[0], what)


def _infer_quantize(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, FLOATS)
    _check(call, kind, types)
    if not call.attrs["out_dtype"].is_int and call.attrs["out_dtype"].kind != "float8":
        refuse(call, f"`out_dtype` is {call.attrs['out_dtype']}", "an integer dtype or a float of 8 bits", "T105")
    return like(kind, dtype=call.attrs["out_dtype"])


def _infer_dequantize(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, NUMBERS)
    _check(call, kind, types)
    if not call.attrs["out_dtype"].is_float:
        refuse(call, f"`out_dtype` is {call.attrs['out_dtype']}", "a float dtype", "T105")
    return like(kind, dtype=call.attrs["out_dtype"])


def _limits(kind: DType) -> tuple[float, float]:
    if kind.is_int:
        low, high = kind.int_range()
        return float(low), float(high)
    return (-448.0, 448.0) if kind.name == "float8_e4m3fn" else (-57344.0, 57344.0)


def _quantized(x: Expr, scale: Expr, zero: Expr, *, out_dtype: DType) -> Expr:
    low, high = _limits(out_dtype)
    value = cast_to(x, FLOAT32) / cast_to(scale, FLOAT32)
    value = OPS["nearbyint"](value) if out_dtype.is_int else value
    value = value + cast_to(zero, FLOAT32)
    if out_dtype.bits < 32:
        # in this order nan becomes the greatest value
        return cast_to(OPS["min"](OPS["max"](const(low, FLOAT32), value), const(high, FLOAT32)), out_dtype)
    # the greatest integer of 32 bits is no float32: `T.cast` knows it
    return OPS["Select"](OPS["isnan"](value), const(out_dtype.int_range()[1], out_dtype), cast_to(value, out_dtype))


def _dequantized(x: Expr, scale: Expr, zero: Expr, *, out_dtype: DType) -> Expr:
    wide = FLOAT32 if x.dtype.is_float else dtype("int32")
    apart = cast_to(cast_to(x, wide) - cast_to(zero, wide), FLOAT32)
    return cast_to(apart * cast_to(scale, FLOAT32), out_dtype)


def _along(vector: Any, axis: int, rank: int) -> Any:
    return vector.reshape([-1 if at == axis % rank else 1 for at in range(rank)]) if vector.ndim else vector


def _np_quantize(x: Any, scale: Any, zero: Any, axis: int, out_dtype: DType) -> Any:
    import numpy as np

    scale, zero = (_along(one, axis, x.ndim).astype(np.float32) for one in (scale, zero))
    value = x.astype(np.float32) / scale
    value = np.rint(value) if out_dtype.is_int else value
    low, high = _limits(out_dtype)
    value = (value + zero).astype(np.float64)
    return converted(np.where(np.isnan(value), high, np.clip(value, low, high)), numpy_dtype(out_dtype))


def _np_dequantize(x: Any, scale: Any, zero: Any, axis: int, out_dtype: DType) -> Any:
    import numpy as np

    scale, zero = (_along(one, axis, x.ndim) for one in (scale, zero))
    wide = np.int32 if x.dtype.kind in "iu" else np.float32
    apart = (x.astype(wide) - zero.astype(wide)).astype(np.float32)
    return (apart * scale.astype(np.float32)).astype(numpy_dtype(out_dtype))


for _name, _infer, _value, _reference, _kind, _doc in (
    (
        "quantize",
        _infer_quantize,
        _quantized,
        _np_quantize,
        "int8",
        "round(data / scale) + zero_point, halves to even, within `out_dtype` (nan its greatest); by channel, too.",
    ),
    ("dequantize", _infer_dequantize, _dequantized, _np_dequantize, "float32", "(data - zero_point) * scale."),
):
    _data = "data: (2, 3)" if _name == "quantize" else "data: (2, 3) int8"
    register(
        GraphOp(
            _name,
            (
                Parameter("data"),
                Parameter("scale"),
                Parameter("zero_point"),
                _AXIS,
                attr("out_dtype", element_type, dtype(_kind)),
            ),
            _infer,
            _doc,
            f"G.{_name}({_data}, scale: (3,), zero_point: (3,) int8, axis=-1)",
            reference=_reference,
            legalize=elementwise(_value, along={1: "axis", 2: "axis"}),
            fusion=BROADCAST,
            narrow=NEVER,
        )
    )
