"""precompute: what a block makes of some of its axes is made before it, once for all of the others."""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import has_effect
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.op import cast, const
from tirscript.ir.op_sets import CHOICES, LAZY
from tirscript.ir.rewrite import free_vars, substitute, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt

from ...statements import reads_memory
from ...trapping import may_trap
from ..blocks import inferred, writes_of
from ..dataflow import allocation, check_not_viewed, scope_of, top, writers
from ..edit import Edit
from ..legality import check_covers, check_writes_all
from ..moving import only_store
from ..primitive import BlockAt, primitive
from ..reducers import update_of
from ..tree import Place
from .cache import check_copied_before

CONDITIONAL = CHOICES | LAZY


@primitive
def precompute(edit: Edit, block: BlockAt, axes: list[int]) -> list[Place]:
    """Make what a block computes of some of its axes alone before it, once for all others; the blocks that make it.

    before:                                           after `precompute("C", [0, 2])`:
        with T.block("C"):                                with T.block("C_part"):
            C[vi, vj] += T.exp(A[vi, vk]) * B[vk, vj]         C_part[v0, v1] = T.exp(A[v0, v1])
                                                          with T.block("C"):
                                                              C[vi, vj] += C_part[vi, vk] * B[vk, vj]

    The axes are counted from 0. What is made is each largest part of the stored value that uses all of these axes and
    no others. Refused where there is none, or one that is computed under a condition of the others and not known to be
    harmless without.
    """
    stmt: Block = block.stmt
    if any(not 0 <= at < len(stmt.axes) for at in axes) or len(set(axes)) != len(axes) or not axes:
        edit.wrong(f"`axes` is {axes}, not numbers of some of the {len(stmt.axes)} axes of the block")
    written = writes_of(stmt)
    store = only_store(edit, block, written[0]) if len(written) == 1 else None
    if store is None or stmt.body != (store,):
        edit.refuse(f"the block `{stmt.name}` does more than one store", block)
    chosen = [stmt.axes[at] for at in sorted(axes)]
    update = update_of(stmt)
    value = store.value if update is None else update.value
    parts, guarded = parts_of(value, stmt, frozenset(axis.var for axis in chosen))
    if not parts:
        names = ", ".join(f"`{axis.var.name}`" for axis in chosen)
        edit.refuse(f"no part of what `{stmt.name}` stores is computed of {names} alone", block)
    check_covers(edit, block)
    _check_moves(edit, block, parts, chosen, guarded)
    home = top(scope_of(edit, block), block)
    made: list[tuple[Buffer, str]] = []
    nests: list[Stmt] = []
    values: list[tuple[Expr, Expr]] = []
    taken: set[str] = set()
    for part in parts:
        name = edit.fresh_block_name(f"{store.buffer.name}_part")
        while name in taken:
            name += "_1"
        taken.add(name)
        buffer = Buffer(name, tuple(axis.stop for axis in chosen), part.dtype)
        nests.append(_nest(name, buffer, chosen, part))
        made.append((buffer, name))
        values.append((part, BufferLoad(buffer, tuple(axis.var for axis in chosen))))

    def replaced(node: Any) -> Any:
        return next((new for old, new in values if _same(old, node)), node)

    new = store.replace(value=_outermost(store.value, replaced))
    edit.replace(block, inferred(stmt.replace(body=(new,))))
    edit.tree.insert(home, before=tuple(nests))
    for buffer, name in made:
        edit.allocate(buffer, edit.block(name))
    return [edit.block(name) for _, name in made]


def parts_of(value: Expr, block: Block, wanted: frozenset[Var]) -> tuple[list[Expr], bool]:
    """The largest parts of a value that use all of the axes `wanted` and no others, each once, and whether one stands
    under a condition that uses others."""
    axes = frozenset(axis.var for axis in block.axes)
    found: list[Expr] = []
    stack, conditional = [(value, False)], False
    while stack:
        node, guarded = stack.pop()
        used = axes.intersection(free_vars(node))
        if used == wanted and not node.dtype.is_vector:
            conditional = conditional or guarded
            if not any(_same(one, node) for one in found):
                found.append(node)
        elif type(node) is Call and wanted <= used:
            inside = node.op in CONDITIONAL
            stack += reversed([(arg, guarded or (inside and at > 0)) for at, arg in enumerate(node.args)])
    return found, conditional


def _same(a: Expr, b: Any) -> bool:
    return a is b or (type(a) is type(b) and structural_equal(a, b, map_free_vars=False))


def _outermost(node: Expr, replaced: Any) -> Expr:
    """The expression with parts of it replaced, the outermost first; loads are not looked into."""
    new = replaced(node)
    if new is not node or type(node) is not Call:
        return new
    args = tuple([_outermost(arg, replaced) for arg in node.args])
    return node.replace(args=args)


def _check_moves(edit: Edit, block: Place, parts: list[Expr], chosen: list[Axis], guarded: bool) -> None:
    """Refuse parts that are not the same before the loops of the block, or would be computed where they never were."""
    stmt: Block = block.stmt
    around = {place.stmt.var for place in block.loops()}
    always = not guarded and all(
        type(axis.extent) is Const and axis.extent.value > 0
        for axis in stmt.axes
        if all(axis is not one for one in chosen)
    )
    known = Analyzer()
    for axis in chosen:
        known.enter_axis(axis)
        if type(axis.start) is not Const or axis.start.value != 0:
            edit.refuse(f"the axis `{axis.var.name}` does not begin at 0", (block, ""), axis)
    for part in parts:
        if has_effect(part) or any(type(node) is Call and node.op.effect != "pure" for node in walk(part)):
            edit.refuse("a part of the value has an effect", (block, ""), part)
        if around.intersection(free_vars(part)):
            edit.refuse("a part of the value uses a loop around the block by itself", (block, ""), part)
        loads = list(walk(part, BufferLoad))
        for buffer in {load.buffer: None for load in loads}:
            if buffer.is_scalar:
                edit.refuse(f"`{buffer.name}` is a variable", (block, ""), part)
            check_not_viewed(edit, block, buffer)
            check_copied_before(edit, block, buffer, [block])
        if always:
            continue
        inside = not may_trap(part) and not any(reads_memory(index) for load in loads for index in load.indices)
        for load in loads:
            if guarded and allocation(edit, load.buffer) is not None:
                # what was never written cannot be read
                made_by = writers(scope_of(edit, block), load.buffer)
                if len(made_by) != 1:
                    edit.refuse(f"`{load.buffer.name}` is not known to be written as a whole", (block, ""), part)
                check_writes_all(edit, made_by[0], load.buffer)
            for index, dim in zip(load.indices, load.buffer.shape, strict=True):
                inside = inside and known.can_prove(index >= const(0, index.dtype))
                inside = inside and known.can_prove(index < cast(dim, index.dtype))
        if not inside:
            edit.refuse(
                "a part of the value might be computed where the block never runs, and is not known to be harmless",
                (block, ""),
                part,
            )


def _nest(name: str, buffer: Buffer, chosen: list[Axis], part: Expr) -> Stmt:
    """Loops and a block that compute a part for each value of its axes."""
    loops = [Var(f"ax{at}", axis.var.dtype) for at, axis in enumerate(chosen)]
    axes = tuple(
        Axis(Var(f"v{at}", axis.var.dtype), "spatial", axis.start, axis.stop, loop)
        for at, (axis, loop) in enumerate(zip(chosen, loops, strict=True))
    )
    indices = tuple(axis.var for axis in axes)
    value = substitute(part, {old.var: new for old, new in zip(chosen, indices, strict=True)})
    stmt: Stmt = Block(name, axes, (BufferStore(buffer, indices, value),))
    for loop, axis in reversed(list(zip(loops, chosen, strict=True))):
        stmt = For(loop, axis.start, axis.stop, (stmt,))
    return stmt
