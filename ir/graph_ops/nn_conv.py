"""Convolutions and transposed convolutions of 1, 2 and 3 dimensions, in any order of the axes.

Layouts name the axes by letters (axes.py); batches and channels may lie in blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import CONTRACTION, GraphOp, Parameter
from ..op import OPS
from ..words import counted
from . import dims
from .attrs import OUT_DTYPE, attr, borders, each, integer, text
from .axes import (
    SPACE,
    arranged,
    axes_of,
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
from .extents import Equal
from .kernel import T, kernel, part, size
from .reduce import summed_in
from .reference import numpy_dtype
from .rules import NUMBERS, Types, common_device, common_dtype, equal_dims, of_rank, rank_of, refuse, tensor
from .table import register


def out_layout(attrs: dict[str, Any]) -> dict[str, Any]:
    """The result has the layout of the data unless it is given one."""
    return {**attrs, "out_layout": attrs["out_layout"] or attrs["data_layout"]}


def infer(call: OpCall, types: Types) -> GraphType:
    data, weight = (tensor(call, types, at, NUMBERS) for at in (0, 1))
    attrs = call.attrs
    space = SPACE[len(attrs["strides"])]
    data_layout = check_layout(call, "data_layout", "NC" + space, "NC")
    kernel_layout = check_layout(call, "kernel_layout", "OI" + space, "OI")
    out_layout = check_layout(call, "out_layout", "NC" + space, "NC")
    rank_of(call, data, 0, rank_of_layout(data_layout))
    rank_of(call, weight, 1, rank_of_layout(kernel_layout))
    kind = attrs["out_dtype"] or common_dtype(call, (data, weight), ("`data`", "`weight`"))
    device = common_device((data, weight))
    transposed = "output_padding" in attrs
    if any(one < 1 for name in ("strides", "dilation") for one in attrs[name]) or attrs["groups"] < 1:
        refuse(call, "strides, dilation and groups are 1 or more", None, "T032")
    if data.shape is None or weight.shape is None:
        return of_rank(rank_of_layout(out_layout), kind, device)
    d = extents_of(call, "data_layout", data_layout, data.shape)
    w = extents_of(call, "kernel_layout", kernel_layout, weight.shape)
    groups = attrs["groups"]
    if transposed:
        what = "the channels of `data` and the input channels of `weight` differ"
        equal_dims(call, d["C"], w["I"], what)
        channels = dims.mul(w["O"], groups)
        _divides(call, groups, d["C"], "the input channels")
    else:
        what = f"the channels of `data` are not the input channels of `weight` times groups ({groups})"
        equal_dims(call, d["C"], dims.mul(w["I"], groups), what)
        channels = w["O"]
        _divides(call, groups, channels, "the output channels")
    found: dict[str, Expr] = {"N": d["N"], "C": channels}
    for at, letter in enumerate(space):
        found[letter] = (_transposed_length if transposed else _length)(call, d[letter], w[letter], at, len(space))
    return TensorType(shape_in(call, out_layout, found), kind, None, device)


def _divides(call: OpCall, groups: int, channels: Expr, what: str) -> None:
    count = dims.number(channels)
    if count is not None and count % groups:
        refuse(call, f"{what} ({count}) are not a multiple of groups ({groups})")


def _length(call: OpCall, data: Expr, window: Expr, at: int, rank: int) -> Expr:
    """(data + padding - dilation * (window - 1) - 1) // stride + 1."""
    attrs = call.attrs
    padded = dims.add(data, attrs["padding"][at] + attrs["padding"][at + rank])
    reach = dims.add(dims.mul(dims.sub(window, 1), attrs["dilation"][at]), 1)
    rest = dims.sub(padded, reach)
    if (dims.number(rest) or 0) < 0:
        refuse(call, f"a window of {dims.text(reach)} does not fit the {dims.text(padded)} elements of a dimension")
    return dims.add(dims.floordiv(rest, attrs["strides"][at]), 1)


def _transposed_length(call: OpCall, data: Expr, window: Expr, at: int, rank: int) -> Expr:
    """(data - 1) * stride - padding + dilation * (window - 1) + output_padding + 1."""
    attrs = call.attrs
    if attrs["output_padding"][at] >= max(attrs["strides"][at], attrs["dilation"][at]):
        refuse(call, "`output_padding` is smaller than the stride or the dilation", None, "T032")
    spread = dims.mul(dims.sub(data, 1), attrs["strides"][at])
    reach = dims.mul(dims.sub(window, 1), attrs["dilation"][at])
    extra = attrs["output_padding"][at] + 1 - attrs["padding"][at] - attrs["padding"][at + rank]
    return dims.add(dims.add(spread, reach), extra)


# -- kernels


@part
def pad_space(data: Any, padded: Any, *, layout: Any, space: Any, padding: Any) -> None:
    """The data with zeros around it."""
    for (*i,) in T.grid(*padded.shape):
        with T.block("pad"):
            (*v,) = T.axis.remap("S" * len(i), i)
            padded[*v] = T.if_then_else(
                in_data(v, data, layout, space, padding),
                data[*unpadded(v, layout, space, padding)],
                T.cast(0, data.dtype),
            )


def in_data(v: Sequence[Expr], data: Any, layout: str, space: str, padding: Sequence[int]) -> Expr:
    """Whether a place of the padded data is one of the data."""
    found: Expr = const(True)
    for at, letter in enumerate(space):
        axis = axis_at(layout, letter)
        if padding[at]:
            found = both(found, OPS["greater_equal"](v[axis], padding[at]))
        if padding[at + len(space)]:
            found = both(found, OPS["less"](v[axis], size(data, axis) + padding[at]))
    return found


def both(a: Expr, b: Expr) -> Expr:
    """a and b, where `a` may be a constant True."""
    return b if getattr(a, "value", None) is True else OPS["logical_and"](a, b)


def unpadded(v: Sequence[Expr], layout: str, space: str, padding: Sequence[int]) -> list[Any]:
    """The place in the data of a place of the padded data."""
    before = dict(zip(space, padding, strict=False))
    letters = [letter for letter, _ in axes_of(layout)]
    return [one - before[letter] if before.get(letter) else one for letter, one in zip(letters, v, strict=True)]


def padded_shape(data: Any, layout: str, space: str, padding: Sequence[int]) -> list[Any]:
    """The shape of the padded data."""
    more = {letter: padding[at] + padding[at + len(space)] for at, letter in enumerate(space)}
    return [size(data, at) + more.get(letter, 0) for at, (letter, _) in enumerate(axes_of(layout))]


@part
def convolve(data: Any, weight: Any, total: Any, *, acc: Any, layouts: Any, strides: Any, dilation: Any) -> None:
    """total = the sums over input channels and windows."""
    for (*i,) in T.grid(*total.shape, *window_sizes(weight, layouts)):
        with T.block("conv"):
            (*v,) = T.axis.remap("S" * total.ndim + "R" * (len(i) - total.ndim), i)
            with T.init():
                total[*v[: total.ndim]] = T.cast(0, acc)
            total[*v[: total.ndim]] = total[*v[: total.ndim]] + T.cast(
                data[*data_place(v, data, weight, total, layouts, strides, dilation)], acc
            ) * T.cast(weight[*weight_place(v, layouts)], acc)


def window_sizes(weight: Any, layouts: Sequence[str]) -> list[Any]:
    """The sizes of the axes that are summed: the input channels of the weight and its window."""
    sizes = sizes_of(weight, layouts[1])
    return [sizes["I"], *[sizes[letter] for letter in space_of(layouts)]]


def sizes_of(data: Any, layout: str) -> dict[str, Any]:
    """The sizes of a buffer by letters."""
    return extents(layout, [size(data, at) for at in range(data.ndim)])


def data_place(
    v: Sequence[Any], data: Any, weight: Any, out: Any, layouts: Sequence[str], strides: Any, dilation: Any
) -> list[Any]:
    """The element of the padded data that goes with an element of the result and one of the window."""
    space = space_of(layouts)
    result = by_letter(layouts[2], v[: out.ndim])
    inner, *window = v[out.ndim :]
    each_in = sizes_of(weight, layouts[1])["I"]
    channels = sizes_of(data, layouts[0])["C"]
    place = {"N": result["N"], "C": inner}
    if not (type(channels) is int and channels == each_in):
        place["C"] = result["C"] // per_group(weight, layouts, channels, each_in) * each_in + inner
    for at, letter in enumerate(space):
        place[letter] = scaled(result[letter], strides[at]) + scaled(window[at], dilation[at])
    return placed(layouts[0], place)


def per_group(weight: Any, layouts: Sequence[str], channels: Any, each_in: Any) -> Any:
    """The number of output channels of a group."""
    outputs = sizes_of(weight, layouts[1])["O"]
    return outputs // (channels // each_in)


def scaled(value: Any, by: int) -> Any:
    """value * by."""
    return value if by == 1 else value * by


def weight_place(v: Sequence[Any], layouts: Sequence[str]) -> list[Any]:
    """The element of the weight."""
    rank = rank_of_layout(layouts[2])
    inner, *window = v[rank:]
    place = {
        "O": by_letter(layouts[2], v[:rank])["C"],
        "I": inner,
        **dict(zip(space_of(layouts), window, strict=True)),
    }
    return placed(layouts[1], place)


def _conv(
    data: Any, weight: Any, out: Any, *, acc: Any, layouts: Any, strides: Any, dilation: Any, padding: Any, space: Any
) -> None:
    if any(padding):
        padded = T.alloc_buffer(padded_shape(data, layouts[0], space, padding), data.dtype)
        pad_space(data, padded, layout=layouts[0], space=space, padding=padding)
        _conv_padded(padded, weight, out, acc=acc, layouts=layouts, strides=strides, dilation=dilation)
    else:
        _conv_padded(data, weight, out, acc=acc, layouts=layouts, strides=strides, dilation=dilation)


@part
def _conv_padded(data: Any, weight: Any, out: Any, *, acc: Any, layouts: Any, strides: Any, dilation: Any) -> None:
    if acc is out.dtype:
        convolve(data, weight, out, acc=acc, layouts=layouts, strides=strides, dilation=dilation)
    else:
        total = T.alloc_buffer(out.shape, acc)
        convolve(data, weight, total, acc=acc, layouts=layouts, strides=strides, dilation=dilation)
        for (*i,) in T.grid(*out.shape):
            with T.block("finish"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(total[*v], out.dtype)


def parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    attrs = call.attrs
    summed = summed_in(call, types)
    if summed is None:
        return None
    return {
        **summed,
        "layouts": (attrs["data_layout"], attrs["kernel_layout"], attrs["out_layout"]),
        "space": SPACE[len(attrs["strides"])],
        "places": (attrs["strides"], attrs["dilation"], attrs["padding"]),
    }


def equal_channels(call: OpCall, types: Types) -> list[Equal]:
    """The channels of the data and of the weight, which have to agree."""
    attrs = call.attrs
    space = SPACE[len(attrs["strides"])]
    transposed = "output_padding" in attrs
    data, weight = (tensor(call, types, at, NUMBERS) for at in (0, 1))
    assert data.shape is not None and weight.shape is not None
    d = extents_of(call, "data_layout", check_layout(call, "data_layout", "NC" + space, "NC"), data.shape)
    w = extents_of(call, "kernel_layout", check_layout(call, "kernel_layout", "OI" + space, "OI"), weight.shape)
    groups = 1 if transposed else attrs["groups"]
    what = f"the channels of `data` are not the input channels of `weight`{f' times {groups}' if groups > 1 else ''}"
    return [(what, d["C"], dims.mul(w["I"], groups))]


# -- references


def accumulated(kind: Any) -> Any:
    import numpy as np

    return kind if kind.kind in "iu" or kind.name == "float64" else np.dtype(np.float32)


def in_steps(offset: int, dilation: int, count: int, step: int) -> slice:
    """The places that one element of a window takes, so many of them; none for less than one."""
    first = offset * dilation
    return slice(first, first + max(0, (count - 1) * step + 1), step)


def _np_conv(data: Any, weight: Any, **attrs: Any) -> Any:
    import numpy as np

    rank = len(attrs["strides"])
    space = SPACE[rank]
    to = data.dtype if attrs["out_dtype"] is None else numpy_dtype(attrs["out_dtype"])
    x = arranged(data, attrs["data_layout"], "NC" + space).astype(accumulated(to))
    w = arranged(weight, attrs["kernel_layout"], "OI" + space).astype(accumulated(to))
    padding, strides, dilation = attrs["padding"], attrs["strides"], attrs["dilation"]
    x = np.pad(x, [(0, 0), (0, 0), *[(padding[at], padding[at + rank]) for at in range(rank)]])
    sizes = [(x.shape[at + 2] - dilation[at] * (w.shape[at + 2] - 1) - 1) // strides[at] + 1 for at in range(rank)]
    groups = attrs["groups"]
    found = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    each_in, each_out = w.shape[1], w.shape[0] // groups
    if x.shape[1] != groups * each_in:
        raise ValueError(f"{x.shape[1]} channels of `data`, and {groups} times {each_in} of `weight`")
    for group in range(groups):
        part_x = x[:, group * each_in : (group + 1) * each_in]
        part_w = w[group * each_out : (group + 1) * each_out]
        for offset in itertools.product(*map(range, w.shape[2:])):
            place = tuple(map(in_steps, offset, dilation, sizes, strides))
            window = part_x[(slice(None), slice(None), *place)]
            tap = part_w[(slice(None), slice(None), *offset)]
            found[:, group * each_out : (group + 1) * each_out] += np.einsum("nc...,oc->no...", window, tap)
    return rearranged(found, "NC" + space, attrs["out_layout"]).astype(to)


# -- entries

EXAMPLES = {
    1: ("data: (1, 3, 8), weight: (4, 3, 3)", "data: (1, 3, 8), weight: (3, 4, 3)"),
    2: ("data: (1, 3, 8, 8), weight: (4, 3, 3, 3)", "data: (1, 3, 4, 4), weight: (3, 4, 3, 3)"),
    3: ("data: (1, 2, 4, 4, 4), weight: (3, 2, 2, 2, 2)", "data: (1, 2, 3, 3, 3), weight: (2, 3, 2, 2, 2)"),
}


def parameters(rank: int, kernel_layout: str, *more: Parameter) -> tuple[Parameter, ...]:
    return (
        Parameter("data"),
        Parameter("weight"),
        attr("strides", each(rank), (1,) * rank),
        attr("padding", borders(rank), (0,) * 2 * rank),
        *more,
        attr("dilation", each(rank), (1,) * rank),
        attr("groups", integer, 1),
        attr("data_layout", text, "NC" + SPACE[rank]),
        attr("kernel_layout", text, kernel_layout),
        attr("out_layout", text, None),
        OUT_DTYPE,
    )


for _rank in (1, 2, 3):
    register(
        GraphOp(
            f"nn.conv{_rank}d",
            parameters(_rank, "OI" + SPACE[_rank]),
            infer,
            f"A convolution over {counted(_rank, 'dimension')}.",
            f"G.nn.conv{_rank}d({EXAMPLES[_rank][0]}, padding={[1] * 2 * _rank})",
            reference=_np_conv,
            complete=out_layout,
            legalize=kernel(_conv, parts, equal=equal_channels),
            fusion=CONTRACTION,
        )
    )
