"""Rewrite rules written as Python expressions over pattern variables, compiled once.

`Rule("min(max(x, c), d)", "d", "c >= d")` says: where an expression has this form and the side condition holds, the
result has the same value. Of the variables,

    x y z   stand for any integer, c d e for integer constants,
    p q r   for any bool, a b for a value of any type;

a variable that stands twice stands for equal expressions. Operators are Python's, and the names of T (`min`, `Select`,
`ceildiv`); constants in a result are computed. A side condition is one on constants as plain integers, and

    low(x), high(x)    the bounds of an expression; of one written out, as a number, without wrapping
    exact(x + y)       the expression written here does not wrap
    fits(c * d)        the number can be held by the dtype
    opposite(p, q)     one is the negation of the other
    width              the bits of the dtype

A rule whose result leaves a variable out applies only where evaluating that variable cannot fail.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from ..dtype import BOOL, DType
from ..expr import Call, Const, Expr
from ..op import OPS, Op, get_op
from .bounds import Known, whole
from .facts import literal
from .folding import fold
from .linear import wrap
from .logic import SWAPPED
from .polynomial import Polynomial, multiply, polynomial

Env = dict[str, Expr]
Matcher = Callable[[Expr, Env], bool]

INTEGERS, CONSTANTS, BOOLS, ANYTHING = "xyz", "cde", "pqr", "ab"
_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
}
_COMPARE = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
_COMMUTES = frozenset(OPS[n] for n in ("add", "mul", "min", "max", "equal", "not_equal", "logical_and", "logical_or"))
# the second operand of these is evaluated only where the first does not decide
_LAZY = frozenset((OPS["logical_and"], OPS["logical_or"]))
_ORDERS = frozenset(("less", "less_equal", "greater", "greater_equal"))


class Rule(Struct, frozen=True, eq=False):
    """A form, what has the same value, and the condition for that."""

    form: str
    result: str
    condition: str = ""

    def __str__(self) -> str:
        return f"{self.form} -> {self.result}" + (f" if {self.condition}" if self.condition else "")


class Compiled(Struct, frozen=True, eq=False):
    """A rule ready for use."""

    rule: Rule
    root: Op
    heads: tuple[object, ...]
    match: Matcher
    reordered: bool
    build: Callable[[Env, DType], Expr]
    holds: Callable[[Side], Any] | None
    dropped: tuple[str, ...]


class Side(Struct, frozen=True, eq=False):
    """What a side condition is asked about."""

    env: Env
    known: Known
    dtype: DType


class Rules:
    """The rules for one operator at the root, in the order given, by what the operands are; compiled when asked for."""

    def __init__(self, root: Op) -> None:
        self.root = root
        self.rules: list[Rule] = []
        self._by_heads: dict[tuple[object, ...], tuple[Compiled, ...]] = {}

    @cached_property
    def all(self) -> tuple[Compiled, ...]:
        """All of them, one for each order of operands that commute."""
        return tuple(one for rule in self.rules for one in _compile(rule) if one.root is self.root)

    def for_call(self, node: Call) -> tuple[Compiled, ...]:
        """The rules that may apply to a call, by the operators of its arguments."""
        heads = tuple([_head(arg) for arg in node.args])
        found = self._by_heads.get(heads)
        if found is None:
            found = tuple([rule for rule in self.all if all(map(_may_be, rule.heads, heads))])
            self._by_heads[heads] = found
        return found


def _head(node: Expr) -> object:
    return node.op if type(node) is Call else Const if type(node) is Const else None


def _may_be(wanted: object, head: object) -> bool:
    return wanted is None or wanted is head


def _head_of_form(node: ast.AST) -> object:
    """What an operand has to be to be matched: a call of an operator, a constant, or None where it may be anything."""
    if isinstance(node, ast.Name):
        return Const if node.id in CONSTANTS else None
    found = _operands(node)
    return Const if found is None else found[0]


def compile_rules(rules: tuple[Rule, ...]) -> dict[Op, Rules]:
    """The rules by the operator at the root of their form; operands commute where they may."""
    table: dict[Op, Rules] = {}
    for rule in rules:
        for root in _roots(_parsed(rule.form)):
            table.setdefault(root, Rules(root)).rules.append(rule)
    return table


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _roots(form: ast.AST) -> list[Op]:
    """The operators of what a form matches: `d > x + c` is matched by the rule for `x + c < d`, too."""
    found = [_root(form)]
    if isinstance(form, ast.Compare) and _COMPARE[type(form.ops[0])] in _ORDERS:
        found.append(OPS[SWAPPED[_COMPARE[type(form.ops[0])]]])
    return found


def _compile(rule: Rule) -> Iterator[Compiled]:
    form, result = _parsed(rule.form), _parsed(rule.result)
    used = {node.id for node in ast.walk(result) if isinstance(node, ast.Name)}
    names = {node.id for node in ast.walk(form) if isinstance(node, ast.Name) and len(node.id) == 1}
    dropped = tuple(sorted(name for name in names - used if name not in CONSTANTS))
    holds = _side(_parsed(rule.condition)) if rule.condition else None
    build = _builder(result)
    root, *swapped = _roots(form)
    for match, reordered, heads in _matchers(form):
        yield Compiled(rule, root, heads, match, reordered, build, holds, dropped)
    for root in swapped:
        assert isinstance(form, ast.Compare)
        left, right = _matchers(form.left), _matchers(form.comparators[0])
        heads = _head_of_form(form.comparators[0]), _head_of_form(form.left)
        for (a, *_), (b, *_) in itertools.product(left, right):
            yield Compiled(rule, root, heads, _call(root, (b, a)), False, build, holds, dropped)


def apply(rules: Rules, node: Call, known: Known, droppable: Callable[[Expr], bool]) -> Expr | None:
    """What the first rule that applies makes of a call, or None."""
    for rule in rules.for_call(node):
        env: Env = {}
        if not rule.match(node, env):
            continue
        if rule.holds is not None and not rule.holds(Side(env, known, node.args[-1].dtype)):
            continue
        if not all(droppable(env[name]) for name in (env if rule.reordered else rule.dropped)):
            continue
        return rule.build(env, node.args[-1].dtype)
    return None


def _operands(node: ast.AST) -> tuple[Op, list[ast.expr]] | None:
    """The operator that a piece of a form stands for, and its operands."""
    if isinstance(node, ast.BinOp):
        return OPS[_BINARY[type(node.op)]], [node.left, node.right]
    if isinstance(node, ast.Compare):
        return OPS[_COMPARE[type(node.ops[0])]], [node.left, node.comparators[0]]
    if isinstance(node, ast.BoolOp):
        return OPS["logical_and" if isinstance(node.op, ast.And) else "logical_or"], node.values
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.operand, ast.Constant):
            return None
        return OPS["logical_not" if isinstance(node.op, ast.Not) else "negative"], [node.operand]
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        return get_op(node.func.id), node.args
    return None


def _root(form: ast.AST) -> Op:
    found = _operands(form)
    assert found is not None
    return found[0]


# forms


Heads = tuple[object, ...]


def _matchers(node: ast.AST) -> list[tuple[Matcher, bool, Heads]]:
    """What recognizes a form, one for each order of operands that commute.

    With it, whether `and` or `or` is reordered, and what the operands have to be.
    """
    if isinstance(node, ast.Name):
        return [(_variable(node.id), False, ())]
    found = _operands(node)
    if found is None:
        return [(_number(ast.literal_eval(node)), False, ())]  # type: ignore[arg-type]
    op, operands = found
    heads = tuple(map(_head_of_form, operands))
    out: list[tuple[Matcher, bool, Heads]] = []
    for choice in itertools.product(*map(_matchers, operands)):
        parts = tuple([part for part, _, _ in choice])
        reordered = any(moved for _, moved, _ in choice)
        out.append((_call(op, parts), reordered, heads))
        if op in _COMMUTES and not _same(*operands):
            out.append((_call(op, parts[::-1]), reordered or op in _LAZY, heads[::-1]))
    return out


def _same(a: ast.AST, b: ast.AST) -> bool:
    return type(a) is type(b) and ast.dump(a) == ast.dump(b)


def _variable(name: str) -> Matcher:
    accepts = _ACCEPTS[next(kind for kind in _ACCEPTS if name in kind)]

    def variable(node: Expr, env: Env) -> bool:
        known = env.get(name)
        if known is not None:
            return known is node or known == node
        if not accepts(node):
            return False
        env[name] = node
        return True

    return variable


_ACCEPTS: dict[str, Callable[[Expr], bool]] = {
    INTEGERS: lambda node: node.dtype.is_int,
    CONSTANTS: lambda node: type(node) is Const and node.dtype.is_int,
    BOOLS: lambda node: node.dtype.is_bool,
    ANYTHING: lambda node: True,
}


def _number(value: object) -> Matcher:
    def number(node: Expr, env: Env) -> bool:
        return type(node) is Const and node.value == value and node.dtype.is_bool is (type(value) is bool)

    return number


def _call(op: Op, parts: tuple[Matcher, ...]) -> Matcher:
    def call(node: Expr, env: Env) -> bool:
        if type(node) is not Call or node.op is not op or len(node.args) != len(parts):
            return False
        return all(part(arg, env) for part, arg in zip(parts, node.args))

    def one(node: Expr, env: Env) -> bool:
        return type(node) is Call and node.op is op and parts[0](node.args[0], env)

    def two(node: Expr, env: Env) -> bool:
        if type(node) is not Call or node.op is not op:
            return False
        args = node.args
        return parts[0](args[0], env) and parts[1](args[1], env)

    return {1: one, 2: two}.get(len(parts), call)


# results

Builder = Callable[[Env, DType], Expr]


def _builder(node: ast.AST) -> Builder:
    """What makes the expression of a result; `dtype` is that of the operands, which numbers take."""
    if isinstance(node, ast.Name):
        name = node.id
        return lambda env, dtype: env[name]
    found = _operands(node)
    if found is None:
        value = ast.literal_eval(node)  # type: ignore[arg-type]
        if type(value) is bool:
            constant = Const(value, BOOL)
            return lambda env, dtype: constant
        return lambda env, dtype: Const(wrap(value, dtype), dtype)
    op, operands = found
    parts = [_builder(operand) for operand in operands]

    def build(env: Env, dtype: DType) -> Expr:
        args = tuple([part(env, dtype) for part in parts])
        kind = BOOL if op.result == "bool" else args[-1].dtype
        folded = fold(op, args, kind)
        return Call(op, args, kind) if folded is None else folded

    return build


# side conditions: closures over Side

Question = Callable[[Side], Any]


def _side(node: ast.AST) -> Question:
    return _SIDES[type(node)](node)


def _side_name(node: ast.Name) -> Question:
    name = node.id
    if name == "width":
        return lambda side: side.dtype.bits
    return lambda side: int(side.env[name].value)  # type: ignore[attr-defined]


def _side_constant(node: ast.Constant) -> Question:
    value = node.value
    return lambda side: value


def _side_compare(node: ast.Compare) -> Question:
    parts = [_side(part) for part in (node.left, *node.comparators)]
    tests = [_ORDER[type(op)] for op in node.ops]

    def compare(side: Side) -> bool:
        values = [part(side) for part in parts]
        if None in values:
            return False
        return all(test(a, b) for test, a, b in zip(tests, values, values[1:]))

    return compare


def _side_logic(node: ast.BoolOp) -> Question:
    parts = [_side(part) for part in node.values]
    if isinstance(node.op, ast.And):
        return lambda side: all(part(side) for part in parts)
    return lambda side: any(part(side) for part in parts)


def _side_binary(node: ast.BinOp) -> Question:
    left, right, compute = _side(node.left), _side(node.right), _COMPUTE[type(node.op)]

    def binary(side: Side) -> Any:
        a, b = left(side), right(side)
        # a rule that divides constants does not apply where the divisor is 0
        return compute(a, b) if b or compute not in (operator.floordiv, operator.mod) else None

    return binary


def _side_unary(node: ast.UnaryOp) -> Question:
    inner = _side(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda side: not inner(side)
    return lambda side: -inner(side)


def _side_call(node: ast.Call) -> Question:
    assert isinstance(node.func, ast.Name)
    return _FUNCTIONS[node.func.id](node.args)


def _low(args: list[ast.expr]) -> Question:
    return _end(args[0], 0)


def _high(args: list[ast.expr]) -> Question:
    return _end(args[0], 1)


def _end(node: ast.expr, which: int) -> Question:
    number = _number_of(node)

    def end(side: Side) -> int | None:
        found = number(side)
        return None if found is None else found.bounds(side.known)[which]

    return end


def _exact(args: list[ast.expr]) -> Question:
    number = _number_of(args[0])
    return lambda side: number(side) is not None


def _number_of(node: ast.expr) -> Callable[[Side], Polynomial | None]:
    """What makes the number that an expression written in a condition is; None where an operation in it may wrap.

    A variable is its machine value: what it stands for may have wrapped inside.
    """
    found = _operands(node)
    if isinstance(node, ast.Name) or found is None or found[0] not in _WRAPS:
        build = _builder(node)
        return lambda side: polynomial(build(side.env, side.dtype), side.known)
    op, operands = found
    parts = [_number_of(operand) for operand in operands]
    combine = _WRAPS[op]

    def number(side: Side) -> Polynomial | None:
        numbers = [part(side) for part in parts]
        if any(part is None for part in numbers):
            return None
        result = combine(*numbers)
        if result is None:
            return None
        low, high = result.bounds(side.known)
        least, greatest = whole(side.dtype)
        return result if least <= low and high <= greatest else None

    return number


def _fits(args: list[ast.expr]) -> Question:
    value = _side(args[0])

    def fits(side: Side) -> bool:
        least, greatest = whole(side.dtype)
        number = value(side)
        return number is not None and least <= number <= greatest

    return fits


def _opposite(args: list[ast.expr]) -> Question:
    first, second = (_builder(arg) for arg in args)

    def opposite(side: Side) -> bool:
        (p, s), (q, t) = literal(first(side.env, side.dtype)), literal(second(side.env, side.dtype))
        return s is not t and p == q

    return opposite


_WRAPS: dict[Op, Callable[..., Polynomial | None]] = {
    OPS["add"]: lambda p, q: p + q,
    OPS["sub"]: lambda p, q: p - q,
    OPS["mul"]: multiply,
    OPS["negative"]: lambda p: p.scaled(-1),
}
_FUNCTIONS: dict[str, Callable[[list[ast.expr]], Question]] = {
    "low": _low,
    "high": _high,
    "exact": _exact,
    "fits": _fits,
    "opposite": _opposite,
}
_ORDER: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_COMPUTE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SIDES: dict[type, Callable[[Any], Question]] = {
    ast.Name: _side_name,
    ast.Constant: _side_constant,
    ast.Compare: _side_compare,
    ast.BoolOp: _side_logic,
    ast.BinOp: _side_binary,
    ast.UnaryOp: _side_unary,
    ast.Call: _side_call,
}

__all__ = ["Compiled", "Rule", "apply", "compile_rules"]
