"""Blocks as text: their axes, the lines of their heads, and what stands in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.dtype import INT32
from tirscript.ir.expr import Const, Expr, is_const
from tirscript.ir.rewrite import walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import (
    AXIS_KINDS,
    AllocateConst,
    AllocBuffer,
    Axis,
    Bind,
    Block,
    DeclBuffer,
    MatchBuffer,
    ScalarDecl,
    Stmt,
)
from tirscript.ir.words import parenthesized

from .expr import binder, condition, region, top
from .literals import explicit, quote
from .stmt import TAB, StmtRule, body, comments, head, joint, scope, value

if TYPE_CHECKING:
    from .core import Printer

_DEFINITIONS = (AllocBuffer, AllocateConst, DeclBuffer, MatchBuffer, Bind, ScalarDecl)


def block(p: Printer, node: Block, indent: str) -> None:
    """`with T.block(name):`, axes, predicate, regions, attributes, init, body."""
    out = p.out
    mark = len(p.names.stack)
    words = p.words
    out.append(f"{indent}with {words['block']}({quote(node.name)}):")
    inner = indent + TAB
    begun = len(out)
    heads = dict(node.heads)
    if node.axes:
        _axes(p, node.axes, inner)
    if node.predicate is not None:
        head(p, f"{inner}T.where({condition(p, node.predicate)})", inner, heads.pop("where", None), begun)
    if node.reads is not None:
        text = ", ".join([region(p, one) for one in node.reads])
        head(p, f"{inner}T.reads({text})", inner, heads.pop("reads", None), begun)
    if node.writes is not None:
        text = ", ".join([region(p, one) for one in node.writes])
        head(p, f"{inner}T.writes({text})", inner, heads.pop("writes", None), begun)
    if node.annotations:
        text = value(p, node.annotations)
        head(p, f"{inner}{words['block_attr']}({text})", inner, heads.pop("block_attr", None), begun)
    stmts = node.body
    init = heads.pop("init", None) if node.init is not None else None
    for left in heads.values():  # of lines that a pass took away
        comments(out, left.lines, inner, blank=len(out) > begun, keep_last=False)
    if node.init is not None:
        stmts = _init(p, node.init, stmts, inner, init, begun)
    if stmts or all(line.lstrip()[:1] in ("", "#") for line in out[begun:]):
        body(p, stmts, inner, headed=len(out) > begun)
    p.names.release(mark)


def _axes(p: Printer, axes: tuple[Axis, ...], indent: str) -> None:
    """The axes of a block: those that take loops as they are in one line, as far as no comment stands between them."""
    begun = len(p.out)
    remapped = len(axes) > 1 and _remappable(p, axes)
    at = 0
    while at < len(axes):
        first, end = axes[at], at + 1
        while remapped and end < len(axes) and axes[end].trivia is None:
            end += 1
        if end == at + 1:
            text = axis_line(p, first, indent)
        else:
            run = axes[at:end]
            letters = "".join([AXIS_KINDS[axis.kind] for axis in run])
            values = ", ".join([binder(p, axis.value, 0) for axis in run])
            variables = ", ".join([p.names.define(axis.var, axis.var.name) for axis in run])
            text = f'{indent}{variables} = T.axis.remap("{letters}", [{values}])'
        head(p, text, indent, first.trivia, begun)
        at = end


def _init(
    p: Printer, init: tuple[Stmt, ...], stmts: tuple[Stmt, ...], indent: str, trivia: Trivia | None, begun: int
) -> tuple[Stmt, ...]:
    """Print the init, after those definitions at the head of the body that it uses; returns the rest of the body."""
    after = 0
    if stmts and type(stmts[0]) in _DEFINITIONS:
        used = {id(node) for node in walk(init)}
        for at, stmt in enumerate(stmts):
            if type(stmt) not in _DEFINITIONS:
                break
            defined = getattr(stmt, type(stmt).defines[0])
            if id(defined) in used:
                after = at + 1
    if after:
        body(p, stmts[:after], indent)
    head(p, f"{indent}with T.init():", indent, trivia, begun)
    scope(p, init, indent + TAB)
    return stmts[after:]


def _remappable(p: Printer, axes: tuple[Axis, ...]) -> bool:
    """Whether every axis is bound to a loop variable and runs over that loop's very range."""
    loops, kinds = p.loops, p.words["remap"]
    for axis in axes:
        loop = loops.get(id(axis.value))
        if (
            loop is None
            or AXIS_KINDS[axis.kind] not in kinds
            or loop.step is not None
            or axis.var.dtype is not loop.var.dtype
        ):
            return False
        if not (_same(axis.start, loop.start) and _same(axis.stop, loop.stop)):
            return False
    return True


def _same(a: Expr, b: Expr) -> bool:
    if a is b:
        return True
    if type(a) is Const and type(b) is Const:
        return a.value == b.value and a.dtype is b.dtype
    return type(a) is type(b) and a == b


def axis_line(p: Printer, axis: Axis, indent: str) -> str:
    """`vi = T.axis.spatial(128, i)`."""
    start, stop = axis.start, axis.stop
    if id(axis) in p.bare and type(stop) is Const:
        domain = str(stop.value)
    elif is_const(start, 0) and start.dtype is stop.dtype:
        domain = top(p, stop)
    else:
        domain = parenthesized(joint(p, start, stop))
    bound = axis.value
    text = explicit(bound) if type(bound) is Const and bound.dtype is not INT32 else top(p, bound)
    return f"{indent}{p.names.define(axis.var, axis.var.name)} = T.axis.{axis.kind}({domain}, {text})"


BLOCK_RULES: dict[type, StmtRule] = {Block: block}
