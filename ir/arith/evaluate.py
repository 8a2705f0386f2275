"""The exact value of integer and bool expressions for given values of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..buffer import Buffer
from ..dtype import DType
from ..expr import BufferLoad, Call, Const, Expr, Let, Var
from ..node import recursion_room
from .folding import fold
from .linear import wrap

# the element of a buffer at constant indices
Element = tuple[Buffer, tuple[int, ...]]


class Undecided(Exception):
    """The value depends on more than the given values, or there is none: a division by zero."""


def evaluate(
    expr: Expr,
    values: Mapping[Var, int],
    memory: Mapping[Element, int] | None = None,
    others: Mapping[Expr, int] | None = None,
    bound: Mapping[Var, Expr] | None = None,
) -> int:
    """The value of an integer or bool scalar; bools are 0 and 1.

    `memory` holds elements of buffers, `others` the values of subterms that have no rule here, such as comparisons of
    floats, `bound` what bound names stand for. Raises Undecided where these do not say it.
    """
    with recursion_room():
        return _Evaluation(values, memory or {}, others or {}, bound or {}).value(expr)


class _Evaluation:
    def __init__(
        self,
        values: Mapping[Var, int],
        memory: Mapping[Element, int],
        others: Mapping[Expr, int],
        bound: Mapping[Var, Expr],
    ) -> None:
        self.values, self.memory, self.others, self.bound = dict(values), memory, others, bound

    def value(self, expr: Expr) -> int:
        rule = _RULES.get(type(expr))
        if rule is not None:
            return rule(self, expr)
        return self.other(expr)

    def other(self, expr: Expr) -> int:
        found = self.others.get(expr)
        if found is None:
            raise Undecided
        return found

    def var(self, expr: Var) -> int:
        found = self.values.get(expr)
        if found is None and expr in self.bound and not expr.dtype.is_float:
            found = self.values[expr] = wrap(self.value(self.bound[expr]), expr.dtype)
        return self.other(expr) if found is None else found

    def let(self, expr: Let) -> int:
        self.values[expr.var] = self.value(expr.value)
        return self.value(expr.body)

    def load(self, expr: BufferLoad) -> int:
        found = None
        if expr.predicate is None:
            found = self.memory.get((expr.buffer, tuple([self.value(index) for index in expr.indices])))
        return self.other(expr) if found is None else found

    def call(self, expr: Call) -> int:
        name, args = expr.op.name, expr.args
        lazy = _LAZY.get(name)
        if lazy is not None:
            return lazy(self, args)
        if not all((arg.dtype.is_int or arg.dtype.is_bool) and not arg.dtype.is_vector for arg in args):
            return self.other(expr)
        constants = [_constant(self.value(arg), arg.dtype) for arg in args]
        result = fold(expr.op, tuple(constants), expr.dtype)
        if result is None or result.dtype.is_float:
            return self.other(expr)
        return int(result.value)


def _constant(value: int, dtype: DType) -> Const:
    return Const(bool(value) if dtype.is_bool else value, dtype)


def _pick(run: _Evaluation, args: tuple[Expr, ...]) -> int:
    return run.value(args[1] if run.value(args[0]) else args[2])


_RULES: dict[type, Callable[[_Evaluation, Any], int]] = {
    Const: lambda run, expr: int(expr.value) if not expr.dtype.is_float else run.other(expr),
    Var: _Evaluation.var,
    Let: _Evaluation.let,
    BufferLoad: _Evaluation.load,
    Call: _Evaluation.call,
}
_LAZY: dict[str, Callable[[_Evaluation, tuple[Expr, ...]], int]] = {
    "logical_and": lambda run, args: run.value(args[1]) if run.value(args[0]) else 0,
    "logical_or": lambda run, args: 1 if run.value(args[0]) else run.value(args[1]),
    "if_then_else": _pick,
    "Select": _pick,
    "likely": lambda run, args: run.value(args[0]),
}

__all__ = ["Element", "Undecided", "evaluate"]
