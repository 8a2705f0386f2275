"""Blocks become plain statements: axes stand for their values, the predicate becomes an `if`.

before:                                            after:
    for i in range(4):                                 for i in range(4):
        with T.block("B"):                                 if i < 3:
            vi = T.axis.spatial(4, i)                          B[i] = A[i]
            T.where(i < 3)
            B[vi] = A[vi]

An axis whose value reads memory is bound once, `vi = index[i]`, since the block may change what was read. What a block
allocates lives to the end of the body that the block stood in. Attributes whose key begins with `pragma_` speak of what
the block does, and stand around it as `with T.attr(0, key, value):`, as TVM has it; T.reads, T.writes and all other
attributes speak of the block and go with it.

With `checked` an axis that is not proved to be within its domain is checked before the block, as nothing could behind.
"""

from __future__ import annotations

from tirscript.ir.expr import Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.op import as_expr, cast
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import Attr, Bind, Block, If, Stmt

from ..bounds_check import with_checked_axes
from ..pipeline import prim_func_pass
from ..statements import keep_comments, reads_memory


def _is_block(node: Node) -> bool:
    return type(node) is Block


@prim_func_pass(requires=("lower_init_block",), removes=(_is_block, "blocks"))
def lower_blocks(func: PrimFunc, *, checked: bool = False) -> PrimFunc:
    """`with T.block("B"): vi = T.axis.spatial(4, i); B[vi] = A[vi]` becomes `B[i] = A[i]`."""
    if checked:
        func = with_checked_axes(func)
    values: dict[Var, Expr] = {}
    lowered: PrimFunc = rewrite(func, {Block: lambda block: _lower(block, values)})
    return substitute(lowered, _resolved(values))


def _lower(block: Block, values: dict[Var, Expr]) -> tuple[Stmt, ...]:
    bound: list[Stmt] = []
    for axis in reversed(block.axes):
        value = cast(axis.value, axis.var.dtype)
        if reads_memory(value):
            bound.insert(0, Bind(axis.var, value, span=axis.span))
        else:
            values[axis.var] = value
    body: tuple[Stmt, ...] = block.body
    if block.predicate is not None:
        body = (If(block.predicate, body, span=block.predicate.span or block.span),)
    body = (*bound, *body)
    for key, value in reversed(block.annotations.items()):
        if key.startswith("pragma_"):
            held = as_expr(value) if type(value) in (int, float) else value
            body = (Attr(const(0), key, held, body, span=block.span),)
    return keep_comments(block, body)


def _resolved(values: dict[Var, Expr]) -> dict[Var, Expr]:
    """The values with the axes of outer blocks in them replaced; inner blocks and later axes come first in `values`."""
    done: dict[Var, Expr] = {}
    for var, value in reversed(values.items()):
        # a mapping of all that is done would be read through for every axis
        done[var] = substitute(value, {part: done[part] for part in walk(value, Var) if part in done})
    return done
