"""Indices that may be out of bounds: those for which the analyzer finds values of the variables that make them so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tirscript.ir import (
    Axis,
    Bind,
    BufferLoad,
    BufferStore,
    Const,
    Diagnostic,
    Expr,
    For,
    Node,
    PrimFunc,
    Ramp,
    Var,
    const,
    get_op,
    walk,
)
from tirscript.ir.arith import Analyzer, walk_with_context
from tirscript.ir.out_of_bounds import described
from tirscript.ir.out_of_bounds import out_of_bounds as certain
from tirscript.ir.rewrite import holds

from .table import lint_check, warning

MOST = 20  # places of one function that are told
# sizes and scalars are taken to be below this, so that no value is told that only overflows make possible
LARGEST = 1 << 20
# where an index comes from: loops and sizes, parameters' memory, or what the program itself keeps in memory
COMPUTED, READ, UNKNOWN = 0, 1, 2


@lint_check("T609")
def out_of_bounds(func: PrimFunc) -> Iterator[Diagnostic]:
    """An index for which there are values of the loops and sizes that put it out of bounds."""
    yield from _Search("T609", COMPUTED).run(func)


@lint_check("T610")
def unchecked_index(func: PrimFunc) -> Iterator[Diagnostic]:
    """An index that is read from memory, and that no condition and no `T.assume` keeps in bounds."""
    yield from _Search("T610", READ).run(func)


class _Search:
    """Looks at every index that comes from `kind`."""

    def __init__(self, code: str, kind: int) -> None:
        self.code = code
        self.kind = kind
        self.found: list[Diagnostic] = []
        self.certain: set[tuple[int, int]] = set()  # told as errors: accesses and dimensions
        self.params: frozenset[Any] = frozenset()
        self.origins: dict[Var, int] = {}  # of the variables that are not only computed from loops and sizes

    def run(self, func: PrimFunc) -> list[Diagnostic]:
        """The warnings of a function."""
        self.params = frozenset(func.param_buffers)
        if self.kind is COMPUTED:
            self.certain = {(id(one.access), one.dim) for one in certain(func)}
        if self.kind is COMPUTED or holds(func.body, BufferLoad):
            walk_with_context(func, self.visit, Analyzer(_ranges(func)))
        return self.found

    def visit(self, node: Node, analyzer: Analyzer) -> None:
        """Note where a variable comes from, or look at the indices of an access."""
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(self, node, analyzer)

    def origin(self, *exprs: Expr | None) -> int:
        """Where the worst of some values comes from."""
        worst = COMPUTED
        for expr in exprs:
            for node in walk(expr) if expr is not None else ():
                if type(node) is BufferLoad:
                    worst = max(worst, READ if node.buffer in self.params else UNKNOWN)
                elif type(node) is Var:
                    worst = max(worst, self.origins.get(node, COMPUTED))
        return worst

    def bound(self, node: Bind | Axis, analyzer: Analyzer) -> None:
        """A name for a value."""
        self.origins[node.var] = self.origin(node.value)

    def loop(self, node: For, analyzer: Analyzer) -> None:
        """A loop variable."""
        self.origins[node.var] = self.origin(node.start, node.stop, node.step)

    def access(self, node: BufferLoad | BufferStore, analyzer: Analyzer) -> None:
        """The indices of one access."""
        if node.predicate is not None or analyzer.facts.unreachable:
            return
        for dim, index in enumerate(node.indices):
            if len(self.found) < MOST and type(index) is not Const and self.origin(index) == self.kind:
                if (id(node), dim) in self.certain:
                    continue
                if index.dtype.is_vector and node.buffer.ndim > 1:
                    continue  # a vector may run on into the next row
                told = [_out(lane, node.buffer.shape[dim], analyzer) for lane in _lanes(index, analyzer)]
                if any(told):
                    self.found.append(self.warning(node, dim, next(filter(None, told))))

    def warning(self, node: BufferLoad | BufferStore, dim: int, values: str) -> Diagnostic:
        """What is said of one index."""
        what = "may be out of bounds" if self.kind is COMPUTED else "is read from memory and may be out of bounds"
        message, span, notes = described(node, dim, f"{what}: {values}")
        hint = "guard the access with `if`, or say what is known with `T.assume`"
        return warning(self.code, message, span, notes=notes, hint=hint)


_RULES: dict[type, Any] = {
    Bind: _Search.bound,
    For: _Search.loop,
    Axis: _Search.bound,
    BufferLoad: _Search.access,
    BufferStore: _Search.access,
}


def _ranges(func: PrimFunc) -> dict[Var, tuple[int, int]]:
    """What sizes and scalars may be."""
    found: dict[Var, tuple[int, int]] = {}
    for var in (*func.symbols, *func.params):
        if isinstance(var, Var) and var.dtype.is_int:
            low, high = var.dtype.int_range()
            found[var] = max(low, -LARGEST), min(high, LARGEST)
    return found


def _lanes(index: Expr, analyzer: Analyzer) -> tuple[Expr, ...]:
    """The index, or the first and last of those that a vector of evenly spaced ones stands for."""
    if not index.dtype.is_vector:
        return (index,) if index.dtype.is_int else ()
    if not isinstance(index, Ramp) or index.dtype.scalable:
        return ()
    last = index.base + index.stride * const(index.lanes - 1, index.stride.dtype)
    return (index.base, analyzer.simplify(last))


def _out(index: Expr, size: Expr, analyzer: Analyzer) -> str | None:
    """Values for which an index is out of bounds; None where none were found."""
    above = get_op("greater_equal")(index, const(0, index.dtype))
    if index.dtype is not size.dtype:
        wide = max((index.dtype, size.dtype), key=lambda kind: kind.bits)
        index, size = (part if part.dtype is wide else get_op("cast")(part, wide) for part in (index, size))
    for condition in (above, get_op("less")(index, size)):
        if not analyzer.can_prove(condition):
            found = analyzer.explain(condition).counterexample
            if found is not None:
                return found
    return None
