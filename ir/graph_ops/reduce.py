"""Sums, extremes and other reductions along axes; running sums and products."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..dtype import FLOAT32, INT64, DType
from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import OPAQUE, REDUCTION, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from . import dims
from .attrs import AXES, DTYPE_OF_ARGUMENT, KEEPDIMS, attr, boolean, integer
from .kernel import T, flat, kernel, part, size, unflat
from .reference import NARROW, Reference, quotient, wide
from .rules import NUMBERS, Types, axes_of, axis_of, like, of_rank, tensor
from .table import register

# -- types


def reduced(call: OpCall, kind: TensorType, axes: Sequence[int] | None, keepdims: bool, to: DType | None) -> TensorType:
    """A tensor without some of its axes (all, where there are None), or with these of length 1."""
    if kind.rank is None:
        return of_rank(0 if axes is None and not keepdims else None, to, kind.vdevice)
    gone = axes_of(call, axes, kind.rank)
    if kind.shape is None:
        return of_rank(kind.rank if keepdims else kind.rank - len(gone), to, kind.vdevice)
    if keepdims:
        shape = tuple(dims.ONE if at in gone else one for at, one in enumerate(kind.shape))
    else:
        shape = tuple(one for at, one in enumerate(kind.shape) if at not in gone)
    return TensorType(shape, to, None, kind.vdevice)


def _infer(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    return reduced(call, kind, call.attrs["axis"], call.attrs["keepdims"], kind.dtype)


def _infer_of_numbers(call: OpCall, types: Types) -> GraphType:
    tensor(call, types, 0, NUMBERS)
    return _infer(call, types)


def _infer_place(call: OpCall, types: Types) -> GraphType:
    axis = call.attrs["axis"]
    kind = tensor(call, types, 0, NUMBERS)
    return reduced(call, kind, None if axis is None else (axis,), call.attrs["keepdims"], INT64)


# -- kernels


def accumulator(kind: DType) -> DType:
    """The dtype in which sums of a dtype are computed."""
    return FLOAT32 if kind.name in NARROW else kind


def float_accumulator(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    """The dtype in which a kernel of floats adds up; None where the shape or the dtype is not known."""
    kind = tensor(call, types, 0)
    if kind.dtype is None or kind.rank is None or not kind.dtype.is_float:
        return None
    return {"acc": accumulator(kind.dtype)}


def summed_in(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    """The dtype in which sums or contractions are computed: that of the result, float32 for narrow floats."""
    kind = call.op.infer(call, types)
    if type(kind) is not TensorType or kind.dtype is None:
        return None
    return {"acc": accumulator(kind.dtype)}


def split_axes(rank: int, axes: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """The axes that stay and those that are reduced."""
    gone = sorted(range(rank) if axes is None else {axis % rank for axis in axes})
    return [at for at in range(rank) if at not in gone], gone


def whole_place(v: Sequence[Any], kept: Sequence[int], gone: Sequence[int]) -> list[Any]:
    """The place in the argument, of the values of the axes that stay and then of those that are reduced."""
    by_axis = dict(zip([*kept, *gone], v, strict=True))
    return [by_axis[axis] for axis in range(len(by_axis))]


def result_place(v: Sequence[Any], kept: Sequence[int], gone: Sequence[int], keepdims: bool) -> list[Any]:
    """The place in the result."""
    if not keepdims:
        return list(v[: len(kept)])
    by_axis = dict(zip(kept, v, strict=False))
    return [by_axis.get(axis, 0) for axis in range(len(kept) + len(gone))]


@part
def fold(x: Any, total: Any, *, kept: Any, gone: Any, keepdims: Any, start: Any, step: Any, name: Any) -> None:
    """total = step(total, x) over the axes `gone`, from `start`."""
    for (*i,) in T.grid(*[size(x, d) for d in kept], *[size(x, d) for d in gone]):
        with T.block(name):
            (*v,) = T.axis.remap("S" * len(kept) + "R" * len(gone), i)
            with T.init():
                total[*result_place(v, kept, gone, keepdims)] = start
            total[*result_place(v, kept, gone, keepdims)] = step(
                total[*result_place(v, kept, gone, keepdims)], x[*whole_place(v, kept, gone)]
            )


@part
def each(x: Any, out: Any, *, value: Any, name: Any) -> None:
    """out = value(x), of one shape."""
    for (*i,) in T.grid(*out.shape):
        with T.block(name):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = value(x[*v])


def _reduce(x: Any, out: Any, *, axis: Any, keepdims: Any, acc: Any, start: Any, step: Any, last: Any) -> None:
    kept, gone = split_axes(x.ndim, axis)
    if acc is out.dtype and last is None:
        fold(x, out, kept=kept, gone=gone, keepdims=keepdims, start=start, step=step, name="reduce")
    else:
        total = T.alloc_buffer(out.shape, acc)
        fold(x, total, kept=kept, gone=gone, keepdims=keepdims, start=start, step=step, name="reduce")
        each(total, out, value=finished(last, out.dtype, [size(x, d) for d in gone]), name="finish")


def finished(last: Any, kind: DType, sizes: Sequence[Any]) -> Callable[[Expr], Expr]:
    """What makes an element of the result of its total."""
    return lambda total: cast_to(total if last is None else last(total, count(sizes, total.dtype)), kind)


def count(sizes: Sequence[Any], kind: DType) -> Expr:
    """The number of elements along some axes, as a value of a dtype."""
    number = math.prod(one for one in sizes if type(one) is int)
    found: Any = number
    for one in sizes:
        if type(one) is not int:
            found = one if type(found) is int and found == 1 else found * one
    return const(found, kind) if type(found) is int else cast_to(found, kind)


def least(kind: DType) -> Expr:
    """The least value of a dtype."""
    return const(-math.inf if kind.is_float else kind.int_range()[0], kind)


def greatest(kind: DType) -> Expr:
    """The greatest value of a dtype."""
    return const(math.inf if kind.is_float else kind.int_range()[1], kind)


# as numpy has it, bools have a sum and a greatest one, which is true where one of them is, and a product likewise


def _adds(total: Expr, one: Expr) -> Expr:
    one = cast_to(one, total.dtype)
    return OPS["logical_or"](total, one) if total.dtype.is_bool else total + one


def _multiplies(total: Expr, one: Expr) -> Expr:
    one = cast_to(one, total.dtype)
    return OPS["logical_and"](total, one) if total.dtype.is_bool else total * one


def _greater(total: Expr, one: Expr) -> Expr:
    # in this order nan is left out, wherever it stands
    return OPS["logical_or"](total, one) if total.dtype.is_bool else OPS["max"](one, total)


def _lesser(total: Expr, one: Expr) -> Expr:
    return OPS["logical_and"](total, one) if total.dtype.is_bool else OPS["min"](one, total)


def _divided(total: Expr, number: Expr) -> Expr:
    return total / number if total.dtype.is_float else OPS["truncdiv"](total, number)


def _by(start: Callable[[DType], Expr], step: Callable[..., Expr], last: Any = None, wider: bool = True) -> Any:
    def prepare(call: OpCall, types: Types) -> Mapping[str, Any] | None:
        kind = tensor(call, types, 0)
        if kind.dtype is None:
            return None
        acc = accumulator(kind.dtype) if wider else kind.dtype
        return {"acc": acc, "start": start(acc)}

    return kernel(_reduce, prepare, step=step, last=last)


def _variance(x: Any, out: Any, *, axis: Any, keepdims: Any, acc: Any, root: Any) -> None:
    kept, gone = split_axes(x.ndim, axis)
    mean = T.alloc_buffer(out.shape, acc)
    total = T.alloc_buffer(out.shape, acc)
    fold(x, mean, kept=kept, gone=gone, keepdims=keepdims, start=const(0, acc), step=_adds, name="sum")
    for (*i,) in T.grid(*[size(x, d) for d in kept], *[size(x, d) for d in gone]):
        with T.block("squares"):
            (*v,) = T.axis.remap("S" * len(kept) + "R" * len(gone), i)
            with T.init():
                total[*result_place(v, kept, gone, keepdims)] = const(0, acc)
            total[*result_place(v, kept, gone, keepdims)] = total[*result_place(v, kept, gone, keepdims)] + squared(
                x[*whole_place(v, kept, gone)],
                mean[*result_place(v, kept, gone, keepdims)],
                count([size(x, d) for d in gone], acc),
            )
    each(total, out, value=finished(_root if root else _divided, out.dtype, [size(x, d) for d in gone]), name="finish")


def squared(x: Expr, total: Expr, number: Expr) -> Expr:
    """The square of an element's distance from the mean."""
    apart = cast_to(x, total.dtype) - total / number
    return apart * apart


def _root(total: Expr, number: Expr) -> Expr:
    return OPS["sqrt"](total / number)


def _of_floats(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind = tensor(call, types, 0)
    if kind.dtype is None:
        return None
    return {"acc": accumulator(kind.dtype) if kind.dtype.is_float else FLOAT32}


def _arg(x: Any, out: Any, *, axis: Any, keepdims: Any, start: Any, better: Any) -> None:
    kept, gone = split_axes(x.ndim, None if axis is None else (axis,))
    best = T.alloc_buffer(out.shape, x.dtype)
    for (*i,) in T.grid(*[size(x, d) for d in kept], *[size(x, d) for d in gone]):
        with T.block("find"):
            (*v,) = T.axis.remap("S" * len(kept) + "R" * len(gone), i)
            with T.init():
                best[*result_place(v, kept, gone, keepdims)] = start
                out[*result_place(v, kept, gone, keepdims)] = T.int64(0)
            out[*result_place(v, kept, gone, keepdims)] = T.Select(
                better(x[*whole_place(v, kept, gone)], best[*result_place(v, kept, gone, keepdims)]),
                T.cast(flat(v[len(kept) :], [size(x, d) for d in gone]), "int64"),
                out[*result_place(v, kept, gone, keepdims)],
            )
            best[*result_place(v, kept, gone, keepdims)] = T.Select(
                better(x[*whole_place(v, kept, gone)], best[*result_place(v, kept, gone, keepdims)]),
                x[*whole_place(v, kept, gone)],
                best[*result_place(v, kept, gone, keepdims)],
            )


def _finds(start: Callable[[DType], Expr], better: Callable[[Expr, Expr], Expr]) -> Any:
    def prepare(call: OpCall, types: Types) -> Mapping[str, Any] | None:
        kind = tensor(call, types, 0)
        return None if kind.dtype is None else {"start": start(kind.dtype)}

    return kernel(_arg, prepare, better=better)


# -- references


def _np(name: str) -> Reference:
    def reference(x: Any, axis: Any, keepdims: bool) -> Any:
        import numpy as np

        function = getattr(np, name)
        return function(x, axis=axis, keepdims=keepdims, dtype=x.dtype)

    return wide(reference)


def extreme_reference(x: Any, axes: Any, name: str, keepdims: bool = False) -> Any:
    """`np.fmax` or `np.fmin` along axes, of nothing but nan the infinity that changes no other number."""
    import numpy as np

    below = name == "fmax"
    if x.dtype.kind == "b":
        return np.asarray((np.any if below else np.all)(x, axis=axes, keepdims=keepdims))
    limits = (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    start = np.asarray(limits[0 if below else 1], x.dtype)
    return np.asarray(getattr(np, name).reduce(x, axis=axes, keepdims=keepdims, initial=start))


def _np_extreme(name: str) -> Reference:
    def reference(x: Any, axis: Any, keepdims: bool) -> Any:
        return extreme_reference(x, None if axis is None else tuple(axis), name, keepdims)

    return reference


def _np_mean(x: Any, axis: Any, keepdims: bool) -> Any:
    import numpy as np

    if x.dtype.kind not in "iub":
        return np.mean(x, axis=axis, keepdims=keepdims)
    total = np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return quotient(total, np.asarray(x.size // max(total.size, 1), x.dtype))


def _np_moment(name: str) -> Reference:
    def reference(x: Any, axis: Any, keepdims: bool) -> Any:
        import numpy as np

        values = x if x.dtype.kind == "f" else x.astype(np.float32)
        return np.asarray(getattr(np, name)(values, axis=axis, keepdims=keepdims)).astype(x.dtype)

    return wide(reference)


def _np_place(name: str) -> Reference:
    def reference(x: Any, axis: Any, keepdims: bool) -> Any:
        import numpy as np

        if x.dtype.kind not in "iub":
            x = np.where(np.isnan(x), np.asarray(-np.inf if name == "argmax" else np.inf, x.dtype), x)
        return np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims), np.int64)

    return reference


# -- entries


def _entry(name: str, legalize: Any, reference: Reference, doc: str, infer: Any = _infer) -> None:
    example = f"G.{name}(x: (2, 3, 4), axis=[1], keepdims=False)"
    parameters = (Parameter("x"), AXES, KEEPDIMS)
    register(GraphOp(name, parameters, infer, doc, example, reference=reference, legalize=legalize, fusion=REDUCTION))


def _zero(kind: DType) -> Expr:
    return const(0, kind)


_entry("sum", _by(_zero, _adds), _np("sum"), "The sum of the elements along axes; of bools, whether one is true.")
_entry(
    "mean",
    _by(_zero, _adds, _divided),
    wide(_np_mean),
    "The mean along axes; of integers rounded toward zero.",
    _infer_of_numbers,
)
_entry(
    "prod",
    _by(lambda kind: const(1, kind), _multiplies),
    _np("prod"),
    "The product of the elements along axes; of bools, whether all are true.",
)
_entry(
    "max",
    _by(least, _greater, wider=False),
    wide(_np_extreme("fmax")),
    "The greatest element along axes; nan is left out, and of nothing else it is -inf.",
)
_entry(
    "min",
    _by(greatest, _lesser, wider=False),
    wide(_np_extreme("fmin")),
    "The least element along axes; nan is left out, and of nothing else it is inf.",
)
_entry(
    "variance",
    kernel(_variance, _of_floats, root=False),
    _np_moment("var"),
    "The mean square of the distances from the mean, along axes.",
    _infer_of_numbers,
)
_entry("std", kernel(_variance, _of_floats, root=True), _np_moment("std"), "The root of `variance`.", _infer_of_numbers)

for _name, _start, _better, _doc in (
    (
        "argmax",
        least,
        OPS["greater"],
        "The place of the first greatest element along an axis, or of all in order, but for nan.",
    ),
    (
        "argmin",
        greatest,
        OPS["less"],
        "The place of the first least element along an axis, or of all in order, but for nan.",
    ),
):
    register(
        GraphOp(
            _name,
            (Parameter("x"), attr("axis", integer, None), KEEPDIMS),
            _infer_place,
            _doc,
            f"G.{_name}(x: (2, 3, 4), axis=1)",
            reference=_np_place(_name),
            legalize=_finds(_start, _better),
            fusion=REDUCTION,
        )
    )


# -- running sums


def _infer_scan(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    to = call.attrs["dtype"] or kind.dtype
    if call.attrs["axis"] is not None:
        if kind.rank is not None:
            axis_of(call, call.attrs["axis"], kind.rank)
        return like(kind, dtype=to)
    if kind.shape is None:
        return of_rank(1, to, kind.vdevice)
    return TensorType((dims.product(kind.shape),), to, None, kind.vdevice)


def _scan(data: Any, out: Any, *, axis: Any, exclusive: Any, acc: Any, start: Any, step: Any) -> None:
    outer = scanned(data, out, axis)[0]
    for (*i,) in T.grid(*outer):
        with T.block("scan"):
            (*v,) = T.axis.remap("S" * len(outer), i)
            total = T.cast(start, acc)
            for k in range(scanned(data, out, axis)[1]):
                if exclusive:
                    out[*along(v, k, axis, out.ndim)] = T.cast(total, out.dtype)
                    total = step(total, data[*source_place(v, k, axis, data)])
                else:
                    total = step(total, data[*source_place(v, k, axis, data)])
                    out[*along(v, k, axis, out.ndim)] = T.cast(total, out.dtype)


def scanned(data: Any, out: Any, axis: int | None) -> tuple[list[Any], Any]:
    """The sizes of the axes around the one that is run along, and its own."""
    at = 0 if axis is None else axis % data.ndim
    return [size(out, d) for d in range(out.ndim) if d != at], size(out, at)


def along(v: Sequence[Any], k: Any, axis: int | None, rank: int) -> list[Any]:
    """The place `v` around an axis with `k` on it."""
    at = 0 if axis is None else axis % rank
    return [*v[:at], k, *v[at:]]


def source_place(v: Sequence[Any], k: Any, axis: int | None, data: Any) -> list[Any]:
    """The place in the argument; without an axis that of the element of number `k`."""
    if axis is None:
        return unflat(k, [size(data, d) for d in range(data.ndim)])
    return along(v, k, axis, data.ndim)


def _scans(start: int, step: Callable[..., Expr]) -> Any:
    return kernel(_scan, summed_in, start=start, step=step)


def _np_scan(name: str) -> Reference:
    def reference(x: Any, axis: int | None, dtype: DType | None, exclusive: bool) -> Any:
        import numpy as np

        from .reference import numpy_dtype

        to = x.dtype if dtype is None else numpy_dtype(dtype)
        wider = np.float32 if to.name in NARROW else to
        values = x.reshape(-1) if axis is None else x
        at = axis or 0
        found = getattr(np, name)(values.astype(wider), axis=at, dtype=wider)
        if exclusive and found.shape[at]:
            found = np.roll(found, 1, axis=at)
            first = [slice(None)] * found.ndim
            first[at] = slice(0, 1)
            found[tuple(first)] = 0 if name == "cumsum" else 1
        return found.astype(to)

    return reference


for _name, _first, _step, _doc in (
    ("cumsum", 0, _adds, "The sums of the elements up to each, along an axis, or of all in order."),
    ("cumprod", 1, _multiplies, "The products of the elements up to each, along an axis, or of all in order."),
):
    register(
        GraphOp(
            _name,
            (
                Parameter("data"),
                attr("axis", integer, None),
                DTYPE_OF_ARGUMENT,
                attr("exclusive", boolean, False),
            ),
            _infer_scan,
            _doc,
            f"G.{_name}(data: (2, 3), axis=1)",
            reference=_np_scan(_name),
            legalize=_scans(_first, _step),
            fusion=OPAQUE,
        )
    )
