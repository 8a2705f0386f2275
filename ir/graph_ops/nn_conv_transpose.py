"""Transposed convolutions of 1, 2 and 3 dimensions: each element of the data is spread over a window of the result.

Where the window is a multiple of the stride, the results that are a stride apart are a convolution of their own, with
the elements of the window that are a stride apart. It goes over the border, where zeros are multiplied with weights:
these have to be known, and finite. Other products are summed up by what meets at a place.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ..expr import Expr, const
from ..graph import GraphConst, GraphExpr, OpCall
from ..graph_op import CONTRACTION, GraphOp
from ..op import OPS
from ..words import counted
from .attrs import attr, each
from .axes import SPACE, arranged, by_letter, placed, rearranged, space_of
from .kernel import T, kernel, part
from .nn_conv import (
    EXAMPLES,
    accumulated,
    both,
    equal_channels,
    in_steps,
    infer,
    out_layout,
    pad_space,
    padded_shape,
    parameters,
    parts,
    scaled,
    sizes_of,
    window_sizes,
)
from .reference import numpy_dtype
from .rules import Types
from .table import register

# products with zeros that phases may have for each product of an element with one of the window
MOST = 2


def _transposed(
    data: Any, weight: Any, out: Any, *, acc: Any, layouts: Any, groups: Any, places: Any, space: Any, finite: Any
) -> None:
    if finite and in_phases(data, weight, out, layouts, places):
        _by_phases(data, weight, out, acc=acc, layouts=layouts, groups=groups, places=places, space=space)
    else:
        _by_spreading(data, weight, out, acc=acc, layouts=layouts, groups=groups, places=places)


@part
def _by_phases(
    data: Any, weight: Any, out: Any, *, acc: Any, layouts: Any, groups: Any, places: Any, space: Any
) -> None:
    # the results a stride apart are a convolution with the elements of the window a stride apart
    if any(reach(data, weight, out, layouts, places)):
        padded = T.alloc_buffer(
            padded_shape(data, layouts[0], space, reach(data, weight, out, layouts, places)), data.dtype
        )
        pad_space(data, padded, layout=layouts[0], space=space, padding=reach(data, weight, out, layouts, places))
        _sum_phases(padded, weight, out, acc=acc, layouts=layouts, groups=groups, places=places)
    else:
        _sum_phases(data, weight, out, acc=acc, layouts=layouts, groups=groups, places=places)


@part
def _sum_phases(padded: Any, weight: Any, out: Any, *, acc: Any, layouts: Any, groups: Any, places: Any) -> None:
    phases = T.alloc_buffer(phases_shape(out, layouts, places), acc)
    for (*i,) in T.grid(*phases.shape, sizes_of(weight, layouts[1])["I"] // groups, *meeting(weight, layouts, places)):
        with T.block("conv"):
            (*v,) = T.axis.remap("S" * phases.ndim + "R" * (len(i) - phases.ndim), i)
            with T.init():
                phases[*v[: phases.ndim]] = T.cast(0, acc)
            phases[*v[: phases.ndim]] = phases[*v[: phases.ndim]] + T.cast(
                padded[*phase_data(v, weight, layouts, groups, places)], acc
            ) * T.cast(weight[*phase_weight(v, weight, layouts, groups, places)], acc)
    for (*i,) in T.grid(*out.shape):
        with T.block("place"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(phases[*phase_of(v, layouts, places)], out.dtype)


@part
def _by_spreading(data: Any, weight: Any, out: Any, *, acc: Any, layouts: Any, groups: Any, places: Any) -> None:
    # the products of all elements of the data with all of the window, then those that meet at a place
    spread = T.alloc_buffer(spread_shape(data, weight, out, layouts), acc)
    for (*i,) in T.grid(*spread.shape, sizes_of(weight, layouts[1])["I"] // groups):
        with T.block("spread"):
            (*v,) = T.axis.remap("S" * spread.ndim + "R", i)
            with T.init():
                spread[*v[:-1]] = T.cast(0, acc)
            spread[*v[:-1]] = spread[*v[:-1]] + T.cast(data[*spread_data(v, weight, layouts, groups)], acc) * T.cast(
                weight[*spread_weight(v, weight, layouts, groups)], acc
            )
    if acc is out.dtype:
        gather(spread, out, data, weight, acc=acc, layouts=layouts, places=places)
    else:
        total = T.alloc_buffer(out.shape, acc)
        gather(spread, total, data, weight, acc=acc, layouts=layouts, places=places)
        for (*i,) in T.grid(*out.shape):
            with T.block("finish"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(total[*v], out.dtype)


@part
def gather(spread: Any, total: Any, data: Any, weight: Any, *, acc: Any, layouts: Any, places: Any) -> None:
    """total = the sums of what meets at each place."""
    for (*i,) in T.grid(*total.shape, *meeting(weight, layouts, places)):
        with T.block("gather"):
            (*v,) = T.axis.remap("S" * total.ndim + "R" * (len(i) - total.ndim), i)
            with T.init():
                total[*v[: total.ndim]] = T.cast(0, acc)
            total[*v[: total.ndim]] = total[*v[: total.ndim]] + T.if_then_else(
                meets(v, data, weight, total, layouts, places),
                spread[*source(v, weight, total, layouts, places)],
                T.cast(0, acc),
            )


def in_phases(data: Any, weight: Any, out: Any, layouts: Sequence[str], places: Any) -> bool:
    """Whether the results a stride apart are summed up by themselves, which needs no memory for all products, and not
    much more of these than there are, as where the data is smaller than the window."""
    given, result = (sizes_of(buffer, layout) for buffer, layout in ((data, layouts[0]), (out, layouts[2])))
    strides, dilation, _ = places
    products = spread = 1
    for letter, taps, stride, apart in zip(
        space_of(layouts), window_sizes(weight, layouts)[1:], strides, dilation, strict=True
    ):
        if any(type(one) is not int for one in (taps, given[letter], result[letter])) or apart != 1 or taps % stride:
            return False
        products *= taps * -(-result[letter] // stride)
        spread *= taps * given[letter]
    return MOST * spread >= products


def reach(data: Any, weight: Any, out: Any, layouts: Sequence[str], places: Any) -> list[int]:
    """The borders of zeros that the windows of phases reach into: those before the data, then those behind it."""
    strides, _, padding = places
    given, result = (sizes_of(buffer, layout) for buffer, layout in ((data, layouts[0]), (out, layouts[2])))
    before = [taps - 1 for taps in meeting(weight, layouts, places)]
    behind = [
        max(0, -(-result[letter] // strides[at]) + (padding[at] + strides[at] - 1) // strides[at] - given[letter])
        for at, letter in enumerate(space_of(layouts))
    ]
    return [*before, *behind]


def phases_shape(out: Any, layouts: Sequence[str], places: Any) -> list[Any]:
    """Batches, channels of the result, the phases, the space of each."""
    result = sizes_of(out, layouts[2])
    lengths = [-(-result[letter] // stride) for letter, stride in zip(space_of(layouts), places[0], strict=True)]
    return [result["N"], result["C"], *places[0], *lengths]


def phase_data(v: Sequence[Any], weight: Any, layouts: Sequence[str], groups: int, places: Any) -> list[Any]:
    """The element of the padded data."""
    strides, _, padding = places
    space = space_of(layouts)
    rank, taps = len(space), meeting(weight, layouts, places)
    place = {"N": v[0], "C": _input(v[1], v[2 + 2 * rank], weight, layouts, groups)}
    for at, letter in enumerate(space):
        phase, index, tap = v[2 + at], v[2 + rank + at], v[3 + 2 * rank + at]
        place[letter] = index + (padding[at] + strides[at] - 1 - phase) // strides[at] + (taps[at] - 1) - tap
    return placed(layouts[0], place)


def phase_weight(v: Sequence[Any], weight: Any, layouts: Sequence[str], groups: int, places: Any) -> list[Any]:
    """The element of the weight."""
    space = space_of(layouts)
    rank = len(space)
    place = {"O": _output(v[1], weight, layouts, groups), "I": _input(v[1], v[2 + 2 * rank], weight, layouts, groups)}
    for at, letter in enumerate(space):
        place[letter] = v[2 + at] + v[3 + 2 * rank + at] * places[0][at]
    return placed(layouts[1], place)


def phase_of(v: Sequence[Any], layouts: Sequence[str], places: Any) -> list[Any]:
    """The element of the phases that is one of the result."""
    strides, _, padding = places
    result = by_letter(layouts[2], v)
    lines = [result[letter] for letter in space_of(layouts)]
    phases = [(line + padding[at]) % strides[at] for at, line in enumerate(lines)]
    return [result["N"], result["C"], *phases, *[line // strides[at] for at, line in enumerate(lines)]]


def spread_shape(data: Any, weight: Any, out: Any, layouts: Sequence[str]) -> list[Any]:
    """Batches, channels of the result, the window, the space of the data."""
    space, given = space_of(layouts), sizes_of(data, layouts[0])
    return [
        given["N"],
        sizes_of(out, layouts[2])["C"],
        *window_sizes(weight, layouts)[1:],
        *[given[letter] for letter in space],
    ]


def _input(channel: Any, inner: Any, weight: Any, layouts: Sequence[str], groups: int) -> Any:
    """The number of the input channel that is the `inner` one of those of a channel of the result."""
    if groups == 1:
        return inner
    sizes = sizes_of(weight, layouts[1])
    return channel // sizes["O"] * (sizes["I"] // groups) + inner


def _output(channel: Any, weight: Any, layouts: Sequence[str], groups: int) -> Any:
    """The number of a channel of the result among those of its group."""
    return channel if groups == 1 else channel % sizes_of(weight, layouts[1])["O"]


def spread_data(v: Sequence[Any], weight: Any, layouts: Sequence[str], groups: int) -> list[Any]:
    """The element of the data."""
    space = space_of(layouts)
    place = {"N": v[0], "C": _input(v[1], v[-1], weight, layouts, groups)}
    return placed(layouts[0], {**place, **dict(zip(space, v[2 + len(space) : -1], strict=True))})


def spread_weight(v: Sequence[Any], weight: Any, layouts: Sequence[str], groups: int) -> list[Any]:
    """The element of the weight."""
    space = space_of(layouts)
    place = {
        "O": _output(v[1], weight, layouts, groups),
        "I": _input(v[1], v[-1], weight, layouts, groups),
    }
    return placed(layouts[1], {**place, **dict(zip(space, v[2 : 2 + len(space)], strict=True))})


def _by_steps(size: Any, at: int, places: Any) -> bool:
    """Whether only every so many elements of the window can meet at a place: those a stride apart."""
    return type(size) is int and places[0][at] > 1 and places[1][at] == 1


def meeting(weight: Any, layouts: Sequence[str], places: Any) -> list[Any]:
    """How many elements of the window may meet at a place, for each dimension of space."""
    sizes = window_sizes(weight, layouts)[1:]
    return [-(-one // places[0][at]) if _by_steps(one, at, places) else one for at, one in enumerate(sizes)]


def _met(v: Sequence[Any], weight: Any, out: Any, layouts: Sequence[str], places: Any) -> list[tuple[Any, Any, Expr]]:
    """The element of the window and that of the data for each dimension of space, and when they meet."""
    strides, dilation, padding = places
    result, found = by_letter(layouts[2], v[: out.ndim]), []
    sizes = window_sizes(weight, layouts)[1:]
    for at, letter in enumerate(space_of(layouts)):
        place, step, stride = result[letter] + padding[at], v[out.ndim + at], strides[at]
        if _by_steps(sizes[at], at, places):
            tap = place % stride + step * stride
            whole = const(True) if sizes[at] % stride == 0 else OPS["less"](tap, sizes[at])
            found.append((tap, place // stride - step, whole))
        else:
            far = place - scaled(step, dilation[at])
            whole = const(True) if stride == 1 else OPS["equal"](far % stride, 0)
            found.append((step, far if stride == 1 else far // stride, whole))
    return found


def meets(v: Sequence[Any], data: Any, weight: Any, out: Any, layouts: Sequence[str], places: Any) -> Expr:
    """Whether an element of the data spreads to this place of the result through this element of the window."""
    found: Expr = const(True)
    sizes = sizes_of(data, layouts[0])
    for letter, (_, far, whole) in zip(space_of(layouts), _met(v, weight, out, layouts, places), strict=True):
        found = both(found, OPS["greater_equal"](far, 0))
        found = OPS["logical_and"](found, OPS["less"](far, sizes[letter]))
        if getattr(whole, "value", None) is not True:
            found = OPS["logical_and"](found, whole)
    return found


def source(v: Sequence[Any], weight: Any, out: Any, layouts: Sequence[str], places: Any) -> list[Any]:
    """The product that meets there."""
    result, met = by_letter(layouts[2], v[: out.ndim]), _met(v, weight, out, layouts, places)
    return [result["N"], result["C"], *[tap for tap, _, _ in met], *[far for _, far, _ in met]]


def _parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    found = parts(call, types)
    return found and {**found, "finite": found["acc"].is_int or _is_finite(call.args[1])}


def _is_finite(weight: GraphExpr) -> bool:
    """Whether a weight is known to have neither infinities nor nan."""
    import numpy as np

    if type(weight) is not GraphConst or not weight.data.resolved:
        return False
    return bool(np.isfinite(weight.data.array.astype(np.float32)).all())


# -- the reference


def _np_transposed(data: Any, weight: Any, **attrs: Any) -> Any:
    import numpy as np

    rank = len(attrs["strides"])
    space = SPACE[rank]
    to = data.dtype if attrs["out_dtype"] is None else numpy_dtype(attrs["out_dtype"])
    x = arranged(data, attrs["data_layout"], "NC" + space).astype(accumulated(to))
    w = arranged(weight, attrs["kernel_layout"], "IO" + space).astype(accumulated(to))
    padding, strides, dilation, groups = (attrs[name] for name in ("padding", "strides", "dilation", "groups"))
    full = [
        (x.shape[at + 2] - 1) * strides[at] + dilation[at] * (w.shape[at + 2] - 1) + 1 + attrs["output_padding"][at]
        for at in range(rank)
    ]
    each_out, each_in = w.shape[1], w.shape[0] // groups
    found = np.zeros((x.shape[0], each_out * groups, *full), x.dtype)
    for group in range(groups):
        inputs = slice(group * each_in, (group + 1) * each_in)
        outputs = slice(group * each_out, (group + 1) * each_out)
        for offset in itertools.product(*map(range, w.shape[2:])):
            place = tuple(map(in_steps, offset, dilation, x.shape[2:], strides))
            tap = w[(inputs, slice(None), *offset)]
            found[(slice(None), outputs, *place)] += np.einsum("nc...,co->no...", x[:, inputs], tap)
    inside = tuple(slice(padding[at], full[at] - padding[at + rank]) for at in range(rank))
    return rearranged(found[(slice(None), slice(None), *inside)], "NC" + space, attrs["out_layout"]).astype(to)


for _rank in (1, 2, 3):
    register(
        GraphOp(
            f"nn.conv{_rank}d_transpose",
            parameters(_rank, "IO" + SPACE[_rank], attr("output_padding", each(_rank), (0,) * _rank)),
            infer,
            f"The transpose of a convolution over {counted(_rank, 'dimension')}: each element is spread.",
            f"G.nn.conv{_rank}d_transpose({EXAMPLES[_rank][1]}, strides={[2] * _rank})",
            reference=_np_transposed,
            complete=out_layout,
            legalize=kernel(_transposed, _parts, equal=equal_channels),
            fusion=CONTRACTION,
        )
    )
