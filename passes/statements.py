"""Small helpers that passes share: conditions, comments of statements that go away, scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import structs

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, CallFunction, Const, Expr, Ramp
from tirscript.ir.node import Node, shape_of
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import map_value, walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import BufferStore, Stmt


def conjunction(conditions: Iterable[Expr]) -> Expr | None:
    """The conditions joined by `and`; None where there is none."""
    result: Expr | None = None
    for condition in conditions:
        result = condition if result is None else get_op("logical_and")(result, condition)
    return result


def equal(a: Expr, b: Expr) -> Expr:
    """`a == b` as an expression."""
    return get_op("equal")(a, b)


def reads_memory(expr: Node) -> bool:
    """Whether an expression's value may change when memory does, or its evaluation has an effect."""
    for node in walk(expr):
        kind = type(node)
        if kind is BufferLoad or kind is CallFunction:
            return True
        if kind is Call and node.op.effect != "pure":  # type: ignore[attr-defined]
            return True
        if kind is Call and node.op is OPS["undef"]:  # type: ignore[attr-defined]
            return True
    return False


def keep_comments(gone: Stmt, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body`, which stands in the place of `gone`, with the comments of `gone` at its first statement."""
    trivia = gone.trivia
    if trivia is None or not body:
        return body
    before = (*trivia.before, trivia.beside) if trivia.beside else trivia.before
    out = list(body)
    if before:
        first = out[0].trivia or Trivia()
        out[0] = out[0].replace(trivia=Trivia((*before, *first.before), first.beside, first.after))
    if trivia.after:
        last = out[-1].trivia or Trivia()
        out[-1] = out[-1].replace(trivia=Trivia(last.before, last.beside, (*last.after, *trivia.after)))
    return tuple(out)


def has_effect(expr: Node) -> bool:
    """Whether evaluating an expression does more than read."""
    return any(
        type(node) is CallFunction or (type(node) is Call and node.op.effect in ("write", "opaque"))  # type: ignore[attr-defined]
        for node in walk(expr)
    )


def out_of_bounds(root: Node | tuple[Node, ...]) -> bool:
    """Whether a constant index lies outside of its buffer: illegal even where it is never reached."""
    for node in walk(root):
        if type(node) in (BufferLoad, BufferStore):
            for index, dim in zip(node.indices, node.buffer.shape, strict=True):  # type: ignore[attr-defined]
                if _misses(index, dim):
                    return True
    return False


def _misses(index: Expr, dim: Expr) -> bool:
    if type(index) is Const:
        low = high = int(index.value)
    elif type(index) is Ramp and type(index.base) is Const and type(index.stride) is Const and not index.scalable:
        last = int(index.base.value) + int(index.stride.value) * (index.lanes - 1)
        low, high = sorted((int(index.base.value), last))
    else:
        return False
    return low < 0 or (type(dim) is Const and high >= int(dim.value))


def is_zero(expr: Expr) -> bool:
    """Whether an expression is the constant 0."""
    return type(expr) is Const and expr.value == 0


def map_except_buffers(node: Any, function: Callable[[Any], Any]) -> Any:
    """`map_children` that leaves buffers alone: a buffer is a definition, changed where it is defined."""
    plan = shape_of(type(node))
    changed: dict[str, Any] = {}

    def guarded(child: Any) -> Any:
        return child if type(child) is Buffer else function(child)

    for (name, many), value in zip(plan.children, plan.get_children(node), strict=True):
        if value is None:
            continue
        if many == 0:
            new = guarded(value)
        elif many == 1:
            new = map_statements(value, guarded)
        else:
            new = map_value(value, guarded)
        if new is not value:
            changed[name] = new
    return structs.replace(node, **changed) if changed else node


def map_statements(values: tuple[Any, ...], function: Callable[[Any], Any]) -> tuple[Any, ...]:
    """`function` over a tuple; the same tuple where nothing changed; tuples that come back are spliced."""
    out: list[Any] = []
    same = True
    for value in values:
        new = function(value)
        same = same and new is value
        if type(new) is tuple:
            out += new
        else:
            out.append(new)
    return values if same else tuple(out)
