"""Greatest elements and means of windows, and means that give a wanted size, over 1, 2 and 3 dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import FOLLOW, REDUCTION, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from . import dims
from .attrs import attr, boolean, borders, each, text
from .axes import (
    SPACE,
    arranged,
    axis_at,
    by_letter,
    check_layout,
    extents,
    extents_of,
    placed,
    rank_of_layout,
    rearranged,
    shape_in,
    space_of,
)
from .kernel import T, kernel, size
from .nn_conv import both, scaled
from .reduce import accumulator, extreme_reference, least
from .reference import Reference, wide
from .rules import NUMBERS, Types, like, of_rank, rank_of, refuse, tensor
from .table import register


def _out_layout(attrs: dict[str, Any]) -> dict[str, Any]:
    return {**attrs, "out_layout": attrs["out_layout"] or attrs["layout"]}


def _infer(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, NUMBERS)
    attrs = call.attrs
    rank = len(attrs["pool_size"])
    layout, out_layout = (check_layout(call, name, "NC" + SPACE[rank], "NC") for name in ("layout", "out_layout"))
    rank_of(call, kind, 0, rank_of_layout(layout))
    if any(one < 1 for name in ("pool_size", "strides", "dilation") for one in attrs[name]):
        refuse(call, "sizes, strides and dilation are 1 or more", None, "T032")
    if kind.shape is None:
        return of_rank(rank_of_layout(out_layout), kind.dtype, kind.vdevice)
    found = extents_of(call, "layout", layout, kind.shape)
    for at, letter in enumerate(SPACE[rank]):
        found[letter] = _length(call, found[letter], at, rank)
    return like(kind, shape=shape_in(call, out_layout, found))


def _length(call: OpCall, data: Expr, at: int, rank: int) -> Expr:
    """(data + padding - dilation * (window - 1) - 1) / stride + 1, rounded down or up.

    Rounded up, a last window that would begin behind the data and the padding before them is left out.
    """
    attrs = call.attrs
    stride, before, behind = attrs["strides"][at], attrs["padding"][at], attrs["padding"][at + rank]
    reach = attrs["dilation"][at] * (attrs["pool_size"][at] - 1) + 1
    rest = dims.sub(dims.add(data, before + behind), reach)
    if (dims.number(rest) or 0) < 0:
        refuse(call, f"a window of {reach} does not fit the {dims.text(data)} elements of a dimension and its padding")
    if not attrs["ceil_mode"]:
        return dims.add(dims.floordiv(rest, stride), 1)
    count = dims.ceildiv(rest, stride)
    if behind + stride <= reach:  # the last begins before that
        return dims.add(count, 1)
    return dims.maximum(count, dims.minimum(dims.add(count, 1), dims.ceildiv(dims.add(data, before), stride)))


# -- kernels


def window_place(v: Sequence[Any], rank: int, layouts: Sequence[str], places: Any) -> dict[str, Any]:
    """The place in the data, by letters, of an element of the result and of the window; it may lie in the padding."""
    strides, dilation, padding = places
    whole = rank_of_layout(layouts[1])
    found = by_letter(layouts[1], v[:whole])
    for at, letter in enumerate(SPACE[rank]):
        start = scaled(found[letter], strides[at])
        start = start - padding[at] if padding[at] else start
        found[letter] = start + scaled(v[whole + at], dilation[at])
    return found


def in_window(v: Sequence[Any], data: Any, layouts: Sequence[str], places: Any, sure: Sequence[bool]) -> Expr:
    """Whether that place is in the data; dimensions whose windows never leave it are not asked."""
    rank = len(places[0])
    place = window_place(v, rank, layouts, places)
    found: Expr = const(True)
    for at, letter in enumerate(SPACE[rank]):
        if not sure[at]:
            found = both(found, OPS["greater_equal"](place[letter], 0))
            found = both(found, OPS["less"](place[letter], size(data, axis_at(layouts[0], letter))))
    return found


def data_index(v: Sequence[Any], layouts: Sequence[str], places: Any) -> list[Any]:
    """That place as indices."""
    place = window_place(v, len(places[0]), layouts, places)
    return placed(layouts[0], place)


def _max_pool(data: Any, out: Any, *, pool_size: Any, layouts: Any, places: Any, sure: Any, start: Any) -> None:
    for (*i,) in T.grid(*out.shape, *pool_size):
        with T.block("max_pool"):
            (*v,) = T.axis.remap("S" * out.ndim + "R" * len(pool_size), i)
            with T.init():
                out[*v[: out.ndim]] = start
            if all(sure):
                out[*v[: out.ndim]] = T.max(data[*data_index(v, layouts, places)], out[*v[: out.ndim]])
            else:
                out[*v[: out.ndim]] = T.max(
                    T.if_then_else(
                        in_window(v, data, layouts, places, sure), data[*data_index(v, layouts, places)], start
                    ),
                    out[*v[: out.ndim]],
                )


def _avg_pool(
    data: Any, out: Any, *, pool_size: Any, layouts: Any, places: Any, sure: Any, inside: Any, acc: Any,
    count_include_pad: Any,
) -> None:  # fmt: skip
    total = T.alloc_buffer(out.shape, acc)
    for (*i,) in T.grid(*out.shape, *pool_size):
        with T.block("sum"):
            (*v,) = T.axis.remap("S" * out.ndim + "R" * len(pool_size), i)
            with T.init():
                total[*v[: out.ndim]] = T.cast(0, acc)
            if all(sure):
                total[*v[: out.ndim]] = total[*v[: out.ndim]] + T.cast(data[*data_index(v, layouts, places)], acc)
            else:
                total[*v[: out.ndim]] = total[*v[: out.ndim]] + T.if_then_else(
                    in_window(v, data, layouts, places, sure),
                    T.cast(data[*data_index(v, layouts, places)], acc),
                    T.cast(0, acc),
                )
    for (*i,) in T.grid(*out.shape):
        with T.block("mean"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = mean(
                total[*v],
                window_count(v, data, pool_size, layouts, places, sure, inside, count_include_pad),
                out.dtype,
            )


def mean(total: Expr, number: Any, kind: Any) -> Expr:
    """total / number, of a dtype."""
    divisor = const(number, total.dtype) if type(number) is int else cast_to(number, total.dtype)
    return cast_to(total / divisor if total.dtype.is_float else OPS["truncdiv"](total, divisor), kind)


def window_count(
    v: Sequence[Any], data: Any, pool: Sequence[int], layouts: Any, places: Any, sure: Any, inside: Any, padded: bool
) -> Any:
    """The number of elements of a window that count; at least 1.

    Where the padding counts, what `ceil_mode` adds behind it does not.
    """
    strides, dilation, padding = places
    found: Any = 1
    result = by_letter(layouts[1], v)
    for at, letter in enumerate(SPACE[len(pool)]):
        if sure[at] or (padded and inside[at]):
            found = times(found, pool[at])
            continue
        start = scaled(result[letter], strides[at]) - padding[at]
        end = size(data, axis_at(layouts[0], letter)) + (padding[at + len(pool)] if padded else 0)
        by = dilation[at]
        first = 0 if padded else OPS["max"](-start if by == 1 else (by - 1 - start) // by, 0)
        last = OPS["min"](end - start if by == 1 else (end + (by - 1) - start) // by, pool[at])
        found = times(OPS["max"](last - first, 0), found)
    return found if type(found) is int else OPS["max"](found, 1)


def times(a: Any, b: Any) -> Any:
    """a * b."""
    return a if type(b) is int and b == 1 else b if type(a) is int and a == 1 else a * b


def pool_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    """What a kernel of windows takes; None where the shapes are not known."""
    kind, to = tensor(call, types, 0), call.op.infer(call, types)
    if kind.shape is None or kind.dtype is None or type(to) is not TensorType or to.shape is None:
        return None
    attrs = call.attrs
    rank = len(attrs["pool_size"])
    data, out = extents(attrs["layout"], kind.shape, dims.mul), extents(attrs["out_layout"], to.shape, dims.mul)
    sure, inside = [], []
    for at, letter in enumerate(SPACE[rank]):
        extent, length = dims.number(data[letter]), dims.number(out[letter])
        reach = attrs["dilation"][at] * (attrs["pool_size"][at] - 1) + 1
        beyond = None  # how far the last window, from the start of the padding, goes beyond the data
        if extent is not None and length is not None:
            beyond = (length - 1) * attrs["strides"][at] + reach - extent
        fits = beyond is not None and beyond <= 0
        around = attrs["padding"][at] + attrs["padding"][at + rank]
        inside.append(not attrs["ceil_mode"] or (beyond is not None and beyond <= around))
        exact = not attrs["ceil_mode"] and attrs["padding"][at + rank] == 0  # the last window ends in the data
        sure.append(attrs["padding"][at] == 0 and (fits or (exact and extent is None)))
    return {
        "layouts": (attrs["layout"], attrs["out_layout"]),
        "places": (attrs["strides"], attrs["dilation"], attrs["padding"]),
        "sure": tuple(sure),
        "inside": tuple(inside),
        "start": least(kind.dtype),
        "acc": accumulator(kind.dtype),
    }


# -- adaptive


def _infer_adaptive(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, NUMBERS)
    rank = int(call.op.name[-2])
    layout, out_layout = (check_layout(call, name, "NC" + SPACE[rank], "NC") for name in ("layout", "out_layout"))
    rank_of(call, kind, 0, rank_of_layout(layout))
    if kind.shape is None:
        return of_rank(rank_of_layout(out_layout), kind.dtype, kind.vdevice)
    found = extents_of(call, "layout", layout, kind.shape)
    for at, letter in enumerate(SPACE[rank]):
        if call.attrs["output_size"] is not None:
            if call.attrs["output_size"][at] < 1:
                refuse(call, "`output_size` is 1 or more", None, "T032")
            found[letter] = dims.dim(call.attrs["output_size"][at])
    return like(kind, shape=shape_in(call, out_layout, found))


def _adaptive(data: Any, out: Any, *, layouts: Any, windows: Any, acc: Any) -> None:
    total = T.alloc_buffer(out.shape, acc)
    for (*i,) in T.grid(*out.shape, *windows):
        with T.block("sum"):
            (*v,) = T.axis.remap("S" * out.ndim + "R" * len(windows), i)
            with T.init():
                total[*v[: out.ndim]] = T.cast(0, acc)
            total[*v[: out.ndim]] = total[*v[: out.ndim]] + where(
                in_part(v, data, out, layouts), T.cast(data[*part_place(v, data, out, layouts)], acc), T.cast(0, acc)
            )
    for (*i,) in T.grid(*out.shape):
        with T.block("mean"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = mean(total[*v], part_count(v, data, out, layouts), out.dtype)


def where(condition: Expr, value: Expr, other: Expr) -> Expr:
    """value where the condition is true."""
    return value if getattr(condition, "value", None) is True else OPS["if_then_else"](condition, value, other)


def _bounds(v: Sequence[Any], data: Any, out: Any, layouts: Sequence[str]) -> list[tuple[str, Any, Any]]:
    """The first element and the end of the part of each dimension that goes into an element of the result."""
    found = []
    result = by_letter(layouts[1], v[: out.ndim])
    for letter in space_of(layouts):
        extent, length = size(data, axis_at(layouts[0], letter)), size(out, axis_at(layouts[1], letter))
        at = result[letter]
        if type(extent) is int and type(length) is int and extent % length == 0:
            found.append((letter, scaled(at, extent // length), scaled(at, extent // length) + extent // length))
        else:
            found.append((letter, at * extent // length, ((at + 1) * extent + (length - 1)) // length))
    return found


def in_part(v: Sequence[Any], data: Any, out: Any, layouts: Sequence[str]) -> Expr:
    """Whether an element of the largest part is one of this part."""
    found: Expr = const(True)
    for at, (letter, first, end) in enumerate(_bounds(v, data, out, layouts)):
        extent, length = size(data, axis_at(layouts[0], letter)), size(out, axis_at(layouts[1], letter))
        if not (type(extent) is int and type(length) is int and extent % length == 0):
            found = both(found, OPS["less"](first + v[out.ndim + at], end))
    return found


def part_place(v: Sequence[Any], data: Any, out: Any, layouts: Sequence[str]) -> list[Any]:
    """The place of that element in the data."""
    place = by_letter(layouts[1], v[: out.ndim])
    for at, (letter, first, _) in enumerate(_bounds(v, data, out, layouts)):
        place[letter] = first + v[out.ndim + at]
    return placed(layouts[0], place)


def part_count(v: Sequence[Any], data: Any, out: Any, layouts: Sequence[str]) -> Any:
    """The number of elements of a part."""
    found: Any = 1
    for letter, first, end in _bounds(v, data, out, layouts):
        extent, length = size(data, axis_at(layouts[0], letter)), size(out, axis_at(layouts[1], letter))
        if type(extent) is int and type(length) is int and extent % length == 0:
            found = times(found, extent // length)
        else:
            found = times(end - first, found)
    return found


def _adaptive_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind, to = tensor(call, types, 0), call.op.infer(call, types)
    if kind.shape is None or kind.dtype is None or type(to) is not TensorType or to.shape is None:
        return None
    attrs = call.attrs
    data, out = extents(attrs["layout"], kind.shape, dims.mul), extents(attrs["out_layout"], to.shape, dims.mul)
    windows: list[Expr] = []
    for letter in space_of((attrs["layout"],)):
        extent, length = dims.number(data[letter]), dims.number(out[letter])
        if extent is None or length is None:
            if dims.same(data[letter], out[letter]):
                windows.append(dims.ONE)
                continue
            if length != 1:
                return None
            windows.append(data[letter])
        else:
            windows.append(
                dims.dim(max(-(-(at + 1) * extent // length) - at * extent // length for at in range(length)))
            )
    return {"layouts": (attrs["layout"], attrs["out_layout"]), "windows": windows, "acc": accumulator(kind.dtype)}


# -- references


def padded_count(place: Sequence[int], extents: Sequence[int], attrs: Mapping[str, Any]) -> int:
    """The number of elements of a window that are data or padding."""
    pool, strides, padding, dilation = (attrs[k] for k in ("pool_size", "strides", "padding", "dilation"))
    rank, found = len(pool), 1
    for at in range(rank):
        end = extents[at] + padding[at] + padding[at + rank]
        found *= len(range(place[at] * strides[at], end, dilation[at])[: pool[at]])
    return found


def _np_pool(kind: str) -> Reference:
    def reference(data: Any, **attrs: Any) -> Any:
        import numpy as np

        pool, strides, padding, dilation = (attrs[k] for k in ("pool_size", "strides", "padding", "dilation"))
        rank = len(pool)
        x = arranged(data, attrs["layout"], "NC" + SPACE[rank])
        rest = [
            x.shape[2 + at] + padding[at] + padding[at + rank] - dilation[at] * (pool[at] - 1) - 1 for at in range(rank)
        ]
        sizes = [one // s + 1 for one, s in zip(rest, strides, strict=True)]
        if attrs["ceil_mode"]:
            counts = [-(-one // s) for one, s in zip(rest, strides, strict=True)]
            ends = [x.shape[2 + at] + padding[at] for at in range(rank)]
            sizes = [n + (n * s < end) for n, s, end in zip(counts, strides, ends, strict=True)]
        found: Any = np.zeros((*x.shape[:2], *sizes), x.dtype)
        for place in itertools.product(*map(range, sizes)):
            axes = []
            for at in range(rank):
                taps = [place[at] * strides[at] - padding[at] + k * dilation[at] for k in range(pool[at])]
                axes.append([one for one in taps if 0 <= one < x.shape[2 + at]])
            part = x[np.ix_(range(x.shape[0]), range(x.shape[1]), *axes)]
            window = part.reshape(*x.shape[:2], math.prod(part.shape[2:]))
            if kind == "max":
                found[(..., *place)] = extreme_reference(window, -1, "fmax")
            else:
                divisor = padded_count(place, x.shape[2:], attrs) if attrs["count_include_pad"] else window.shape[-1]
                divisor = max(divisor, 1)
                total = window.sum(-1, dtype=x.dtype)
                found[(..., *place)] = np.trunc(total / divisor) if x.dtype.kind in "iu" else total / divisor
        return rearranged(found, "NC" + SPACE[rank], attrs["out_layout"])

    return wide(reference)


def _np_adaptive(data: Any, output_size: Sequence[int] | None, layout: str, out_layout: str) -> Any:
    import numpy as np

    rank = len(space_of((layout,)))
    x = arranged(data, layout, "NC" + SPACE[rank])
    sizes = output_size or x.shape[2:]
    found: Any = np.zeros((*x.shape[:2], *sizes), x.dtype)
    for place in itertools.product(*map(range, sizes)):
        parts = tuple(
            slice(at * extent // length, -(-(at + 1) * extent // length))
            for at, extent, length in zip(place, x.shape[2:], sizes, strict=True)
        )
        part = x[(slice(None), slice(None), *parts)]
        window = part.reshape(*x.shape[:2], math.prod(part.shape[2:]))
        mean = window.sum(-1, dtype=x.dtype) / window.shape[-1]
        found[(..., *place)] = np.trunc(mean) if x.dtype.kind in "iu" else mean
    return rearranged(found, "NC" + SPACE[rank], out_layout)


# -- entries

_EXAMPLES = {1: "(1, 2, 8)", 2: "(1, 2, 8, 8)", 3: "(1, 2, 4, 4, 4)"}

for _rank in (1, 2, 3):
    _layouts = (attr("layout", text, "NC" + SPACE[_rank]), attr("out_layout", text, None))
    for _kind, _kernel, _padded in (("max", _max_pool, False), ("avg", _avg_pool, _rank != 2)):
        register(
            GraphOp(
                f"nn.{_kind}_pool{_rank}d",
                (
                    Parameter("data"),
                    attr("pool_size", each(_rank), (1,) * _rank),
                    attr("strides", each(_rank), (1,) * _rank),
                    attr("padding", borders(_rank), (0,) * 2 * _rank),
                    attr("dilation", each(_rank), (1,) * _rank),
                    attr("ceil_mode", boolean, False),
                    attr("count_include_pad", boolean, _padded),
                    *_layouts,
                ),
                _infer,
                f"The {'greatest element' if _kind == 'max' else 'mean'} of each window.",
                f"G.nn.{_kind}_pool{_rank}d(data: {_EXAMPLES[_rank]}, pool_size={[2] * _rank}, strides={[2] * _rank})",
                reference=_np_pool(_kind),
                complete=_out_layout,
                legalize=kernel(_kernel, pool_parts),
                fusion=REDUCTION,
                narrow=FOLLOW,
            )
        )
    register(
        GraphOp(
            f"nn.adaptive_avg_pool{_rank}d",
            (Parameter("data"), attr("output_size", each(_rank), None), *_layouts),
            _infer_adaptive,
            "The means of parts of a size that gives a wanted number of them.",
            f"G.nn.adaptive_avg_pool{_rank}d(data: {_EXAMPLES[_rank]}, output_size={[1] * _rank})",
            reference=wide(_np_adaptive),
            complete=_out_layout,
            legalize=kernel(_adaptive, _adaptive_parts),
            fusion=REDUCTION,
            narrow=FOLLOW,
        )
    )
