"""early_cast: a conversion where an element is stored, not each time that it is read."""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.op import OPS, cast
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import Block, BufferStore

from ..blocks import inferred
from ..dataflow import check_not_viewed, loads_of
from ..edit import Edit
from ..primitive import BlockAt, primitive
from .storage import allocated


@primitive
def early_cast(edit: Edit, block: BlockAt, buffer_index: int | str = 0) -> None:
    """Convert what a block writes when it is stored, where all readers convert it to the same dtype.

    before:                                    after `early_cast("A_local")`:
        A_local = T.alloc_buffer((8,), "float16")      A_local = T.alloc_buffer((8,))
        with T.block("A_local"):                       with T.block("A_local"):
            A_local[v0] = A[v0]                            A_local[v0] = T.cast(A[v0], "float32")
        with T.block("B"):                             with T.block("B"):
            B[vi, vj] = T.cast(A_local[vi], "float32")     B[vi, vj] = A_local[vi]

    The values are the same. It pays where elements are read more often than they are stored.
    """
    buffer = allocated(edit, block, buffer_index)
    check_not_viewed(edit, block, buffer)
    read = loads_of(edit.func.body, buffer)
    converted = [node for node in walk(edit.func.body, Call) if _reads(node, buffer)]
    if len(read) != len(converted):
        edit.refuse(f"`{buffer.name}` is read without being converted", (block, ""), *[(load, "") for load in read[:1]])
    kinds = {node.dtype.element for node in converted}
    if len(kinds) != 1:
        edit.refuse(f"the readers of `{buffer.name}` convert it to {len(kinds)} dtypes, not to one", block)
    (kind,) = kinds
    new = buffer.replace(dtype=kind)

    def load(node: Call) -> Expr:
        return node.args[0].replace(buffer=new) if _reads(node, buffer) else node

    def store(node: BufferStore) -> BufferStore:
        if node.buffer is not buffer:
            return node
        return node.replace(buffer=new, value=cast(node.value, kind.with_lanes(node.value.dtype.lanes)))

    func = rewrite(edit.func, {Call: load, BufferStore: store, Block: inferred})
    edit.tree.reset(substitute(func, {buffer: new}))


def _reads(call: Call, buffer: Buffer) -> bool:
    """Whether a call converts an element of a buffer."""
    element = call.args[0] if call.op is OPS["cast"] else None
    return type(element) is BufferLoad and element.buffer is buffer
