"""Where the greatest elements of windows are, over 1, 2 and 3 dimensions"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import INT64
from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import OPAQUE, GraphOp, Parameter
from .attrs import attr, boolean, borders, each, text
from .axes import SPACE, arranged, axis_at, rearranged
from .kernel import T, flat, kernel, size
from .nn_pool import _infer, _out_layout, data_index, in_window, pool_parts, window_place
from .reduce import least
from .rules import Types, like
from .table import register


def _infer_index(call: OpCall, types: Types) -> GraphType:
    found = _infer(call, types)
    return like(found, dtype=INT64) if type(found) is TensorType else found


def _index(data: Any, out: Any, *, pool_size: Any, layouts: Any, places: Any, sure: Any, start: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("max_pool_index"):
            (*v,) = T.axis.remap("S" * len(i), i)
            best = T.cast(start, data.dtype)
            found = T.int64(-1)
            for (*k,) in T.grid(*pool_size):
                if in_window([*v, *k], data, layouts, places, sure):
                    if found < T.int64(0):
                        found = plane_index([*v, *k], data, layouts, places)
                    if data[*data_index([*v, *k], layouts, places)] > best:
                        best = data[*data_index([*v, *k], layouts, places)]
                        found = plane_index([*v, *k], data, layouts, places)
            out[*v] = found


def plane_index(v: Sequence[Any], data: Any, layouts: Sequence[str], places: Any) -> Expr:
    """The number of an element of the data among those of its channel, row by row."""
    letters = SPACE[len(places[0])]
    place = window_place(v, len(letters), layouts, places)
    sizes = [size(data, axis_at(layouts[0], letter)) for letter in letters]
    found: Expr = flat([place[letter] for letter in letters], sizes)
    return (found + const(0, v[0].dtype)).astype(INT64)


def _parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    found = pool_parts(call, types)
    kind = types[0]
    if found is None or type(kind) is not TensorType or kind.dtype is None:
        return None
    return {**found, "start": least(kind.dtype)}


def _np_index(data: Any, **attrs: Any) -> Any:
    import numpy as np

    pool, strides, padding, dilation = (attrs[k] for k in ("pool_size", "strides", "padding", "dilation"))
    letters = SPACE[len(pool)]
    x = arranged(data, attrs["layout"], "NC" + letters)
    sizes = []
    for at, extent in enumerate(x.shape[2:]):
        rest = extent + padding[at] + padding[at + len(pool)] - dilation[at] * (pool[at] - 1) - 1
        count = -(-rest // strides[at]) if attrs["ceil_mode"] else rest // strides[at] + 1
        sizes.append(count + (attrs["ceil_mode"] and count * strides[at] < extent + padding[at]))
    found: Any = np.full((*x.shape[:2], *sizes), -1, np.int64)
    best: Any = np.full(found.shape, -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min).astype(x.dtype)
    for place in itertools.product(*map(range, sizes)):
        for tap in itertools.product(*map(range, pool)):
            spot = [p * s - b + k * d for p, s, b, k, d in zip(place, strides, padding, tap, dilation, strict=False)]
            if not all(0 <= one < extent for one, extent in zip(spot, x.shape[2:], strict=True)):
                continue
            whole, number = (slice(None), slice(None), *place), np.ravel_multi_index(spot, x.shape[2:])
            value = x[(slice(None), slice(None), *spot)]
            found[whole] = np.where((value > best[whole]) | (found[whole] < 0), number, found[whole])
            best[whole] = np.where(value > best[whole], value, best[whole])
    return rearranged(found, "NC" + letters, attrs["out_layout"])


_EXAMPLES = {1: "(1, 2, 8)", 2: "(1, 2, 8, 8)", 3: "(1, 2, 4, 4, 4)"}

for _rank in (1, 2, 3):
    register(
        GraphOp(
            f"nn.max_pool{_rank}d_indices",
            (
                Parameter("data"),
                attr("pool_size", each(_rank), (1,) * _rank),
                attr("strides", each(_rank), (1,) * _rank),
                attr("padding", borders(_rank), (0,) * 2 * _rank),
                attr("dilation", each(_rank), (1,) * _rank),
                attr("ceil_mode", boolean, False),
                attr("layout", text, "NC" + SPACE[_rank]),
                attr("out_layout", text, None),
            ),
            _infer_index,
            "The number, row by row among the elements of its channel, of the first greatest element of each window.",
            f"G.nn.max_pool{_rank}d_indices(data: {_EXAMPLES[_rank]}, pool_size={[2] * _rank}, strides={[2] * _rank})",
            reference=_np_index,
            complete=_out_layout,
            legalize=kernel(_index, _parts),
            fusion=OPAQUE,
        )
    )
