"""Every rule of the simplifier's table, tried on values: the ends of the dtypes, small ones, both signs, wrap-around."""

from __future__ import annotations

import ast
import itertools
import random
import re

import pytest

from tirscript.ir import Const, Expr, Var, dtype, get_op
from tirscript.ir.arith.bounds import Known
from tirscript.ir.arith.evaluate import Undecided, evaluate
from tirscript.ir.arith.patterns import ANYTHING, BOOLS, CONSTANTS, Rule, Side, _builder, _side, compile_rules
from tirscript.ir.arith.rule_table import RULES

SAMPLES = 160  # of the values of one rule in one dtype
BELOW = 250  # assignments that are tried without sampling


def names(rule: Rule) -> list[str]:
    found = {node.id for node in ast.walk(ast.parse(rule.form)) if isinstance(node, ast.Name) and len(node.id) == 1}
    return sorted(found)


def values_of(name: str, kind: str) -> list[tuple[int, int, int]]:
    """Values with what is known of them: (value, low, high)."""
    low, high = dtype(kind).int_range()
    if name in BOOLS:
        return [(0, 0, 1), (1, 0, 1)]
    small = [v for v in (-9, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 8, 12) if low <= v <= high]
    ends = [low, low + 1, high - 1, high, high // 2]
    if name in CONSTANTS:
        return [(v, v, v) for v in (*small, *ends)]
    out = [(v, v, v) for v in (*small, *ends)]
    for v in small:
        out += [(v, max(v - 2, low), min(v + 3, high)), (v, v, min(v + 1, high)), (v, max(v - 1, low), v)]
    out += [(v, low, high) for v in (*small, *ends)]
    return out


def assignments(rule: Rule, kind: str) -> list[tuple[tuple[int, int, int], ...]]:
    choices = [values_of(name, kind) for name in names(rule)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count <= BELOW:
        return list(itertools.product(*choices))
    pick = random.Random(str(rule))
    return [tuple(pick.choice(choice) for choice in choices) for _ in range(SAMPLES)]


def tried(rule: Rule, kind: str) -> int:
    """How many assignments the rule applies to; it fails where the two sides differ."""
    form, result = (_builder(ast.parse(text, mode="eval").body) for text in (rule.form, rule.result))
    holds = _side(ast.parse(rule.condition, mode="eval").body) if rule.condition else None
    applied = 0
    for numbers in assignments(rule, kind):
        env: dict[str, Expr] = {}
        known = Known()
        at: dict[Var, int] = {}
        for name, (value, low, high) in zip(names(rule), numbers, strict=True):
            type_ = dtype("bool") if name in BOOLS else dtype(kind)
            if name in CONSTANTS:
                env[name] = Const(value, type_)
            else:
                var = env[name] = Var(name, type_)
                known[var] = (low, high)
                at[var] = value
        for name, other in re.findall(r"opposite\((.), (.)\)", rule.condition):
            env[other] = get_op("logical_not")(env[name])
        base = dtype("bool") if set(names(rule)) <= set(BOOLS) else dtype(kind)
        if holds is not None and not holds(Side(env, known, base)):
            continue
        left, right = form(env, base), result(env, base)
        try:
            before = evaluate(left, at)
        except Undecided:
            continue  # an error before may be anything after
        applied += 1
        after = evaluate(right, at)
        assert before == after, f"{rule} in {kind}: {dict(zip(names(rule), numbers, strict=True))}: {before} != {after}"
    return applied


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_sides_of_a_rule_are_equal(rule: Rule) -> None:
    kinds: tuple[str, ...] = ("int8", "uint8", "int32")
    if set(names(rule)) <= set(BOOLS):
        kinds = ("int8",)
    assert sum(tried(rule, kind) for kind in kinds) > 0, f"{rule} was never tried"


@pytest.mark.parametrize(
    "rule",
    [
        Rule("x + c < d", "x < d - c"),
        Rule("(x // c) // d", "x // (c * d)", "c > 0"),
        Rule("x * c < d", "x < d // c", "c > 0 and exact(x * c)"),
        Rule("min(x, c) < d", "x < d"),
        Rule("x // y", "0", "high(x - y) < 0"),
        Rule("p and (q or r)", "p"),
        Rule("min(x + z, y + z)", "min(x, y) + z"),
    ],
    ids=str,
)
def test_a_wrong_rule_is_found(rule: Rule) -> None:
    with pytest.raises(AssertionError, match="!="):
        for kind in ("int8", "uint8", "int32"):
            tried(rule, kind)


def test_every_rule_is_reached_by_the_operator_of_its_form() -> None:
    table = compile_rules(RULES)
    assert {id(found.rule) for rules in table.values() for found in rules.all} == set(map(id, RULES))


def test_what_variables_stand_for() -> None:
    assert not set(CONSTANTS) & set(BOOLS) and not set(ANYTHING) & set(CONSTANTS)
