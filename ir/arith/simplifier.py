"""Expressions made smaller, by rules that hold under wrap-around and by what an analyzer knows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import gcd
from typing import TYPE_CHECKING, Any

from ..buffer import Buffer
from ..dtype import BOOL, DType
from ..effects import has_effect, misses, reads_memory
from ..expr import Broadcast, BufferLoad, Call, CallFunction, Const, Expr, Let, Var, is_const
from ..node import are_same
from ..op import OPS, Op
from ..op_sets import CHOICES, DIVISIONS, EXTREMES
from ..rewrite import map_except_buffers, substitute, walk
from .bounds import bounds, exact, kept, linear_bounds, whole
from .elements import Elements
from .folding import COMPARISONS, fold
from .linear import Linear, expression, leaves, linear
from .logic import negation
from .order import decided, reduced_comparison
from .patterns import Rules, apply, compile_rules
from .proving import Search
from .quotients import merge_quotients

if TYPE_CHECKING:
    from .analyzer import Analyzer, Inside

_ADDRESS = OPS["address_of"]
_ADD, _SUB, _MUL, _NEG = OPS["add"], OPS["sub"], OPS["mul"], OPS["negative"]
_UNDEF = OPS["undef"]
_UNDEFINED = {OPS["equal"]: False, OPS["not_equal"]: True}  # two undefined values are not equal
_SUMS = frozenset((_ADD, _SUB, _MUL, _NEG))
_LOGIC = {OPS["logical_and"]: False, OPS["logical_or"]: True}
_ANY = CHOICES | {OPS["equal"], OPS["not_equal"]}  # what the table has rules of for values that are no integers
STEPS = 16  # rules that may be applied at one place
SEARCH = 64  # steps of the search for a proof of one comparison
# conditions of one expression under which parts are looked at: a part that several places share is looked at once for
# each way to it there, of which each step can double the number
WITHIN = 2000


@cache
def _rules() -> dict[Op, Rules]:
    from .rule_table import RULES

    return compile_rules(RULES)


class Simplifier:
    """Rewrites expressions with what an analyzer knows of their variables."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.known = analyzer.known
        self.constants: dict[Buffer, Elements] = {}  # the constants in scope
        self.rules = _rules()
        self.steps = 0
        self.within = 0  # conditions under which parts of the expression were looked at
        self.effects = False  # whether what is visited may hold calls that do more than read

    def whole(self, expr: Expr) -> Any:
        """An expression of the program simplified. A call that does more than read is evaluated as often as it stands
        there, and in its place: two that look alike are not one value."""
        self.within = 0
        self.effects = type(expr) is not Var and type(expr) is not Const and has_effect(expr)
        return self.visit(expr)

    def visit(self, node: Any) -> Any:
        """An expression simplified; the same node where nothing changed."""
        rule = _RULES.get(type(node))
        return map_except_buffers(node, self.visit) if rule is None else rule(self, node)

    def access(self, node: Any) -> Any:
        new = node
        if node.predicate is not None:
            new = map_except_buffers(node, self.visit)
        else:
            indices = tuple([self.visit(index) for index in node.indices])
            if any(a is not b for a, b in zip(indices, node.indices)):
                new = node.replace(indices=indices)
        elements = self.constants.get(new.buffer) if self.constants else None
        found = None if elements is None else elements.element(new)
        if found is not None:
            return found
        return self.condition(new) if new is node else self.legal(node, new)

    def legal(self, node: Any, new: Any) -> Any:
        """A load or store; an index in dead code stays as it is written where its value is outside of the buffer."""
        if new.indices is not node.indices and misses(new):  # loads in the indices were asked before
            return new.replace(indices=node.indices)
        return new

    def let(self, node: Let) -> Any:
        value = self.visit(node.value)
        if type(value) is Const or type(value) is Var:
            return self.visit(substitute(node.body, {node.var: value}))
        with self.analyzer.scope():
            self.analyzer.bind(node.var, value)
            body = self.visit(node.body)
        return node if value is node.value and body is node.body else node.replace(value=value, body=body)

    def call(self, node: Call) -> Any:
        simple = self.known.simple
        found = simple.get(id(node))
        if found is not None:
            return found[1]
        if self.effects and has_effect(node):
            return map_except_buffers(node, self.visit)
        if node.op is _ADDRESS:
            # the place that it names stays one
            place = map_except_buffers(node.args[0], self.visit)
            return node if place is node.args[0] else node.replace(args=(self.legal(node.args[0], place),))
        if node.op in _SUMS and node.dtype.is_int and not node.dtype.is_vector:
            new = self.sum(node)
        elif node.op in _LOGIC and not node.dtype.is_vector:
            new = self.joined(node)
        else:
            new = self.own(self.inside(node))
        if new is not node:
            simple[id(node)] = node, new
        simple[id(new)] = new, new
        return new

    def inside(self, node: Call) -> Call:
        """A call with its arguments simplified, each where it is evaluated."""
        op, args = node.op, node.args
        if op in CHOICES and args[0].dtype.is_bool:
            first = self.visit(args[0])
            new = [first]
            for arg, condition in zip(args[1:], (first, negation(first))):
                # both arms of a Select are evaluated, so what may fail has to stay as it is
                if type(first) is Const or type(arg) is Const or (op is OPS["Select"] and self.may_fail(arg)):
                    new.append(self.visit(arg))
                    continue
                with self.where(condition):
                    new.append(self.visit(arg))
            return node if are_same(new, args) else node.replace(args=tuple(new))
        visit = self.visit
        given = tuple([visit(arg) if type(arg) is not Const else arg for arg in args])
        for a, b in zip(given, args):
            if a is not b:
                return node.replace(args=given)
        return node

    def where(self, *conditions: Expr) -> Inside:
        """A scope in which conditions hold; once there were very many, it is one that says nothing of them."""
        self.within += 1
        return self.analyzer.scope(*conditions if self.within < WITHIN else ())

    def joined(self, node: Call) -> Any:
        """`a and b and c`, or with `or`: each part where those before it do not decide."""
        op = node.op
        spine: list[Call] = []
        first: Expr = node
        while type(first) is Call and first.op is op and id(first) not in self.known.simple:
            spine.append(first)
            first = first.args[0]
        seconds: list[Expr] = []
        with self.where():
            first = part = self.visit(first)
            for call in reversed(spine):
                if self.within < WITHIN:
                    self.analyzer.assume(negation(part) if _LOGIC[op] else part)
                part = self.visit(call.args[1])
                seconds.append(part)
        result = first
        for call, part in zip(reversed(spine), seconds):
            same = result is call.args[0] and part is call.args[1]
            new = self.own(call if same else call.replace(args=(result, part)))
            self.known.simple[id(new)] = new, new
            result = new
        return result

    def own(self, node: Call) -> Any:
        """A call whose arguments are simplified already."""
        constant = fold(node.op, node.args, node.dtype)
        if constant is not None:
            return constant.replace(span=node.span)
        rule = _CALLS.get(node.op.name)
        result = rule(self, node) if rule is not None else None
        if result is None:
            result = self.by_table(node)
        return self.condition(result) if result is node and node.dtype is BOOL else result

    def by_table(self, node: Call) -> Any:
        """What the table of rules makes of a call."""
        rules = self.rules.get(node.op)
        if rules is None:
            return node
        kind = node.args[-1].dtype
        if kind.is_vector or (kind.is_float and node.op not in _ANY):
            return node
        result = apply(rules, node, self.known, self.droppable)
        if result is None:
            return node
        if type(result) is Call and result.span is None:
            result = result.replace(span=node.span)
        return self.again(result)

    def again(self, result: Expr) -> Any:
        """The result of a rule, simplified in its turn; rules that feed each other end after some steps."""
        if self.steps >= STEPS:
            return result
        self.steps += 1
        try:
            return self.visit(result)
        finally:
            self.steps -= 1

    def droppable(self, expr: Expr) -> bool:
        """Whether nothing is lost where an expression is not evaluated: it cannot fail."""
        return not self.may_fail(expr)

    def may_fail(self, expr: Expr) -> bool:
        """Whether evaluating an expression may be an error, or gives what cannot be left out."""
        if type(expr) is Var or type(expr) is Const:
            return False
        for node in walk(expr):
            if type(node) is Call:
                if node.op in DIVISIONS and node.dtype.element.is_int:
                    low, high = bounds(node.args[1], self.known)
                    if low <= 0 <= high:
                        return True
                elif node.op.effect != "pure" or node.op is OPS["undef"]:
                    return True
            elif type(node) is BufferLoad:
                if node not in self.known.exprs:
                    return True
            elif type(node) is CallFunction:
                return True
        return False

    # sums

    def sum(self, node: Call) -> Any:
        """A tree of sums: its atoms simplified, then put together anew where that makes it smaller."""
        new = node if of_variables(node) else self.atoms(node)
        if type(new) is not Call or new.op not in _SUMS:
            return new
        if Const in map(type, new.args):
            constant = fold(new.op, new.args, new.dtype)
            if constant is not None:
                return constant.replace(span=node.span)
        form = linear(new)
        merged = merge_quotients(form)
        if merged is not form or len(form.terms) < leaves(new) or not form.terms or awkward(new):
            result = expression(merged)
            if all(self.droppable(atom) for atom in atoms(new) if atom not in merged.terms):
                if type(result) is Call:
                    if merged is not form:
                        return self.again(result)
                    return result.replace(span=node.span)
                return result
        return self.product(new)

    def product(self, node: Call) -> Any:
        """`x * 1` and `x * 0` where x is no constant, and sums of extremes."""
        if node.op is _MUL:
            for one, other in (node.args, node.args[::-1]):
                if is_const(one, 1):
                    return other
                if is_const(one, 0) and self.droppable(other):
                    return one
        for arg in node.args:
            if type(arg) is Call and arg.op in EXTREMES:
                return self.by_table(node)
        return node

    def atoms(self, node: Any) -> Any:
        """A tree of sums with what it sums simplified."""
        if type(node) is Call and node.op in _SUMS and node.dtype.is_int and id(node) not in self.known.simple:
            args = tuple([self.atoms(arg) for arg in node.args])
            if any(a is not b for a, b in zip(args, node.args)):
                node = node.replace(args=args)
                constant = fold(node.op, args, node.dtype)
                if constant is not None:  # of what was no constant before: an element of one
                    return constant.replace(span=node.span)
            return self.product(node) if node.op is _MUL else node
        return self.visit(node)

    # calls by the name of their operator

    def divide(self, node: Call) -> Expr | None:
        """`(i * 4 + j) // 4` is `i + j // 4`, and `j // 4` is 0 where j is in 0 to 3."""
        parts = self.split(node)
        if parts is None:
            return None
        whole_, rest, divisor = parts
        low, high = linear_bounds(rest, self.known)
        quotient = Linear(
            {atom: c // divisor for atom, c in whole_.terms.items()}, whole_.constant // divisor, whole_.dtype
        )
        if low // divisor == high // divisor:
            if all(map(self.droppable, rest.terms)):
                return self.again(expression(quotient.shifted(low // divisor)))
            return None
        smaller = self.coarser(rest, divisor)
        if smaller is None and not (whole_.terms or whole_.constant):
            return None
        top, by = (rest, divisor) if smaller is None else smaller[:2]
        inner = Call(node.op, (expression(top), Const(by, node.dtype)), node.dtype)
        found = self.again(inner)
        return found if not (whole_.terms or whole_.constant) else self.plus(quotient, found)

    def remainder(self, node: Call) -> Expr | None:
        """`(i * 4 + j) % 4` is `j % 4`, and `j % 4` is j where j is in 0 to 3."""
        parts = self.split(node)
        if parts is None:
            return None
        whole_, rest, divisor = parts
        if not all(map(self.droppable, whole_.terms)):
            return None
        low, high = linear_bounds(rest, self.known)
        if low // divisor == high // divisor:
            return self.again(expression(rest.shifted(-(low // divisor) * divisor)))
        smaller = self.coarser(rest, divisor)
        if smaller is not None and smaller[1] > 1:
            top, by, left = smaller
            inner = self.again(Call(node.op, (expression(top), Const(by, node.dtype)), node.dtype))
            return self.plus(left, inner, divisor // by)
        if whole_.terms or whole_.constant:
            return self.again(Call(node.op, (expression(rest), node.args[1]), node.dtype, span=node.span))
        return None

    def plus(self, form: Linear, other: Expr, factor: int = 1) -> Expr:
        """The expression of a linear form and `factor` times another expression."""
        if type(other) is Const:
            return expression(form.shifted(int(other.value) * factor))
        return expression(form + Linear({other: factor}, 0, form.dtype))

    def coarser(self, rest: Linear, divisor: int) -> tuple[Linear, int, Linear] | None:
        """Of `4 * x + r` by 8, with r in 0 to 3: x, 2 and r, as `//` is `x // 2` and `%` is `x % 2 * 4 + r`."""
        steps = {gcd(divisor, c) for c in rest.terms.values()}
        for step in sorted(steps, reverse=True):
            if step == 1:
                break
            top = {atom: c // step for atom, c in rest.terms.items() if not c % step}
            constant = rest.constant % step
            left = Linear({atom: c for atom, c in rest.terms.items() if c % step}, constant, rest.dtype)
            low, high = linear_bounds(left, self.known)
            if low < 0 or high >= step or not all(map(self.droppable, left.terms)):
                continue
            upper = Linear(top, (rest.constant - constant) // step, rest.dtype)
            if exact(upper, self.known):
                return upper, divisor // step, left
        return None

    def split(self, node: Call) -> tuple[Linear, Linear, int] | None:
        """A numerator as multiples of the positive constant divisor and a rest, if nothing wraps."""
        divisor = node.args[1]
        if not (type(divisor) is Const and divisor.value > 1 and node.dtype.is_int and not node.dtype.is_vector):
            return None
        by = int(divisor.value)
        form = linear(node.args[0], None, self.keeps)
        if not exact(form, self.known):
            return None
        rest = {atom: c for atom, c in form.terms.items() if c % by}
        constant = form.constant % by
        if len(rest) == len(form.terms) and constant:
            constant = form.constant  # `(x + 7) // 4` is no shorter as `(x + 3) // 4 + 1`
        remainder = Linear(rest, constant, form.dtype)
        whole_ = Linear({atom: c for atom, c in form.terms.items() if not c % by}, form.constant - constant, form.dtype)
        if not exact(remainder, self.known) or not exact(whole_, self.known):
            return None
        return whole_, remainder, by

    def keeps(self, inner: Expr, dtype: DType) -> bool:
        """Whether the sum of the casts to a dtype is the cast of a sum: it wraps neither in its own nor in that one."""
        return kept(linear(inner), dtype, self.known)

    def comparison(self, node: Call) -> Expr | None:
        """A comparison of integers that what is known decides, or that says the same with less."""
        a, b = node.args
        if a.dtype.is_vector:
            return None
        if type(a) is Call and type(b) is Call and a.op is b.op is _UNDEF and node.op in _UNDEFINED:
            return Const(_UNDEFINED[node.op], BOOL, span=node.span)
        facts = self.analyzer.facts
        verdict = facts.truth(node) if facts.truths else None
        if verdict is not None:
            return Const(verdict, BOOL, span=node.span)
        if not a.dtype.is_int:
            return None
        verdict = decided(node.op.name, a, b, self.known)
        if verdict is None and (facts.about or self.known.steps):
            verdict = Search(facts, SEARCH).compare(node.op.name, a, b)
        if verdict is not None:
            return Const(verdict, BOOL, span=node.span) if self.droppable(a) and self.droppable(b) else None
        smaller = reduced_comparison(node, self.known, self.droppable)
        return None if smaller is None else self.again(smaller)

    def extreme(self, node: Call) -> Expr | None:
        """`T.min` and `T.max` of integers of which one is always the result."""
        a, b = node.args
        if not a.dtype.is_int or a.dtype.is_vector:
            return None
        for op, first, second in ((OPS["less_equal"], a, b), (OPS["less_equal"], b, a)):
            verdict = decided(op.name, first, second, self.known)
            if verdict is None and self.analyzer.facts.about:
                verdict = Search(self.analyzer.facts, SEARCH).compare(op.name, first, second)
            if verdict:
                kept, lost = (first, second) if node.op.name == "min" else (second, first)
                return kept if self.droppable(lost) else None
        return None

    def condition(self, node: Any) -> Expr:
        """A bool of any kind, which may be one of the facts."""
        facts = self.analyzer.facts
        if facts.truths and node.dtype is BOOL:
            verdict = facts.truth(node)
            if verdict is not None:
                return Const(verdict, BOOL, span=node.span)
        return node  # type: ignore[no-any-return]

    def both(self, node: Call) -> Expr | None:
        """`and`: the first holds where the second is looked at, and is needless where the second implies it."""
        a, b = node.args
        if node.dtype.is_vector:
            return None
        if is_const(a):
            return b if a.value else a  # type: ignore[attr-defined]
        if is_const(b):
            if b.value:  # type: ignore[attr-defined]
                return a
            return b if not has_effect(a) else None
        return b if self.implied(a, b) else None

    def either(self, node: Call) -> Expr | None:
        """`or`, as `and`."""
        a, b = node.args
        if node.dtype.is_vector:
            return None
        if is_const(a):
            return a if a.value else b  # type: ignore[attr-defined]
        if is_const(b):
            if not b.value:  # type: ignore[attr-defined]
                return a
            return b if not has_effect(a) else None
        return b if self.implied(negation(a), negation(b)) else None

    def implied(self, condition: Expr, by: Expr) -> bool:
        """Whether a comparison follows from another condition, and neither can fail."""
        if type(condition) is not Call or condition.op.name not in COMPARISONS or not condition.args[0].dtype.is_int:
            return False
        if not self.droppable(condition) or not self.droppable(by):
            return False
        with self.where(by):
            return Search(self.analyzer.facts, SEARCH).condition(condition) is True

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
        if type(inner) is Call and inner.op is node.op:
            return inner.args[0]
        return None

    def conversion(self, node: Call) -> Expr | None:
        """Casts to the dtype that a value has, and casts of casts between integers, where the one between loses nothing
        or no more than the last one."""
        inner = node.args[0]
        if inner.dtype is node.dtype:
            return inner
        if type(inner) is not Call or inner.op is not node.op or not node.dtype.element.is_int:
            return None
        source = inner.args[0]
        if not source.dtype.element.is_int or not inner.dtype.element.is_int:
            return None
        low, high = bounds(source, self.known)
        least, greatest = whole(inner.dtype)
        if inner.dtype.bits >= node.dtype.bits or (least <= low and high <= greatest):
            if source.dtype is node.dtype:
                return source
            return Call(node.op, (source,), node.dtype, span=node.span)
        return None


def of_variables(node: Expr) -> bool:
    """Whether a tree of sums holds variables and multiples of them only, as most indices do: they stay."""
    stack = [node]
    while stack:
        one = stack.pop()
        kind = type(one)
        if kind is Call:
            if one.op not in _SUMS:  # type: ignore[attr-defined]
                return False
            if one.op is _MUL and Const not in map(type, one.args):  # type: ignore[attr-defined]
                return False
            stack += one.args  # type: ignore[attr-defined]
        elif kind is not Var and kind is not Const:
            return False
    return True


def awkward(node: Call) -> bool:
    """Whether a sum is written with a zero, several constants, or 0, 1 or a constant times a constant or a multiple."""
    constants = 0
    stack: list[Expr] = [node]
    while stack:
        one = stack.pop()
        if type(one) is Const:
            constants += 1
            if one.value == 0:
                return True
        elif type(one) is Call and one.op in (_ADD, _SUB):
            stack += one.args
        elif type(one) is Call and one.op is _MUL and Const in map(type, one.args):
            inner, factor = one.args if type(one.args[1]) is Const else one.args[::-1]
            assert type(factor) is Const
            if (
                type(inner) is Const
                or factor.value in (0, 1)
                or (type(inner) is Call and inner.op is _MUL and Const in map(type, inner.args))
            ):
                return True
            stack.append(inner)
    return constants > 1


def atoms(node: Expr) -> list[Expr]:
    """What a tree of sums sums."""
    stack, found = [node], []
    while stack:
        one = stack.pop()
        sums = type(one) is Call and one.op in _SUMS
        if sums and (one.op is not _MUL or Const in map(type, one.args)):  # type: ignore[attr-defined]
            stack += one.args  # type: ignore[attr-defined]
        elif type(one) is not Const:
            found.append(one)
    return found


_RULES: dict[type, Callable[[Simplifier, Any], Any]] = {
    Let: Simplifier.let,
    Call: Simplifier.call,
    BufferLoad: Simplifier.access,
    Var: Simplifier.condition,
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
    "cast": Simplifier.conversion,
    "mul": Simplifier.identity,
    "div": Simplifier.identity,
    **dict.fromkeys(COMPARISONS, Simplifier.comparison),
}
