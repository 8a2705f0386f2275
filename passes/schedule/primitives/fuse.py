"""fuse: nested loops become one."""

from __future__ import annotations

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.expr import Expr, Var, is_const
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import substitute, uses
from tirscript.ir.stmt import For

from ..edit import Edit
from ..loops import chain, plain, plus, product, times
from ..primitive import LoopAt, primitive
from ..tree import Place


@primitive
def fuse(edit: Edit, *loops: LoopAt, preserve_unit_iters: bool = True) -> Place:
    """Make one loop of loops that are nested in each other alone; given outermost first.

    before:                            after `fuse("i", "j")`:
        for i, j in T.grid(4, 8):          for i_j_fused in range(32):
            B[i, j] = A[i, j]                  B[i_j_fused // 8, i_j_fused % 8] = A[i_j_fused // 8, i_j_fused % 8]

    `preserve_unit_iters` of False gives the variables of loops of one iteration their only value.
    """
    if not loops:
        edit.wrong("it takes the loops to fuse")
    stmts = [plain(edit, loop, "fused") for loop in loops]
    order = chain(edit, list(loops))
    if [id(place) for place in order] != [id(place) for place in loops]:
        between = next((place for place in order if all(place is not loop for loop in loops)), None)
        if between is not None:
            edit.refuse(
                f"the loop `{between.stmt.var.name}` stands between the loops to fuse",
                (between, "this loop"),
                hint="reorder the loops first, or fuse it with them",
            )
        names = ", ".join(f"`{place.stmt.var.name}`" for place in order)
        edit.wrong("the loops are to be given from the outermost to the innermost", hint=f"that is {names}")
    for at, stmt in enumerate(stmts):
        for outer in stmts[:at]:
            if uses(stmt.start, outer.var) or uses(stmt.stop, outer.var):
                edit.refuse(
                    f"the extent of `{stmt.var.name}` depends on `{outer.var.name}`, so together they are no box",
                    *[place for place in order if place.stmt is stmt],
                )
    dtype = max((stmt.var.dtype for stmt in stmts), key=lambda d: d.bits)
    extents = [stmt.extent.astype(dtype) if stmt.extent.dtype is not dtype else stmt.extent for stmt in stmts]
    whole = product(edit, _iterations(edit, order[0], extents), order)
    fused = edit.fresh_var("_".join(stmt.var.name for stmt in stmts) + "_fused", dtype)
    values: dict[Var, Expr] = {}
    below: Expr = const(1, dtype)
    for at in range(len(stmts) - 1, -1, -1):
        stmt, extent = stmts[at], extents[at]
        value: Expr = fused if is_const(below, 1) else fused // below
        if at and not is_const(extent, 1):
            value = value % extent
        if is_const(extent, 1) and (at or len(stmts) > 1) and (not preserve_unit_iters or at):
            value = const(0, dtype)
        value = plus(stmt.start.astype(dtype) if stmt.start.dtype is not dtype else stmt.start, value)
        values[stmt.var] = value if value.dtype is stmt.var.dtype else value.astype(stmt.var.dtype)
        below = times(below, extent)
    body = substitute(stmts[-1].body, values)
    new = For(fused, const(0, dtype), whole, body, span=stmts[0].span, trivia=stmts[0].trivia)
    return edit.replace(loops[0], new)[0]


def _iterations(edit: Edit, outer: Place, extents: list[Expr]) -> list[Expr]:
    """The extents as numbers of iterations, where two that are negative would make a product that is not."""
    known = edit.analyzer(outer)
    Scoped(known).enter_function(edit.func)
    unsure = [extent for extent in extents if not known.can_prove(extent >= 0)]
    # one of them may be: then the product is not positive
    return [get_op("max")(extent, 0) if any(extent is one for one in unsure[:-1]) else extent for extent in extents]
