"""Linear equations and inequalities over the integers, solved for variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ..expr import Call, Const, Expr, Var
from ..op import OPS, get_op
from .analyzer import Analyzer
from .bounds import exact
from .linear import Linear, expression, linear
from .logic import SWAPPED, comparison, conjuncts
from .order import subtract


class Bounds(Struct, frozen=True, eq=False):
    """What conditions say of one variable.

    It is at least each of `lowers` and at most each of `uppers`; `rest` are the conditions that say something else. The
    conditions together hold exactly where all of these do.
    """

    var: Var
    lowers: tuple[Expr, ...]
    uppers: tuple[Expr, ...]
    rest: tuple[Expr, ...]

    def range(self, start: Expr, stop: Expr) -> tuple[Expr, Expr]:
        """`range(start, stop)` cut down to these bounds, as a start and a stop."""
        low, high = start, stop
        for bound in self.lowers:
            low = get_op("max")(low, bound)
        for bound in self.uppers:
            high = get_op("min")(high, expression(linear(bound).shifted(1)))
        return low, high


def solve_for(var: Var, condition: Expr, analyzer: Analyzer) -> Bounds:
    """The bounds that a condition gives for a variable, where sums in it do not wrap.

    `4 * i + j < 14` says that i is at most `(13 - j) // 4`. A part of the condition that is not linear in the variable,
    or in which something may wrap as far as the analyzer knows, is in `rest`.
    """
    lowers: list[Expr] = []
    uppers: list[Expr] = []
    rest: list[Expr] = []
    for part in conjuncts(condition):
        found = _isolated(var, part, analyzer)
        if found is None:
            rest.append(part)
            continue
        for is_lower, bound in found:
            (lowers if is_lower else uppers).append(bound)
    return Bounds(var, tuple(lowers), tuple(uppers), tuple(rest))


def _isolated(var: Var, condition: Expr, analyzer: Analyzer) -> list[tuple[bool, Expr]] | None:
    sides = comparison(condition)
    if sides is None or sides[0] == "not_equal":
        return None
    name, left, right = sides
    if left.dtype is not var.dtype:
        return None
    if name in ("greater", "greater_equal"):
        name, left, right = SWAPPED[name], right, left
    known = analyzer.known
    low, high = linear(left), linear(right)
    if not exact(low, known) or not exact(high, known):
        return None
    number = subtract(high, low)  # at least 0, at least 1, or 0
    by = number.terms.get(var, 0)
    if not by or any(_mentions(atom, var) for atom in number.terms if atom is not var):
        return None
    others = number.without(var)
    signs = {"less": ((1, -1),), "less_equal": ((1, 0),), "equal": ((1, 0), (-1, 0))}[name]
    out = []
    for sign, shift in signs:
        bound = _bound(sign * by, _times(others, sign), shift, analyzer)
        if bound is None:
            return None
        out.append((sign * by > 0, bound))
    if name == "equal" and abs(by) != 1:
        return None  # it also says that the rest is divisible
    return out


def _times(form: Linear, factor: int) -> Linear:
    return Linear({atom: c * factor for atom, c in form.terms.items()}, form.constant * factor, form.dtype)


def _bound(by: int, others: Linear, shift: int, analyzer: Analyzer) -> Expr | None:
    """Of `by * var + others + shift >= 0`: the least value of var, or the greatest where `by` is negative."""
    dtype = others.dtype
    if by > 0:
        # var >= ceil(-(others + shift) / by) = (-others - shift + by - 1) // by
        numerator = Linear(_times(others, -1).terms, -others.constant - shift + by - 1, dtype)
    else:
        numerator = Linear(others.terms, others.constant + shift, dtype)
    least, greatest = dtype.int_range()
    numbers = (*numerator.terms.values(), numerator.constant)
    if not all(least <= number <= greatest for number in numbers) or not exact(numerator, analyzer.known):
        return None
    top = expression(numerator)
    result: Expr = top if abs(by) == 1 else Call(OPS["floordiv"], (top, Const(abs(by), dtype)), dtype)
    return analyzer.simplify(result)


def _mentions(expr: Expr, var: Var) -> bool:
    from ..rewrite import uses

    return uses(expr, var)


class Solution(Struct, frozen=True, eq=False):
    """All integer solutions of linear equations.

    `values` says each unknown in terms of the `free` variables, which may be any integers, and of what is given;
    `conditions` have to hold for there to be a solution (a divisibility, or an equation of what is given).
    """

    values: dict[Var, Expr]
    free: tuple[Var, ...]
    conditions: tuple[Expr, ...]


def solve_equations(equations: Iterable[Expr], unknowns: Sequence[Var], analyzer: Analyzer) -> Solution | None:
    """The integer solutions of equations (`a == b`, conjunctions of them) for the unknowns.

    The matrix of coefficients is brought to Smith normal form by unimodular operations on rows and columns (H. J. S.
    Smith, 1861), so that every integer solution is found and nothing else. None where an equation is not linear in the
    unknowns with constant coefficients, or may wrap as far as the analyzer knows.
    """
    rows: list[list[int]] = []
    given: list[Linear] = []
    for equation in equations:
        for part in conjuncts(equation):
            sides = comparison(part)
            if sides is None or sides[0] != "equal":
                return None
            left, right = linear(sides[1]), linear(sides[2])
            if not exact(left, analyzer.known) or not exact(right, analyzer.known):
                return None
            number = subtract(left, right)
            rest = {atom: c for atom, c in number.terms.items() if atom not in unknowns}
            if any(_mentions(atom, unknown) for atom in rest for unknown in unknowns):
                return None
            rows.append([number.terms.get(unknown, 0) for unknown in unknowns])
            # what is given stands on the right side
            given.append(_times(Linear(rest, number.constant, number.dtype), -1))
    if not rows or not unknowns:
        return None
    left_ops, diagonal, right_ops = smith(rows)
    dtype = unknowns[0].dtype
    target = [_combined(row, given) for row in left_ops]
    free: list[Var] = []
    inner: list[Linear] = []
    conditions: list[Expr] = []
    for at in range(len(unknowns)):
        by = diagonal[at][at] if at < len(rows) else 0
        if by == 0:
            free.append(Var(f"t{len(free)}", dtype))
            inner.append(Linear({free[-1]: 1}, 0, dtype))
            continue
        value = target[at]
        if all(not c % by for c in (*value.terms.values(), value.constant)):
            inner.append(Linear({atom: c // by for atom, c in value.terms.items()}, value.constant // by, dtype))
            continue
        whole = analyzer.simplify(expression(value))
        divisor = Const(abs(by), dtype)
        conditions.append(get_op("equal")(whole % divisor, Const(0, dtype)))
        inner.append(Linear({whole // divisor: 1 if by > 0 else -1}, 0, dtype))
    for at, value in enumerate(target):
        if at >= len(unknowns) or diagonal[at][at] == 0:
            if value.is_constant and value.constant == 0:
                continue
            conditions.append(get_op("equal")(expression(value), Const(0, dtype)))
    values = {}
    for unknown, row in zip(unknowns, right_ops, strict=True):
        values[unknown] = analyzer.simplify(expression(_combined(row, inner)))
    simple = [analyzer.simplify(condition) for condition in conditions]
    kept = tuple([one for one in simple if not (type(one) is Const and one.value)])
    return Solution(values, tuple(free), kept)


def _combined(row: Sequence[int], forms: Sequence[Linear]) -> Linear:
    total = Linear({}, 0, forms[0].dtype)
    for factor, form in zip(row, forms, strict=True):
        if factor:
            total = total + form.scaled(factor)
    return total


Matrix = list[list[int]]


def smith(matrix: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """(u, d, v) with u * matrix * v = d, u and v unimodular, and d diagonal."""
    d = [list(row) for row in matrix]
    height, width = len(d), len(d[0])
    u = [[int(r == c) for c in range(height)] for r in range(height)]
    v = [[int(r == c) for c in range(width)] for r in range(width)]
    for at in range(min(height, width)):
        while True:
            places = [(abs(d[r][c]), r, c) for r in range(at, height) for c in range(at, width) if d[r][c]]
            if not places:
                return u, d, v
            _, row, column = min(places)
            d[at], d[row] = d[row], d[at]
            u[at], u[row] = u[row], u[at]
            for line in (*d, *v):
                line[at], line[column] = line[column], line[at]
            pivot = d[at][at]
            for r in range(height):
                if r != at and (times := d[r][at] // pivot):
                    d[r] = [a - times * b for a, b in zip(d[r], d[at], strict=True)]
                    u[r] = [a - times * b for a, b in zip(u[r], u[at], strict=True)]
            for c in range(width):
                if c != at and (times := d[at][c] // pivot):
                    for line in (*d, *v):
                        line[c] -= times * line[at]
            if not any(d[r][at] for r in range(height) if r != at) and not any(
                d[at][c] for c in range(width) if c != at
            ):
                break
    return u, d, v


__all__ = ["Bounds", "Solution", "smith", "solve_equations", "solve_for"]
