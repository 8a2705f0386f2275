"""reorder: nested loops in another order."""

from __future__ import annotations

from tirscript.ir.rewrite import uses
from tirscript.ir.stmt import For

from ..edit import Edit
from ..legality import check_permutation
from ..loops import chain, leaves
from ..primitive import LoopAt, primitive


@primitive
def reorder(edit: Edit, *loops: LoopAt) -> None:
    """Put loops that are nested in each other alone into the given order, outermost first; loops between them stay.

    before:                            after `reorder("j", "i")`:
        for i, j in T.grid(4, 8):          for j, i in T.grid(8, 4):
            B[i, j] = A[i, j]                  B[i, j] = A[i, j]

    Refused where an iteration would use what another one makes before it is made.
    """
    if not loops:
        edit.wrong("it takes the loops, outermost first")
    order = chain(edit, list(loops))
    wanted = {id(loop) for loop in loops}
    given = iter(loops)
    new = [next(given) if id(place) in wanted else place for place in order]
    if [id(place) for place in new] == [id(place) for place in order]:
        return
    for at, place in enumerate(new):
        stmt: For = place.stmt
        if leaves(stmt) is not None:
            edit.refuse(f"the loop `{stmt.var.name}` is left by a `break` or `continue`", place)
        for other in new[at + 1 :]:
            if uses((stmt.start, stmt.stop), other.stmt.var):
                edit.refuse(
                    f"the extent of `{stmt.var.name}` depends on `{other.stmt.var.name}`, which must stay outside",
                    (place, ""),
                    (other, "this loop"),
                )
    check_permutation(edit, order, new)
    body = order[-1].stmt.body
    for place, outer in zip(reversed(new), reversed(order)):
        # comments stay where they were written: at the head of the nest
        body = (place.stmt.replace(body=body, trivia=outer.stmt.trivia),)
    edit.replace(order[0], *body)
