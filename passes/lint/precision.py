"""Where numbers lose more than is probably meant."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any

from tirscript.ir import (
    AllocBuffer,
    Bind,
    Block,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Diagnostic,
    DType,
    Expr,
    For,
    PrimFunc,
    ScalarDecl,
    Stmt,
    Var,
    While,
    const,
    walk,
)
from tirscript.ir.arith.bounds import Known, bounds

from ..access import constant_ranges
from .table import bodies, lint_check, warning

# what may wrap, and how it does its work on whole numbers
_WRAPPING = {"mul": ("product", operator.mul), "add": ("sum", operator.add), "sub": ("difference", operator.sub)}


@lint_check("T607")
def precision(func: PrimFunc) -> Iterator[Diagnostic]:
    """A long sum in 16 bits or less, a value narrowed and widened again, one that wraps before it is widened, floats
    compared for equality."""
    yield from _sums(func.body, (), {}, {})
    ranges = Known(constant_ranges(walk(func, For)))
    for node in walk(func):
        if isinstance(node, Call):
            yield from _widened(node)
            yield from _wrapped(node, ranges)
            yield from _equality(node)


def _sums(
    body: tuple[Stmt, ...], around: tuple[For | While, ...], names: dict[Var, Expr], begun: dict[int, int]
) -> Iterator[Diagnostic]:
    """Sums that many iterations add up; `around` are the loops, `names` what axes and bindings are, and `begun` how
    many of the loops begin with buffers that are made anew."""
    anew = [_made_anew(stmt) for stmt in body]
    for at, stmt in enumerate(body):
        inner, first = around, dict(begun)
        first.update((buffer, len(around)) for other, made in enumerate(anew) if other != at for buffer in made)
        if isinstance(stmt, (For, While)):
            inner = (*around, stmt)
        elif isinstance(stmt, Bind):
            names = {**names, stmt.var: stmt.value}
        elif isinstance(stmt, Block):
            names = {**names, **{axis.var: axis.value for axis in stmt.axes}}
            reduced = _variables([axis.var for axis in stmt.axes if axis.kind == "reduce"], names)[0]
            terms = [depth for depth, loop in enumerate(around) if isinstance(loop, For) and loop.var in reduced]
            for init in stmt.init or ():
                first.update((buffer, min(terms, default=len(around))) for buffer in _made_anew(init))
        elif isinstance(stmt, BufferStore):
            yield from _sum(stmt, around[first.get(id(stmt.buffer), 0) :], names)
        for part in bodies(stmt):
            yield from _sums(part, inner, names, first)


def _made_anew(stmt: Stmt) -> set[int]:
    """The buffers that a statement makes, or stores to without a look at what was there."""
    made = set()
    for node in walk(stmt):
        if isinstance(node, (ScalarDecl, AllocBuffer)) or (
            isinstance(node, BufferStore)
            and not any(isinstance(a, BufferLoad) and a.buffer is node.buffer for a in walk(node.value))
        ):
            made.add(id(node.buffer))
    return made


def _variables(exprs: Iterable[Expr], names: dict[Var, Expr]) -> tuple[set[Var], set[int]]:
    """The variables of expressions, with those of what these stand for, and the buffers that are read for them."""
    used: set[Var] = set()
    read: set[int] = set()
    pending = list(exprs)
    while pending:
        for node in walk(pending.pop()):
            if isinstance(node, BufferLoad):
                read.add(id(node.buffer))
            elif isinstance(node, Var) and node not in used:
                used.add(node)
                if node in names:
                    pending.append(names[node])
    return used, read


def _iterations(loop: For | While) -> int | None:
    """How many iterations a loop has, where that is known."""
    if isinstance(loop, While):
        return None
    bounds = (loop.start, loop.stop, const(1) if loop.step is None else loop.step)
    known = [int(bound.value) for bound in bounds if isinstance(bound, Const)]
    if len(known) == len(bounds):
        return len(range(*known))
    extent = loop.extent
    return max(int(extent.value), 0) if type(extent) is Const and loop.step is None else None


def _sum(stmt: BufferStore, around: tuple[For | While, ...], names: dict[Var, Expr]) -> Iterator[Diagnostic]:
    kind: DType = stmt.buffer.dtype.element
    value = stmt.value
    if not isinstance(value, Call) or value.op.name != "add" or not (kind.is_float or kind.is_int):
        return
    if not any(isinstance(a, BufferLoad) and a.buffer is stmt.buffer and a.indices == stmt.indices for a in value.args):
        return
    # a sum of two bytes in a byte wraps soon; halves have 8 to 11 bits, so that some hundred ones are all they count
    if kind.bits > (8 if kind.is_int else 16):
        return
    used, read = _variables(stmt.indices, names)
    count: int | None = 1
    for loop in around:
        if isinstance(loop, For) and loop.var in used:
            continue
        if read and any(isinstance(node, BufferStore) and id(node.buffer) in read for node in walk(loop.body)):
            continue  # each iteration has an element of its own, as far as is known
        many = _iterations(loop)
        count = None if many is None or count is None else count * many
    if count is not None and count < 128:
        return
    words = "a number of values that is not known" if count is None else f"{count} values"
    hint = f"add up in a variable of {'int32' if kind.is_int else 'float32'} and cast the result"
    yield warning("T607", f"`{stmt.buffer.name}` adds up {words} in {kind}", stmt.span, hint=hint)


def _widened(node: Call) -> Iterator[Diagnostic]:
    inner = node.args[0] if node.op.name == "cast" else None
    if not isinstance(inner, Call) or inner.op.name != "cast":
        return
    first, middle, last = inner.args[0].dtype.element, inner.dtype.element, node.dtype.element
    floats = first.is_float and middle.is_float and last.is_float
    ints = first.is_int and middle.is_int and last.is_int
    if (floats or ints) and middle.bits < first.bits and middle.bits < last.bits:
        message = f"a value of {first} is narrowed to {middle} and widened to {last} again"
        yield warning("T607", message, node.span, hint=f"leave the cast to {middle} out, unless the loss is meant")


def _wrapped(node: Call, ranges: Known) -> Iterator[Diagnostic]:
    """`B[i] = A[i] * A[i]` of bytes, stored in 32 bits: the product has 8 bits, as its operands have."""
    inner = node.args[0] if node.op.name == "cast" else None
    if not isinstance(inner, Call) or inner.op.name not in _WRAPPING or not inner.dtype.element.is_int:
        return
    kind, wide = inner.dtype.element, node.dtype.element
    if kind.bits > 16 or wide.bits <= kind.bits:
        return
    what, work = _WRAPPING[inner.op.name]
    (a, b), (low, high) = (bounds(arg, ranges) for arg in inner.args), kind.int_range()
    reached = [work(x, y) for x in a for y in b]
    if low <= min(reached) and max(reached) <= high:
        return
    message = f"the {what} of {kind} values wraps before it is converted to {wide}"
    to = wide if wide.is_int else "int32"
    yield warning("T607", message, inner.span, hint=f'convert what is combined: `x.astype("{to}")`')


def _equality(node: Call) -> Iterator[Diagnostic]:
    if node.op.name not in ("equal", "not_equal") or not node.args[0].dtype.element.is_float:
        return
    a, b = node.args
    if a == b or not (_rounded(a) or _rounded(b)):
        return  # a test for nan, or of values as they were stored
    if any(isinstance(side, Const) and _exact(side.value) for side in (a, b)):
        return
    message = f"floats are compared with `{node.op.symbol}`, which rounding makes uncertain"
    yield warning("T607", message, node.span, hint="compare the difference: `T.abs(a - b) < epsilon`")


def _rounded(side: Any) -> bool:
    """Whether a float is computed here, or a constant that is rounded."""
    if isinstance(side, Const):
        return not _exact(side.value)
    return any(isinstance(part, Call) and part.dtype.element.is_float and part.op.name != "cast" for part in walk(side))


def _exact(value: Any) -> bool:
    """Whether a constant is a number that sums of whole numbers reach, or infinite."""
    return not math.isfinite(value) or value == int(value)
