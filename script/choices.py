"""Literals that a condition or `T.min` chooses between: they take the dtype of the place or operand that they meet.

`A[i] = 255 if c else 0` stores either literal, which fits an element of uint8, as `A[i] = 255` does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import DType
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.op import OPS, Op, convert, unify

from .context import FIRST, is_single
from .meet import fit
from .plain import PlainLowering

_CHOOSING = {name: OPS[name] for name in ("if_then_else", "Select", "min", "max")}


class Choice:
    """An operator on literals, of which it is not known yet which dtype they take."""

    def __init__(self, entry: Op, args: list[Any], node: ast.expr, nodes: tuple[ast.expr, ...]) -> None:
        self.entry, self.args, self.node, self.nodes = entry, args, node, nodes

    def places(self) -> range:
        """Which arguments the literals are."""
        first, last = self.entry.group
        return range(first, len(self.args) if last is None else last)

    @property
    def sample(self) -> int | float:
        """A literal that meets other dtypes as these do."""
        items = [self.args[at] for at in self.places()]
        return sum(item.sample if type(item) is Choice else type(item)(0) for item in items)


class ChoiceLowering(PlainLowering):
    """Lowers what may be a choice between literals."""

    open_rules: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def operator(self, entry: Op, args: list[Any], node: ast.expr, nodes: tuple[ast.expr, ...] = ()) -> Expr:
        """A call of the table with the typing rules, at the span of `node`."""
        raise AssertionError("given by ExprLowering")

    def open_python(self, function: Any, node: ast.Call) -> Any:
        """What a function of the user's own Python returns, or a Choice of `min` and `max`."""
        raise AssertionError("given by CallLowering")

    def open_value(self, node: ast.expr) -> Any:
        """What `value` gives, or the Choice that a syntax node is."""
        rule = self.open_rules.get(type(node))
        return self.operand(node) if rule is None else rule(self, node)

    def open_conditional(self, node: ast.IfExp) -> Any:
        """`a if c else b`."""
        test = self.condition(node.test)
        if not isinstance(test, Expr):
            return self.open_value(node.body if test else node.orelse)
        args = [test, self.open_value(node.body), self.open_value(node.orelse)]
        return self.chosen(OPS["if_then_else"], args, node, (node.test, node.body, node.orelse))

    def open_call(self, node: ast.Call) -> Any:
        """`T.min(a, b)`, `T.if_then_else(c, a, b)`, Python's `min(a, b)`, or any other call."""
        func = node.func
        name = func.attr if type(func) is ast.Attribute else func.id if type(func) is ast.Name else ""
        entry = _CHOOSING.get(name)
        if entry is None or any(type(arg) is ast.Starred for arg in node.args):
            return self.value(node)
        function = self.value(func)
        if function is entry:
            node = self.by_place(entry, node)
        if node.keywords:
            return self.value(node)
        if function is min or function is max:
            return self.open_python(function, node)
        if function is not entry or len(node.args) != entry.arity[0]:
            return self.value(node)
        return self.chosen(entry, [self.open_value(arg) for arg in node.args], node, tuple(node.args))

    def among(self, entry: Op, args: list[Any], node: ast.Call) -> Any:
        """`min` or `max` of several operands, literals among them."""
        nodes = node.args if len(node.args) == len(args) else [node] * len(args)
        result, at = args[0], nodes[0]
        for item, here in zip(args[1:], nodes[1:], strict=True):
            result = self.chosen(entry, [result, item], node, (at, here))
        return result

    def chosen(self, entry: Op, args: list[Any], node: ast.expr, nodes: tuple[ast.expr, ...]) -> Any:
        """A choice where all that is chosen are literals, else the operator."""
        choice = Choice(entry, args, node, nodes)
        literal = all(type(args[at]) in (int, float, Choice) for at in choice.places())
        return choice if literal and not self.theirs else self.operator(entry, args, node, nodes)

    def element(self, value: Any, node: ast.AST) -> Any:
        """What stands for a value where a value is meant: in TVM's text a buffer of one element is that element."""
        if self.theirs and is_single(value):
            return BufferLoad(value, FIRST, span=self.span(node))
        return value

    def operand(self, node: ast.expr) -> Any:
        """What a syntax node means where a value is meant."""
        return self.element(self.value(node), node)

    def operands(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Two operands; of choices alone each has the dtype of its own literals."""
        if isinstance(left, Expr) or isinstance(right, Expr):
            return left, right
        return self.closed(left), self.closed(right)

    def closed(self, value: Any, to: DType | None = None) -> Any:
        """A value whose literals have a dtype: `to`, or what they have alone; what is no choice stays."""
        if type(value) is not Choice:
            return value
        args = list(value.args)
        for at in value.places():
            args[at] = self.closed(args[at]) if to is None else self.as_placed(args[at], value.nodes[at], to.element)
        return self.operator(value.entry, args, value.node, value.nodes)

    def as_placed(self, value: Any, node: ast.expr, to: DType, what: str = "the value") -> Any:
        """A value as it is stored into a place of dtype `to`."""
        value = self.closed(value, to)
        try:
            return self.placed(convert(fit(value, to) if self.theirs else value, to, what), node)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def settled_choices(self, entry: Op, args: list[Any]) -> list[Any]:
        """The operands of an operator: choices take the dtype of those beside them."""
        if not any(type(arg) is Choice for arg in args):
            return args
        first, last = entry.group
        group, to = args[first:last], None
        if any(isinstance(arg, Expr) for arg in group):
            to = unify(entry, [arg.sample if type(arg) is Choice else arg for arg in group])[0].dtype
        group = [self.closed(arg, to) for arg in group]
        return [*args[:first], *group, *args[first + len(group) :]]


ChoiceLowering.open_rules = {ast.IfExp: ChoiceLowering.open_conditional, ast.Call: ChoiceLowering.open_call}


__all__ = ["Choice", "ChoiceLowering"]
