"""tensorize: a block is done by a tensor intrinsic."""

from __future__ import annotations

import textwrap
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import BufferLoad, BufferRegion, Const, Expr, Range, Var
from tirscript.ir.op import cast, const
from tirscript.ir.rewrite import holds, refresh, rewrite, substitute, walk
from tirscript.ir.stmt import Block, BufferStore, DeclBuffer, For, MatchBuffer, Stmt

from ...names import Names
from ..blockizing import blockized
from ..blocks import inferred
from ..dataflow import check_own_memory
from ..edit import Edit
from ..matching import Match, Mismatch
from ..primitive import BlockAt, LoopAt, primitive
from ..tensor_intrin import TensorIntrin, body_of, pairs_of
from ..tree import Place


@primitive
def tensorize(
    edit: Edit, block_or_loop: BlockAt | LoopAt, tensor_intrin: str, preserve_unit_iters: bool = True
) -> Place:
    """Let a tensor intrinsic do what a block, or a loop with all in it, does; the block of the intrinsic.

    before:                                    after `tensorize("i1", "add_8")`:
        for i0, i1 in T.grid(4, 8):                for i0 in range(4):
            with T.block("B"):                         with T.block("B_o"):
                vi = T.axis.spatial(32, ...)               vi_o = T.axis.spatial(4, i0)
                B[vi] = A[vi] + 1                          A_1 = T.match_buffer(A[vi_o * 8:vi_o * 8 + 8], (8,))
                                                           B_1 = T.match_buffer(B[vi_o * 8:vi_o * 8 + 8], (8,))
                                                           B_1[0:8] = A_1[0:8] + T.broadcast(1, 8)

    The intrinsic is registered with `register_tensor_intrin(name, desc, impl)`. What the block does must be what the
    `desc` does: the same loops, axes, and expressions up to the order of the terms of sums and products, on boxes of
    the block's buffers. A loop is made a block first, as with blockize.
    """
    intrin = TensorIntrin.get(tensor_intrin)
    place = block_or_loop
    if type(place.stmt) is For:
        place = blockized(edit, [place], preserve_unit_iters)
    stmt: Block = place.stmt
    match = Match(edit, place)
    try:
        _match(match, intrin, stmt)
    except Mismatch as problem:
        inside = any(node is problem.node for node in _below(place))
        edit.refuse(
            f"the block `{stmt.name}` is not what `{tensor_intrin}` describes: {problem.reason}",
            (problem.node if inside else place, ""),
            notes=[f"the intrinsic describes:\n{textwrap.indent(intrin.desc.script(header=False), '    ')}".rstrip()],
        )
    matched, names = _matched(edit, place, intrin, match)
    body = refresh(substitute(body_of(intrin.impl), names))
    made = stmt.replace(body=(*matched, *_named(edit, body)), init=None)
    if holds(body, DeclBuffer):  # memory under other names, so it says what it accesses
        made = _declared(made, intrin, matched)
        return edit.tree.replace(place, (made,))[0]
    return edit.tree.replace(place, (inferred(made),))[0]


def _match(match: Match, intrin: TensorIntrin, stmt: Block) -> None:
    desc = body_of(intrin.desc)
    if len(desc) == 1 and type(desc[0]) is Block and stmt.axes and len(stmt.axes) == len(desc[0].axes) == 0:
        match.stmt(desc[0], stmt)
        return
    if stmt.init is not None:
        raise Mismatch("it has an init; decompose_reduction takes it apart", stmt)
    match.bodies(desc, stmt.body, stmt)


def _declared(made: Block, intrin: TensorIntrin, matched: list[MatchBuffer]) -> Block:
    """The block with the boxes that its intrinsic reads and writes by its description."""
    read = {node.buffer for node in walk(intrin.desc.body, BufferLoad)}
    written = {node.buffer for node in walk(intrin.desc.body, BufferStore)}
    boxes = list(zip(intrin.desc.param_buffers, [stmt.source for stmt in matched], strict=True))
    return made.replace(
        reads=tuple(box for buffer, box in boxes if buffer in read),
        writes=tuple(box for buffer, box in boxes if buffer in written),
    )


def _below(place: Place) -> list[object]:
    found: list[object] = [place.stmt]
    for inner in place.below():
        found.append(inner.stmt)
        found += getattr(inner.stmt, "axes", ())
    return found


def _matched(edit: Edit, place: Place, intrin: TensorIntrin, match: Match) -> tuple[list[MatchBuffer], dict[Any, Any]]:
    """The buffers of the intrinsic as views of boxes, checked to lie in them and to be apart where written.

    The strides and offsets that the intrinsic has names for, too, are those of the views.
    """
    known = edit.analyzer(place, inside=True, sizes=True)
    written = {node.buffer for node in walk(intrin.desc.body, BufferStore)}
    stmts: list[MatchBuffer] = []
    new: dict[Any, Any] = {}
    for desc, impl in pairs_of(intrin):
        target = match.buffers.get(desc)
        if target is None:
            edit.refuse(f"`{intrin.name}` describes a buffer `{desc.name}` that it does not access", place)
        if desc in written:
            check_own_memory(edit, place, (target,))
        for other, shared in match.buffers.items():
            if other is not desc and shared is target and (desc in written or other in written):
                edit.refuse(
                    f"`{target.name}` is two buffers of the intrinsic at once, `{desc.name}` and `{other.name}`, and "
                    "is written",
                    place,
                )
        starts = match.starts[desc]
        more = len(starts) - desc.ndim
        ranges: list[Range] = []
        for at, start in enumerate(starts):
            stop: Expr = start + (const(1, start.dtype) if at < more else _dim(desc.shape[at - more], start))
            stop = known.simplify(stop)
            inside = known.can_prove(start >= 0) and known.can_prove(stop <= target.shape[at])
            if not inside:
                edit.refuse(f"the box of `{target.name}` is not proved to lie in the buffer", place)
            ranges.append(Range(start, None if at < more else stop))
        fresh = _view(impl, target, more)
        named = [*zip(impl.strides or (), fresh.strides or ()), (impl.elem_offset, fresh.elem_offset)]
        for name, value in named:
            if type(name) is Var and value is not None:
                new.setdefault(name, cast(value, name.dtype))
        steps = [step.astype(INT64) for step in fresh.strides or ()]
        strides = substitute(impl.strides or (), new)
        wanted = [step.astype(INT64) for step in strides]
        if impl.strides is not None and not all(map(known.prove_equal, wanted, steps)):
            edit.refuse(
                f"`{intrin.name}` wants the strides {_listed(strides)} of `{impl.name}`, and those of the box of "
                f"`{target.name}` are {_listed(fresh.strides or ())}",
                place,
                hint="bring the elements together first: `cache_read` or `cache_write`, and `transform_layout`",
            )
        new[impl] = fresh
        stmts.append(MatchBuffer(fresh, BufferRegion(target, tuple(ranges))))
    return stmts, new


def _listed(strides: tuple[Expr, ...]) -> str:
    words = (str(one.value) if type(one) is Const else one.script().strip() for one in strides)
    return f"({', '.join(words)})"


def _view(impl: Buffer, target: Buffer, more: int) -> Buffer:
    """The buffer of the implementation as it lies in the one of the program, whose strides it takes."""
    dtype = target.shape[0].dtype if target.shape else const(0).dtype
    strides: list[Expr] = [Var(f"{impl.name}_s{at}", dtype) for at in range(impl.ndim)]
    step = 1
    for at in reversed(range(target.ndim) if target.strides is None else ()):
        if at >= more:
            strides[at - more] = const(step, dtype)
        size = target.shape[at]
        if type(size) is not Const:
            break  # how far apart the lines outside of this dimension lie is for the call to know
        step *= int(size.value)
    return impl.replace(strides=tuple(strides), elem_offset=Var(f"{impl.name}_offset", dtype), scope=target.scope)


def _dim(dim: Expr, start: Expr) -> Expr:
    assert type(dim) is Const
    return const(int(dim.value), start.dtype)


def _named(edit: Edit, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A body whose blocks have names that no other block has."""
    names = Names(edit.tree.blocks)

    def rename(block: Block) -> Block:
        return block.replace(name=names.fresh(block.name or "block"))

    found: tuple[Stmt, ...] = rewrite(body, {Block: rename})
    return found
