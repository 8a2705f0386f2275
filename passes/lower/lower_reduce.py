"""Reductions in expressions become loops over mutable scalars.

before:                                            after:
    A[0] = T.Reduce(                                   reduced: T.float32 = 0.0
        T.comm_reducer(                                for k in range(16):
            lambda x, y: x + y, [T.float32(0.0)]           if k < n:
        ),                                                     reduced = reduced + B[k]
        lambda k: [B[k]],                              A[0] = reduced
        [16],
        condition=lambda k: k < n,
    )

The loops stand before the statement that needs their result. A reduction that the statement evaluates only under a
condition, such as in a branch of `a if c else b`, is computed under that condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import BufferLoad, Call, Expr, Let, Reduce, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import holds, map_children, map_tuple, substitute, walk
from tirscript.ir.stmt import Attr, Bind, Block, Break, BufferStore, For, If, LaunchThread, ScalarDecl, Stmt, While

from ..pipeline import prim_func_pass
from ..statements import reads_memory


def _is_reduce(node: Node) -> bool:
    return type(node) is Reduce


@prim_func_pass(removes=(_is_reduce, "`T.Reduce`"))
def lower_reduce(func: PrimFunc) -> PrimFunc:
    """`A[0] = T.Reduce(sum, lambda k: [B[k]], [16])` becomes a loop that adds up a scalar, and `A[0] = reduced`."""
    if not _reduces(func.body):
        return func
    lowered = func.replace(body=_body(func.body))
    for node in walk(lowered):
        if type(node) is Reduce:
            message = "a `T.Reduce` stands here where no loop can compute it before"
            hint = "bind it to a name first: `x = T.Reduce(...)`"
            raise DiagnosticError([error("T401", message, node.span, hint=hint)])
    return lowered


def _reduces(root: Any) -> bool:
    return holds(root, Reduce)


def _body(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return map_tuple(stmts, lambda stmt: _STMTS.get(type(stmt), _plain)(stmt) if _reduces(stmt) else stmt)


class _Hoist:
    """What has to run before a statement: declarations of scalars, and the steps that compute them."""

    def __init__(self) -> None:
        self.declarations: list[Stmt] = []
        self.steps: list[Stmt] = []

    def before(self, stmt: Stmt) -> tuple[Stmt, ...]:
        """The steps, then the statement, whose comments stand above all."""
        out = [*self.declarations, *self.steps, stmt]
        if stmt.trivia is not None and len(out) > 1:
            out[-1] = stmt.replace(trivia=None)
            out[0] = out[0].replace(trivia=stmt.trivia)
        return tuple(out)

    def expr(self, node: Any) -> Any:
        """An expression with its reductions hoisted."""
        if isinstance(node, (Buffer, Var)):
            return node
        rule = _EXPRS.get(type(node))
        if rule is not None:
            return rule(self, node)
        if type(node) is Call and node.op.name in _LAZY:
            return _LAZY[node.op.name](self, node)
        return map_children(node, self.expr)

    def under(self, condition: Expr, node: Expr) -> Expr:
        """An expression that is evaluated only where `condition` holds."""
        inner = _Hoist()
        made: Expr = inner.expr(node)
        self.declarations += inner.declarations
        if inner.steps:
            self.steps.append(If(condition, tuple(inner.steps), span=node.span))
        return made

    def let(self, node: Let) -> Any:
        value = self.expr(node.value)
        if _reduces(node.body):
            return self.expr(substitute(node.body, {node.var: value}))
        return node if value is node.value else node.replace(value=value)

    def choice(self, node: Call) -> Expr:
        test, then, orelse = node.args
        test = self.expr(test)
        then = self.under(test, then)
        return node.replace(args=(test, then, self.under(get_op("logical_not")(test), orelse)))

    def both(self, node: Call) -> Expr:
        a = self.expr(node.args[0])
        return node.replace(args=(a, self.under(a, node.args[1])))

    def either(self, node: Call) -> Expr:
        a = self.expr(node.args[0])
        return node.replace(args=(a, self.under(get_op("logical_not")(a), node.args[1])))

    def reduce(self, node: Reduce) -> Expr:
        span = node.span
        scalars: list[Buffer] = []
        for start in node.init or node.combiner.identity:
            scalar = Buffer("reduced", (), start.dtype, scope="scalar", span=span)
            scalars.append(scalar)
            if reads_memory(start) or _reduces(start):
                self.declarations.append(ScalarDecl(scalar, span=span))
                self.steps.append(BufferStore(scalar, (), self.expr(start), span=span))
            else:
                self.declarations.append(ScalarDecl(scalar, start, span=span))
        domains = [self.expr(domain) for domain in node.domains]
        body = _combine(node, scalars)
        if node.condition is not None:
            inner = _Hoist()
            body = inner.before(If(inner.expr(node.condition), body, span=span))
        for var, domain in zip(reversed(node.axes), reversed(domains)):
            body = (For(var, domain.start, domain.stop, body, span=span),)
        self.steps += body
        return BufferLoad(scalars[node.value_index], (), span=span)


def _combine(node: Reduce, scalars: list[Buffer]) -> tuple[Stmt, ...]:
    """The sources combined into the scalars, once."""
    combiner, span = node.combiner, node.span
    hoist = _Hoist()
    values: dict[Var, Expr] = {
        var: BufferLoad(scalar, (), span=span) for var, scalar in zip(combiner.lhs, scalars, strict=True)
    }
    uses = [one for result in combiner.results for one in walk(result, Var)]
    out: list[Stmt] = []
    for var, source in zip(combiner.rhs, node.source, strict=True):
        value = hoist.expr(source)
        if uses.count(var) > 1:
            out.append(Bind(var, value, span=span))
        else:
            values[var] = value
    results = [hoist.expr(result) for result in substitute(combiner.results, values)]
    if len(results) > 1:  # all of them are computed before the first scalar changes
        names = [Var("combined", result.dtype) for result in results]
        out += [Bind(name, result, span=span) for name, result in zip(names, results, strict=True)]
        results = list(names)
    out += [BufferStore(scalar, (), result, span=span) for scalar, result in zip(scalars, results, strict=True)]
    return (*hoist.declarations, *hoist.steps, *out)


_LAZY: dict[str, Callable[[_Hoist, Call], Expr]] = {
    "if_then_else": _Hoist.choice,
    "logical_and": _Hoist.both,
    "logical_or": _Hoist.either,
}
_EXPRS: dict[type, Callable[[_Hoist, Any], Any]] = {Reduce: _Hoist.reduce, Let: _Hoist.let}


# --- statements -------------------------------------------------------------------------------------------------------


def _plain(stmt: Any) -> Any:
    """A statement without statements in it."""
    hoist = _Hoist()
    return hoist.before(map_children(stmt, hoist.expr))


def _loop(stmt: For) -> Any:
    hoist = _Hoist()
    step = None if stmt.step is None else hoist.expr(stmt.step)
    start, stop = hoist.expr(stmt.start), hoist.expr(stmt.stop)
    return hoist.before(stmt.replace(start=start, stop=stop, step=step, body=_body(stmt.body)))


def _while(stmt: While) -> Any:
    """A condition with a reduction is computed at the head of the body."""
    if not _reduces(stmt.condition):
        return stmt.replace(body=_body(stmt.body))
    hoist = _Hoist()
    condition = hoist.expr(stmt.condition)
    leave = If(get_op("logical_not")(condition), (Break(span=stmt.span),), span=stmt.condition.span)
    return stmt.replace(condition=const(True), body=(*hoist.before(leave), *_body(stmt.body)))


def _branch(stmt: If) -> Any:
    hoist = _Hoist()
    condition = hoist.expr(stmt.condition)
    return hoist.before(stmt.replace(condition=condition, then=_body(stmt.then), orelse=_body(stmt.orelse)))


def _launch(stmt: LaunchThread) -> Any:
    hoist = _Hoist()
    return hoist.before(stmt.replace(extent=hoist.expr(stmt.extent), body=_body(stmt.body)))


def _attr(stmt: Attr) -> Any:
    hoist = _Hoist()
    value = hoist.expr(stmt.value) if isinstance(stmt.value, Expr) else stmt.value
    return hoist.before(stmt.replace(value=value, body=_body(stmt.body)))


def _block(stmt: Block) -> Any:
    hoist = _Hoist()
    axes = tuple(hoist.expr(axis) for axis in stmt.axes)
    predicate = stmt.predicate
    if predicate is not None and _reduces(predicate):
        predicate = hoist.expr(substitute(predicate, {axis.var: axis.value for axis in axes}))
    init = None if stmt.init is None else _body(stmt.init)
    return hoist.before(stmt.replace(axes=axes, predicate=predicate, init=init, body=_body(stmt.body)))


_STMTS: dict[type, Callable[[Any], Any]] = {
    For: _loop,
    While: _while,
    If: _branch,
    LaunchThread: _launch,
    Attr: _attr,
    Block: _block,
}
