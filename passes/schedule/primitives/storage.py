"""set_scope, storage_align, unsafe_set_dtype: how a buffer of the function is stored."""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import dtype as to_dtype
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.op import cast, const
from tirscript.ir.rewrite import rewrite, substitute
from tirscript.ir.stmt import AllocBuffer, BufferStore
from tirscript.ir.words import counted

from ..blocks import writes_of
from ..dataflow import allocation, check_not_viewed
from ..edit import Edit
from ..primitive import BlockAt, StorageScope, primitive
from ..tree import Place
from .cache import chosen


@primitive
def set_scope(edit: Edit, block: BlockAt, buffer_index: int | str, storage_scope: StorageScope) -> None:
    """Store the buffer that a block writes, one allocated in the function, in another scope: "local", "shared"."""
    buffer = allocated(edit, block, buffer_index)
    if not storage_scope:
        edit.wrong("`storage_scope` is empty", hint='it is "global", "local", "shared" or another name of a memory')
    _replace(edit, buffer, buffer.replace(scope=storage_scope))


@primitive
def storage_align(edit: Edit, block: BlockAt, buffer_index: int | str, axis: int, factor: int, offset: int) -> None:
    """Pad the rows of the buffer that a block writes: the stride of `axis` is a multiple of `factor`, plus `offset`.

    before:                                    after `storage_align("B", 0, axis=0, factor=8, offset=1)`:
        B = T.alloc_buffer((4, 6))                 B = T.alloc_buffer((4, 6), strides=(9, 1))

    A stride that the rows do not share with a power of two keeps them apart in banks and caches. Counted in elements.
    """
    buffer = allocated(edit, block, buffer_index)
    if not -buffer.ndim <= axis < buffer.ndim:
        edit.wrong(f"`axis` is {axis}, and `{buffer.name}` has {counted(buffer.ndim, 'dimension')}")
    axis %= buffer.ndim
    if factor < 1 or not 0 <= offset < factor:
        edit.wrong(
            f"`factor` is {factor} and `offset` {offset}; they must be at least 1, and from 0 to below the factor"
        )
    check_not_viewed(edit, block, buffer)
    if axis == buffer.ndim - 1 and (factor, offset) != (1, 0):
        edit.refuse(f"the last dimension of `{buffer.name}` must stay without gaps", block)
    shape = buffer.constant_shape()
    if shape is None:
        edit.refuse(f"the shape of `{buffer.name}` is not constant, so its strides are not", block)
    strides = [1] * buffer.ndim
    for at in range(buffer.ndim - 2, -1, -1):
        strides[at] = strides[at + 1] * shape[at + 1]
        if at == axis:
            strides[at] += (offset - strides[at]) % factor
    made = tuple(const(stride, dim.dtype) for stride, dim in zip(strides, buffer.shape, strict=True))
    _replace(edit, buffer, buffer.replace(strides=made))


@primitive
def unsafe_set_dtype(edit: Edit, block: BlockAt, buffer_index: int | str, dtype: str) -> None:
    """Store the buffer that a block writes as another dtype; values are converted when stored and when read.

    Unsafe, since the narrower dtype loses digits: results change.
    """
    buffer = allocated(edit, block, buffer_index)
    try:
        kind = to_dtype(dtype)
    except (ValueError, TypeError) as problem:
        edit.wrong(str(problem))
    check_not_viewed(edit, block, buffer)
    if kind is buffer.dtype:
        return
    new = buffer.replace(dtype=kind)

    def load(node: BufferLoad) -> Expr:
        return cast(node.replace(buffer=new), node.dtype) if node.buffer is buffer else node

    def store(node: BufferStore) -> BufferStore:
        if node.buffer is not buffer:
            return node
        return node.replace(buffer=new, value=cast(node.value, kind.with_lanes(node.value.dtype.lanes)))

    func = rewrite(edit.func, {BufferLoad: load, BufferStore: store})
    func = substitute(func, {buffer: new})
    edit.tree.reset(func)


def allocated(edit: Edit, block: Place, which: int | str) -> Buffer:
    buffer = chosen(edit, block, writes_of(block.stmt), which, "writes")
    place = allocation(edit, buffer)
    if place is None or type(place.stmt) is not AllocBuffer:
        edit.refuse(
            f"`{buffer.name}` is not allocated in the function: how its memory is laid out is the caller's to say",
            block,
            hint="cache_write gives the block a buffer of its own",
        )
    return buffer


def _replace(edit: Edit, old: Buffer, new: Buffer) -> None:
    edit.tree.reset(substitute(edit.func, {old: new}))
