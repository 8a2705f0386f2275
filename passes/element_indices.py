"""Which values of loop variables name an element: indices that are sums of multiples, solved for the variables."""

from __future__ import annotations

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.expr import Const, Expr, Var, is_const
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import substitute, uses

# a variable with the first value and the value after the last
Bound = tuple[Var, Expr, Expr]


def solve(
    indices: tuple[Expr, ...], bound: tuple[Bound, ...], at: tuple[Expr, ...], analyzer: Analyzer
) -> dict[Var, Expr] | None:
    """The values of the bound variables with which `indices` are `at`, None where they are not found to be unique.

    Each index is a sum of multiples; of several unknown variables in one, the ranges must fit as digits do
    (`4 * io + ii` with ii below 4). That the indices are `at` with these values is for the caller to prove.
    """
    if len(indices) != len(at) or any(a.dtype is not b.dtype for a, b in zip(indices, at, strict=True)):
        return None
    values: dict[Var, Expr] = {}
    unknown = {var: (start, stop) for var, start, stop in bound}
    pending = [(linear(index), target) for index, target in zip(indices, at, strict=True) if not index.dtype.is_vector]
    progress = True
    while unknown and progress:
        progress = False
        for form, target in list(pending):
            mine = [(var, form.terms[var]) for var in unknown if var in form.terms]
            if not mine:
                continue
            found = _digits(form, mine, unknown, target, values, analyzer)
            if found is None:
                continue
            values.update(found)
            for var in found:
                del unknown[var]
            pending.remove((form, target))
            progress = True
            break
    return None if unknown else values


def _digits(
    form: Linear,
    mine: list[tuple[Var, int]],
    unknown: dict[Var, tuple[Expr, Expr]],
    target: Expr,
    values: dict[Var, Expr],
    analyzer: Analyzer,
) -> dict[Var, Expr] | None:
    names = {var for var, _ in mine}
    for atom in form.terms:
        # an unknown inside of another term, such as `i // 4`, is not solved for
        if type(atom) is not Var and any(uses(atom, var) for var in unknown):
            return None
    rest = Linear({a: c for a, c in form.terms.items() if a not in names}, form.constant, form.dtype)
    left: Expr = target
    if rest.terms or rest.constant:
        left = target - substitute(expression(rest), values)
    if any(c < 0 for _, c in mine):
        if len(mine) != 1 or mine[0][1] != -1:
            return None
        return {mine[0][0]: substitute(expression(rest), values) - target}
    mine.sort(key=lambda item: -item[1])
    found: dict[Var, Expr] = {}
    for at, (var, factor) in enumerate(mine):
        start, stop = unknown[var]
        if any(uses(end, other) for end in (start, stop) for other in names):
            return None
        low = substitute(start, values)
        if at and not analyzer.can_prove(get_op("less_equal")(stop * factor, Const(mine[at - 1][1], stop.dtype))):
            return None
        if len(mine) > 1 and not is_const(low, 0):
            return None
        value = left if not at else left % mine[at - 1][1]
        found[var] = value if factor == 1 else value // factor
    return found


def is_injective(indices: tuple[Expr, ...], bound: tuple[Bound, ...], analyzer: Analyzer) -> bool:
    """Whether different values of the bound variables surely name different elements."""
    marks = tuple(Var(f"at{number}", index.dtype) for number, index in enumerate(indices))
    if solve(indices, bound, marks, Analyzer()) is None:
        return False
    with analyzer.scope():
        for var, start, stop in bound:
            analyzer.bind(var, (start, stop))
        # what wraps around comes back to where it was
        return not any(analyzer.can_overflow(index) for index in indices)


__all__ = ["Bound", "is_injective", "solve"]
