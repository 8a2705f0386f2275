"""split: one loop becomes several."""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.expr import Const, Expr
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import substitute
from tirscript.ir.stmt import For

from ..edit import Edit
from ..loops import guarded, number, plain, plus, product, times
from ..primitive import LoopAt, primitive
from ..refusal import quoted
from ..tree import Place


@primitive
def split(
    edit: Edit,
    loop: LoopAt,
    factors: Sequence[int | Expr | None],
    *,
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> list[Place]:
    """Split a loop into one loop for each factor, outermost first; one factor may be None and is worked out.

    before:                            after `split("i", [None, 4])`:
        for i in range(30):                for i_0 in range(8):
            B[i] = A[i]                        for i_1 in range(4):
                                                   if i_0 * 4 + i_1 < 30:
                                                       B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1]

    Where the factors do not divide the extent, the blocks in the loop get a predicate and other statements an `if`;
    with `disable_predication` they must divide it. `preserve_unit_iters` of False keeps the variables of loops of one
    iteration out of the values of axes.
    """
    stmt = plain(edit, loop, "split")
    dtype = stmt.var.dtype
    name = stmt.var.name
    if len(factors) == 0:
        edit.wrong("`factors` is empty")
    unknown = [at for at, factor in enumerate(factors) if factor is None]
    if len(unknown) > 1:
        edit.wrong(f"`factors` has {len(unknown)} times None; only one factor can be worked out")
    sizes = [const(1, dtype) if factor is None else number(edit, factor, loop, "factor") for factor in factors]
    given = product(edit, sizes, [loop])
    known = edit.analyzer(loop)
    extent = known.simplify(stmt.extent)
    if unknown:
        if type(extent) is Const and type(given) is Const:
            sizes[unknown[0]] = const(-(-max(0, int(extent.value)) // int(given.value)), dtype)
        else:
            sizes[unknown[0]] = known.simplify(get_op("ceildiv")(extent, given))
    elif known.can_prove(given < extent):
        edit.refuse(
            f"the factors make {quoted(given)} iterations, fewer than the {quoted(extent)} of `{name}`",
            loop,
            hint="give None for one of the factors",
        )
    whole = product(edit, sizes, [loop])

    variables = [edit.fresh_var(f"{name}_{at}", dtype) for at in range(len(sizes))]
    strides: list[Expr] = [const(1, dtype)]
    for size in reversed(sizes[1:]):
        strides.insert(0, times(size, strides[0]))
    position: Expr = const(0, dtype)
    for variable, size, stride in zip(variables, sizes, strides, strict=True):
        if preserve_unit_iters or not known.can_prove(get_op("equal")(size, 1)):
            position = plus(position, times(variable, stride))
    exact = known.can_prove(get_op("equal")(whole, extent))
    body = substitute(stmt.body, {stmt.var: plus(stmt.start, position)})
    if not exact:
        if disable_predication:
            edit.refuse(
                f"the factors do not divide the extent of `{name}`: {quoted(whole)} is not proved to be "
                f"{quoted(extent)}",
                loop,
                notes=known.explain(get_op("equal")(whole, extent)).lines(),
                hint="leave out `disable_predication`",
            )
        body = guarded(body, position < extent)
    for at, (variable, size) in reversed(list(enumerate(zip(variables, sizes, strict=True)))):
        trivia = None if at else stmt.trivia
        body = (For(variable, const(0, dtype), size, body, span=stmt.span, trivia=trivia),)
    edit.replace(loop, *body)
    return [edit.loop(variable) for variable in variables]
