"""What comparisons of floats that are known say of others: `x > 1.0` says `x >= 0.0`, `x != 0.0` and `not x <= 0.5`.

Two floats are in one of four relations, since nan is neither less than, equal to nor greater than anything. What is
known of a comparison leaves some of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Call, Const, Expr, round_float

LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
ANY = LESS | EQUAL | GREATER | UNORDERED
MOST = 64  # comparisons that are looked at, the newest ones

# the relations in which a comparison is true
_RELATIONS = {"less": LESS, "less_equal": LESS | EQUAL, "equal": EQUAL}
# the relation of y and x by that of x and y
_TURNED = {LESS: GREATER, EQUAL: EQUAL, GREATER: LESS, UNORDERED: UNORDERED}
# the relations of x to a greater number, and to a lower one, by that of x to a number
_UP = {LESS: LESS, EQUAL: LESS, GREATER: LESS | EQUAL | GREATER, UNORDERED: UNORDERED}
_DOWN = {LESS: LESS | EQUAL | GREATER, EQUAL: GREATER, GREATER: GREATER, UNORDERED: UNORDERED}


def is_float_comparison(condition: Expr) -> bool:
    """Whether a condition, as `facts.literal` gives it, compares two floats."""
    return (
        type(condition) is Call
        and condition.op.name in _RELATIONS
        and condition.args[0].dtype.is_float
        and not condition.args[0].dtype.is_vector
    )


def concluded(condition: Expr, known: Sequence[tuple[Expr, bool]]) -> bool | None:
    """Whether a comparison of floats holds, by others that are known to hold or not to; None where that is open."""
    x, y, wanted = _relation(condition, True)
    left = ANY
    for other, truth in known[-MOST:]:
        a, b, relations = _relation(other, truth)
        if a == x and b == y:
            left &= relations
        elif a == y and b == x:
            left &= _mapped(relations, _TURNED)
        elif type(y) is Const and type(b) is Const and a == x:
            low, high = (round_float(one.value, one.dtype) for one in (b, y))
            if low == high:
                left &= relations
            elif low < high:
                left &= _mapped(relations, _UP)
            elif low > high:
                left &= _mapped(relations, _DOWN)
    if not left & ~wanted:
        return True
    return None if left & wanted else False


def _relation(condition: Expr, truth: bool) -> tuple[Expr, Expr, int]:
    """The sides of a comparison, a constant on the right, and the relations that its truth leaves."""
    assert type(condition) is Call
    x, y = condition.args
    relations = _RELATIONS[condition.op.name]
    if not truth:
        relations = ANY & ~relations
    return (y, x, _mapped(relations, _TURNED)) if type(x) is Const else (x, y, relations)


def _mapped(relations: int, table: dict[int, int]) -> int:
    found = 0
    for one, to in table.items():
        if relations & one:
            found |= to
    return found


__all__ = ["concluded", "is_float_comparison"]
