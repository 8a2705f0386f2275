"""Solving for variables: bounds from conditions, and all solutions of linear equations."""

from __future__ import annotations

import itertools
import random

import pytest

from tirscript.ir import Expr, Var, const, get_op
from tirscript.ir.arith import Analyzer
from tirscript.ir.arith.evaluate import evaluate
from tirscript.ir.arith.solve import smith, solve_equations, solve_for

i, j, k, n = Var("i"), Var("j"), Var("k"), Var("n")
RANGES = {i: (-20, 20), j: (0, 11), k: (-5, 5)}
less, at_least, equal = get_op("less"), get_op("greater_equal"), get_op("equal")
both = get_op("logical_and")


def text(expr: Expr) -> str:
    return str(expr.script(fragment=True)).strip()


@pytest.mark.parametrize(
    ("condition", "lowers", "uppers", "rest"),
    [
        (less(i * 4 + j, 14), [], ["(13 - j) // 4"], []),
        (at_least(i * 4, j), ["(j + 3) // 4"], [], []),
        (less(j - i, k), ["j - k + 1"], [], []),
        (equal(i + j, 3), ["3 - j"], ["3 - j"], []),
        (equal(i * 2, j), [], [], ["i * 2 == j"]),
        (both(less(i, 3), less(k, i)), ["k + 1"], ["2"], []),
        (less(i * j, 3), [], [], ["i * j < 3"]),
        (less(i + n, 3), [], [], ["i + n < 3"]),
        (less(i % 4 + i, 3), [], [], ["i % 4 + i < 3"]),
        (get_op("not_equal")(i, 3), [], [], ["i != 3"]),
    ],
)
def test_bounds(condition: Expr, lowers: list[str], uppers: list[str], rest: list[str]) -> None:
    found = solve_for(i, condition, Analyzer(RANGES))
    assert [text(bound) for bound in found.lowers] == lowers
    assert [text(bound) for bound in found.uppers] == uppers
    assert [text(one) for one in found.rest] == rest
    if not rest:
        for point in itertools.product(range(-20, 21), range(12), range(-5, 6)):
            at = dict(zip((i, j, k), point, strict=True))
            within = all(point[0] >= evaluate(b, at) for b in found.lowers)
            within = within and all(point[0] <= evaluate(b, at) for b in found.uppers)
            assert within is bool(evaluate(condition, at)), point


def test_a_range_is_cut_down() -> None:
    found = solve_for(i, both(less(i * 4, 14), at_least(i, j)), Analyzer(RANGES))
    start, stop = found.range(const(0), const(16))
    assert (text(start), text(stop)) == ("T.max(0, j)", "T.min(T.int32(16), 4)")


@pytest.mark.parametrize("seed", range(40))
def test_smith_normal_form(seed: int) -> None:
    pick = random.Random(seed)
    height, width = pick.randint(1, 3), pick.randint(1, 4)
    matrix = [[pick.randint(-6, 6) for _ in range(width)] for _ in range(height)]
    u, d, v = smith(matrix)

    def times(a: list[list[int]], b: list[list[int]]) -> list[list[int]]:
        return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]

    assert times(times(u, matrix), v) == d
    assert all(d[r][c] == 0 for r in range(height) for c in range(width) if r != c)
    for square in (u, v):
        assert abs(determinant(square)) == 1


def determinant(matrix: list[list[int]]) -> int:
    if not matrix:
        return 1
    minors = ([row[:at] + row[at + 1 :] for row in matrix[1:]] for at in range(len(matrix)))
    return sum((-1) ** at * matrix[0][at] * determinant(minor) for at, minor in enumerate(minors))


@pytest.mark.parametrize("seed", range(25))
def test_all_solutions_are_found(seed: int) -> None:
    pick = random.Random(seed)
    unknowns = (i, j, k)
    count = pick.randint(1, 2)
    rows = [[pick.randint(-3, 3) for _ in unknowns] for _ in range(count)]
    right = [pick.randint(-4, 4) for _ in range(count)]
    equations = []
    for row, constant in zip(rows, right, strict=True):
        total: Expr = i * row[0] + j * row[1] + k * row[2]
        equations.append(equal(total, constant))
    found = solve_equations(equations, unknowns, Analyzer(dict.fromkeys(unknowns, (-50, 50))))
    assert found is not None
    wanted = {
        point
        for point in itertools.product(range(-4, 5), repeat=3)
        if all(sum(a * b for a, b in zip(row, point, strict=True)) == c for row, c in zip(rows, right, strict=True))
    }
    got = set()
    possible = all(evaluate(condition, {}) for condition in found.conditions)
    reach = 24 if len(found.free) < 3 else 5
    for numbers in itertools.product(range(-reach, reach + 1), repeat=len(found.free)) if possible else ():
        at = dict(zip(found.free, numbers, strict=True))
        point = tuple(evaluate(found.values[var], at) for var in unknowns)
        assert all(sum(a * b for a, b in zip(row, point, strict=True)) == c for row, c in zip(rows, right, strict=True))
        if max(map(abs, point)) <= 4:
            got.add(point)
    assert got == wanted


def test_what_is_given_stays() -> None:
    known = Analyzer({i: (0, 7), j: (0, 7), k: (0, 63)})
    found = solve_equations([equal(i * 4 + j * 6, k)], (i, j), known)
    assert found is not None
    assert [text(condition) for condition in found.conditions] == ["k % 2 == 0"]
    assert len(found.free) == 1
    for value, t in itertools.product(range(0, 40, 2), range(-3, 4)):
        at = {k: value, found.free[0]: t}
        assert evaluate(found.values[i], at) * 4 + evaluate(found.values[j], at) * 6 == value
    assert solve_equations([equal(i * j, k)], (i, j), known) is None
    assert solve_equations([less(i, k)], (i,), known) is None
    assert solve_equations([equal(i * n, k)], (i,), known) is None
