"""What is computed several times is computed once and has a name.

before:                                            after:
    B[i] = A[i * 4 + n // 3] + n // 3                  cse = n // 3
                                                       B[i] = A[i * 4 + cse] + cse

Expressions that read memory, may fail or have effects stay. A name stands in the innermost body that holds all the
uses, and only expressions of at least `size` operators that occur `uses` times get one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tirscript.ir.expr import Call, Expr, Let, Reduce, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node, are_same, recursion_room
from tirscript.ir.rewrite import children, definitions, map_children, walk
from tirscript.ir.stmt import AllocBuffer, Bind, Block, DeclBuffer, MatchBuffer, Stmt

from .pipeline import prim_func_pass
from .trapping import is_movable

# what gives a buffer its shape must stay as it is written
_DEFINITIONS = (AllocBuffer, DeclBuffer, MatchBuffer)


@prim_func_pass()
def common_subexpression(func: PrimFunc, *, size: int = 1, uses: int = 2) -> PrimFunc:
    """`B[i] = A[n // 3] + n // 3` becomes `cse = n // 3; B[i] = A[cse] + cse`."""
    with recursion_room():
        body = _body(func.body, size, uses)
    return func if body is func.body else func.replace(body=body)


def _body(stmts: tuple[Stmt, ...], size: int, uses: int) -> tuple[Stmt, ...]:
    """A body with names for what its statements, or the bodies in them, compute several times."""
    names, places = _chosen(stmts, size, uses)
    out: list[Stmt] = []
    for at, stmt in enumerate(stmts):
        # an expression may be part of a larger one that has a name as well
        for expr in sorted(places.get(at, ()), key=_weight):
            out.append(Bind(names[expr], _inside(expr, names), span=expr.span))
        out.append(_named(stmt, names) if names else stmt)
    new = [map_bodies(stmt, lambda inner: _body(inner, size, uses)) for stmt in out]
    return stmts if are_same(new, stmts) else tuple(new)


def _chosen(stmts: tuple[Stmt, ...], size: int, uses: int) -> tuple[dict[Expr, Var], dict[int, list[Expr]]]:
    """Names for the expressions of a body that occur often enough, and before which statement each is computed.

    Larger ones come first. What is part of one that has a name occurs once there, and no more where the name stands.
    """
    counts: dict[Expr, Counter[int]] = {}
    for at, stmt in enumerate(stmts):
        for expr in _candidates(stmt, size):
            counts.setdefault(expr, Counter())[at] += 1
    counts = {expr: places for expr, places in counts.items() if places.total() >= uses}
    if not counts:
        return {}, {}
    defined_at: dict[Any, int] = {}
    inner: set[Any] = set()
    for at, stmt in enumerate(stmts):
        own = [stmt.var] if type(stmt) is Bind else []
        defined_at.update((var, at) for var in own)
        inner |= {name for name in definitions((stmt,)) if name not in own}
    names: dict[Expr, Var] = {}
    before: dict[int, list[Expr]] = {}
    for expr in sorted(counts, key=_weight, reverse=True):
        places = counts[expr]
        if places.total() < uses:
            continue
        first = min(places)
        if any(name in inner or defined_at.get(name, -1) >= first for name in walk(expr, Var)):
            continue
        names[expr] = Var("cse", expr.dtype)
        before.setdefault(first, []).append(expr)
        again = +(places - Counter([first]))
        for part in walk(expr):
            if part is expr or type(part) is not Call or part not in counts:
                continue
            counts[part] = counts[part] - again
    return names, before


def _inside(expr: Expr, names: dict[Expr, Var]) -> Expr:
    """An expression that has a name itself, with the names of its parts."""
    result: Expr = map_children(expr, lambda child: _named(child, names))
    return result


def _candidates(stmt: Stmt, size: int) -> list[Expr]:
    """The expressions of a statement that could have a name, each as often as it occurs."""
    found: list[Expr] = []
    stack: list[Node] = [stmt]
    while stack:
        node = stack.pop()
        if type(node) in _DEFINITIONS or type(node) is Reduce:
            continue
        if type(node) is Block:
            # the domains and regions of a block are read as they are written
            stack += [*(node.init or ()), *node.body]
            continue
        if isinstance(node, Call) and _worth(node, size):
            found.append(node)
        if type(node) is Let:
            stack.append(node.value)
            continue
        stack += [child for child in children(node) if isinstance(child, (Expr, Stmt))]
    return found


def _worth(expr: Call, size: int) -> bool:
    scalar = not expr.dtype.is_vector and not expr.dtype.is_handle and expr.op.effect == "pure"
    return scalar and bool(expr.args) and _weight(expr) >= size and is_movable(expr)


def _weight(expr: Expr) -> int:
    return sum(1 for node in walk(expr, Call))


def _named(node: Any, names: dict[Expr, Var]) -> Any:
    """`node` with the names in the places of the expressions."""
    kind = type(node)
    part: Any = node if isinstance(node, (Expr, Stmt)) else None
    if part is None or kind in _DEFINITIONS or kind is Reduce:
        return node
    if kind is Block:
        return map_bodies(part, lambda inner: tuple(_named(stmt, names) for stmt in inner))
    if kind is Call:
        name = names.get(part)
        if name is not None:
            return name
    if kind is Let:
        value = _named(part.value, names)
        return node if value is part.value else part.replace(value=value)
    return map_children(part, lambda child: _named(child, names))


def map_bodies(stmt: Stmt, function: Any) -> Stmt:
    """A statement with a function applied to each body in it."""
    changed = {}
    for name in ("init", "then", "orelse", "body"):
        stmts = getattr(stmt, name, None)
        if stmts:
            new = function(stmts)
            if len(new) != len(stmts) or any(a is not b for a, b in zip(new, stmts, strict=True)):
                changed[name] = new
    return stmt.replace(**changed) if changed else stmt
