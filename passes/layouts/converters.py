"""Functions that carry out a mapping: pad, crop, and another pad value for a packed tensor."""

from __future__ import annotations

import math

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, INT64, DType
from tirscript.ir.expr import BufferLoad, Const, Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import get_op
from tirscript.ir.stmt import Assume, Axis, BufferStore, For, Stmt

from ..statements import same_number
from .mapping import PadMapping, resized
from .stages import Stage, known_axes, statement


def pad_function(name: str, mapping: PadMapping, dtype: DType, value: Const | None) -> PrimFunc:
    """`P[p] = A[inverse(p)] if p is no padding else value`; without `value` the padding is 0."""
    source, target = _buffer("A", mapping, mapping.shape, dtype), _buffer("P", mapping, mapping.packed_shape, dtype)
    axes, places = _axes(mapping, mapping.packed_shape)
    known = known_axes(axes)
    element: Expr = BufferLoad(source, tuple(map(known.simplify, mapping.back(places, _index(mapping)))))
    if mapping.padded:
        real = known.simplify(get_op("logical_not")(mapping.pads(places, _index(mapping))))
        element = get_op("if_then_else")(real, element, const(0, dtype) if value is None else value)
    return PrimFunc(name, (source, target), (statement(Stage("pad", axes, BufferStore(target, places, element))),))


def crop_function(name: str, mapping: PadMapping, dtype: DType) -> PrimFunc:
    """`A[i] = P[index_map(i)]`"""
    source, target = _buffer("P", mapping, mapping.packed_shape, dtype), _buffer("A", mapping, mapping.shape, dtype)
    axes, indices = _axes(mapping, mapping.shape)
    known = known_axes(axes)
    element = BufferLoad(source, tuple(map(known.simplify, mapping.apply(indices, _index(mapping)))))
    return PrimFunc(name, (source, target), (statement(Stage("crop", axes, BufferStore(target, indices, element))),))


def refill_function(name: str, mapping: PadMapping, dtype: DType, value: Const) -> PrimFunc:
    """`Q[p] = P[p] if p is no padding else value`"""
    source, target = (
        _buffer("P", mapping, mapping.packed_shape, dtype),
        _buffer("Q", mapping, mapping.packed_shape, dtype),
    )
    axes, places = _axes(mapping, mapping.packed_shape)
    known = known_axes(axes)
    real = known.simplify(get_op("logical_not")(mapping.pads(places, _index(mapping))))
    element = get_op("if_then_else")(real, BufferLoad(source, places), value)
    return PrimFunc(name, (source, target), (statement(Stage("refill", axes, BufferStore(target, places, element))),))


def claim_of(packed: Buffer, mapping: PadMapping, value: Const) -> Stmt:
    """Loops around an assumption that `value` is in the padding of a packed buffer."""
    dtype = packed.shape[0].dtype
    loops = tuple(Var(f"ax{at}", dtype) for at in range(packed.ndim))
    same = same_number(BufferLoad(packed, loops), value)
    claim: Stmt = Assume(get_op("logical_or")(get_op("logical_not")(mapping.pads(loops, dtype)), same))
    for loop, dim in reversed(list(zip(loops, packed.shape, strict=True))):
        claim = For(loop, const(0, dtype), resized(dim, dtype), (claim,))
    return claim


def _index(mapping: PadMapping) -> DType:
    """The dtype of indices: int32 where every tensor is known to be small."""
    for shape in (mapping.shape, mapping.packed_shape):
        if not all(type(dim) is Const for dim in shape):
            return INT64
        if math.prod(int(dim.value) for dim in shape if type(dim) is Const) >= 1 << 31:
            return INT64
    return INT32


def _buffer(name: str, mapping: PadMapping, shape: tuple[Expr, ...], dtype: DType) -> Buffer:
    return Buffer(name, tuple(resized(dim, _index(mapping)) for dim in shape), dtype)


def _axes(mapping: PadMapping, shape: tuple[Expr, ...]) -> tuple[tuple[Axis, ...], tuple[Expr, ...]]:
    index = _index(mapping)
    zero = const(0, index)
    axes = tuple(Axis(Var(f"v{at}", index), "spatial", zero, resized(dim, index), zero) for at, dim in enumerate(shape))
    return axes, tuple(axis.var for axis in axes)


__all__ = ["claim_of", "crop_function", "pad_function", "refill_function"]
