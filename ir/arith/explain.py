"""Why a condition could not be proved: what is known of its variables, and values for which it is false."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..expr import BufferLoad, Call, Const, Expr, Var
from ..op import OPS
from ..rewrite import walk
from .bounds import bounds, whole
from .evaluate import Undecided, evaluate
from .logic import comparison
from .polynomial import modular

if TYPE_CHECKING:
    from .analyzer import Analyzer
    from .presburger import Counterexample

MOST = 8  # facts that are told


class Explanation(Struct, frozen=True, eq=False):
    """What is known of the variables of `condition`, as lines of text, and values for which it is false, if found."""

    condition: Expr
    notes: tuple[str, ...]
    counterexample: str | None = None

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> tuple[str, ...]:
        """The notes of a diagnostic: the counterexample first."""
        return self.notes if self.counterexample is None else (self.counterexample, *self.notes)


def text(expr: Expr) -> str:
    """An expression as it is written."""
    return str(expr.script(fragment=True)).strip()


def explain(analyzer: Analyzer, condition: Expr) -> Explanation:
    """See `Analyzer.explain`."""
    names: dict[Var, None] = {}
    stack = [condition]
    while stack:
        for node in walk(stack.pop()):
            if type(node) is Var and node not in names and (node.dtype.is_int or node.dtype.is_bool):
                names[node] = None
                if node in analyzer.known.lets:
                    stack.append(analyzer.known.lets[node])
    notes = [_variable(analyzer, var) for var in names]
    notes += _facts(analyzer, names)
    notes += _overflows(analyzer, condition)
    found = analyzer.counterexample(condition)
    shown = None if found is None else _shown(condition, found, analyzer)
    return Explanation(condition, tuple(notes), shown)


def _variable(analyzer: Analyzer, var: Var) -> str:
    value = analyzer.known.lets.get(var)
    if value is not None:
        return f"`{var.name}` is `{text(value)}`"
    low, high = bounds(var, analyzer.known)
    least, greatest = whole(var.dtype)
    if low == high:
        said = f"`{var.name}` is {low}"
    elif (low, high) == (least, greatest):
        said = f"`{var.name}` may be any {var.dtype}"
    elif high == greatest:
        said = f"`{var.name}` is at least {low}"
    elif low == least:
        said = f"`{var.name}` is at most {high}"
    else:
        said = f"`{var.name}` is in {low} to {high}"
    step = analyzer.known.steps.get(var)
    if step is not None and low != high:
        said += f", a multiple of {step[0]}" if step[1] == 0 else f", {step[1]} more than a multiple of {step[0]}"
    return said


def _facts(analyzer: Analyzer, names: dict[Var, None]) -> list[str]:
    lines: dict[str, None] = {}
    for fact in analyzer.facts.all:
        if any(type(node) is Var and node in names for node in walk(fact.condition)):
            lines.setdefault(f"it is known that `{text(fact.condition)}`")
    shown = list(lines)
    if len(shown) > MOST:
        shown = [f"{len(shown) - MOST} more conditions are known", *shown[-MOST:]]
    return shown


_SUMS = tuple(OPS[name] for name in ("add", "sub", "mul", "negative"))


def _overflows(analyzer: Analyzer, condition: Expr) -> list[str]:
    """The largest sums and products that may wrap."""
    lines: dict[str, None] = {}
    stack: list[Expr] = [condition]
    while stack:
        node = stack.pop()
        if type(node) is Call:
            if node.op in _SUMS and node.dtype.is_int and not node.dtype.is_vector:
                low, high = modular(node, analyzer.known).bounds(analyzer.known)
                least, greatest = whole(node.dtype)
                if low < least or high > greatest:
                    lines.setdefault(f"`{text(node)}` may overflow {node.dtype}, and wraps around then")
                    continue
            stack += node.args[::-1]
        elif type(node) is BufferLoad:
            stack += node.indices[::-1]
    return list(lines)[:2]


_NOT = {
    "less": "not < {}",
    "less_equal": "not <= {}",
    "greater": "not > {}",
    "greater_equal": "not >= {}",
    "equal": "not {}",
    "not_equal": "which should not be {}",
}


def _shown(condition: Expr, found: Counterexample, analyzer: Analyzer) -> str:
    """`i = 3, ii = 2 gives 4 * i + ii = 14, not < 14`."""
    values = str(found)
    failed = _failing(condition, found, analyzer)
    sides = comparison(failed)
    if sides is None:
        return f"it is false for {values}" if values else "it is false"
    name, left, right = sides
    try:
        a, b = (evaluate(side, found.values, found.memory, bound=analyzer.known.lets) for side in (left, right))
    except Undecided:
        return f"it is false for {values}"
    told = f"`{text(left)}` = {a}" if type(left) is not Const else f"{a}"
    bare = type(left) is Var and left in found.values
    limit = _NOT[name].format(b if type(right) is Const else f"`{text(right)}` = {b}")
    if not values:
        return f"{told} is {limit}"
    return f"{values} is {limit}" if bare and len(found.values) == 1 else f"{values} gives {told}, {limit}"


def _failing(condition: Expr, found: Counterexample, analyzer: Analyzer) -> Expr:
    """The part of a conjunction that is false."""
    while type(condition) is Call and condition.op is OPS["logical_and"]:
        try:
            first = evaluate(condition.args[0], found.values, found.memory, bound=analyzer.known.lets)
        except Undecided:
            return condition
        condition = condition.args[1] if first else condition.args[0]
    return condition


__all__ = ["Explanation", "explain"]
