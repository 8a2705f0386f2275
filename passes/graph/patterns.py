"""Patterns of graphs: what to look for, and where it was found.

    x, w, b = wildcard(), wildcard(), is_constant()
    pattern = is_op("nn.relu")(is_op("add")(is_op("nn.conv2d")(x, w, groups=1), b))

A pattern that stands at two places must match one value at both. Arguments of commutative operators match in either
order. `has_dtype`, `has_shape` and `where` narrow a pattern, `a | b` is either, `named` lets what it matched be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tirscript.ir.check import public
from tirscript.ir.diagnostic import suggest
from tirscript.ir.dtype import dtype
from tirscript.ir.expr import Const
from tirscript.ir.graph import (
    FunctionCall,
    GraphConst,
    GraphExpr,
    GraphType,
    GraphVar,
    OpCall,
    TensorType,
    TupleExpr,
    TupleItem,
)
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.ir.graph_ops.infer import type_of

COMMUTATIVE = frozenset(
    ("add", "multiply", "maximum", "minimum", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
     "bitwise_and", "bitwise_or", "bitwise_xor")
)  # fmt: skip


class Match:
    """What a pattern was found to be: the value of each of its parts."""

    def __init__(self, bindings: Mapping[GraphVar, GraphExpr]) -> None:
        self.bindings = bindings  # what the variables around are bound to
        self.found: dict[Pattern, GraphExpr] = {}
        self.inside: dict[GraphVar, None] = {}  # the variables whose bindings the pattern has looked through

    def __getitem__(self, key: Pattern | str) -> GraphExpr:
        """The value that a part, or the part of that name, matched; KeyError where there is none."""
        if isinstance(key, Pattern):
            return self.found[key]
        for part, value in self.found.items():
            if part.name == key:
                return value
        raise KeyError(key)

    def value(self, expr: GraphExpr) -> GraphExpr:
        """What a variable is bound to, where that is known; any other value itself."""
        return self.bindings.get(expr, expr) if type(expr) is GraphVar else expr

    def save(self) -> tuple[dict[Pattern, GraphExpr], dict[GraphVar, None]]:
        return dict(self.found), dict(self.inside)

    def restore(self, saved: tuple[dict[Pattern, GraphExpr], dict[GraphVar, None]]) -> None:
        self.found, self.inside = dict(saved[0]), dict(saved[1])


class Pattern:
    """What values look like. Subclasses say it in `accepts`."""

    name: str | None = None

    def __init__(self) -> None:
        self.conditions: list[Callable[[GraphExpr], bool]] = []

    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        """Whether a value is of this form; its parts are matched too."""
        raise NotImplementedError

    def match(self, expr: GraphExpr, match: Match) -> bool:
        """Whether a value is of this form; where it is, `match` knows of what."""
        before = match.found.get(self)
        if before is not None:
            return before is expr
        saved = match.save()
        if self.accepts(expr, match) and all(condition(expr) for condition in self.conditions):
            match.found[self] = expr
            return True
        match.restore(saved)
        return False

    def where(self, condition: Callable[[GraphExpr], bool]) -> Pattern:
        """This pattern for values for which `condition` holds."""
        made = self.copy()
        made.conditions = [*self.conditions, condition]
        return made

    def has_dtype(self, kind: object) -> Pattern:
        """This pattern for tensors of a dtype."""
        wanted = dtype(kind)
        return self.where(lambda expr: _tensor(expr).dtype is wanted)

    def has_shape(self, shape: Sequence[int | None]) -> Pattern:
        """This pattern for tensors of a shape; None is any size."""
        return self.where(lambda expr: _is_shape(_tensor(expr), tuple(shape)))

    def named(self, name: str) -> Pattern:
        """This pattern, whose value a match tells by that name."""
        made = self.copy()
        made.name = name
        return made

    def copy(self) -> Pattern:
        """A pattern of the same form that is another one."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __or__(self, other: Pattern) -> Pattern:
        return _Either(self, other)


class _Wildcard(Pattern):
    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        return True


class _Constant(Pattern):
    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        return type(match.value(expr)) is GraphConst


class _Either(Pattern):
    def __init__(self, first: Pattern, second: Pattern) -> None:
        super().__init__()
        self.first, self.second = first, second

    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        return self.first.match(expr, match) or self.second.match(expr, match)


class _Tuple(Pattern):
    def __init__(self, fields: tuple[Pattern, ...]) -> None:
        super().__init__()
        self.fields = fields

    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        value = _through(expr, match)
        if type(value) is not TupleExpr or len(value.fields) != len(self.fields):
            return False
        return all(part.match(field, match) for part, field in zip(self.fields, value.fields, strict=True))


class _Item(Pattern):
    def __init__(self, value: Pattern, index: int) -> None:
        super().__init__()
        self.value, self.index = value, index

    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        value = _through(expr, match)
        return type(value) is TupleItem and value.index == self.index and self.value.match(value.value, match)


class _Call(Pattern):
    def __init__(self, op: str, args: tuple[Pattern, ...] | None, attrs: Mapping[str, Any]) -> None:
        super().__init__()
        self.op, self.args, self.attrs = op, args, attrs

    def __call__(self, *args: Pattern, **attrs: Any) -> Pattern:
        """Calls whose first arguments and attributes are these."""
        entry = GRAPH_OPS[self.op]
        names = [one.name for one in entry.attributes]
        for name in attrs:
            if name not in names:
                near = suggest(name, names)
                hint = f"; did you mean `{near}`?" if near else ""
                raise TypeError(f"`{entry.spelling}` has no attribute `{name}`{hint}")
        return _Call(self.op, args, attrs)

    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        value = _through(expr, match)
        if type(value) is not OpCall or value.op.name != self.op:
            return False
        if any(_plain(value.attrs.get(name)) != _plain(wanted) for name, wanted in self.attrs.items()):
            return False
        if self.args is None:
            return True
        if len(value.args) < len(self.args):
            return False
        for order in _orders(value.args, self.op):
            saved = match.save()
            if all(part.match(arg, match) for part, arg in zip(self.args, order, strict=False)):
                return True
            match.restore(saved)
        return False


class _FunctionCall(Pattern):
    def __init__(self, args: tuple[Pattern, ...]) -> None:
        super().__init__()
        self.args = args

    def accepts(self, expr: GraphExpr, match: Match) -> bool:
        value = _through(expr, match)
        if type(value) is not FunctionCall or len(value.args) != len(self.args):
            return False
        return all(part.match(arg, match) for part, arg in zip(self.args, value.args, strict=True))


def _through(expr: GraphExpr, match: Match) -> GraphExpr:
    """What a value is made by; the match goes on behind its variable."""
    value = match.value(expr)
    if value is not expr and type(expr) is GraphVar:
        match.inside[expr] = None
    return value


def _orders(args: tuple[GraphExpr, ...], op: str) -> Iterator[tuple[GraphExpr, ...]]:
    yield args
    if op in COMMUTATIVE and len(args) == 2:
        yield args[::-1]


def _plain(value: Any) -> Any:
    """An attribute in the form in which it is compared: lists and tuples are the same."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    return value.value if type(value) is Const else str(value) if hasattr(value, "bits") else value


def _tensor(expr: GraphExpr) -> TensorType:
    kind: GraphType = type_of(expr)
    return kind if type(kind) is TensorType else TensorType()


def _is_shape(kind: TensorType, wanted: tuple[int | None, ...]) -> bool:
    if kind.shape is None or len(kind.shape) != len(wanted):
        return False
    pairs = zip(kind.shape, wanted, strict=True)
    return all(size is None or (type(dim) is Const and dim.value == size) for dim, size in pairs)


def wildcard() -> Pattern:
    """Any value."""
    return _Wildcard()


def is_constant() -> Pattern:
    """A constant tensor."""
    return _Constant()


@public
def is_op(name: str) -> _Call:
    """Calls of an operator; `is_op("add")(a, b)` says of what, `is_op("sum")(x, keepdims=True)` with which attributes.

    KeyError where there is no such operator.
    """
    if name not in GRAPH_OPS:
        near = suggest(name, GRAPH_OPS)
        raise KeyError(f"there is no graph operator `{name}`" + (f"; did you mean `{near}`?" if near else ""))
    return _Call(name, None, {})


def is_tuple(*fields: Pattern) -> Pattern:
    """A tuple of these."""
    return _Tuple(fields)


def is_item(value: Pattern, index: int) -> Pattern:
    """A field of a tuple."""
    return _Item(value, index)


def is_function_call(*args: Pattern) -> Pattern:
    """A call of a function of the module on these."""
    return _FunctionCall(args)


__all__ = ["Match", "Pattern", "is_constant", "is_function_call", "is_item", "is_op", "is_tuple", "wildcard"]
