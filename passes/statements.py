"""Small helpers that passes share: conditions, comments of statements that go away, scopes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tirscript.ir.effects import has_effect, out_of_bounds, reads_memory
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import Dataflow
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import map_except_buffers, walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import Block, BufferStore, DeclBuffer, MatchBuffer, Stmt


def conjunction(conditions: Iterable[Expr]) -> Expr | None:
    """The conditions joined by `and`; None where there is none."""
    result: Expr | None = None
    for condition in conditions:
        result = condition if result is None else get_op("logical_and")(result, condition)
    return result


def may_overlap(func: PrimFunc) -> bool:
    """Whether a function says that two of its buffers may be the same memory."""
    return any(func.attrs.get(name) is False for name in ("noalias", "tir.noalias", "tirx.noalias"))


def sizes_of(func: PrimFunc) -> tuple[Var, ...]:
    """The variables that are sizes of parameters, so none of them is negative."""
    buffers = [*func.param_buffers, *(stmt.buffer for stmt in func.body if type(stmt) is MatchBuffer)]
    return tuple(dict.fromkeys(dim for buffer in buffers for dim in buffer.shape if type(dim) is Var))


def counts_of(func: PrimFunc) -> tuple[Expr, ...]:
    """The sizes of views that are products of sizes of parameters: they count elements, so that none is negative."""
    sizes = {*sizes_of(func)}

    def counts(dim: Expr) -> bool:
        if type(dim) is Call:
            return dim.op is OPS["mul"] and all(map(counts, dim.args))
        return dim.value > 0 if type(dim) is Const else dim in sizes

    views = [stmt.buffer for stmt in func.body if type(stmt) is DeclBuffer]
    return tuple(dict.fromkeys(dim for view in views for dim in view.shape if type(dim) is Call and counts(dim)))


def equal(a: Expr, b: Expr) -> Expr:
    """`a == b` as an expression."""
    return get_op("equal")(a, b)


def same_indices(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Whether expressions are the same one by one, as they are written: two accesses are of the same element."""
    return len(a) == len(b) and all(structural_equal(one, other, map_free_vars=False) for one, other in zip(a, b))


def is_element(expr: Expr, store: BufferStore) -> bool:
    """Whether an expression is the element that a store writes, as it was before."""
    return (
        type(expr) is BufferLoad
        and expr.buffer is store.buffer
        and expr.predicate is None
        and same_indices(expr.indices, store.indices)
    )


def same_size(a: Expr, b: Expr) -> bool:
    """Whether two sizes are the same number, of any dtypes, or the same expression."""
    if type(a) is Const and type(b) is Const:
        return bool(a.value == b.value)
    return structural_equal(a, b, map_free_vars=False)


def same_number(a: Expr, b: Expr) -> Expr:
    """Whether `a` is `b`, nan being the same as nan: what may be assumed of memory in which `b` was stored."""
    if type(b) is Const:
        return get_op("isnan")(a) if b.value != b.value else equal(a, b)
    if not any(type(node) in (BufferLoad, Var) and node.dtype.element.is_float for node in walk(b)):  # type: ignore[attr-defined]
        return equal(a, b)
    both = get_op("logical_and")(get_op("isnan")(a), get_op("isnan")(b))
    return get_op("logical_or")(equal(a, b), both)


def keep_comments(gone: Stmt, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body`, which stands in the place of `gone`, with the comments of `gone` at its first and last statement."""
    trivia = gone.trivia or Trivia()
    before = [*trivia.before, *filter(None, (trivia.beside,))]
    after = [*(line for _, found in gone.heads for line in found.lines)] if type(gone) is Dataflow else []
    after += trivia.after
    if type(gone) is Block:
        for found in (*(axis.trivia for axis in gone.axes), *(found for _, found in gone.heads)):
            before += found.lines if found is not None else ()
    if not body or not (before or after):
        return body
    out = list(body)
    if before:
        first = out[0].trivia or Trivia()
        out[0] = out[0].replace(trivia=Trivia((*before, *first.before), first.beside, first.after))
    if after:
        last = out[-1].trivia or Trivia()
        out[-1] = out[-1].replace(trivia=Trivia(last.before, last.beside, (*last.after, *after)))
    return tuple(out)


__all__ = [
    "conjunction",
    "equal",
    "has_effect",
    "is_element",
    "keep_comments",
    "map_except_buffers",
    "may_overlap",
    "out_of_bounds",
    "reads_memory",
    "same_indices",
    "same_number",
    "same_size",
    "sizes_of",
]
