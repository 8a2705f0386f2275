"""Which values of a statement are looked at when one of them cannot be read, so that their mistakes are told with its.

A value is one that means the same alone: it is evaluated whatever the others are, so none of a branch that may not be
taken, and its names are those of the statement, so none inside of a comprehension or a lambda.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

_APART = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.IfExp, ast.BoolOp)
_NO_VALUES = (ast.Constant, ast.Starred, ast.Slice, ast.Lambda, ast.NamedExpr)


def parents(stmt: ast.stmt) -> dict[int, ast.AST]:
    """What is around each expression of a statement, by id; those of the statements in its bodies are none of it."""
    found: dict[int, ast.AST] = {}
    stack: list[ast.AST] = [stmt]
    while stack:
        outer = stack.pop()
        for inner in ast.iter_child_nodes(outer):
            if not isinstance(inner, ast.stmt):
                found[id(inner)] = outer
                stack.append(inner)
    return found


def values_beside(
    failed: ast.AST, top: ast.AST, around: dict[int, ast.AST], takes_values: Callable[[ast.expr], bool]
) -> list[ast.expr]:
    """The values in `top` beside one that failed. `takes_values` says it of what is called in a call."""
    found: list[ast.expr] = []
    inner = failed
    while inner is not top:
        outer = around.get(id(inner))
        if outer is None:
            return []
        if isinstance(outer, _APART):
            found = []
        parts = _parts(outer, inner, takes_values)
        if any(part is inner for part in parts):
            found += [part for part in parts if part is not inner and not isinstance(part, _NO_VALUES)]
        inner = outer
    return found


def _parts(node: ast.AST, inner: ast.AST, takes_values: Callable[[ast.expr], bool]) -> list[ast.expr]:
    """The values that are operands of a node."""
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            return [target, value]
        case ast.AugAssign(target=ast.Subscript() as target, value=value):
            return [target, value]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Compare(left=left, comparators=comparators):
            return [left, *comparators]
        case ast.Tuple(elts=elts, ctx=ast.Load()):
            return elts
        case ast.Call(func=func, args=args):
            if inner is func:
                return [func, *args]
            return args if takes_values(func) else []
    return []
