"""Tensors with some elements replaced, or combined with updates, at places that are values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..expr import Expr, const
from ..graph import GraphType, OpCall
from ..graph_op import OPAQUE, GraphOp, Parameter
from ..op import OPS
from ..words import counted
from . import dims
from .attrs import attr, boolean, integer, one_of
from .extents import Equal
from .index import wrapped
from .kernel import T, kernel, part, size
from .rules import INTS, Types, axis_of, common_dtype, common_shape, equal_dims, like, refuse, tensor, tensors
from .table import register

DATA, INDICES, UPDATES = Parameter("data"), Parameter("indices", apart=True), Parameter("updates")


def _replaced(old: Expr, new: Expr) -> Expr:
    return new


_REDUCTIONS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "update": _replaced,
    "add": OPS["add"],
    "mul": OPS["mul"],
    "max": lambda old, new: OPS["max"](new, old),  # in this order an update of nan is left out
    "min": lambda old, new: OPS["min"](new, old),
}
_ELEMENTS = {**_REDUCTIONS, "mean": lambda old, new: _half(OPS["add"](old, new))}  # one update after the other
_UFUNCS = {"add": "add", "mul": "multiply", "max": "fmax", "min": "fmin"}
REDUCTION = attr("reduction", one_of(*_REDUCTIONS), "update")


def _half(total: Expr) -> Expr:
    return OPS["truncdiv" if total.dtype.is_int else "div"](total, const(2, total.dtype))


@part
def copy(data: Any, out: Any) -> None:
    """out = data."""
    for (*i,) in T.grid(*out.shape):
        with T.block("copy"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = data[*v]


def _check_updates(call: OpCall, types: Types) -> None:
    kind, updates = tensor(call, types, 0), tensor(call, types, 2)
    common_dtype(call, (kind, updates), ("`data`", f"`{call.op.values[2].name}`"))


# -- scatter_elements


def _infer_elements(call: OpCall, types: Types) -> GraphType:
    kind, indices, updates = tensor(call, types, 0), tensor(call, types, 1, INTS), tensor(call, types, 2)
    _check_updates(call, types)
    for name, one in (("indices", indices), ("updates", updates)):
        if kind.rank is not None and one.rank is not None and one.rank != kind.rank:
            refuse(call, f"`data` has {counted(kind.rank, 'dimension')} and `{name}` {one.rank}", "they have as many")
    if kind.rank is not None:
        axis = axis_of(call, call.attrs["axis"], kind.rank)
        for at, (a, b) in enumerate(zip(kind.shape or (), indices.shape or (), strict=False)):
            if at != axis and (dims.number(b) or 0) > (dims.number(a) or 1 << 62):
                refuse(call, f"dimension {at} of `indices` is {dims.text(b)}, beyond the {dims.text(a)} of `data`")
    if indices.shape is not None and updates.shape is not None:
        for at, (a, b) in enumerate(zip(indices.shape, updates.shape, strict=True)):
            equal_dims(call, a, b, f"dimension {at} of `indices` and `updates` differs")
    return like(kind)


def _agree(call: OpCall, types: Types) -> list[Equal]:
    """The dimensions of indices and updates, one update an index."""
    indices, updates = tensor(call, types, 1), tensor(call, types, 2)
    pairs = enumerate(zip(indices.shape or (), updates.shape or (), strict=False))
    return [(f"dimension {at} of `indices` and `updates` differs", a, b) for at, (a, b) in pairs]


def _elements(data: Any, indices: Any, updates: Any, out: Any, *, axis: Any, combine: Any) -> None:
    copy(data, out)
    # one after the other: several updates may meet one element
    with T.block("scatter"):
        for (*i,) in T.grid(*updates.shape):
            out[*i[:axis], wrapped(indices[*i], size(data, axis)), *i[axis + 1 :]] = combine(
                out[*i[:axis], wrapped(indices[*i], size(data, axis)), *i[axis + 1 :]], updates[*i]
            )


def _elements_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    rank = tensor(call, types, 0).rank
    if not rank:
        return None
    return {"axis": call.attrs["axis"] % rank, "combine": _ELEMENTS[call.attrs["reduction"]]}


def _put(data: Any, place: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    import numpy as np

    found = data.copy()
    if reduction == "update":
        found[place] = updates
    else:
        getattr(np, _UFUNCS[reduction]).at(found, place, updates)
        if reduction in ("max", "min") and data.dtype.kind not in "iub":
            found[np.isnan(data)] = np.nan  # of which nothing is greater
    return found


def _np_elements(data: Any, indices: Any, updates: Any, axis: int, reduction: str) -> Any:
    import numpy as np

    place = list(np.indices(indices.shape))
    place[axis] = indices
    return _means(data, place, updates) if reduction == "mean" else _put(data, tuple(place), updates, reduction)


def _means(data: Any, place: Sequence[Any], updates: Any) -> Any:
    import numpy as np

    found = data.copy()
    for at in np.ndindex(updates.shape):
        old = tuple(int(one[at]) for one in place)
        total = np.add(found[old], updates[at], dtype=data.dtype)  # which wraps around as the kernel's does
        found[old] = _halved(total)
    return found


def _halved(total: Any) -> Any:
    if total.dtype.kind in "iu":
        return (abs(int(total)) // 2) * (-1 if total < 0 else 1)
    return total / total.dtype.type(2)


register(
    GraphOp(
        "scatter_elements",
        (DATA, INDICES, UPDATES, attr("axis", integer, 0), attr("reduction", one_of(*_ELEMENTS), "update")),
        _infer_elements,
        "The data with updates at places whose index along an axis is given; `reduction` combines old and new, `mean`"
        " as half the sum of both, one update after the other.",
        'G.scatter_elements(data: (4, 3), indices: (2, 3) int64, updates: (2, 3), axis=0, reduction="add")',
        reference=_np_elements,
        legalize=kernel(_elements, _elements_parts, equal=_agree),
        fusion=OPAQUE,
    )
)

# -- scatter_nd


def _infer_nd(call: OpCall, types: Types) -> GraphType:
    kind, indices, updates = tensor(call, types, 0), tensor(call, types, 1, INTS), tensor(call, types, 2)
    _check_updates(call, types)
    if kind.shape is None or indices.shape is None or updates.shape is None:
        return like(kind)
    if not indices.shape:
        refuse(call, "`indices` is a scalar", "its last dimension holds the indices of one element")
    depth = dims.number(indices.shape[-1])
    if depth is None:
        return like(kind)
    if depth > len(kind.shape):
        refuse(call, f"`indices` holds {depth} indices, and `data` has {counted(len(kind.shape), 'dimension')}")
    wanted = (*indices.shape[:-1], *kind.shape[depth:])
    if len(wanted) != len(updates.shape):
        refuse(call, f"`updates` is {dims.text(updates.shape)}, not {dims.text(wanted)}")
    for at, (a, b) in enumerate(zip(updates.shape, wanted, strict=True)):
        equal_dims(call, a, b, f"dimension {at} of `updates` is not that of the places")
    return like(kind)


def _nd(data: Any, indices: Any, updates: Any, out: Any, *, combine: Any) -> None:
    copy(data, out)
    with T.block("scatter"):
        for (*i,) in T.grid(*updates.shape):
            out[*nd_place(i, indices, data)] = combine(out[*nd_place(i, indices, data)], updates[*i])


def nd_place(i: Sequence[Expr], indices: Any, data: Any) -> list[Any]:
    """The place that an update goes to."""
    from ..expr import BufferLoad
    from ..op import as_expr

    outer = i[: indices.ndim - 1]
    found: list[Any] = []
    for k in range(size(indices, indices.ndim - 1)):
        found.append(wrapped(BufferLoad(indices, (*outer, as_expr(k))), size(data, k)))
    return [*found, *i[indices.ndim - 1 :]]


def _combining(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    indices = tensor(call, types, 1)
    if not indices.shape or dims.number(indices.shape[-1]) is None:
        return None  # how many of the dimensions they name is not known
    return {"combine": _REDUCTIONS[call.attrs["reduction"]]}


def _np_nd(data: Any, indices: Any, updates: Any, reduction: str) -> Any:
    return _put(data, tuple(indices[..., k] for k in range(indices.shape[-1])), updates, reduction)


register(
    GraphOp(
        "scatter_nd",
        (DATA, INDICES, UPDATES, REDUCTION),
        _infer_nd,
        "The data with updates at the places in the last dimension of the indices.",
        "G.scatter_nd(data: (4, 3), indices: (2, 1) int64, updates: (2, 3))",
        reference=_np_nd,
        legalize=kernel(_nd, _combining),
        fusion=OPAQUE,
    )
)

# -- index_put


def _infer_put(call: OpCall, types: Types) -> GraphType:
    kind, found = tensor(call, types, 0), tensors(call, types, 1)
    _check_updates(call, types)
    if found is None:
        return like(kind)
    if kind.rank is not None and len(found) > kind.rank:
        refuse(call, f"{len(found)} tensors of indices for {counted(kind.rank, 'dimension')}")
    for at, one in enumerate(found):
        if one.dtype is not None and not one.dtype.is_int:
            refuse(call, f"field {at} of `indices` is of {one.dtype}", "indices are integers", "T105")
    shape, _ = common_shape(call, found)
    values = tensor(call, types, 2)
    if shape is not None and kind.shape is not None and values.shape is not None:
        whole = (*shape, *kind.shape[len(found) :])
        try:
            fits = dims.broadcast(whole, values.shape)
        except dims.Mismatch as problem:
            refuse(call, f"`values` {dims.text(values.shape)} does not broadcast to {dims.text(whole)}: {problem}")
        if fits is not None and len(fits) > len(whole):
            refuse(call, f"`values` {dims.text(values.shape)} has more dimensions than {dims.text(whole)}")
    return like(kind)


def _index_put(data: Any, indices: Any, values: Any, out: Any, *, shape: Any, combine: Any) -> None:
    copy(data, out)
    with T.block("put"):
        for (*i,) in T.grid(*shape):
            out[*put_place(i, indices, data, shape)] = combine(
                out[*put_place(i, indices, data, shape)], put_value(values, i, shape)
            )


def put_place(i: Sequence[Expr], indices: Any, data: Any, shape: Sequence[Any]) -> list[Any]:
    """The place that a value goes to."""
    from .kernel import element

    count = len(shape) - (data.ndim - len(indices))
    sizes = tuple(map(dims.dim, shape[:count]))
    places = [wrapped(element(one, i[:count], sizes), size(data, d)) for d, one in enumerate(indices)]
    return [*places, *i[count:]]


def put_value(values: Any, i: Sequence[Expr], shape: Sequence[Any]) -> Expr:
    """The value that goes there."""
    from .kernel import element

    found: Expr = element(values, i, tuple(map(dims.dim, shape)))
    return found


def _put_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind, found = tensor(call, types, 0), tensors(call, types, 1)
    shape = None if found is None else common_shape(call, found)[0]
    if shape is None or kind.shape is None or found is None:
        return None
    combine = _REDUCTIONS["add" if call.attrs["accumulate"] else "update"]
    return {"shape": (*shape, *kind.shape[len(found) :]), "combine": combine}


def _np_index_put(data: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    return _put(data, tuple(indices), values, "add" if accumulate else "update")


register(
    GraphOp(
        "index_put",
        (DATA, Parameter("indices", "tensors", apart=True), Parameter("values"), attr("accumulate", boolean, False)),
        _infer_put,
        "`data[indices] = values`, with a tensor of indices for each of the first dimensions; or `+=`.",
        "G.index_put(data: (4, 3), (i: (2,) int64, j: (2,) int64), values: (2,))",
        reference=_np_index_put,
        legalize=kernel(_index_put, _put_parts),
        fusion=OPAQUE,
    )
)
