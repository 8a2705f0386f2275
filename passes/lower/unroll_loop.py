"""Loops marked T.unroll with few iterations become their iterations.

before:                                            after:
    for i in T.unroll(2):                              B[0] = A[0]
        B[i] = A[i]                                    B[1] = A[1]

A loop of more iterations than `limit`, of an unknown number, or with a break or continue of its own stays, and so does
one around blocks with axes until `lower_blocks`: each of its iterations would be a block with a part of the values.

The annotation "pragma_auto_unroll_max_step" of a loop or block marks what is in it, innermost first: loops that run one
after another all the same become T.unroll where they hold no loop that stays, and at most as many statements when
written out. With "pragma_unroll_explicit" they are written out here, however long they are, else by the backend.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import Const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import cast
from tirscript.ir.rewrite import definitions, refresh, rewrite, substitute, walk
from tirscript.ir.stmt import Attr, Bind, Block, For, Stmt, While

from ..access import constant_extent
from ..pipeline import prim_func_pass
from ..simplify import Simplify
from ..statements import keep_comments, map_except_buffers, out_of_bounds, reads_memory


@prim_func_pass()
def unroll_loop(func: PrimFunc, *, limit: int = 16) -> PrimFunc:
    """`for i in T.unroll(2): B[i] = A[i]` becomes `B[0] = A[0]; B[1] = A[1]`."""
    func = _Marking().visit(func, 0, False)
    return rewrite(func, {For: lambda loop: unrolled(loop, limit)})


STEPS, EXPLICIT = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


class _Marking:
    """Finds the loops that annotations ask to unroll."""

    def visit(self, node: Any, most: int, explicit: bool) -> Any:
        """`node` with its loops marked or written out; loops may have `most` statements."""
        if not isinstance(node, (Stmt, PrimFunc)):
            return node
        if type(node) is Attr and node.key in (STEPS, EXPLICIT):
            most, explicit = _asked({node.key: node.value}, most, explicit, node)
        elif isinstance(node, (For, Block)) and node.annotations:
            most, explicit = _asked(node.annotations, most, explicit, node)
        new = map_except_buffers(node, lambda child: self.visit(child, most, explicit))
        if type(new) is not For or new.kind != "serial" or not most or leaves_loop(new.body) or new.step is not None:
            return new
        extent, steps = constant_extent(new), _steps(new.body)
        if extent is None or steps is None or extent * steps > most:
            return new
        new = new.replace(kind="unroll")
        return unrolled(new, extent) if explicit else new


def _asked(annotations: Any, most: int, explicit: bool, node: Stmt) -> tuple[int, bool]:
    found: dict[str, int] = {STEPS: most, EXPLICIT: explicit}
    for key in found:
        value = annotations.get(key, found[key])
        value = value.value if type(value) is Const else value
        if not isinstance(value, int) or value < 0:
            message = f"the annotation {key!r} is {value!r}"
            raise DiagnosticError([error("T404", message, node.span, hint="write a number from 0")])
        found[key] = value
    return found[STEPS], bool(found[EXPLICIT])


def _steps(body: tuple[Stmt, ...]) -> int | None:
    """How many statements a body is when its loops are written out; None where one of them stays a loop."""
    total = 0
    for stmt in body:
        if type(stmt) in (For, While):
            extent = constant_extent(stmt) if type(stmt) is For and stmt.kind == "unroll" else None
            inner = None if extent is None else _steps(stmt.body)  # type: ignore[attr-defined]
            if extent is None or inner is None:
                return None
            total += extent * inner
            continue
        nested = [
            _steps(value) for value in (getattr(stmt, name, ()) for name in ("body", "then", "orelse", "init")) if value
        ]
        if None in nested:
            return None
        total += sum(filter(None, nested)) if nested else 1
    return total


def unrolled(loop: For, limit: int) -> Any:
    """The iterations of a loop marked T.unroll, or the loop where it has too many or leaves early."""
    extent = constant_extent(loop)
    if loop.kind != "unroll" or extent is None or extent > limit or leaves_loop(loop.body) or reads_memory(loop.start):
        return loop
    if any(type(node) is Block and node.axes for node in walk(loop.body)):
        return loop
    out: list[Stmt] = []
    defines = bool(definitions(loop.body))
    for at in range(extent):
        value = Const(loop.start.value + at, loop.start.dtype) if type(loop.start) is Const else loop.start + at
        body = refresh(loop.body) if at and defines else loop.body
        ready = Simplify().body(substitute(body, {loop.var: cast(value, loop.var.dtype)}))
        if out_of_bounds(ready):  # under a condition that is false then, but only known when it runs
            index = loop.var.replace()
            ready = (Bind(index, cast(value, loop.var.dtype), span=loop.span), *substitute(body, {loop.var: index}))
        out += ready
    return keep_comments(loop, tuple(out))
