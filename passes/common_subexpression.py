"""What is computed several times is computed once and has a name.

before:                                            after:
    B[i] = A[i * 4 + n // 3] + n // 3                  cse = n // 3
                                                       B[i] = A[i * 4 + cse] + cse

Expressions that read memory, may fail or have effects stay. A name stands in the innermost body that holds all the
uses, and only expressions of at least `size` operators that occur `uses` times get one.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Call, Expr, Let, Reduce, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node, recursion_room
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
    out = list(stmts)
    while (found := _largest(out, size, uses)) is not None:
        expr, first = found
        name = Var("cse", expr.dtype)
        out[first:] = [_named(stmt, expr, name) for stmt in out[first:]]
        out.insert(first, Bind(name, expr, span=expr.span))
    new = [map_bodies(stmt, lambda inner: _body(inner, size, uses)) for stmt in out]
    same = len(new) == len(stmts) and all(a is b for a, b in zip(new, stmts, strict=True))
    return stmts if same else tuple(new)


def _largest(stmts: list[Stmt], size: int, uses: int) -> tuple[Expr, int] | None:
    """The largest expression that occurs often enough and could stand before its first use, with that place."""
    counts: dict[Expr, list[int]] = {}
    for at, stmt in enumerate(stmts):
        for expr in _candidates(stmt, size):
            counts.setdefault(expr, []).append(at)
    defined_at: dict[Any, int] = {}
    inner: set[Any] = set()
    for at, stmt in enumerate(stmts):
        own = [getattr(stmt, name) for name in type(stmt).defines if name == "var"] if type(stmt) is Bind else []
        for var in own:
            defined_at[var] = at
        inner |= {name for name in definitions((stmt,)) if name not in own}
    best: tuple[int, int, Expr, int] | None = None
    for order, (expr, places) in enumerate(counts.items()):
        if len(places) < uses:
            continue
        names = [node for node in walk(expr) if type(node) is Var]
        if any(name in inner or defined_at.get(name, -1) >= places[0] for name in names):
            continue
        weight = _weight(expr)
        if best is None or (weight, -order) > best[:2]:
            best = (weight, -order, expr, places[0])
    return None if best is None else (best[2], best[3])


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
    return sum(1 for node in walk(expr) if type(node) is Call)


def _named(node: Any, expr: Expr, name: Var) -> Any:
    """`node` with the name in the place of the expression."""
    if type(node) in _DEFINITIONS or type(node) is Reduce:
        return node
    if type(node) is Block:
        return map_bodies(node, lambda inner: tuple(_named(stmt, expr, name) for stmt in inner))
    if type(node) is type(expr) and node == expr:
        return name
    if not isinstance(node, (Expr, Stmt)):
        return node
    if type(node) is Let:
        value = _named(node.value, expr, name)
        return node if value is node.value else node.replace(value=value)
    return map_children(node, lambda child: _named(child, expr, name) if isinstance(child, (Expr, Stmt)) else child)


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
