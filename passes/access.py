"""What a piece of program reads and writes, and the boxes of buffers that its loops cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, structs

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.bounds import Interval, Ranges, bounds, kept
from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import DType
from tirscript.ir.expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Const,
    Expr,
    Ramp,
    Range,
    Var,
)
from tirscript.ir.node import Node
from tirscript.ir.op import OPS, cast
from tirscript.ir.rewrite import children, substitute, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Bind,
    Block,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    For,
    If,
    MatchBuffer,
    Return,
    ScalarDecl,
    Stmt,
)


class Access(Struct, frozen=True, eq=False):
    """One access of `buffer`: at `indices`, or of a box (`ranges`), or of who knows what (both None).

    `loops` are the loops around it inside the piece looked at, outermost first; `certain` says that it happens whenever
    those loops run; `init` that it stands in the init of `block`, the innermost block around it.
    """

    buffer: Buffer
    write: bool
    indices: tuple[Expr, ...] | None = None
    ranges: tuple[Range, ...] | None = None
    loops: tuple[For, ...] = ()
    certain: bool = True
    block: Block | None = None
    init: bool = False
    node: Node | None = None


class Accesses:
    """The accesses of a body in program order, the values of the names bound in it, and the ranges of its variables.

    `known` are ranges of variables around it.
    With `declared`, a nested block with written T.reads and T.writes counts as accessing just those.
    """

    def __init__(self, body: Iterable[Stmt], *, declared: bool = False, known: Ranges | None = None) -> None:
        self.found: list[Access] = []
        self.values: dict[Var, Expr] = {}
        self.ranges: dict[Var, Interval] = dict(known or {})
        self.sums: dict[int, tuple[Expr, Linear]] = {}  # what `sum_of` was asked, by the ids of the expressions
        self._declared = declared
        self._loops: tuple[For, ...] = ()
        self._certain = True
        self._whole = False  # whether a loop around this is known to run all its iterations
        self._block: Block | None = None
        self._init = False
        self.body(body)

    def body(self, stmts: Iterable[Stmt]) -> None:
        for stmt in stmts:
            rule = _STMTS.get(type(stmt))
            if rule is not None:
                rule(self, stmt)
            else:
                self.leaf(stmt)

    def leaf(self, stmt: Node) -> None:
        """A statement without an own rule: its expressions, then the statements in it, which may or may not run."""
        inner: list[Stmt] = []
        for child in children(stmt):
            if isinstance(child, Stmt):
                inner.append(child)
            elif type(child) is not Buffer:
                self.expr(child)
        if inner:
            self.maybe(inner)

    def maybe(self, stmts: Iterable[Stmt]) -> None:
        before, self._certain = self._certain, False
        self.body(stmts)
        self._certain = before

    def add(
        self, buffer: Buffer, write: bool, indices: Any = None, ranges: Any = None, node: Node | None = None
    ) -> None:
        self.found.append(
            Access(buffer, write, indices, ranges, self._loops, self._certain, self._block, self._init, node)
        )

    def expr(self, root: Any) -> None:
        """The accesses of an expression."""
        # in the order of the text, so that reads are counted as they are written
        stack = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is BufferLoad:
                self.add(node.buffer, False, node.indices, node=node)
                if node.predicate is not None:
                    stack.append(node.predicate)
                stack += reversed(node.indices)
            elif kind is BufferData:
                self.opaque(node.buffer, node)
            elif kind is Call and node.op is OPS["prefetch"] and _is_address(node.args[0]):
                stack += reversed(node.args[0].args[0].indices)  # the element is neither read nor written
            elif _is_address(node):
                self.opaque(node.args[0].buffer, node)
                stack += reversed(node.args[0].indices)
            elif kind is CallFunction:
                later: list[Node] = []
                for arg in node.args:
                    if type(arg) is Buffer:
                        self.opaque(arg, node)
                    elif type(arg) is BufferRegion:
                        self.add(arg.buffer, False, None, arg.ranges, node)
                        self.add(arg.buffer, True, None, arg.ranges, node)
                    else:
                        later.append(arg)
                stack += reversed(later)
            elif kind is BufferRegion:
                self.opaque(node.buffer, node)
            elif kind is not Buffer:
                stack += reversed(tuple(children(node)))

    def opaque(self, buffer: Buffer, node: Node) -> None:
        self.add(buffer, False, node=node)
        self.add(buffer, True, node=node)

    def store(self, stmt: BufferStore) -> None:
        self.expr(stmt.value)
        for index in stmt.indices:
            self.expr(index)
        before = self._certain
        if stmt.predicate is not None:
            self.expr(stmt.predicate)
            self._certain = False
        self.add(stmt.buffer, True, stmt.indices, node=stmt)
        self._certain = before

    def declare(self, stmt: ScalarDecl) -> None:
        if stmt.value is not None:
            self.expr(stmt.value)
            self.add(stmt.buffer, True, (), node=stmt)

    def bind(self, stmt: Bind) -> None:
        self.expr(stmt.value)
        self.name(stmt.var, stmt.value)

    def name(self, var: Var, value: Expr) -> None:
        self.values[var] = value
        if value.dtype.is_int and not value.dtype.is_vector:
            self.ranges[var] = bounds(value, self.ranges)

    def loop(self, stmt: For) -> None:
        self.expr(stmt.start)
        self.expr(stmt.stop)
        if stmt.step is not None:
            self.expr(stmt.step)
        interval = loop_range(stmt, self.ranges)
        if interval is not None:
            self.ranges[stmt.var] = interval
        before, self._loops = self._loops, (*self._loops, stmt)
        certain = self._certain
        outside, self._whole = self._whole, self._whole or (certain and not leaves_early(stmt.body))
        self._certain = certain and self._whole
        self.body(stmt.body)
        self._loops, self._certain, self._whole = before, certain, outside

    def branch(self, stmt: If) -> None:
        self.expr(stmt.condition)
        self.maybe(stmt.then)
        self.maybe(stmt.orelse)

    def block(self, stmt: Block) -> None:
        for axis in stmt.axes:
            self.expr(axis.value)
            self.name(axis.var, axis.value)
        before = self._block, self._certain
        self._block = stmt
        if stmt.predicate is not None:
            self.expr(stmt.predicate)
            self._certain = False
        if self._declared and stmt.reads is not None and stmt.writes is not None:
            for region in stmt.reads:
                self.add(region.buffer, False, None, region.ranges, region)
            for region in stmt.writes:
                self.add(region.buffer, True, None, region.ranges, region)
        else:
            if stmt.init is not None:
                self._init = True
                self.body(stmt.init)
                self._init = False
            self.body(stmt.body)
        self._block, self._certain = before

    def match(self, stmt: MatchBuffer) -> None:
        if type(stmt.source) is BufferRegion:
            self.add(stmt.source.buffer, False, None, stmt.source.ranges, stmt)
            self.add(stmt.source.buffer, True, None, stmt.source.ranges, stmt)

    def view(self, stmt: DeclBuffer) -> None:
        self.expr(stmt.data)


_STMTS: dict[type, Any] = {
    BufferStore: Accesses.store,
    ScalarDecl: Accesses.declare,
    Bind: Accesses.bind,
    For: Accesses.loop,
    If: Accesses.branch,
    Block: Accesses.block,
    MatchBuffer: Accesses.match,
    DeclBuffer: Accesses.view,
    AllocBuffer: lambda self, stmt: None,
    AllocateConst: lambda self, stmt: None,
}


def leaves_early(body: Iterable[Stmt]) -> bool:
    """Whether a break, continue or return stands anywhere in `body`."""
    todo = list(body)
    while todo:
        stmt = todo.pop()
        if type(stmt) in (Break, Continue, Return):
            return True
        todo += [child for child in children(stmt) if isinstance(child, Stmt)]
    return False


# one dimension of a box: the least and the greatest index, both included, or None where nothing is known
Extent = tuple[Linear, Linear] | None


def box(access: Access, seen: Accesses, inner: frozenset[Var] = frozenset()) -> tuple[Extent, ...] | None:
    """What an access that `seen` found touches while its loops run; None for the whole buffer.

    It is said in names that are not `inner`.
    """
    if access.indices is not None:
        return tuple(relax_index(index, access.loops, seen, inner) for index in access.indices)
    if access.ranges is None:
        return None
    found: list[Extent] = []
    for one in access.ranges:
        low = relax_index(one.start, access.loops, seen, inner)
        high = low if one.stop is None else relax_index(one.stop, access.loops, seen, inner)
        if low is None or high is None:
            found.append(None)
        else:
            found.append((low[0], high[1] if one.stop is None else high[1].shifted(-1)))
    return tuple(found)


def here(access: Access, seen: Accesses) -> tuple[Extent, ...] | None:
    """What an access touches in one iteration of its loops."""
    return box(structs.replace(access, loops=()), seen)


def relax_index(index: Expr, loops: tuple[For, ...], seen: Accesses, inner: frozenset[Var]) -> Extent:
    """The least and greatest value of an index while `loops` run; None where only `inner` names could say it."""
    if not index.dtype.element.is_int:
        return None
    if not index.dtype.is_vector:
        return _relax(sum_of(index, seen), (), loops, seen, inner)
    if type(index) is Broadcast:
        return _relax(sum_of(index.value, seen), (), loops, seen, inner)
    if type(index) is not Ramp or index.scalable:
        return None
    stride = sum_of(index.stride, seen)
    if not stride.is_constant:
        return None
    lane = Var("lane", index.base.dtype)
    form = sum_of(index.base, seen) + Linear({lane: stride.constant}, 0, lane.dtype).clean()
    return _relax(form, ((lane, index.lanes),), loops, seen, inner)


def sum_of(expr: Expr, seen: Accesses) -> Linear:
    """The linear form of an expression, bound names and widening casts seen through. `seen` knows all its names."""
    asked = seen.sums.get(id(expr))
    if asked is None:
        asked = seen.sums[id(expr)] = expr, _sum_of(expr, seen)
    return asked[1]


def _sum_of(expr: Expr, seen: Accesses) -> Linear:
    def keeps(inner: Expr, dtype: DType) -> bool:
        return kept(linear(inner, seen.values), dtype, seen.ranges)

    form = linear(expr, seen.values, keeps)
    if all(type(atom) is not Call or atom.op not in _DIVISIONS for atom in form.terms):
        return form
    # a quotient of a sum may be a sum: (i * 32 + j) // 16, where j is below 16
    while any(type(node) is Var and node in seen.values for node in walk(expr)):
        expr = substitute(expr, seen.values)
    simpler = Analyzer(seen.ranges).simplify(expr)
    return linear(simpler, seen.values, keeps)


_DIVISIONS = (OPS["floordiv"], OPS["floormod"])


def _relax(
    form: Linear, lanes: tuple[tuple[Var, int], ...], loops: tuple[For, ...], seen: Accesses, inner: frozenset[Var]
) -> Extent:
    low, high, known = _swing_opaque(form, form, loops, seen, inner)
    if not known:
        return None
    # how far apart two indices can be as numbers: a constant width is the truth only where that does not wrap
    reach = 0
    for var, count in lanes:
        low, high = _swing(low, high, var, Linear({}, 0, form.dtype), Linear({}, count - 1, form.dtype))
        reach += abs(form.terms.get(var, 0)) * (count - 1)
    for loop in reversed(loops):
        step = max(abs(low.terms.get(loop.var, 0)), abs(high.terms.get(loop.var, 0)))
        if not step:
            continue
        if loop.step is not None or loop.var.dtype.bits > form.dtype.bits:
            return None
        extent = constant_extent(loop)
        interval = seen.ranges.get(loop.var)
        if extent is not None:
            reach += step * max(0, extent - 1)
        elif interval is not None:
            reach += step * (interval[1] - interval[0])
        first, stop = (sum_of(cast(end, form.dtype), seen) for end in (loop.start, loop.stop))
        low, high = _swing(low, high, loop.var, first, stop.shifted(-1))
    for end in (low, high):
        for atom in end.terms:
            for node in walk(atom):
                kind = type(node)
                if kind is BufferLoad or kind is CallFunction or (kind is Var and node in inner):
                    return None
    width = high - low
    if width.is_constant and not (width.constant >= 0 and reach < 1 << (form.dtype.bits - 1)):
        return None
    if low.is_constant and high.is_constant and low.constant > high.constant:
        return None  # it goes on at the least number of the dtype
    return low, high


def _swing(low: Linear, high: Linear, var: Var, first: Linear, last: Linear) -> tuple[Linear, Linear]:
    """Both ends where `var` goes from `first` to `last`."""
    a, b = low.terms.get(var, 0), high.terms.get(var, 0)
    low = low.without(var) + (first if a > 0 else last).scaled(a)
    high = high.without(var) + (last if b > 0 else first).scaled(b)
    return low, high


def _swing_opaque(
    low: Linear, high: Linear, loops: tuple[For, ...], seen: Accesses, inner: frozenset[Var]
) -> tuple[Linear, Linear, bool]:
    """Replace atoms that are no loop variables but vary with the loops, such as `i // 4`, by their constant bounds."""
    moving = {loop.var for loop in loops}
    for end in (low, high):
        for atom in list(end.terms):
            if type(atom) is Var or not any(
                type(node) is Var and (node in moving or node in inner) for node in walk(atom)
            ):
                continue
            if any(type(node) is Var and node not in seen.ranges for node in walk(atom)):
                return low, high, False
            least, greatest = bounds(atom, seen.ranges)
            if greatest - least >= 1 << 30:
                return low, high, False
            a, b = low.terms.get(atom, 0), high.terms.get(atom, 0)
            low = low.without(atom).shifted(a * (least if a > 0 else greatest))
            high = high.without(atom).shifted(b * (greatest if b > 0 else least))
    return low, high, True


def constant_ranges(loops: Iterable[For]) -> dict[Var, Interval]:
    """The variables of loops whose bounds are constant, with the least and greatest value they take."""
    ranges: dict[Var, Interval] = {}
    for loop in loops:
        interval = loop_range(loop, ranges)
        if interval is not None:
            ranges[loop.var] = interval
    return ranges


def loop_range(loop: For, ranges: Mapping[Var, Interval]) -> Interval | None:
    """The least and greatest value of a loop's variable, or None where the loop does not run or may count down."""
    if loop.step is not None and not (type(loop.step) is Const and loop.step.value > 0):
        return None
    low, high = bounds(loop.start, ranges)[0], bounds(loop.stop, ranges)[1] - 1
    return (low, high) if low <= high else None


def constant_extent(loop: For) -> int | None:
    """The number of iterations where it is the same whatever the variables hold."""
    start, stop = loop.start, loop.stop
    if loop.step is not None or start.dtype is not stop.dtype:
        return None
    if type(start) is Const and type(stop) is Const:
        return max(0, int(stop.value) - int(start.value))
    if start.dtype.bits < 32:
        return None  # what is constant is the distance modulo a power of two that is soon reached
    form = linear(stop) - linear(start)
    if not form.is_constant:
        return None
    # of unsigned numbers too, what is half the range or more is less than nothing
    return form.constant if 0 < form.constant < 1 << (start.dtype.bits - 1) else 0


def _is_address(node: Node) -> bool:
    return type(node) is Call and node.op is OPS["address_of"]


def union(a: tuple[Extent, ...] | None, b: tuple[Extent, ...] | None) -> tuple[Extent, ...] | None:
    """The least box around two boxes; a dimension whose ends do not compare is unknown."""
    if a is None or b is None or len(a) != len(b):
        return None
    found: list[Extent] = []
    for p, q in zip(a, b, strict=True):
        if p is None or q is None or p[0].dtype is not q[0].dtype:
            found.append(None)
            continue
        low, high = distance(p[0], q[0]), distance(p[1], q[1])
        if low is None or high is None:
            found.append(None)
        else:
            found.append((p[0] if low <= 0 else q[0], p[1] if high >= 0 else q[1]))
    return tuple(found)


def contains(outer: tuple[Extent, ...], inner: tuple[Extent, ...]) -> bool:
    """Whether `inner` provably lies in `outer`."""
    if len(outer) != len(inner):
        return False
    for p, q in zip(outer, inner, strict=True):
        if p is None or q is None or p[0].dtype is not q[0].dtype:
            return False
        low, high = distance(q[0], p[0]), distance(p[1], q[1])
        if low is None or high is None or low < 0 or high < 0:
            return False
    return True


def distance(a: Linear, b: Linear) -> int | None:
    """How much more one end is than another as numbers; None where that is not known."""
    if a.is_constant and b.is_constant:
        return a.constant - b.constant
    apart = a - b
    if not apart.is_constant or (apart.constant and apart.dtype.bits < 32):
        return None  # what is constant is the distance modulo a power of two that is soon reached
    half = 1 << (apart.dtype.bits - 1)
    return apart.constant if apart.constant < half else apart.constant - 2 * half


def access_regions(block: Block) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """What a block reads and writes, as boxes in terms of its axes, each buffer once, in the order of first access.

    The block's own definitions are left out, and so are reads of what its init writes.
    """
    seen = Accesses((*(block.init or ()), *block.body), declared=True)
    nodes = [*walk(block.body), *walk(block.init or ())]
    own = {getattr(node, name) for node in nodes for name in type(node).defines if name in ("buffer", "var")}
    inner = frozenset(node for node in own if type(node) is Var)
    initialized = {a.buffer for a in Accesses(block.init or ()).found if a.write}
    sources = {n.buffer: n.source for n in nodes if type(n) is MatchBuffer and type(n.source) is BufferRegion}
    tables: tuple[dict[Buffer, Any], dict[Buffer, Any]] = ({}, {})
    # a use of a matched buffer is one of the region it stands for
    used = {(a.buffer, a.write) for a in seen.found}
    for access in seen.found:
        buffer = access.buffer
        if buffer in own or buffer.is_scalar or (not access.write and buffer in initialized):
            continue
        if type(access.node) is MatchBuffer and not _uses_match(access.node.buffer, access.write, used, sources):
            continue
        table = tables[access.write]
        area = box(access, seen, inner)
        table[buffer] = union(table[buffer], area) if buffer in table else area
    return tuple(_regions(tables[0])), tuple(_regions(tables[1]))


def _uses_match(
    buffer: Buffer, write: bool, used: set[tuple[Buffer, bool]], sources: Mapping[Buffer, BufferRegion]
) -> bool:
    if (buffer, write) in used and not any(region.buffer is buffer for region in sources.values()):
        return True
    nested = [b for b, region in sources.items() if region.buffer is buffer]
    return any(_uses_match(b, write, used, sources) for b in nested) or (bool(nested) and (buffer, write) in used)


def _regions(table: Mapping[Buffer, tuple[Extent, ...] | None]) -> Iterable[BufferRegion]:
    for buffer, area in table.items():
        ranges = []
        for dim, extent in zip(buffer.shape, area or (None,) * buffer.ndim, strict=True):
            if extent is None:
                ranges.append(Range(Const(0, dim.dtype), dim))  # type: ignore[arg-type]
                continue
            low, high = extent
            single = (high - low).is_constant and (high - low).constant == 0
            ranges.append(Range(expression(low), None if single else expression(high.shifted(1))))
        yield BufferRegion(buffer, tuple(ranges))


__all__ = [
    "Access",
    "Accesses",
    "Extent",
    "access_regions",
    "box",
    "constant_extent",
    "constant_ranges",
    "contains",
    "distance",
    "here",
    "leaves_early",
    "loop_range",
    "relax_index",
    "union",
]
