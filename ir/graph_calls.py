"""Calls of tensor functions from the graph: what their buffers say about arguments and results."""

from __future__ import annotations

from typing import Any

from .buffer import Buffer
from .dtype import INT64
from .expr import Call, Const, Expr, Var, const
from .func import PrimFunc
from .graph import GraphType, ObjectType, PrimType, TensorType
from .graph_ops.infer import match_types, with_dimensions
from .graph_ops.rules import describe
from .op import fail
from .rewrite import rewrite, walk
from .stmt import MatchBuffer
from .words import counted


class Signature:
    """The parameters of a tensor function as types of the graph, with dimensions of int64.

    `types` has one for each parameter; a handle whose buffer is not known is an object. `buffers` has those that it
    passes, None for scalars.
    """

    def __init__(self, func: PrimFunc) -> None:
        matched = {id(stmt.source): stmt.buffer for stmt in func.body if type(stmt) is MatchBuffer}
        self.func = func
        self.wide: dict[int, tuple[Var, Var]] = {}
        self.buffers: list[Buffer | None] = []
        self.types: list[GraphType] = []
        for param in func.params:
            buffer = param if type(param) is Buffer else matched.get(id(param))
            self.buffers.append(buffer)
            if buffer is not None:
                self.types.append(TensorType(tuple(map(self.dimension, buffer.shape)), buffer.dtype))
            elif isinstance(param, Var) and not param.dtype.is_handle:
                self.types.append(PrimType(param.dtype, self.dimension(param) if param.dtype.is_int else None))
            else:
                self.types.append(ObjectType())

    def dimension(self, value: Expr) -> Expr:
        """A dimension with its variables and constants in int64."""
        if all(node.dtype is INT64 for node in walk(value) if isinstance(node, (Var, Const))):
            return value
        rules: Any = {Var: self._wide, Const: _wide_constant, Call: _again}
        return rewrite(value, rules)

    def _wide(self, var: Var) -> Var:
        if var.dtype is INT64:
            return var
        return self.wide.setdefault(id(var), (var, Var(var.name, INT64)))[1]

    def results(self, given: tuple[GraphType, ...], tir_vars: tuple[Expr, ...]) -> tuple[GraphType, ...]:
        """The types of what a call with arguments of these types writes: the parameters behind the arguments.

        Raises DiagnosticError without a place: T101, T105, T207 where the arguments do not fit the parameters.
        """
        name, count = self.func.name, len(self.types)
        first, last = len(given), count - len(tir_vars)
        if first > last:
            behind = f" and {len(tir_vars)} behind the results" if tir_vars else ""
            takes = counted(count, "parameter")
            raise fail("T101", f"`{name}` takes {takes}, but {first} arguments stand here{behind}", self.order())
        bound: dict[Var, Expr] = {}
        scalars = [*zip(self.types[:first], given, strict=True)]
        scalars += [(self.types[last + at], PrimType(var.dtype, var)) for at, var in enumerate(tir_vars)]
        for want, have in scalars:
            if type(want) is PrimType and type(want.value) is Var and type(have) is PrimType and have.value is not None:
                bound[want.value] = self.dimension(have.value)
        for at, (want, have) in enumerate(zip(self.types[:first], given, strict=True)):
            what = f"argument {at + 1} of `{name}`"
            if type(want) is PrimType and type(have) is TensorType:
                raise fail("T104", f"{what} is a scalar, not a tensor")
            if type(want) is TensorType and type(have) is not ObjectType and type(have) is not TensorType:
                raise fail("T104", f"{what} is a tensor, not {describe(have)}")
            if type(want) is TensorType:
                match_types(want, have, bound, what)
        for at, var in enumerate(tir_vars):
            if type(self.types[last + at]) is not PrimType:
                param = self.func.params[last + at]
                raise fail("T101", f"`{param.name}` of `{name}` is no scalar, as {var} is", self.order())
        for param, kind in zip(self.func.params[first:last], self.types[first:last], strict=True):
            if type(kind) is PrimType:
                raise fail("T101", f"nothing gives the scalar `{param.name}` of `{name}`", self.order())
        known = {var for kind in self.types for var in _variables(kind)}
        unknown = [var for var in known if var not in bound]
        return tuple(with_dimensions(kind, bound, unknown) for kind in self.types[first:last])

    def order(self) -> str:
        """What is passed in which order."""
        names = ", ".join(f"`{param.name}`" for param in self.func.params)
        return f"arguments come first, then results, then `tir_vars`; the parameters are {names or 'none'}"


def _wide_constant(node: Const) -> Const:
    """A constant in int64; what is no dimension stays, and is told where the function is looked at."""
    return const(node.value, INT64) if -(1 << 63) <= node.value < 1 << 63 else node


def _again(node: Call) -> Expr:
    """An operator on arguments whose dtype has changed."""
    if node.op.name == "cast":
        return node.args[0]
    made: Expr = node.op(*node.args)
    return made


def _variables(kind: GraphType) -> list[Var]:
    return list(walk(kind, Var))
