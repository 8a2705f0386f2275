"""parallel, vectorize, unroll, bind: how a loop runs."""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Const
from tirscript.ir.stmt import For

from ..edit import Edit
from ..legality import check_parallel
from ..primitive import LoopAt, primitive
from ..threads import THREAD_TAGS
from ..tree import Place


@primitive
def parallel(edit: Edit, loop: LoopAt) -> None:
    """Run the iterations of a loop at once: `for i in T.parallel(n)`.

    Refused where one iteration depends on another, a reduction over the loop among them.
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
    """Run the iterations of a loop as threads: `for i in T.thread_binding(n, thread="threadIdx.x")`."""
    if thread_axis not in THREAD_TAGS:
        edit.wrong(f"there is no thread axis {thread_axis!r}", hint=f"they are {', '.join(THREAD_TAGS)}")
    _convert(edit, loop, "thread_binding", thread=thread_axis)


def _convert(edit: Edit, loop: Place, kind: str, **fields: Any) -> None:
    stmt: For = loop.stmt
    if stmt.step is not None:
        edit.refuse(f"the loop `{stmt.var.name}` counts by a step", loop)
    check_parallel(edit, loop, kind)
    edit.tree.update(loop, stmt.replace(kind=kind, thread=fields.get("thread")))
