"""Parts of tensors, and larger ones around them: split, strided_slice, slice_scatter, pad."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ..expr import Expr, const
from ..graph import GraphType, ObjectType, OpCall, ShapeType, TensorType, TupleType
from ..graph_op import INJECTIVE, OPAQUE, GraphOp, Parameter
from ..op import OPS
from ..words import counted
from . import computed_sizes, dims
from .attrs import attr, boolean, integer, integers, one_of, real
from .extents import Equal
from .kernel import T, kernel, size
from .rules import (
    INTS,
    Types,
    as_scalar,
    axes_of,
    axis_of,
    common_dtype,
    describe,
    equal_dims,
    like,
    name_of,
    of_rank,
    rank_of,
    refuse,
    scalar,
    tensor,
)
from .table import register

X = Parameter("x")
DATA = Parameter("data")
MOST_PARTS = 1 << 12  # of a split, each of which is a tensor by itself

# -- split


def _sections(value: Any) -> int | tuple[int, ...]:
    return integers(value) if isinstance(value, (tuple, list)) else integer(value)


def _infer_split(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    where = call.attrs["indices_or_sections"]
    count = where if isinstance(where, int) else len(where) + 1
    if count < 1:
        refuse(call, f"`indices_or_sections` is {count}", "there is one part or more", "T032")
    if count > MOST_PARTS:
        refuse(call, f"`indices_or_sections` makes {count:,} parts", f"at most {MOST_PARTS:,} are supported", "T004")
    if kind.rank is None or kind.shape is None:
        if kind.rank is not None:
            axis_of(call, call.attrs["axis"], kind.rank)
        return _parts([of_rank(kind.rank, kind.dtype, kind.vdevice) for _ in range(count)])
    axis = axis_of(call, call.attrs["axis"], kind.rank)
    whole = kind.shape[axis]
    extents = _equal_parts(whole, count) if isinstance(where, int) else _parts_between(whole, where)
    parts = [like(kind, shape=(*kind.shape[:axis], extent, *kind.shape[axis + 1 :])) for extent in extents]
    return _parts(parts)


def _parts(parts: Sequence[GraphType]) -> GraphType:
    """A tuple of parts; one part is a tensor by itself, as it is for apache-tvm."""
    return parts[0] if len(parts) == 1 else TupleType(tuple(parts))


def _equal_parts(whole: Expr, count: int) -> list[Expr]:
    """The sizes of parts of one size, the last of which is what is left."""
    part, total = dims.ceildiv(whole, count), dims.number(whole)
    if total is not None:
        size_of = -(-total // count)
        return [dims.dim(max(0, min(size_of, total - at * size_of))) for at in range(count)]
    return [*[part] * (count - 1), _not_below_zero(dims.sub(whole, dims.mul(part, count - 1)))]


def _parts_between(whole: Expr, where: Sequence[int]) -> list[Expr]:
    """The sizes of the parts that begin at some indices."""
    ends: list[Expr] = [dims.dim(0), *[dims.minimum(at, whole) for at in where], whole]
    return [_not_below_zero(dims.sub(end, start)) for start, end in itertools.pairwise(ends)]


def _not_below_zero(extent: Expr) -> Expr:
    number = dims.number(extent)
    if number is not None:
        return dims.dim(max(number, 0))
    return extent if dims.not_negative(extent) else dims.maximum(extent, 0)


def _split(x: Any, *outs: Any, axis: Any, starts: Any) -> None:
    for k, out in enumerate(outs):
        for (*i,) in T.grid(*out.shape):
            with T.block(f"split_{k}"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = x[*[at + starts[k] if d == axis and k else at for d, at in enumerate(v)]]


def _split_places(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind = tensor(call, types, 0)
    if kind.shape is None:
        return None
    axis = call.attrs["axis"] % len(kind.shape)
    where = call.attrs["indices_or_sections"]
    if not isinstance(where, int):
        return {"axis": axis, "starts": (0, *where)}
    part = dims.ceildiv(kind.shape[axis], where)
    return {"axis": axis, "starts": tuple(dims.mul(part, at) for at in range(where))}


def _whole_parts(call: OpCall, types: Types) -> list[Equal]:
    """What is left for the last of parts of one size: 5 elements make no four, which would be of 2, 2, 2 and -1."""
    kind, where = tensor(call, types, 0), call.attrs["indices_or_sections"]
    if kind.shape is None or not isinstance(where, int) or where <= 2:  # two parts always are
        return []
    axis = call.attrs["axis"] % len(kind.shape)
    whole = kind.shape[axis]
    if dims.number(whole) is not None:
        return []
    rest = dims.sub(whole, dims.mul(dims.ceildiv(whole, where), where - 1))
    what = f"axis {axis} has too few elements for {where} parts, which have one size but for the last one"
    return [(what, _not_below_zero(rest), rest)]


def _np_split(x: Any, indices_or_sections: Any, axis: int) -> Any:
    import numpy as np

    where = indices_or_sections
    if where in (1, (), []):
        return x
    if isinstance(where, int):
        part = -(-x.shape[axis] // where)
        where = [part * at for at in range(1, where)]
    return tuple(np.split(x, where, axis))


register(
    GraphOp(
        "split",
        (X, attr("indices_or_sections", _sections), attr("axis", integer, 0)),
        _infer_split,
        "Parts along an axis: so many of one size, the last one smaller, or those that begin at some indices."
        " One part is no tuple.",
        "G.split(x: (6, 3), indices_or_sections=[1, 3], axis=0)",
        reference=_np_split,
        legalize=kernel(_split, _split_places, equal=_whole_parts),
        fusion=INJECTIVE,
    )
)

# -- strided_slice


def _scalars(call: OpCall, types: Types, at: int) -> list[Expr | None] | None:
    """The scalars of a tuple argument; None where nothing is known."""
    if at >= len(types):
        return []
    kind = types[at]
    if type(kind) is ObjectType:
        return None
    if type(kind) is ShapeType:
        return None if kind.values is None else list(kind.values)
    name = name_of(call, at)
    if type(kind) is not TupleType:
        refuse(call, f"`{name}` is a tuple of integers, not {describe(kind)}", "write `(0, 1)`", "T104")
    return [as_scalar(call, one, f"each of `{name}` is an integer", INTS) for one in kind.fields]


class Slices:
    """Where a strided_slice begins and how far it steps, for each axis that it names, and the shape that it leaves."""

    def __init__(self, call: OpCall, kind: TensorType, types: Types) -> None:
        axes, begin, end, strides = (_scalars(call, types, at) for at in range(1, 5))
        self.known = axes is not None and begin is not None and end is not None and strides is not None
        self.rank = kind.rank
        self.begin: dict[int, Expr] = {}
        self.step: dict[int, int] = {}
        self.shape: list[Expr | None] | None = None if kind.shape is None else list(kind.shape)
        if axes is None or begin is None or end is None or strides is None or self.rank is None:
            return
        if not len(axes) == len(begin) == len(end) or (strides and len(strides) != len(axes)):
            counts = f"{counted(len(axes), 'axis')}, {counted(len(begin), 'begin')}, {counted(len(end), 'end')}"
            refuse(call, f"the tuples differ in length: {counts}", "each axis has one of each")
        numbers = [None if one is None else dims.number(one) for one in axes]
        if None in numbers:
            self.known = False
            return
        self.axes = axes_of(call, [one for one in numbers if one is not None], self.rank, "axes")
        for at, axis in enumerate(self.axes):
            stride = strides[at] if strides else dims.ONE
            step = None if stride is None else dims.number(stride)
            if step == 0:
                refuse(call, f"the stride of axis {axis} is 0", "a stride is at least 1 or at most -1", "T032")
            self._axis(axis, begin[at], end[at], step, bool(call.attrs["assume_inbound"]))

    def _axis(self, axis: int, begin: Expr | None, end: Expr | None, step: int | None, sure: bool) -> None:
        extent = None if self.shape is None else self.shape[axis]
        if begin is None or end is None or step is None or extent is None:
            self.known = False
            if self.shape is not None:
                self.shape[axis] = None
            return
        assert self.shape is not None
        if sure:
            first, last = dims.dim(begin), dims.dim(end)
        else:
            low, high = (0, extent) if step > 0 else (-1, dims.sub(extent, 1))
            last = _within(end, extent, low, high)
            # nothing is left where it begins behind the end, wherever that is
            first = _within(begin, extent, low, None if step > 0 and dims.number(extent) is None else high)
        far = dims.sub(last, first) if step > 0 else dims.sub(first, last)
        count = dims.ceildiv(far, abs(step))
        self.begin[axis], self.step[axis] = first, step
        self.shape[axis] = count if sure else dims.maximum(count, 0)


def _within(value: Expr, extent: Expr, low: int | Expr, high: int | Expr | None) -> Expr:
    """An index counted from the front and brought between two ends, as Python's slices do; None is no end."""
    number, size_of = dims.number(value), dims.number(extent)
    if number is not None and size_of is not None and high is not None:
        bottom, top = dims.number(dims.dim(low)), dims.number(dims.dim(high))
        assert bottom is not None and top is not None
        return dims.dim(min(max(number + size_of if number < 0 else number, bottom), top))
    if number is not None:
        from_front = dims.add(value, extent) if number < 0 else dims.dim(value)
    else:
        given = dims.dim(value)
        from_front = (
            given if dims.not_negative(given) else OPS["if_then_else"](given < 0, dims.add(value, extent), given)
        )
    above = (
        from_front if type(low) is int and low == 0 and dims.not_negative(from_front) else dims.maximum(from_front, low)
    )
    return above if high is None else dims.minimum(above, high)


def _infer_slice(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    found = Slices(call, kind, types)
    shape = found.shape
    if shape is None or not found.known or any(one is None for one in shape):
        return of_rank(kind.rank, kind.dtype, kind.vdevice)
    return like(kind, shape=tuple(one for one in shape if one is not None))


def _sliced(x: Any, *rest: Any, begin: Any, step: Any) -> None:
    out = T.meta_var(rest[-1])
    for (*i,) in T.grid(*out.shape):
        with T.block("slice"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = x[*[stepped(at, begin.get(d, 0), step.get(d, 1)) for d, at in enumerate(v)]]


def stepped(at: Expr, begin: Any, step: int) -> Expr:
    """begin + at * step."""
    far = at if step == 1 else at * step
    return far if type(begin) is int and begin == 0 else far + begin


def _slice_places(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    found = Slices(call, tensor(call, types, 0), types)
    return {"begin": found.begin, "step": found.step} if found.known else None


def _np_slice(
    x: Any,
    axes: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    assume_inbound: bool,
) -> Any:
    place: list[Any] = [slice(None)] * x.ndim
    for at, axis in enumerate(axes):
        step = int(strides[at]) if strides else 1
        first, last, extent = int(begin[at]), int(end[at]), x.shape[axis]
        if step < 0:  # an end below the front is no index from the back
            last = max(last + extent if last < 0 else last, -1)
            first = min(first + extent if first < 0 else first, extent - 1)
            place[axis] = slice(first, None if last < 0 else last, step) if first >= 0 else slice(0, 0)
        else:
            place[axis] = slice(first, last, step)
    return x[tuple(place)]


register(
    GraphOp(
        "strided_slice",
        (
            X,
            Parameter("axes", "prims"),
            Parameter("begin", "prims"),
            Parameter("end", "prims"),
            Parameter("strides", "prims", None),
            attr("assume_inbound", boolean, False),
        ),
        _infer_slice,
        "`x[begin:end:stride]` along some axes; `assume_inbound` promises indices between 0 and the length.",
        "G.strided_slice(x: (6, 3), (0,), (1,), (5,), (2,))",
        reference=_np_slice,
        legalize=kernel(_sliced, _slice_places),
        fusion=INJECTIVE,
    )
)


def _infer_dynamic_slice(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    for at in (1, 2, 3):
        bounds = tensor(call, types, at, INTS)
        rank_of(call, bounds, at, 1)
        if bounds.shape is not None and kind.rank is not None:
            what = f"`{name_of(call, at)}` has one element for each dimension of `x`"
            equal_dims(call, bounds.shape[0], dims.dim(kind.rank), what)
    return of_rank(kind.rank, kind.dtype, kind.vdevice)


def _np_dynamic_slice(x: Any, begin: Any, end: Any, strides: Any) -> Any:
    bounds = [[int(one) for one in values] for values in (begin, end, strides)]
    return _np_slice(x, list(range(x.ndim)), *bounds, assume_inbound=False)


register(
    GraphOp(
        "dynamic_strided_slice",
        (X, Parameter("begin"), Parameter("end"), Parameter("strides")),
        _infer_dynamic_slice,
        "`x[begin:end:stride]` along all axes, with bounds known when the program runs.",
        "G.dynamic_strided_slice(x: (6, 3), begin: (2,) int64, end: (2,) int64, strides: (2,) int64)",
        reference=_np_dynamic_slice,
        measured=computed_sizes.dynamic_strided_slice,
        fusion=OPAQUE,
    )
)


def _infer_scatter(call: OpCall, types: Types) -> GraphType:
    kind, source = tensor(call, types, 0), tensor(call, types, 1)
    common_dtype(call, (kind, source), ("`input_tensor`", "`src`"))
    if kind.rank is not None and source.rank is not None and kind.rank != source.rank:
        refuse(call, f"`input_tensor` has {counted(kind.rank, 'dimension')} and `src` {source.rank}")
    if kind.shape is None or kind.rank is None:
        return like(kind)
    axis = axis_of(call, call.attrs["axis"], kind.rank)
    if source.shape is not None:
        part = _scatter_part(call, kind, types, axis)
        for at, (have, want) in enumerate(zip(source.shape, kind.shape, strict=True)):
            wanted = part[2] if at == axis and part is not None else want
            if at != axis or part is not None:
                equal_dims(call, have, wanted, f"dimension {at} of `src` is not that of the slice")
    return like(kind)


def _slice_sizes(call: OpCall, types: Types) -> list[Equal]:
    """The dimensions of what is put in, which are those of the slice."""
    kind, source = tensor(call, types, 0), tensor(call, types, 1)
    assert kind.shape is not None and source.shape is not None
    axis = axis_of(call, call.attrs["axis"], len(kind.shape))
    part = _scatter_part(call, kind, types, axis)
    wanted = [part[2] if at == axis and part is not None else one for at, one in enumerate(kind.shape)]
    return [
        (f"dimension {at} of `src` is not that of the slice", have, want)
        for at, (have, want) in enumerate(zip(source.shape, wanted, strict=True))
    ]


def _scatter_part(call: OpCall, kind: TensorType, types: Types, axis: int) -> tuple[Expr, int, Expr] | None:
    """Where the slice begins, its step, and its length."""
    values = [scalar(call, types, at, INTS, "an integer") for at in (2, 3, 4)]
    if any(one is None for one in values) or kind.shape is None:
        return None
    start, end, stride = (one for one in values if one is not None)
    step = dims.number(stride)
    if step is None:
        return None
    if step < 1:
        refuse(call, f"`step` is {step}", "it is 1 or more", "T032")
    extent = kind.shape[axis]
    first, last = (_within(one, extent, 0, extent) for one in (start, end))
    return first, step, dims.maximum(dims.ceildiv(dims.sub(last, first), step), 0)


def _scatter(input_tensor: Any, src: Any, *rest: Any, begin: Any, by: Any, place: Any) -> None:
    out = T.meta_var(rest[-1])
    for (*i,) in T.grid(*out.shape):
        with T.block("copy"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = input_tensor[*v]
    for (*i,) in T.grid(*src.shape):
        with T.block("scatter"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*[stepped(at, begin, by) if d == place else at for d, at in enumerate(v)]] = src[*v]


def _scatter_place(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind = tensor(call, types, 0)
    if kind.rank is None:
        return None
    axis = call.attrs["axis"] % kind.rank
    part = _scatter_part(call, kind, types, axis)
    return None if part is None else {"begin": part[0], "by": part[1], "place": axis}


def _np_scatter(x: Any, source: Any, start: int, end: int, step: int, axis: int) -> Any:
    found = x.copy()
    place: list[Any] = [slice(None)] * x.ndim
    place[axis] = slice(start, end, step)
    found[tuple(place)] = source
    return found


register(
    GraphOp(
        "slice_scatter",
        (
            Parameter("input_tensor"),
            Parameter("src"),
            Parameter("start", "prim"),
            Parameter("end", "prim"),
            Parameter("step", "prim", 1),
            attr("axis", integer, 0),
        ),
        _infer_scatter,
        "A tensor whose elements `start:end:step` along an axis are those of another one.",
        "G.slice_scatter(input_tensor: (6, 3), src: (2, 3), 1, 3, 1, axis=0)",
        reference=_np_scatter,
        legalize=kernel(_scatter, _scatter_place, equal=_slice_sizes),
        fusion=OPAQUE,
    )
)

# -- pad


def _infer_pad(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    width = call.attrs["pad_width"]
    if len(width) % 2:
        refuse(call, f"`pad_width` has {len(width)} numbers", "two for each dimension: before and after", "T032")
    if kind.rank is not None and len(width) != 2 * kind.rank:
        refuse(
            call,
            f"`pad_width` has {len(width)} numbers for {counted(kind.rank, 'dimension')}",
            "two for each dimension",
        )
    if kind.shape is None:
        return like(kind)
    return like(
        kind,
        shape=tuple(dims.add(one, width[2 * at] + width[2 * at + 1]) for at, one in enumerate(kind.shape)),
    )


def _pad(data: Any, out: Any, *, pad_width: Any, pad_value: Any, pad_mode: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("pad"):
            (*v,) = T.axis.remap("S" * len(i), i)
            if pad_mode == "constant":
                out[*v] = T.if_then_else(
                    inside(v, data, pad_width),
                    data[*[at - pad_width[2 * d] if pad_width[2 * d] else at for d, at in enumerate(v)]],
                    T.cast(pad_value, out.dtype),
                )
            else:
                out[*v] = data[*[_MODES[pad_mode](at - pad_width[2 * d], size(data, d)) for d, at in enumerate(v)]]


def inside(v: Sequence[Expr], data: Any, width: Sequence[int]) -> Expr:
    """Whether a place of the padded tensor is one of the data."""
    tests: list[Expr] = []
    for d, at in enumerate(v):
        if width[2 * d]:
            tests.append(OPS["greater_equal"](at, width[2 * d]))
        if width[2 * d + 1]:
            tests.append(OPS["less"](at, size(data, d) + width[2 * d]))
    found = tests[0] if tests else const(True)
    for one in tests[1:]:
        found = OPS["logical_and"](found, one)
    return found


def _reflected(at: Expr, extent: Any) -> Expr:
    """Mirrored at the first and the last element, as often as it takes."""
    period = 2 * (extent - 1)
    if type(extent) is int and extent == 1:
        return at * 0
    return (extent - 1) - OPS["abs"](at % period - (extent - 1))


def _repeated(at: Expr, extent: Any) -> Expr:
    return OPS["min"](OPS["max"](at, 0), extent - 1)


def _circular(at: Expr, extent: Any) -> Expr:
    return at % extent


_MODES = {"reflect": _reflected, "replicate": _repeated, "circular": _circular}
_NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _np_pad(x: Any, pad_width: Sequence[int], pad_mode: str, pad_value: float) -> Any:
    import numpy as np

    pairs = [tuple(pad_width[at : at + 2]) for at in range(0, len(pad_width), 2)]
    more = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if pad_mode == "constant":
        found = np.pad(x, more, constant_values=np.asarray(pad_value).astype(x.dtype))
    else:
        found = np.pad(x, more, mode=_NUMPY_MODES[pad_mode])  # type: ignore[call-overload]
    # less than nothing is cut off
    return found[tuple(slice(max(-a, 0), size - max(-b, 0)) for (a, b), size in zip(pairs, found.shape, strict=True))]


register(
    GraphOp(
        "nn.pad",
        (
            DATA,
            attr("pad_width", integers),
            attr("pad_mode", one_of("constant", *_MODES), "constant"),
            attr("pad_value", real, 0.0),
        ),
        _infer_pad,
        "Elements added before and after each dimension: of one value, mirrored, of the edge, or from the other end.",
        "G.nn.pad(data: (2, 3), pad_width=[0, 0, 1, 1])",
        reference=_np_pad,
        legalize=kernel(_pad),
        fusion=INJECTIVE,
    )
)
