"""Conditions taken apart: conjunctions, negations, and comparisons in one form."""

from __future__ import annotations

from ..buffer import Buffer
from ..dtype import BOOL
from ..effects import reads_memory
from ..expr import BufferLoad, Call, CallFunction, Const, Expr
from ..op import OPS
from ..rewrite import walk

AND, OR, NOT, LIKELY = OPS["logical_and"], OPS["logical_or"], OPS["logical_not"], OPS["likely"]
_BOTH = (AND, OPS["bitwise_and"])
_EITHER = (OR, OPS["bitwise_or"])

# the comparison that holds exactly where another does not, and the one with the sides exchanged
NEGATED = {
    "less": "greater_equal",
    "greater_equal": "less",
    "greater": "less_equal",
    "less_equal": "greater",
    "equal": "not_equal",
    "not_equal": "equal",
}
SWAPPED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that hold together where a condition does; negations are pushed inwards on the way."""
    return _parts(condition, _BOTH, _EITHER)


def disjuncts(condition: Expr) -> list[Expr]:
    """The conditions of which one holds where a condition does."""
    return _parts(condition, _EITHER, _BOTH)


def _parts(condition: Expr, joins: tuple[object, ...], dual: tuple[object, ...]) -> list[Expr]:
    out: list[Expr] = []
    stack = [condition]
    while stack:
        node = stack.pop()
        if type(node) is Call and not node.dtype.is_vector:
            if node.op in joins:
                stack += node.args[::-1]
                continue
            if node.op is LIKELY:
                stack.append(node.args[0])
                continue
            if node.op is NOT:
                inner = node.args[0]
                if type(inner) is Call and inner.op in dual:
                    stack += [negation(arg) for arg in inner.args[::-1]]
                    continue
                turned = negation(inner)
                if type(turned) is not Call or turned.op is not NOT:
                    stack.append(turned)
                    continue
        out.append(node)
    return out


def negation(condition: Expr) -> Expr:
    """The opposite of a condition, comparisons turned around (but of floats: `not x < y` is no `x >= y`)."""
    if type(condition) is Const:
        return Const(not condition.value, BOOL)
    if type(condition) is Call:
        if condition.op is NOT:
            return condition.args[0]
        if condition.op is LIKELY:
            return negation(condition.args[0])
        name = NEGATED.get(condition.op.name)
        if name is not None and (name in ("equal", "not_equal") or not condition.args[0].dtype.element.is_float):
            return Call(OPS[name], condition.args, condition.dtype, span=condition.span)
    return Call(NOT, (condition,), condition.dtype, span=condition.span)


def conjunction(conditions: list[Expr]) -> Expr:
    """The conditions joined by `and`; true where there is none."""
    if not conditions:
        return Const(True, BOOL)
    result = conditions[0]
    for condition in conditions[1:]:
        result = Call(AND, (result, condition), BOOL)
    return result


def comparison(condition: Expr, integers: bool = True) -> tuple[str, Expr, Expr] | None:
    """A comparison of two scalar integers: its operator's name and its sides, else None."""
    if type(condition) is not Call or condition.op.name not in NEGATED:
        return None
    left, right = condition.args
    if left.dtype.is_vector or (integers and not left.dtype.is_int):
        return None
    return condition.op.name, left, right


def buffers_read(expr: Expr) -> frozenset[Buffer] | None:
    """The buffers whose contents a condition depends on; None where its value is not the same twice."""
    if not reads_memory(expr):
        return frozenset()
    found: set[Buffer] = set()
    for node in walk(expr):
        if type(node) is BufferLoad:
            found.add(node.buffer)
        elif type(node) is CallFunction or (
            type(node) is Call and (node.op.effect != "pure" or node.op is OPS["undef"])
        ):
            return None
    return frozenset(found)


__all__ = [
    "AND",
    "LIKELY",
    "NEGATED",
    "NOT",
    "OR",
    "SWAPPED",
    "buffers_read",
    "comparison",
    "conjunction",
    "conjuncts",
    "disjuncts",
    "negation",
]
