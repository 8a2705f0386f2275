"""Stages that store padding: a box for each part of it where it is one, else all places under a condition."""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import Const, Expr, Var, const, is_const
from tirscript.ir.stmt import Axis, BufferStore, Stmt

from .mapping import PadMapping, resized
from .numbers import values_at
from .stages import Stage, known_axes, statement

LARGEST = 1 << 16  # places of padding that are looked at one by one


def fill_statements(mapping: PadMapping, packed: Buffer, value: Const) -> list[Stmt]:
    """Loops that store a number in the padding of a packed buffer."""
    made: list[Stmt] = []
    dtype = packed.shape[0].dtype
    for number, (starts, sizes, where) in enumerate(_boxes(mapping)):
        axes = tuple(
            Axis(Var(f"v{at}", dtype), "spatial", const(0, dtype), resized(size, dtype), const(0, dtype))
            for at, size in enumerate(sizes)
        )
        indices = tuple(
            axis.var if is_const(start, 0) else axis.var + resized(start, dtype)
            for axis, start in zip(axes, starts, strict=True)
        )
        free = None
        if where:
            free = known_axes(axes).simplify(mapping.pads(tuple(axis.var for axis in axes), dtype))
        name = f"{packed.name}_padding" + (f"_{number}" if number else "")
        made.append(statement(Stage(name, axes, BufferStore(packed, indices, value), None, free)))
    return made


def _boxes(mapping: PadMapping) -> list[tuple[list[Expr], list[Expr], bool]]:
    """Boxes that hold all padding, as starts and sizes; with True padding is only a part of the box."""
    found: list[tuple[list[Expr], list[Expr], bool]] = []
    zeros: list[Expr] = [const(0, INT64) for _ in mapping.packed_shape]
    for component in mapping.components():
        if mapping.has_gaps(component):
            return [(zeros, list(mapping.packed_shape), True)]
        outs = component.outs
        dims = [mapping.packed_shape[out] for out in outs]
        box = _box(mapping, component.dims, outs) if all(type(dim) is Const for dim in dims) else None
        if box is None:
            return [(zeros, list(mapping.packed_shape), True)]
        if box:
            starts, sizes = list(zeros), list(mapping.packed_shape)
            for at, (low, high) in zip(outs, box, strict=True):
                starts[at], sizes[at] = const(low, INT64), const(high - low, INT64)
            found.append((starts, sizes, False))
    return found


def _box(mapping: PadMapping, dims: tuple[int, ...], outs: tuple[int, ...]) -> list[tuple[int, int]] | tuple[()] | None:
    """The box that the padding of one component is, () where it has none, None where it is no box."""
    import numpy as np

    sizes = [int(dim.value) for out in outs if type(dim := mapping.packed_shape[out]) is Const]
    if np.prod(sizes) > LARGEST:
        return None
    grid = np.indices(sizes)
    values: dict[Var, Any] = dict.fromkeys(mapping.inverse.params, 0)
    values.update({mapping.inverse.params[out]: grid[at] for at, out in enumerate(outs)})
    free = np.zeros(sizes, bool)
    for one in dims:
        length = mapping.shape[one]
        if type(length) is not Const:
            return None
        index = values_at(mapping.inverse.indices[one], values)
        free |= np.broadcast_to((index < 0) | (index >= int(length.value)), sizes)
    if not free.any():
        return ()
    ends = [(int(places.min()), int(places.max()) + 1) for places in np.nonzero(free)]
    return ends if free[tuple(slice(*end) for end in ends)].all() else None


__all__ = ["fill_statements"]
