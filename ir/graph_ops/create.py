"""New tensors: of one value, of a range, of the diagonal; parts of a matrix kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..dtype import FLOAT32, FLOAT64, INT64, DType
from ..expr import Const, Expr, const, is_const
from ..graph import GraphType, OpCall, PrimValue, TensorType
from ..graph_op import ELEMENTWISE, INJECTIVE, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from ..words import counted
from . import dims
from .attrs import DTYPE, DTYPE_OF_ARGUMENT, attr, element_type
from .kernel import Legalize, T, element, kernel
from .reference import converted, numpy_dtype
from .rules import (
    INTS,
    INTS_OR_BOOLS,
    NUMBERS,
    Types,
    like,
    of_rank,
    of_shape,
    refuse,
    scalar,
    target_shape,
    tensor,
)
from .table import register


def _generate(*args: Any, value: Any) -> None:
    """Every element of the result from its place."""
    out = T.meta_var(args[-1])
    for (*i,) in T.grid(*out.shape):
        with T.block("fill"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = value(v, args[:-1], out)


def generated(value: Callable[[Sequence[Expr], Sequence[Any], Any], Expr]) -> Legalize:
    """The legalization of an operator whose elements follow from their places.

    value: (v, arguments, result) -> the element `v`; arguments that are constant are plain numbers
    """

    def plain(v: Sequence[Expr], args: Sequence[Any], out: Any) -> Expr:
        return value(v, [one.value if type(one) is Const else one for one in args], out)

    return kernel(_generate, inline=True, value=plain)


# -- one value

FILL = Parameter("fill_value")


def _infer_shape(call: OpCall, types: Types) -> GraphType:
    return of_shape(target_shape(call, types, 0), call.attrs["dtype"])


def _infer_full(call: OpCall, types: Types) -> GraphType:
    fill = _scalar(call, types, 1)
    return of_shape(target_shape(call, types, 0), call.attrs["dtype"] or fill.dtype)


def _scalar(call: OpCall, types: Types, at: int) -> TensorType:
    fill = tensor(call, types, at)
    if fill.rank not in (None, 0):
        refuse(
            call,
            f"`fill_value` is a scalar, not a tensor of {counted(fill.rank, 'dimension')}",
            "take one element of it",
        )
    return fill


def _infer_like(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    if len(call.args) > 1:
        _scalar(call, types, 1)
    return like(kind, dtype=call.attrs["dtype"] or kind.dtype)


def _np_of(value: int) -> Callable[..., Any]:
    def reference(shape: Sequence[int], dtype: DType) -> Any:
        import numpy as np

        return np.full(shape, value, numpy_dtype(dtype))

    return reference


def _np_like(value: int) -> Callable[..., Any]:
    def reference(x: Any, dtype: DType | None) -> Any:
        import numpy as np

        return np.full(x.shape, value, x.dtype if dtype is None else numpy_dtype(dtype))

    return reference


def _np_full(shape: Sequence[int], fill: Any, dtype: DType | None) -> Any:
    import numpy as np

    fill = np.asarray(fill)
    return np.full(shape, fill if dtype is None else converted(fill, numpy_dtype(dtype)))


def _np_full_like(x: Any, fill: Any, dtype: DType | None) -> Any:
    import numpy as np

    return np.full(x.shape, converted(np.asarray(fill), x.dtype if dtype is None else numpy_dtype(dtype)))


def _filled(v: Sequence[Expr], args: Sequence[Any], out: Any) -> Expr:
    fill = element(args[1], [], ())
    return cast_to(fill, out.dtype)


def _constant(value: int) -> Legalize:
    return generated(lambda v, args, out: const(value, out.dtype))


for _name, _number in (("zeros", 0), ("ones", 1)):
    register(
        GraphOp(
            _name,
            (Parameter("shape", "shape"), DTYPE),
            _infer_shape,
            f"A tensor of {_name}.",
            f'G.{_name}((2, 3), dtype="float32")',
            reference=_np_of(_number),
            legalize=_constant(_number),
            fusion=INJECTIVE,
        )
    )
    register(
        GraphOp(
            f"{_name}_like",
            (Parameter("x"), DTYPE_OF_ARGUMENT),
            _infer_like,
            f"A tensor of {_name} with the shape of another.",
            f"G.{_name}_like(x: (2, 3))",
            reference=_np_like(_number),
            legalize=_constant(_number),
            fusion=ELEMENTWISE,
        )
    )
register(
    GraphOp(
        "full",
        (Parameter("shape", "shape"), FILL, DTYPE_OF_ARGUMENT),
        _infer_full,
        "A tensor of one value.",
        "G.full((2, 3), fill_value: ())",
        reference=_np_full,
        legalize=generated(_filled),
        fusion=INJECTIVE,
    )
)
register(
    GraphOp(
        "full_like",
        (Parameter("x"), FILL, DTYPE_OF_ARGUMENT),
        _infer_like,
        "A tensor of one value with the shape of another.",
        "G.full_like(x: (2, 3), fill_value: ())",
        reference=_np_full_like,
        legalize=generated(_filled),
        fusion=ELEMENTWISE,
    )
)

# -- ranges


def _bind_arange(given: dict[str, Any]) -> dict[str, Any]:
    """`arange(4)` is `arange(0, 4, 1)`; the dtype is int64 unless a bound is a float."""
    if given["end"] is None:
        given = {**given, "start": 0, "end": given["start"]}
    if given["dtype"] is None:
        bounds = [_number_type(given[name]) for name in ("start", "end", "step")]
        given = {**given, "dtype": FLOAT32 if any(one.is_float for one in bounds) else INT64}
    return given


def _number_type(value: Any) -> DType:
    if isinstance(value, PrimValue):
        return value.value.dtype
    if isinstance(value, Expr):
        return value.dtype
    return FLOAT64 if isinstance(value, float) else INT64


def _infer_arange(call: OpCall, types: Types) -> GraphType:
    values = [scalar(call, types, at, NUMBERS, "a number") for at in range(3)]
    kind = call.attrs["dtype"]
    if any(value is None for value in values):
        return of_rank(1, kind)
    start, end, step = (value for value in values if value is not None)
    if is_const(step, 0):
        refuse(call, "`step` is 0", "a range has a step of at least 1 or at most -1", "T032")
    if all(type(value) is Const for value in (start, end, step)):
        first, last, by = (value.value for value in (start, end, step))  # type: ignore[attr-defined]
        count = (last - first) / by
        if not abs(count) < 1 << 63:
            refuse(call, f"from {first} to {last} by {by} there is no number of elements", None, "T032")
        return TensorType(dims.shape([max(0, math.ceil(count))]), kind)
    if any(value.dtype.is_float for value in (start, end, step)):
        return of_rank(1, kind)
    if type(step) is not Const:  # whichever sign it has, it is rounded up so
        length = dims.sub(0, dims.floordiv(dims.sub(start, end), step))
        return TensorType((dims.maximum(length, 0),), kind)
    by = int(step.value)
    length = dims.ceildiv(dims.sub(end, start), by) if by > 0 else dims.ceildiv(dims.sub(start, end), -by)
    # a symbolic end below the start gives no elements
    from_zero = is_const(start, 0) and by > 0
    return TensorType((length if from_zero else dims.maximum(length, 0),), kind)


def _length(call: OpCall, types: Types, at: int) -> Expr | None:
    """A scalar that is a dimension of the result."""
    return scalar(call, types, at, INTS, "a dimension, an integer")


def _np_arange(start: Any, end: Any, step: Any, dtype: DType) -> Any:
    import numpy as np

    start, end, step = (one.item() if isinstance(one, np.generic) else one for one in (start, end, step))
    count = max(0, math.ceil((end - start) / step))
    return (start + np.arange(count) * step).astype(numpy_dtype(dtype))


def _in_range(v: Sequence[Expr], args: Sequence[Any], out: Any) -> Expr:
    start, step = args[0], args[2]
    if isinstance(start, float) or isinstance(step, float):
        return cast_to(_double(start) + cast_to(v[0], FLOAT64) * _double(step), out.dtype)
    at = cast_to(v[0], INT64)
    far = at if type(step) is int and step == 1 else at * step
    return cast_to(far if type(start) is int and start == 0 else far + start, out.dtype)


register(
    GraphOp(
        "arange",
        (
            Parameter("start", "prim"),
            Parameter("end", "prim", None),
            Parameter("step", "prim", 1),
            attr("dtype", element_type, None),
        ),
        _infer_arange,
        "The numbers from start up to end, which is not among them.",
        'G.arange(0, 10, 2, dtype="int64")',
        reference=_np_arange,
        bind=_bind_arange,
        legalize=generated(_in_range),
        fusion=INJECTIVE,
    )
)


def _infer_window(call: OpCall, types: Types) -> GraphType:
    length = _length(call, types, 0)
    scalar(call, types, 1, INTS_OR_BOOLS, "a bool")
    for at in (2, 3):
        scalar(call, types, at, NUMBERS, "a number")
    return of_rank(1, call.attrs["dtype"]) if length is None else TensorType((dims.dim(length),), call.attrs["dtype"])


def _np_window(length: int, periodic: Any, alpha: float, beta: float, dtype: DType) -> Any:
    import numpy as np

    span = length if periodic else length - 1
    return (alpha - beta * np.cos(2 * np.pi * np.arange(length) / max(span, 1))).astype(numpy_dtype(dtype))


def _window(v: Sequence[Expr], args: Sequence[Any], out: Any) -> Expr:
    length, periodic, alpha, beta = args
    if isinstance(periodic, Expr):  # known when the program runs
        span = length - cast_to(OPS["equal"](periodic, const(0, periodic.dtype)), INT64)
    else:
        span = length if periodic else length - 1
    divisor = (
        cast_to(OPS["max"](span, const(1, span.dtype)), FLOAT64)
        if isinstance(span, Expr)
        else const(max(span, 1), FLOAT64)
    )
    angle = cast_to(v[0], FLOAT64) * const(2 * math.pi, FLOAT64) / divisor
    return cast_to(_double(alpha) - _double(beta) * OPS["cos"](angle), out.dtype)


def _double(value: Any) -> Expr:
    return cast_to(value, FLOAT64) if isinstance(value, Expr) else const(value, FLOAT64)


register(
    GraphOp(
        "hamming_window",
        (
            Parameter("window_size", "prim"),
            Parameter("periodic", "prim", True),
            Parameter("alpha", "prim", 0.54),
            Parameter("beta", "prim", 0.46),
            attr("dtype", element_type, FLOAT32),
        ),
        _infer_window,
        "alpha - beta * cos(2 pi i / window_size); divided by window_size - 1 where it is not periodic.",
        'G.hamming_window(10, True, 0.54, 0.46, dtype="float32")',
        reference=_np_window,
        legalize=generated(_window),
        fusion=INJECTIVE,
    )
)

# -- diagonals

_DIAGONAL = Parameter("k", "prim", 0)


def _check_diagonal(call: OpCall, types: Types, at: int) -> None:
    scalar(call, types, at, INTS, "the number of a diagonal, an integer")


def _bind_eye(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "m": given["n"]} if given["m"] is None else given


def _infer_eye(call: OpCall, types: Types) -> GraphType:
    n, m = (_length(call, types, at) for at in (0, 1))
    _check_diagonal(call, types, 2)
    if n is None or m is None:
        return of_rank(2, call.attrs["dtype"])
    return TensorType(dims.shape((n, m)), call.attrs["dtype"])


def _infer_eye_like(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    if kind.rank not in (None, 2):
        refuse(call, f"`x` is a matrix, not a tensor of {counted(kind.rank, 'dimension')}")
    _check_diagonal(call, types, 1)
    return like(kind, dtype=call.attrs["dtype"] or kind.dtype)


def _signed(k: Any) -> Any:
    """The number of a diagonal as one that rows and columns, which are signed, are added to."""
    return cast_to(k, INT64) if isinstance(k, Expr) and not k.dtype.is_signed else k


def _one_on_diagonal(v: Sequence[Expr], args: Sequence[Any], out: Any) -> Expr:
    return cast_to(OPS["equal"](v[0] + _signed(args[-1]), v[1]), out.dtype)


def _np_eye(n: int, m: int, k: Any, dtype: DType) -> Any:
    import numpy as np

    return np.eye(n, m, int(k), dtype=numpy_dtype(dtype))


def _np_eye_like(x: Any, k: Any, dtype: DType | None) -> Any:
    import numpy as np

    return np.eye(x.shape[0], x.shape[1], int(k), dtype=x.dtype if dtype is None else numpy_dtype(dtype))


register(
    GraphOp(
        "eye",
        (Parameter("n", "prim"), Parameter("m", "prim", None), _DIAGONAL, attr("dtype", element_type, FLOAT32)),
        _infer_eye,
        "A matrix of ones on diagonal k and zeros elsewhere.",
        'G.eye(3, 4, 1, dtype="float32")',
        reference=_np_eye,
        bind=_bind_eye,
        legalize=generated(_one_on_diagonal),
        fusion=INJECTIVE,
    )
)
register(
    GraphOp(
        "eye_like",
        (Parameter("x"), _DIAGONAL, DTYPE_OF_ARGUMENT),
        _infer_eye_like,
        "`eye` of the shape of another matrix.",
        "G.eye_like(x: (3, 4), 1)",
        reference=_np_eye_like,
        legalize=generated(_one_on_diagonal),
        fusion=ELEMENTWISE,
    )
)


def _infer_triangle(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    if kind.rank is not None and kind.rank < 2:
        refuse(call, f"`x` must have at least 2 dimensions, not {kind.rank}")
    _check_diagonal(call, types, 1)
    return like(kind)


def _triangle(upper: bool) -> Callable[..., Expr]:
    def value(v: Sequence[Expr], args: Sequence[Any], out: Any) -> Expr:
        x, k = args
        row, column = v[-2] + _signed(k), v[-1]
        inside = OPS["greater_equal"](column, row) if upper else OPS["less_equal"](column, row)
        return OPS["Select"](inside, element(x, v, out.shape), const(0, out.dtype))

    return value


def _np_triangle(name: str) -> Callable[..., Any]:
    def reference(x: Any, k: Any) -> Any:
        import numpy as np

        return getattr(np, name)(x, int(k))

    return reference


for _name, _part in (("tril", "below"), ("triu", "above")):
    register(
        GraphOp(
            _name,
            (Parameter("x"), _DIAGONAL),
            _infer_triangle,
            f"The elements on diagonal k and {_part} it; the others are 0.",
            f"G.{_name}(x: (3, 4), 1)",
            reference=_np_triangle(_name),
            legalize=generated(_triangle(_name == "triu")),
            fusion=ELEMENTWISE,
        )
    )

__all__ = ["generated"]
