"""Plain loops over triangles become loops over squares that compute nothing outside of the triangles.

before:                                            after:
    for i, j in T.grid(64, 80):                        for i, j in T.grid(64, 80):
        C[i, j] = 0.0                                      C[i, j] = 0.0
        for k in range(i + 1):                             for k in range(64):
            C[i, j] += A[i, k] * B[k, j]                       C[i, j] += A[i, k] * B[k, j] if k < i + 1 else -0.0

Half of the iterations are for nothing, but they are those of blocks with constant bounds, which schedules tile. What an
element outside of a triangle held stays, and every access is proved to be inside of its buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.bounds import exact
from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferData, BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, const, get_op
from tirscript.ir.rewrite import free_vars, holds, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Bind, Block, BufferStore, For, ScalarDecl, Stmt

from ..statements import conjunction, may_overlap, reads_memory
from ..trapping import may_trap

# triangles in each other: of three loops that bound each other a sixth of the iterations would be for something
MOST = 1


def rectangles(func: PrimFunc, body: tuple[Stmt, ...], pays: Callable[[For], bool | None]) -> tuple[Stmt, ...]:
    """The body of a function with squares for triangles where one of its nests pays so; itself where none does.

    `pays` says whether a nest of squares does, None where it does not become blocks.
    """
    if may_overlap(func) or holds(body, BufferData):
        return body
    nests = [stmt for stmt in body if type(stmt) is For and not holds(stmt, Block)]
    if not any(map(_is_bounded, nests)):
        return body
    fresh = _fresh(body, nests)
    squares = {id(nest): made for nest in nests if _is_bounded(nest) and (made := _squares(func, body, nest, fresh))}
    paying = {at: pays(made) for at, made in squares.items()}
    if not any(paying.values()):
        return body
    return tuple([squares[id(stmt)] if paying.get(id(stmt)) is not None else stmt for stmt in body])


def _is_bounded(nest: For) -> bool:
    """Whether a loop of a nest is bounded by another one."""
    loops = list(walk(nest, For))
    variables = {loop.var for loop in loops}
    return any(variables.intersection(free_vars((loop.start, loop.stop))) for loop in loops)


class _Refuse(Exception):
    """The nest stays as it is."""


def _fresh(body: tuple[Stmt, ...], nests: Sequence[For]) -> frozenset[Buffer]:
    """The buffers of a function of which only elements in one triangle are ever written: others may be, too."""
    fresh = {stmt.buffer for stmt in body if type(stmt) is AllocBuffer and not stmt.annotations}
    places: dict[Buffer, list[Expr]] = {}
    names: dict[Buffer, tuple[Var, ...]] = {}
    for stmt in body:
        stored = {node.buffer for node in walk(stmt, BufferStore)} & fresh
        if not stored:
            continue
        nest = _Squares(frozenset(), frozenset())
        try:
            if not any(stmt is one for one in nests):
                raise _Refuse
            nest.stmt(stmt)
        except _Refuse:
            fresh -= stored
            continue
        for store, condition in nest.stored:
            # the triangle in terms of the indices, whatever the loops are called
            indices = {index: Var(f"i{at}", index.dtype) for at, index in enumerate(store.indices)}
            if condition is None or not indices.keys() >= {*free_vars(condition)} or len(indices) < len(store.indices):
                fresh.discard(store.buffer)
                continue
            known = names.setdefault(store.buffer, tuple(indices.values()))
            indices = dict(zip(store.indices, known, strict=True))
            places.setdefault(store.buffer, []).append(substitute(condition, indices))
    same = {
        buffer
        for buffer, found in places.items()
        if all(structural_equal(found[0], one, map_free_vars=False) for one in found)
    }
    return frozenset(fresh & same)


def _fills(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement stores every element of a buffer."""
    sizes: dict[Expr, Expr] = {}
    while type(stmt) is For:
        if len(stmt.body) != 1 or stmt.step is not None or not is_const(stmt.start, 0):
            return False
        sizes[stmt.var] = stmt.stop
        stmt = stmt.body[0]
    if type(stmt) is not BufferStore or stmt.buffer is not buffer or stmt.predicate is not None:
        return False
    used = [index for index in stmt.indices if index in sizes]
    if len(set(used)) < len(used):
        return False
    pairs = [(sizes.get(index, index), dim) for index, dim in zip(stmt.indices, buffer.shape, strict=True)]
    return all(_same_size(size, dim) or (is_const(size, 0) and is_const(dim, 1)) for size, dim in pairs)


def _same_size(a: Expr, b: Expr) -> bool:
    return a.value == b.value if type(a) is Const and type(b) is Const else a is b


def _squares(func: PrimFunc, body: tuple[Stmt, ...], nest: For, fresh: frozenset[Buffer]) -> For | None:
    """A nest with squares for its triangles, None where it stays."""
    for node in walk(nest):
        if type(node) is Call and node.op.effect != "pure":
            return None
        if isinstance(node, Expr) and may_trap(node):
            return None
    allocated = {stmt.buffer for stmt in body if type(stmt) is AllocBuffer}
    squares = _Squares(fresh, allocated)
    try:
        made = squares.loop(nest)
    except _Refuse:
        return None
    # what stays outside of a triangle has to be there
    own = allocated - fresh
    kept = {store.buffer for at, (store, _) in enumerate(squares.stored) if not squares.is_begun(at)} & own
    before = body[: next(at for at, stmt in enumerate(body) if stmt is nest)]
    if not all(any(_fills(stmt, buffer) for stmt in before) for buffer in kept):
        return None
    check = _Inside(made)
    check.function(func.replace(body=tuple([made if stmt is nest else stmt for stmt in body])))
    return made if check.holds else None


class _Range(Struct, frozen=True):
    """The first and the last value of a loop's variable, whatever those of other loops are."""

    first: Linear
    last: Linear


class _Squares:
    """Makes squares of one nest."""

    def __init__(self, fresh: frozenset[Buffer], own: Set[Buffer]) -> None:
        self.own = own  # what the function allocates
        self.fresh = fresh  # what may be written outside of the triangles
        self.ranges: dict[Var, _Range] = {}
        self.conditions: list[Expr] = []
        self.bounded: set[Var] = set()  # of the loops that others bound
        self.declared: dict[Buffer, int] = {}  # variables, with how many conditions hold where they begin
        self.stored: list[tuple[BufferStore, Expr | None]] = []  # with the conditions around

    def reads_own(self, value: Expr) -> bool:
        """Whether a value reads what the function allocates, which need not be there outside of a triangle."""
        return any(type(node) is BufferLoad and node.buffer in self.own for node in walk(value))

    def is_begun(self, at: int) -> bool:
        """Whether one of the stores is always done, or changes an element that one before it always stores."""
        store, condition = self.stored[at]
        if condition is None:
            return True
        if any(uses(store.indices, var) for var in self.bounded):
            return False
        return any(one.buffer is store.buffer and before is None for one, before in self.stored[:at])

    def stmt(self, stmt: Stmt) -> Stmt:
        kind = type(stmt)
        if kind is For:
            return self.loop(stmt)  # type: ignore[arg-type]
        if kind is BufferStore:
            return self.store(stmt)  # type: ignore[arg-type]
        if kind is ScalarDecl:
            self.declared[stmt.buffer] = len(self.conditions)  # type: ignore[attr-defined]
        elif kind is not Bind:
            raise _Refuse
        return stmt

    def loop(self, loop: For) -> For:
        if loop.kind != "serial" or loop.step is not None or loop.annotations or reads_memory(loop.start):
            raise _Refuse
        if reads_memory(loop.stop) or loop.start.dtype is not loop.stop.dtype:
            raise _Refuse
        first, end = linear(loop.start), linear(loop.stop)
        bounded = [self.bounds(form) for form in (first, end)]
        if bounded[0] and bounded[1]:
            raise _Refuse  # a band: the square would be much more
        if first.dtype.bits < 32 and any(bounded) and not all(map(self.is_exact, (first, end))):
            raise _Refuse  # its bounds may begin anew at the least number of their dtype
        low, high = self.extreme(first, least=True), self.extreme(end, least=False)
        shortest = self.extreme(end, least=True) - self.extreme(first, least=False)
        extent = high - low
        if (bounded[0] or bounded[1]) and extent.is_constant and shortest.is_constant:
            if extent.constant <= 0 or extent.constant + shortest.constant < extent.constant // 2:
                raise _Refuse
        self.ranges[loop.var] = _Range(low, high.shifted(-1))
        if bounded[0] or bounded[1]:
            self.bounded.add(loop.var)
        before = len(self.conditions)
        if bounded[0]:
            self.conditions.append(get_op("less_equal")(loop.start, loop.var))
        if bounded[1]:
            self.conditions.append(get_op("less")(loop.var, loop.stop))
        if len(self.conditions) > MOST:
            raise _Refuse
        body = tuple([self.stmt(inner) for inner in loop.body])
        del self.conditions[before:]
        if not (bounded[0] or bounded[1]):
            return loop.replace(body=body)
        return loop.replace(start=expression(low), stop=expression(high), body=body)

    def bounds(self, form: Linear) -> bool:
        """Whether a bound is a loop's variable and something that is the same for all iterations."""
        used = [atom for atom in form.terms if any(uses(atom, var) for var in self.ranges)]
        if len(used) > 1 or (used and (used[0] not in self.ranges or abs(form.terms[used[0]]) != 1)):
            raise _Refuse
        return bool(used)

    def is_exact(self, form: Linear) -> bool:
        """Whether a bound is known not to wrap."""
        known = {var: (one.first, one.last) for var, one in self.ranges.items()}
        numbers = {v: (a.constant, b.constant) for v, (a, b) in known.items() if a.is_constant and b.is_constant}
        return exact(form, numbers)

    def extreme(self, form: Linear, *, least: bool) -> Linear:
        """The least or greatest value of a bound."""
        total = Linear({}, form.constant, form.dtype)
        for atom, factor in form.terms.items():
            one = self.ranges.get(atom) if type(atom) is Var else None
            if one is None:
                total = total + Linear({atom: factor}, 0, form.dtype)
                continue
            end = one.first if (factor > 0) == least else one.last
            if end.dtype is not form.dtype:
                raise _Refuse
            total = total + end.scaled(factor)
        return total

    def store(self, store: BufferStore) -> BufferStore:
        """A store that leaves what is outside of the triangle."""
        if store.predicate is not None or store.buffer.dtype.is_vector:
            raise _Refuse
        condition = conjunction(self.conditions[self.declared.get(store.buffer, 0) :])
        self.stored.append((store, condition))
        if condition is None or store.buffer in self.fresh:
            return store
        value = store.value
        mine = BufferLoad(store.buffer, store.indices)
        if type(value) is Call and value.op is OPS["add"]:
            for own, other in (value.args, value.args[::-1]):
                if _is_element(own, mine) and not uses(other, store.buffer):
                    nothing = const(-0.0 if value.dtype.is_float else 0, value.dtype)
                    # lanes of results choose at once where all may be read
                    lanes = any(uses(store.indices, var) for var in self.bounded) and not self.reads_own(other)
                    term = get_op("Select" if lanes else "if_then_else")(condition, other, nothing)
                    return store.replace(value=value.replace(args=(own, term)))
        return store.replace(value=get_op("if_then_else")(condition, value, mine))


def _is_element(value: Expr, element: BufferLoad) -> bool:
    return (
        type(value) is BufferLoad and value.predicate is None and structural_equal(value, element, map_free_vars=False)
    )


class _Inside(Scoped):
    """Finds out whether all accesses of a nest are proved to be inside of their buffers."""

    def __init__(self, nest: For) -> None:
        super().__init__()
        self.nest = nest
        self.within = False
        self.holds = True

    def nested(self, loop: For) -> Any:
        before, self.within = self.within, self.within or loop is self.nest
        made = self.descend(loop)
        self.within = before
        return made

    def access(self, node: Any) -> Any:
        if self.within and self.holds:
            self.holds = all(map(self.is_inside, node.indices, node.buffer.shape))
        return self.descend(node)

    def is_inside(self, index: Expr, dim: Expr) -> bool:
        low, high = self.analyzer.const_int_bound(index)
        if low >= 0 and type(dim) is Const and high < int(dim.value):
            return True
        known = self.analyzer
        if index.dtype is not dim.dtype:
            return False
        return known.can_prove(get_op("less")(index, dim)) and known.can_prove(
            get_op("greater_equal")(index, const(0, index.dtype))
        )

    rules = {For: nested, BufferLoad: access, BufferStore: access}  # noqa: RUF012


__all__ = ["rectangles"]
