"""Plain loops that add to elements at places read from memory become blocks.

before:                                            after:
    for i in range(1000):                              for i in range(1000):
        if A[i] >= 0:                                      with T.block("H"):
            H[A[i]] = H[A[i]] + 1                              vi = T.axis.reduce(1000, i)
                                                               if A[vi] >= 0:
                                                                   H[A[vi]] = H[A[vi]] + 1

All that the loops hold is one block, of which each loop is an axis: spatial where its iterations are proved to be
independent, a reduction else, as updates may come in any order.
"""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir.arith.presburger import Dependences, is_parallel
from tirscript.ir.expr import Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import holds, substitute
from tirscript.ir.stmt import Axis, Block, For, Stmt


def scatter_block(func: PrimFunc, nest: For, plain: Callable[[For], bool], name: Callable[[str], str]) -> For | None:
    """The nest with a block in its loops, None where it is something else.

    `plain` tells which loops may be around a block, `name` makes a name that no other block has.
    """
    from ..schedule.dataflow import is_viewed
    from ..schedule.scattered import Obstacle, goes_anywhere, scattered

    loops: list[For] = []
    body: tuple[Stmt, ...] = (nest,)
    while len(body) == 1 and type(body[0]) is For and plain(body[0]):
        loops.append(body[0])
        body = body[0].body
    if not loops or holds(body, Block):
        return None
    found = scattered(nest)
    if isinstance(found, Obstacle) or any(is_viewed(func, one) for one in found) or not goes_anywhere(nest, found):
        return None
    deps = Dependences((nest,), within=func)
    axes: list[Axis] = []
    values: dict[Var, Expr] = {}
    for loop in loops:
        var = values[loop.var] = Var(f"v{loop.var.name}", loop.var.dtype)
        kind = "spatial" if is_parallel(deps, loop) else "reduce"
        axes.append(Axis(var, kind, loop.start, loop.stop, loop.var))
    made: Stmt = Block(name(next(iter(found)).name), tuple(axes), substitute(body, values), span=body[-1].span)
    for loop in reversed(loops):
        made = loop.replace(body=(made,))
    assert type(made) is For
    return made


__all__ = ["scatter_block"]
