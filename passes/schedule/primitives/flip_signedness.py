"""flip_signedness: bytes of one operand of a product moved by 128, so that they are of the other sign's dtype."""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import dtype
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, cast, const, get_op
from tirscript.ir.ops.special import reinterpret
from tirscript.ir.rewrite import rewrite, substitute, uses
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt

from ..blocks import inferred, writes_of
from ..dataflow import check_not_viewed, loads_of, same_memory, scope_of, stores_of, top
from ..edit import Edit
from ..legality import check_covers
from ..primitive import BlockAt, primitive
from ..reducers import Update, update_of
from ..tree import Place
from .storage import allocated

OTHER = {"int8": dtype("uint8"), "uint8": dtype("int8")}


@primitive
def flip_signedness(edit: Edit, block: BlockAt, buffer_index: int | str = 0) -> Place:
    """Store what a block writes as bytes of the other sign, 128 more or less, where it is one operand of a sum of
    products; the sum begins with what makes up for that. The block that computes it.

    before:                                    after `flip_signedness("B_local")`:
        B_local = T.alloc_buffer((8, 4), "int8")   B_local = T.alloc_buffer((8, 4), "uint8")
        with T.block("B_local"):                   with T.block("B_local"):
            B_local[v0, v1] = B[v0, v1]                B_local[v0, v1] = T.reinterpret("uint8", B[v0, v1] ^ -128)
        with T.block("C"):                         with T.block("A_sum"):
            with T.init():                             with T.init():
                C[vi, vj] = 0                              A_sum[v0] = 0
            C[vi, vj] += (                             A_sum[v0] += T.cast(A[v0, w0], "int32")
                T.cast(A[vi, vk], "int32")         with T.block("C"):
                * T.cast(B_local[vk, vj], "int32")     with T.init():
            )                                              C[vi, vj] = A_sum[vi] * -128
                                                       C[vi, vj] += ...

    The results are the same, as whole numbers wrap. It is for instructions that multiply bytes of different signs.
    """
    buffer = allocated(edit, block, buffer_index)
    check_not_viewed(edit, block, buffer)
    if buffer.dtype.name not in OTHER:
        edit.refuse(f"`{buffer.name}` is of {buffer.dtype}, not of bytes", block)
    product, update, other = _reader(edit, block, buffer)
    check_covers(edit, product)
    flipped = buffer.replace(dtype=OTHER[buffer.dtype.name])
    home = top(scope_of(edit, product), product)
    if home.contains(block):
        edit.refuse(f"the block `{block.stmt.name}` stands in the loops of `{product.stmt.name}`", block, product)
    written = {buffer for place in home.below(Block) for buffer in writes_of(place.stmt)}
    if not written.isdisjoint(same_memory(home, other.buffer)):
        word = "is" if other.buffer in written else "may be"
        edit.refuse(f"`{other.buffer.name}` {word} written in the loops of the product", product)
    kind = update.store.buffer.dtype
    axes = [axis for axis in product.stmt.axes if uses(other.indices, axis.var) and axis.kind == "spatial"]
    total = Buffer(f"{other.buffer.name}_sum", tuple(axis.stop for axis in axes), kind)
    name = edit.fresh_block_name(total.name)
    # a signed operand is 128 more now, an unsigned one 128 less
    off = const(-128 if buffer.dtype.is_signed else 128, kind)
    begin = BufferLoad(total, tuple(axis.var for axis in axes)) * off
    stmt: Block = product.stmt
    init = BufferStore(update.store.buffer, update.store.indices, begin)
    edit.replace(product, inferred(stmt.replace(init=(init,))))
    edit.tree.insert(home, before=(_sum(name, total, stmt, axes, cast(other, kind)),))
    edit.allocate(total, edit.block(name))
    edit.tree.reset(_flipped(edit, buffer, flipped))
    return edit.block(name)


def _reader(edit: Edit, block: Place, buffer: Buffer) -> tuple[Place, Update, BufferLoad]:
    """The block of the products that alone reads a buffer, what it adds up, and the other operand."""
    readers = [
        place for place in edit.tree.root.below(Block) if place is not block and loads_of(place.stmt.body, buffer)
    ]
    if len(readers) != 1 or len(loads_of(edit.func.body, buffer)) != 1:
        edit.refuse(f"`{buffer.name}` is not read at one place alone", (block, ""), *readers)
    if len(stores_of(edit.func.body, buffer)) != len(stores_of(block.stmt.body, buffer)):
        edit.refuse(f"`{buffer.name}` is written by something else, too", block)
    (product,) = readers
    stmt: Block = product.stmt
    update = update_of(stmt)
    begin = stmt.init[0] if stmt.init is not None and len(stmt.init) == 1 else None
    zero = type(begin) is BufferStore and is_const(begin.value, 0)
    if update is None or update.op is not OPS["add"] or not zero or stmt.predicate is not None:
        edit.refuse(f"the block `{stmt.name}` is not a sum that begins with 0 and has all its terms", product)
    operands = update.value.args if type(update.value) is Call and update.value.op is OPS["mul"] else ()
    elements = [value.args[0] for value in operands if type(value) is Call and value.op is OPS["cast"]]
    found = [one for one in elements if type(one) is BufferLoad and one.buffer is not buffer and one.dtype.is_int]
    if len(elements) != 2 or len(found) != 1 or not update.store.buffer.dtype.is_int:
        edit.refuse(f"the block `{stmt.name}` does not add up products of whole numbers, each converted", product)
    for axis in stmt.axes:
        if type(axis.start) is not Const or axis.start.value != 0 or axis.kind not in ("spatial", "reduce"):
            edit.refuse(f"the axis `{axis.var.name}` is none of `{stmt.name}` that begins at 0", product, axis)
    return product, update, found[0]


def _sum(name: str, total: Buffer, product: Block, spatial: list[Axis], value: Expr) -> Stmt:
    """Loops and a block that add up an operand over all that is added up of the product."""
    reduced = [axis for axis in product.axes if axis.kind != "spatial"]
    loops: list[tuple[Var, Axis]] = []
    axes: list[Axis] = []
    for letter, found in (("v", spatial), ("w", reduced)):
        for at, axis in enumerate(found):
            loop = Var(f"{'i' if letter == 'v' else 'k'}{at}", axis.var.dtype)
            loops.append((loop, axis))
            axes.append(Axis(Var(f"{letter}{at}", axis.var.dtype), axis.kind, axis.start, axis.stop, loop))
    values = {old.var: new.var for (_, old), new in zip(loops, axes, strict=True)}
    place = tuple(axis.var for axis in axes[: len(spatial)])
    mine = BufferLoad(total, place)
    body = BufferStore(total, place, get_op("add")(mine, substitute(value, values)))
    stmt: Stmt = Block(name, tuple(axes), (body,), init=(BufferStore(total, place, const(0, total.dtype)),))
    for loop, axis in reversed(loops):
        stmt = For(loop, axis.start, axis.stop, (stmt,))
    return stmt


def _flipped(edit: Edit, buffer: Buffer, flipped: Buffer) -> PrimFunc:
    """The function with the elements of a buffer in the other dtype."""
    top_bit = const(-128 if buffer.dtype.is_signed else 128, buffer.dtype.element)

    def store(node: BufferStore) -> BufferStore:
        if node.buffer is not buffer:
            return node
        return node.replace(buffer=flipped, value=reinterpret(flipped.dtype, node.value ^ top_bit))

    return substitute(rewrite(edit.func, {BufferStore: store, Block: inferred}), {buffer: flipped})
