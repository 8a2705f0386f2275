"""Expressions made smaller, by rules that hold under wrap-around."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..buffer import Buffer
from ..dtype import BOOL, INT32
from ..effects import has_effect, out_of_bounds, reads_memory
from ..expr import Broadcast, BufferLoad, Call, Const, Expr, Let, Ramp, Var, is_const
from ..op import OPS
from ..rewrite import map_except_buffers, substitute
from ..stmt import BufferStore
from .bounds import Interval, bounds, exact, linear_bounds
from .elements import Elements
from .folding import COMPARISONS, compare, fold
from .linear import Linear, expression, leaves, linear, wrap

if TYPE_CHECKING:
    from .analyzer import Analyzer

_ADDRESS = OPS["address_of"]
_SUMS = frozenset((OPS["add"], OPS["sub"], OPS["mul"], OPS["negative"]))


class Simplifier:
    """Rewrites expressions with what an analyzer knows of their variables."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.ranges = analyzer.known
        self.constants: dict[Buffer, Elements] = {}  # the constants in scope

    def visit(self, node: Any) -> Any:
        """An expression simplified; the same node where nothing changed."""
        rule = _RULES.get(type(node))
        return map_except_buffers(node, self.visit) if rule is None else rule(self, node)

    def access(self, node: Any) -> Any:
        new = map_except_buffers(node, self.visit)
        elements = self.constants.get(new.buffer)
        found = None if elements is None else elements.element(new)
        if found is not None:
            return found
        return new if new is node else self.legal(node, new)

    def legal(self, node: Any, new: Any) -> Any:
        """A load or store; an index in dead code stays as it is written where its value is outside of the buffer."""
        if new.indices is not node.indices and out_of_bounds(new.replace(**_NO_VALUE[type(new)])):
            return new.replace(indices=node.indices)
        return new

    def let(self, node: Let) -> Any:
        value = self.visit(node.value)
        if type(value) is Const or type(value) is Var:
            return self.visit(substitute(node.body, {node.var: value}))
        if value.dtype.is_int and not value.dtype.is_vector:
            self.ranges[node.var] = bounds(value, self.ranges)
        body = self.visit(node.body)
        return node if value is node.value and body is node.body else node.replace(value=value, body=body)

    def call(self, node: Call) -> Any:
        if node.op in _SUMS and node.dtype.is_int and not node.dtype.is_vector:
            return self.sum(node)
        if node.op is _ADDRESS:
            # the place that it names stays one
            place = map_except_buffers(node.args[0], self.visit)
            return node if place is node.args[0] else node.replace(args=(self.legal(node.args[0], place),))
        return self.own(map_except_buffers(node, self.visit))

    def own(self, node: Call) -> Any:
        """A call whose arguments are simplified already."""
        constant = fold(node.op, node.args, node.dtype)
        if constant is not None:
            return constant.replace(span=node.span)
        rule = _CALLS.get(node.op.name)
        result = rule(self, node) if rule is not None else None
        return node if result is None else result

    def sum(self, node: Call) -> Any:
        """A tree of sums: its atoms simplified, then put together anew where that makes it smaller."""
        new = self.atoms(node)
        constant = fold(new.op, new.args, new.dtype) if type(new) is Call else None
        if constant is not None:
            return constant.replace(span=node.span)
        if type(new) is not Call or new.op not in _SUMS:
            return new
        form = linear(new)
        if len(form.terms) < leaves(new) or not form.terms or _awkward(new):
            result = expression(form)
            pure = all(not reads_memory(atom) for atom in _atoms(new) if atom not in form.terms)
            if pure:
                return result.replace(span=node.span) if type(result) is not Var else result
        return self.product(new)

    def product(self, node: Call) -> Any:
        """`x * 1` and `x * 0` where x is no constant."""
        if node.op is OPS["mul"]:
            for one, other in (node.args, node.args[::-1]):
                if is_const(one, 1):
                    return other
                if is_const(one, 0) and not reads_memory(other):
                    return one
        return node

    def atoms(self, node: Any) -> Any:
        """A tree of sums with what it sums simplified."""
        if type(node) is Call and node.op in _SUMS and node.dtype.is_int:
            args = tuple(self.atoms(arg) for arg in node.args)
            if any(a is not b for a, b in zip(args, node.args, strict=True)):
                node = node.replace(args=args)
            return self.product(node)
        return self.visit(node)

    def ramp(self, node: Ramp) -> Any:
        return map_except_buffers(node, self.visit)

    # calls by the name of their operator

    def divide(self, node: Call) -> Expr | None:
        """`(i * 4 + j) // 4` is `i + j // 4`, and `j // 4` is 0 where j is in 0 to 3."""
        parts = self.split(node)
        if parts is None:
            return self.nested_division(node)
        whole, rest, divisor = parts
        low, high = linear_bounds(rest, self.ranges)
        quotient = Linear(
            {atom: c // divisor for atom, c in whole.terms.items()}, whole.constant // divisor, whole.dtype
        )
        if low // divisor == high // divisor:
            return expression(quotient.shifted(low // divisor))
        if whole.terms or whole.constant:
            inner = Call(node.op, (expression(rest), node.args[1]), node.dtype)
            return expression(quotient + Linear({inner: 1}, 0, node.dtype))
        return self.nested_division(node)

    def nested_division(self, node: Call) -> Expr | None:
        """`(x // a) // b` is `x // (a * b)` for positive constants."""
        inner, divisor = node.args
        if not (
            type(inner) is Call and inner.op is node.op and type(divisor) is Const and type(inner.args[1]) is Const
        ):
            return self.by_one(node)
        a, b = int(inner.args[1].value), int(divisor.value)
        if a <= 0 or b <= 0 or wrap(a * b, node.dtype) != a * b:
            return self.by_one(node)
        return Call(node.op, (inner.args[0], Const(a * b, node.dtype)), node.dtype, span=node.span)

    def by_one(self, node: Call) -> Expr | None:
        return node.args[0] if is_const(node.args[1], 1) and node.dtype.is_int else None

    def remainder(self, node: Call) -> Expr | None:
        """`(i * 4 + j) % 4` is `j % 4`, and `j % 4` is j where j is in 0 to 3."""
        if is_const(node.args[1], 1) and node.dtype.is_int and not reads_memory(node.args[0]):
            return Const(0, node.dtype)
        parts = self.split(node)
        if parts is None:
            return None
        whole, rest, divisor = parts
        low, high = linear_bounds(rest, self.ranges)
        if low // divisor == high // divisor:
            return expression(rest.shifted(-(low // divisor) * divisor))
        if whole.terms or whole.constant:
            return Call(node.op, (expression(rest), node.args[1]), node.dtype, span=node.span)
        return None

    def split(self, node: Call) -> tuple[Linear, Linear, int] | None:
        """A numerator as multiples of the positive constant divisor and a rest, if nothing wraps."""
        divisor = node.args[1]
        if not (type(divisor) is Const and divisor.value > 0 and node.dtype.is_int and not node.dtype.is_vector):
            return None
        by = int(divisor.value)
        form = linear(node.args[0])
        if not exact(form, self.ranges) or any(reads_memory(atom) for atom in form.terms):
            return None
        rest = {atom: c for atom, c in form.terms.items() if c % by}
        constant = form.constant % by
        remainder = Linear(rest, constant, form.dtype)
        whole = Linear({atom: c for atom, c in form.terms.items() if not c % by}, form.constant - constant, form.dtype)
        if not exact(remainder, self.ranges) or not exact(whole, self.ranges):
            return None
        return whole, remainder, by

    def comparison(self, node: Call) -> Expr | None:
        """A comparison of integers that the bounds of both sides, or of their difference, decide."""
        a, b = node.args
        if not a.dtype.is_int or a.dtype.is_vector:
            return None
        name = node.op.name
        verdict = _decide(name, bounds(a, self.ranges), bounds(b, self.ranges))
        if verdict is None:
            left, right = linear(a), linear(b)
            difference = left - right
            if difference.is_constant and difference.constant == 0:
                verdict = compare(name, 0, 0)
            elif exact(left, self.ranges) and exact(right, self.ranges):
                # neither side wraps, so the difference counts as a number: it is summed here without wrapping
                terms = {**left.terms}
                for atom, c in right.terms.items():
                    terms[atom] = terms.get(atom, 0) - c
                free = Linear({k: c for k, c in terms.items() if c}, left.constant - right.constant, left.dtype)
                verdict = _decide(name, linear_bounds(free, self.ranges), (0, 0))
        if verdict is None or reads_memory(a) or reads_memory(b):
            return None
        return Const(verdict, BOOL, span=node.span)

    def extreme(self, node: Call) -> Expr | None:
        """`T.min` and `T.max` of integers of which one is always the result."""
        a, b = node.args
        if not a.dtype.is_int or a.dtype.is_vector or reads_memory(a) or reads_memory(b):
            return None
        smaller = self.comparison(Call(OPS["less_equal"], (a, b), BOOL))
        larger = self.comparison(Call(OPS["greater_equal"], (a, b), BOOL))
        take_first, take_second = (smaller, larger) if node.op.name == "min" else (larger, smaller)
        if is_const(take_first, True):
            return a
        return b if is_const(take_second, True) else None

    def both(self, node: Call) -> Expr | None:
        a, b = node.args
        if node.dtype.is_vector:
            return None
        if is_const(a, True):
            return b
        if is_const(a, False):
            return a
        if is_const(b, False) and not has_effect(a):
            return b
        return a if is_const(b, True) else None

    def either(self, node: Call) -> Expr | None:
        a, b = node.args
        if node.dtype.is_vector:
            return None
        if is_const(a, False):
            return b
        if is_const(a, True):
            return a
        if is_const(b, True) and not has_effect(a):
            return b
        return a if is_const(b, False) else None

    def choice(self, node: Call) -> Expr | None:
        condition, a, b = node.args
        lone = condition.value if type(condition) is Broadcast else condition
        if type(lone) is not Const:
            return None
        taken, other = (a, b) if lone.value else (b, a)
        if node.op.name == "Select" and reads_memory(other):
            return None
        return taken

    def identity(self, node: Call) -> Expr | None:
        """`x * 1` and `x / 1` are exact for floats too."""
        a, b = node.args
        if node.dtype.is_float and is_const(b, 1.0):
            return a
        return b if node.op.name == "mul" and node.dtype.is_float and is_const(a, 1.0) else None

    def inverse(self, node: Call) -> Expr | None:
        """`not not x` is x."""
        inner = node.args[0]
        return inner.args[0] if type(inner) is Call and inner.op is node.op else None


def _decide(name: str, a: Interval, b: Interval) -> bool | None:
    """A comparison of anything in `a` with anything in `b`, where all give the same."""
    (p, q), (r, s) = a, b
    if name in ("equal", "not_equal"):
        if q < r or s < p:
            return name == "not_equal"
        return name == "equal" if p == q == r == s else None
    least, most = ((p, s), (q, r)) if name in ("less", "less_equal") else ((q, r), (p, s))
    if not compare(name, *least):
        return False
    return True if compare(name, *most) else None


def _awkward(node: Call) -> bool:
    """Whether a sum is written with a zero, several constants, or a constant times a constant multiple."""
    constants = 0
    stack: list[Expr] = [node]
    while stack:
        one = stack.pop()
        if type(one) is Const:
            constants += 1
            if one.value == 0:
                return True
        elif type(one) is Call and one.op in (OPS["add"], OPS["sub"]):
            stack += one.args
        elif type(one) is Call and one.op is OPS["mul"] and Const in map(type, one.args):
            inner = one.args[0] if type(one.args[1]) is Const else one.args[1]
            if type(inner) is Call and inner.op is OPS["mul"] and Const in map(type, inner.args):
                return True
    return constants > 1


def _atoms(node: Expr) -> list[Expr]:
    stack, found = [node], []
    while stack:
        one = stack.pop()
        sums = type(one) is Call and one.op in _SUMS
        if sums and (one.op is not OPS["mul"] or Const in map(type, one.args)):  # type: ignore[attr-defined]
            stack += one.args  # type: ignore[attr-defined]
        elif type(one) is not Const:
            found.append(one)
    return found


# what is left out when the place of an access alone is looked at
_NO_VALUE: dict[type, dict[str, Any]] = {BufferLoad: {}, BufferStore: {"value": Const(0, INT32)}}
_RULES: dict[type, Callable[[Simplifier, Any], Any]] = {
    Let: Simplifier.let,
    Call: Simplifier.call,
    BufferLoad: Simplifier.access,
    Ramp: Simplifier.ramp,
    Var: lambda self, node: node,
    Const: lambda self, node: node,
    Buffer: lambda self, node: node,
}
_CALLS: dict[str, Callable[[Simplifier, Call], Expr | None]] = {
    "floordiv": Simplifier.divide,
    "floormod": Simplifier.remainder,
    "min": Simplifier.extreme,
    "max": Simplifier.extreme,
    "logical_and": Simplifier.both,
    "logical_or": Simplifier.either,
    "logical_not": Simplifier.inverse,
    "if_then_else": Simplifier.choice,
    "Select": Simplifier.choice,
    "mul": Simplifier.identity,
    "div": Simplifier.identity,
    **dict.fromkeys(COMPARISONS, Simplifier.comparison),
}
