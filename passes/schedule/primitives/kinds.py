"""parallel, vectorize, unroll, bind: how a loop runs."""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.presburger import may_parallel
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import suggest
from tirscript.ir.expr import Const
from tirscript.ir.rewrite import definitions, walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, For

from ..dataflow import is_viewed
from ..edit import Edit
from ..legality import check_parallel, dependences, fills_in_iteration
from ..primitive import LoopAt, primitive
from ..threads import THREAD_TAGS
from ..tree import Place


@primitive
def parallel(edit: Edit, loop: LoopAt) -> None:
    """Run the iterations of a loop at once: `for i in T.parallel(n)`.

    Where iterations only share a buffer that each of them fills anew, each gets one of its own: its allocation moves
    into the loop. Refused where one iteration depends on another, a reduction over the loop among them.
    """
    _convert(edit, loop, "parallel")


@primitive
def vectorize(edit: Edit, loop: LoopAt) -> None:
    """Run the iterations of a loop as lanes of vectors: `for i in T.vectorized(n)`.

    Refused where one iteration depends on another, and where the extent is not a number.
    """
    stmt: For = loop.stmt
    if type(edit.analyzer(loop).simplify(stmt.extent)) is not Const:
        edit.refuse(
            f"the extent of `{stmt.var.name}` is not a number, so the lanes cannot be counted",
            loop,
            hint="split the loop by a constant factor first, and vectorize the inner one",
        )
    _convert(edit, loop, "vectorized")


@primitive
def unroll(edit: Edit, loop: LoopAt) -> None:
    """Write the iterations of a loop behind each other when it is lowered: `for i in T.unroll(n)`."""
    stmt: For = loop.stmt
    edit.tree.update(loop, stmt.replace(kind="unroll", thread=None))


@primitive
def bind(edit: Edit, loop: LoopAt, thread_axis: str) -> None:
    """Run the iterations of a loop as threads: `for i in T.thread_binding(n, thread="threadIdx.x")`.

    A loop over a reduction is bound to a `threadIdx` of one block of threads, which combine what each has reduced.
    """
    if thread_axis not in THREAD_TAGS:
        known = [tag for tag in THREAD_TAGS if tag.startswith(f"{thread_axis}.")] or THREAD_TAGS
        near = suggest(thread_axis, THREAD_TAGS) if known is THREAD_TAGS else None
        hint = f"did you mean {near!r}?" if near else f"they are {', '.join(known)}"
        edit.wrong(f"there is no thread axis {thread_axis!r}", hint=hint)
    _convert(edit, loop, "thread_binding", thread=thread_axis)


def _convert(edit: Edit, loop: Place, kind: str, **fields: Any) -> None:
    stmt: For = loop.stmt
    if stmt.step is not None:
        edit.refuse(f"the loop `{stmt.var.name}` counts by a step", loop)
    if kind == "parallel":
        loop = _with_own_buffers(edit, loop)
        _check_scalars(edit, loop)
    together = kind == "thread_binding" and fields["thread"].startswith("threadIdx.")
    check_parallel(edit, loop, kind, together=together)
    edit.tree.update(loop, loop.stmt.replace(kind=kind, thread=fields.get("thread")))


def _check_scalars(edit: Edit, loop: Place) -> None:
    """Refuse where iterations assign to a scalar variable from around the loop, be there but one of them."""
    own = set(definitions(loop.stmt.body))
    for node in walk(loop.stmt.body):
        if type(node) is BufferStore and node.buffer.scope == "scalar" and node.buffer not in own:
            edit.refuse(
                f"the loop `{loop.stmt.var.name}` assigns to the scalar `{node.buffer.name}` from around it",
                (loop, ""),
                (node, "here"),
            )


def _with_own_buffers(edit: Edit, loop: Place) -> Place:
    """The loop with buffers of its own for each iteration, where that is what lets its iterations run at once."""
    var = loop.stmt.var
    if may_parallel(dependences(edit, loop), loop.stmt).legal:
        return loop
    before = edit.func
    for place in list(edit.tree.root.below(AllocBuffer)):
        home = _home(edit, edit.loop(var), place)
        if home is not None:
            edit.replace(place)
            edit.tree.splice(home, "body", 0, 0, (place.stmt,))
    if edit.func is not before and not may_parallel(dependences(edit, edit.loop(var)), edit.loop(var).stmt).legal:
        edit.tree.reset(before)
    return edit.loop(var)


def _home(edit: Edit, loop: Place, alloc: Place) -> Place | None:
    """The loop, or one that it is nested in alone, whose iterations fill what they read of a buffer that nothing else
    uses; None where there is none."""
    buffer: Buffer = alloc.stmt.buffer
    if loop.contains(alloc) or is_viewed(edit.func, buffer):
        return None
    uses = sum(node is buffer for node in walk(edit.func.body))
    if sum(node is buffer for node in walk(loop.stmt.body)) + 1 != uses or uses == 1:
        return None
    while not fills_in_iteration(edit, loop, buffer):
        (inner, *others) = loop.children["body"]
        if others or type(inner.stmt) is not For:
            return None
        loop = inner
    return loop
