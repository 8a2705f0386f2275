"""Copies of a parameter into another layout and back, so that a function keeps its interface.

before:                                after, with `lambda i: (i // 4, i % 4)` and 0 as padding:
    for i in range(14):                    A_packed = T.alloc_buffer((4, 4), "int32")
        with T.block("B"):                 for ax0, ax1 in T.grid(4, 4):
            vi = ...                           with T.block("A_pad"):
            B[vi] = A[vi]                          T.block_attr({"preproc": "pad"})
                                                   A_packed[v0, v1] = A[v0 * 4 + v1] if v0 * 4 + v1 < 14 else 0
                                           for i in range(14):
                                               with T.block("B"):
                                                   vi = ...
                                                   B[vi] = A_packed[vi // 4, vi % 4]

The annotations are hints for passes over graphs (`lift_layout_blocks`); a program without them means the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Const, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.node import NO_ATTRS, Attrs
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Return, Stmt

from .blocks import reads_of
from .dataflow import accesses_outside_blocks, readers, top, writers
from .edit import Edit
from .legality import check_writes_all
from .tree import Place

PREPROC, POSTPROC = "preproc", "postproc"
PAD, CROP = "pad", "crop"


def check_kept(edit: Edit, block: Place, buffer: Buffer) -> tuple[bool, bool]:
    """Whether a parameter is copied in, and out; refused where its use is not that of whole blocks."""
    if buffer not in edit.func.param_buffers:
        edit.refuse(f"`keep_interface` is for parameters, and `{buffer.name}` is none", block)
    root = edit.tree.root
    bare = accesses_outside_blocks(root, buffer)
    if bare is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks", (block, ""), (bare, "here"))
    made = writers(root, buffer)
    if not made:
        return True, False
    early = next(walk(edit.func.body, Return), None)
    if early is not None:
        edit.refuse(f"the function may return before `{buffer.name}` is copied back", (block, ""), (early, "here"))
    first = min(top(root, place).index for place in made)
    for place in readers(root, buffer):
        if top(root, place).index < first:
            return True, True
    if buffer in reads_of(made[0].stmt) and made[0].stmt.init is None:
        return True, True
    # an element that nothing wrote could not be copied back
    check_writes_all(edit, made[0], buffer)
    return False, True


def copy_in(
    edit: Edit, source: Buffer, target: Buffer, mapping: IndexMap, back: IndexMap, free: Expr, pad: Expr | None
) -> str:
    """Put the block in front of the function that packs a parameter; its name.

    `free` says where a place of `back.params` is padding. Without `pad` it stays unwritten.
    """
    name = edit.fresh_block_name(f"{source.name}_pad")
    mark = Attrs({PREPROC: PAD})
    if pad is None and not _never(free):
        nest = _nest(name, source.shape, mark, lambda at: (target, _placed(mapping, at), BufferLoad(source, at)))
    else:

        def packed(at: tuple[Var, ...]) -> tuple[Buffer, tuple[Expr, ...], Expr]:
            here = {param: var.astype(param.dtype) for param, var in zip(back.params, at, strict=True)}
            element: Expr = BufferLoad(source, substitute(back.indices, here))
            if pad is None or _never(free):
                return target, at, element
            value = substitute(pad, here)
            return target, at, get_op("if_then_else")(get_op("logical_not")(substitute(free, here)), element, value)

        nest = _nest(name, target.shape, mark, packed)
    at = edit.head(edit.tree.root)
    edit.tree.splice(edit.tree.root, "body", at, at, (nest,))
    return name


def copy_out(edit: Edit, source: Buffer, target: Buffer, mapping: IndexMap, pad: Expr | None) -> str:
    """Put the block behind the function that takes a parameter out of its packed form; its name."""
    name = edit.fresh_block_name(f"{target.name}_crop")
    mark = Attrs({POSTPROC: (CROP,) if type(pad) is not Const else (CROP, _plain(pad))})
    nest = _nest(name, target.shape, mark, lambda at: (target, at, BufferLoad(source, _placed(mapping, at))))
    end = len(edit.tree.root.children.get("body", []))
    edit.tree.splice(edit.tree.root, "body", end, end, (nest,))
    return name


def _placed(mapping: IndexMap, at: Sequence[Var]) -> tuple[Expr, ...]:
    """Where the element at these indices, which may be narrower than those of the map, is found."""
    return mapping.apply(tuple(index.astype(param.dtype) for param, index in zip(mapping.params, at, strict=True)))


def _plain(value: Const) -> object:
    """A number as it is written in an attribute: a bare one where it has no other text."""
    return value.value if math.isfinite(value.value) else value


def _never(free: Expr) -> bool:
    return type(free) is Const and not free.value


def _nest(name: str, shape: Sequence[Expr], mark: Attrs = NO_ATTRS, store: object = None) -> Stmt:
    """Loops over a shape around a block that stores what `store` says for its axes, the indices simplified."""
    assert callable(store)
    known = Analyzer()
    axes = []
    for at, dim in enumerate(shape):
        axis = Axis(Var(f"v{at}", dim.dtype), "spatial", const(0, dim.dtype), dim, Var(f"ax{at}", dim.dtype))
        known.enter_axis(axis)
        axes.append(axis)
    buffer, indices, value = store(tuple(axis.var for axis in axes))
    body = BufferStore(buffer, tuple(map(known.simplify, indices)), known.simplify(value))
    stmt: Stmt = Block(name, tuple(axes), (body,), annotations=mark)
    for axis in reversed(axes):
        assert type(axis.value) is Var
        stmt = For(axis.value, axis.start, axis.stop, (stmt,))
    return stmt


__all__ = ["CROP", "PAD", "POSTPROC", "PREPROC", "check_kept", "copy_in", "copy_out"]
