"""What the analyzer proves of random conditions whose truth is found by trying all values; how simplifying grows."""

from __future__ import annotations

import time
from collections.abc import Callable

from tirscript.ir import Expr, Var, get_op
from tirscript.ir.arith import Analyzer
from tirscript.testing.random_conditions import Question, question

QUESTIONS = 10_000
SIZES = (1_000, 2_000, 4_000, 8_000)


def asked(one: Question, *, presburger: bool = True) -> bool:
    """Whether the analyzer proves the condition of a question."""
    analyzer = Analyzer(one.ranges, presburger=presburger)
    for fact in one.facts:
        analyzer.assume(fact)
    return analyzer.can_prove(one.condition)


def shares(count: int = QUESTIONS) -> dict[str, float]:
    """Of the first `count` random questions, how many are proved though false, and which share of true ones is."""
    found = {"questions": count, "true": 0, "proved though false": 0, "true and affine": 0, "proved": 0, "cheaply": 0}
    seconds = 0.0
    for seed in range(count):
        one = question(seed)
        start = time.process_time()
        proved = asked(one)
        seconds += time.process_time() - start
        found["true"] += one.holds
        if proved and not one.holds:
            found["proved though false"] += 1
        if one.holds and one.affine:
            found["true and affine"] += 1
            found["proved"] += proved
            found["cheaply"] += asked(one, presburger=False)
    result: dict[str, float] = {**found}
    result["share proved"] = found["proved"] / max(1, found["true and affine"])
    result["share proved without isl"] = found["cheaply"] / max(1, found["true and affine"])
    result["microseconds a question"] = seconds / count * 1e6
    return result


i, n = Var("i"), Var("n")


def _sum(size: int) -> Expr:
    total: Expr = n
    for at in range(size):
        total = total + Var(f"v{at}") * (at % 7 + 1)
    return total


def _divisions(size: int) -> Expr:
    total: Expr = n
    for at in range(size):
        total = (total + i) // (at % 5 + 2)
    return total


def _remainders(size: int) -> Expr:
    total: Expr = n
    for at in range(size):
        total = (total * 4 + i) % (at % 5 + 7)
    return total


def _extremes(size: int) -> Expr:
    total: Expr = n
    for at in range(size):
        total = get_op("min" if at % 2 else "max")(total, Var(f"v{at}"))
    return total


def _sum_of_quotients(size: int) -> Expr:
    total: Expr = n
    for at in range(size):
        total = total + (i + at) // (at % 13 + 2)
    return total


def _conjunction(size: int) -> Expr:
    total = get_op("less")(n, 3)
    for at in range(size):
        total = get_op("logical_and")(total, get_op("less")(Var(f"v{at}"), n))
    return total


KINDS: dict[str, Callable[[int], Expr]] = {
    "sum of multiples": _sum,
    "sum of quotients": _sum_of_quotients,
    "nested //": _divisions,
    "nested %": _remainders,
    "nested min and max": _extremes,
    "conjunction": _conjunction,
}


def growth(rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds a term to simplify expressions of more and more terms."""
    found: dict[str, dict[str, float]] = {}
    for name, make in KINDS.items():
        found[name] = {}
        for size in SIZES:
            expr = make(size)
            best = min(_seconds(expr) for _ in range(rounds))
            found[name][str(size)] = best / size * 1e6
    return found


def _seconds(expr: Expr) -> float:
    analyzer = Analyzer({i: (0, 7), n: (0, 100)})
    start = time.process_time()
    analyzer.simplify(expr)
    return time.process_time() - start
