"""What is known of the contents of memory, and for how long.

A `Content` says: for all values of `bound` in their ranges with which `condition` holds, the element of `buffer` at
`indices` fulfils `claim` (in which `element` stands for it), but for the elements of `excluded`, which may have been
written since. It comes from a `T.assume`, an `assert` or a store, inside and behind loops and branches:

    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or A[io, ii] == 0)
    # for io in range(4), ii in range(4) with 4 * io + ii >= 14: A[io, ii] == 0

A write excludes the elements that it may touch. Memory that is reached by a view, an address or a call is forgotten
whole where that may write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, structs

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.logic import conjuncts, disjuncts, negation
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import BOOL
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import children, free_vars, rewrite, substitute, uses, walk
from tirscript.ir.stmt import (
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Bind,
    Block,
    BufferStore,
    For,
    If,
    LaunchThread,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)

from .access import leaves_early
from .element_indices import Bound, is_injective, solve
from .statements import has_effect, reads_memory

MOST = 64  # contents known at a time; the oldest are forgotten
EXCLUDED = 16  # writes that one content survives
PROOFS = 500  # proofs of Presburger arithmetic for one function

TRUE = Const(True, BOOL)
_EQUAL, _AND = OPS["equal"], OPS["logical_and"]


class Write(Struct, frozen=True, eq=False):
    """Elements that a statement may have written: those at `indices` for all of `bound`; None for all."""

    indices: tuple[Expr, ...] | None
    bound: tuple[Bound, ...] = ()


class Content(Struct, frozen=True, eq=False):
    """See the module. `origin` is the store it comes from, `written` says only that the element was written."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    element: Var
    claim: Expr
    condition: Expr = TRUE
    bound: tuple[Bound, ...] = ()
    excluded: tuple[Write, ...] = ()
    origin: Stmt | None = None
    written: bool = False

    @property
    def value(self) -> Expr | None:
        """What the element is equal to, where the claim says so."""
        claim = self.claim
        if type(claim) is Call and claim.op is _EQUAL:
            if claim.args[0] is self.element:
                return claim.args[1]
            if claim.args[1] is self.element:
                return claim.args[0]
        return None

    @property
    def exact(self) -> bool:
        """Whether the element is its value bit for bit: what compares equal to 0.0 may be -0.0."""
        if self.origin is not None or not self.buffer.dtype.is_float:
            return True
        value = self.value
        return type(value) is Const and value.value != 0

    def parts(self) -> tuple[Expr, ...]:
        """Every expression that the content is said in."""
        ends = tuple(end for _, start, stop in self.bound for end in (start, stop))
        return (*self.indices, self.claim, self.condition, *ends)


class Known(Struct, frozen=True, eq=False):
    """What a content says of one element: the claim about the load, and its value where that is known.

    `exact` says that the element is the value, and does not only compare equal to it. `origin` is the store that it
    comes from.
    """

    claim: Expr
    value: Expr | None
    written: bool
    exact: bool = True
    origin: Stmt | None = None


class Contents(Scoped):
    """A walk that knows, besides what holds of integers, what memory contains where it stands."""

    def __init__(self, analyzer: Analyzer | None = None) -> None:
        super().__init__(analyzer)
        self.contents: tuple[Content, ...] = ()
        self.proofs = PROOFS

    def function(self, func: PrimFunc) -> PrimFunc:
        self.contents = ()
        self.proofs = PROOFS
        return super().function(func)

    # asking

    def of(self, load: BufferLoad, *, exact: bool = False) -> Iterator[Known]:
        """What is known of an element that is read here, newest first; with `exact` only its value, bit for bit."""
        if load.predicate is not None or any(index.dtype.is_vector for index in load.indices):
            return
        for content in reversed(self.contents):
            if content.buffer is not load.buffer or (exact and not (content.exact and content.value is not None)):
                continue
            values = self._solved(content, load.indices)
            if values is None:
                continue
            claim = substitute(content.claim, {**values, content.element: load})
            value = content.value
            value = None if value is None else substitute(value, values)
            yield Known(claim, value, content.written, content.exact, content.origin)

    def value_of(self, load: BufferLoad) -> Expr | None:
        """The value of an element where it is known bit for bit and does not itself read memory."""
        return next((known.value for known in self.of(load, exact=True)), None)

    def is_written(self, load: BufferLoad) -> bool:
        """Whether an element is known to hold something: it was written, or is assumed to have a value."""
        return next((True for _ in self.of(load)), False)

    def _solved(self, content: Content, at: tuple[Expr, ...]) -> dict[Var, Expr] | None:
        """The values of the bound variables with which a content speaks of the element at `at`, if it surely does."""
        values = solve(content.indices, content.bound, at, self.analyzer)
        if values is None:
            return None
        for one, index in zip(content.indices, at, strict=True):
            if not self._same(substitute(one, values), index):
                return None
        for var, start, stop in content.bound:
            value = values[var]
            low, high = substitute(start, values), substitute(stop, values)
            if not (self._proves(value >= low) and self._proves(value < high)):
                return None
        if not self._proves(substitute(content.condition, values)):
            return None
        if not content.written and not all(self._misses(write, at) for write in content.excluded):
            return None
        return values

    def _proves(self, condition: Expr) -> bool:
        """Whether a condition is proved here; the long proofs are counted, so that a long function ends soon too."""
        found = self.analyzer.decide_cheaply(condition)
        if found is not None or self.proofs <= 0:
            return found is True
        self.proofs -= 1
        return self.analyzer.can_prove(condition)

    def _same(self, a: Expr, b: Expr) -> bool:
        """Whether two indices are equal; of constants, and of sums without ranges, it is soon found."""
        if a is b or a == b:
            return not reads_memory(a) or self.analyzer.prove_equal(a, b)
        if type(a) is Const and type(b) is Const:
            return a.value == b.value
        return self._proves(get_op("equal")(a, b))

    def _misses(self, write: Write, at: tuple[Expr, ...]) -> bool:
        """Whether the element at `at` surely is not among those of a write."""
        if write.indices is None or len(write.indices) != len(at):
            return False
        if not at:
            return False
        fresh = {var: var.replace() for var, _, _ in write.bound}
        with self.analyzer.scope():
            for var, start, stop in write.bound:
                self.analyzer.bind(fresh[var], (substitute(start, fresh), substitute(stop, fresh)))
            apart = get_op("not_equal")
            return any(
                self._proves(apart(substitute(one, fresh), index))
                for one, index in zip(write.indices, at, strict=True)
                if one.dtype is index.dtype and not one.dtype.is_vector
            )

    # learning

    def learn(self, condition: Expr) -> None:
        """What a condition that holds says of memory."""
        for part in conjuncts(condition):
            pure: list[Expr] = []
            reading: list[Expr] = []
            for choice in disjuncts(part):
                (reading if reads_memory(choice) else pure).append(choice)
            loads = [node for choice in reading for node in walk(choice, BufferLoad)]
            if not loads or has_effect(part):
                continue
            first = loads[0]
            same = all(
                load.buffer is first.buffer
                and load.predicate is None
                and len(load.indices) == len(first.indices)
                and all(a is b or a == b for a, b in zip(load.indices, first.indices, strict=True))
                for load in loads
            )
            if not same or any(reads_memory(index) or index.dtype.is_vector for index in first.indices):
                continue
            if self.storage.root(first.buffer) is not first.buffer:
                continue
            element = Var("element", first.buffer.dtype)
            claim = _joined("logical_or", [_replaced(choice, element) for choice in reading])
            condition_of = _joined("logical_and", [negation(choice) for choice in pure]) if pure else TRUE
            self.add(Content(first.buffer, first.indices, element, claim, condition_of))

    def add(self, content: Content) -> None:
        """Know one more content."""
        self.contents = (*self.contents, content)[-MOST:]

    def stored(self, stmt: BufferStore) -> None:
        """What a store says of its element, and of what was known."""
        buffer, value = stmt.buffer, self.value_stored(stmt)
        self.overwritten([(buffer, _write(stmt.indices, ()))])
        plain = stmt.predicate is None and not any(
            reads_memory(index) or index.dtype.is_vector for index in stmt.indices
        )
        if plain:
            # nothing older is said of this very element
            self.contents = tuple(
                content
                for content in self.contents
                if content.buffer is not buffer or content.bound or content.indices != stmt.indices
            )
        if not plain or self.storage.root(buffer) is not buffer:
            return
        element = Var("element", buffer.dtype)
        undefined = any(type(node) is Call and node.op is OPS["undef"] for node in walk(stmt.value))
        if undefined:
            return
        self.add(Content(buffer, stmt.indices, element, TRUE, origin=stmt, written=True))
        comparable = not buffer.dtype.is_vector and not value.dtype.is_vector and value.dtype is buffer.dtype
        if comparable and not reads_memory(value):
            claim = Call(_EQUAL, (element, value), BOOL)
            self.add(Content(buffer, stmt.indices, element, claim, origin=stmt))

    def value_stored(self, stmt: BufferStore) -> Expr:
        """What a store stores. A walk that leaves values as they are may know more of it here."""
        return stmt.value

    def overwritten(self, writes: Iterable[tuple[Buffer | None, Write]]) -> None:
        """Take what was written out of what is known."""
        writes = list(writes)
        if not writes or not self.contents:
            return
        kept: list[Content] = []
        for content in self.contents:
            new: Content | None = content
            for buffer, write in writes:
                if new is None or new.written or not self._aliases(buffer, content.buffer):
                    continue
                if write.indices is None or buffer is not content.buffer or len(new.excluded) >= EXCLUDED:
                    new = None
                else:
                    new = structs.replace(new, excluded=(*new.excluded, write))
            if new is not None:
                kept.append(new)
        self.contents = tuple(kept)

    def _aliases(self, buffer: Buffer | None, other: Buffer) -> bool:
        """Whether a write to `buffer` may reach `other`."""
        if buffer is None or buffer is other:
            return True
        mine, its = self.storage.root(buffer), self.storage.root(other)
        return mine is None or its is None or mine is its

    # walking

    def after(self, stmt: Stmt) -> None:
        super().after(stmt)
        if type(stmt) in _STRUCTURED:
            return
        self.overwritten(self.effects(stmt))
        rule = _AFTER.get(type(stmt))
        if rule is not None:
            rule(self, stmt)
        else:
            self.overwritten(self.writes((stmt,)))

    def effects(self, stmt: Stmt) -> list[tuple[Buffer | None, Write]]:
        """What the expressions of a statement may write: calls in a value, a condition or the range of a loop."""
        parts = [part for part in children(stmt) if not isinstance(part, Stmt)]
        return self._anywhere(parts) if self.contents and any(map(has_effect, parts)) else []

    def _anywhere(self, nodes: Iterable[Any]) -> list[tuple[Buffer | None, Write]]:
        test = self.storage.written(nodes)
        return [(buffer, Write(None)) for buffer in {content.buffer for content in self.contents} if test(buffer)]

    def writes(self, stmts: Iterable[Stmt], bound: tuple[Bound, ...] = ()) -> list[tuple[Buffer | None, Write]]:
        """All that statements may write, said without the names that they define."""
        found: list[tuple[Buffer | None, Write]] = []
        values: dict[Var, Expr] = {}
        for stmt in stmts:
            made = self._writes_of(stmt, bound)
            if values:
                made = [(buffer, _placed(write, values, ())) for buffer, write in made]
            found += made
            if type(stmt) is Bind:
                values[stmt.var] = substitute(stmt.value, values)
        return found

    def _writes_of(self, stmt: Any, bound: tuple[Bound, ...]) -> list[tuple[Buffer | None, Write]]:
        kind = type(stmt)
        if kind is BufferStore:
            return [(stmt.buffer, _write(stmt.indices, bound)), *self.effects(stmt)]
        if kind is For and stmt.step is None and not reads_memory(stmt.start) and not reads_memory(stmt.stop):
            return self.writes(stmt.body, (*bound, (stmt.var, stmt.start, stmt.stop)))
        if kind is If:
            return [*self.effects(stmt), *self.writes((*stmt.then, *stmt.orelse), bound)]
        if kind is Attr:
            return [*self.effects(stmt), *self.writes(stmt.body, bound)]
        if kind is Block:
            # an axis is its value; its domain bounds what that may be
            values = {axis.var: axis.value for axis in stmt.axes}
            inside = self.writes((*(stmt.init or ()), *stmt.body), ())
            return [*self.effects(stmt), *((buffer, _placed(write, values, bound)) for buffer, write in inside)]
        return self._anywhere((stmt,))

    def loop_body(self, loop: For) -> tuple[Stmt, ...]:
        self.overwritten(self.effects(loop))
        before = self.contents
        plain = loop.step is None and not reads_memory(loop.start) and not reads_memory(loop.stop)
        bound = ((loop.var, loop.start, loop.stop),) if plain else ()
        writes = self.writes(loop.body, bound)
        if not plain:
            writes = [(buffer, Write(None)) for buffer, _ in writes]
        self.overwritten(writes)
        entry = self.contents
        body = super().loop_body(loop)
        gained = self._gained(entry)
        self.contents = before
        self.overwritten(writes)
        if plain and not leaves_early(loop.body):
            for content in gained:
                general = self._general(content, loop)
                if general is not None:
                    self.add(general)
        return body

    def _gained(self, before: tuple[Content, ...]) -> list[Content]:
        """What is known now and was not known then; a content that only lost elements is the same one."""
        old = {content.element for content in before}
        return [content for content in self.contents if content.element not in old]

    def _general(self, content: Content, loop: For) -> Content | None:
        """A content of one iteration as one of the whole loop."""
        var = loop.var
        inner = {one for node in walk(loop.body) for one in _defined(node)}
        if _speaks_of(content, inner):
            return None
        if not content.written and self._written_besides(content, loop):
            return None
        used = [part for part in (*content.parts(), *_of_writes(content.excluded)) if uses(part, var)]
        if not used:
            runs = loop.stop > loop.start
            both = runs if content.condition is TRUE else Call(_AND, (content.condition, runs), BOOL)
            return structs.replace(content, condition=both)
        bound = ((var, loop.start, loop.stop), *content.bound)
        if content.origin is not None and not content.written:
            # the iterations must write different elements for each to keep what it wrote
            if not is_injective(content.indices, bound, self.analyzer):
                return None
        excluded = tuple(
            structs.replace(write, bound=((var, loop.start, loop.stop), *write.bound))
            if write.indices is not None and any(uses(part, var) for part in (*write.indices, *_ends(write.bound)))
            else write
            for write in content.excluded
        )
        return structs.replace(content, bound=bound, excluded=excluded)

    def _written_besides(self, content: Content, loop: For) -> bool:
        """Whether something in a loop, but for the store that a content comes from, may write its buffer."""
        origins = 0
        for node in walk(loop.body):
            if type(node) is not BufferStore:
                continue
            if node is content.origin:
                origins += 1
            elif self._aliases(node.buffer, content.buffer):
                return True
        others = [
            part
            for node in walk(loop.body)
            if isinstance(node, Stmt)
            for part in children(node)
            if not isinstance(part, Stmt)
        ]
        return origins > 1 or self.storage.written(others)(content.buffer)

    def repeat(self, stmt: While) -> While:
        self.overwritten([*self.effects(stmt), *((buffer, Write(None)) for buffer, _ in self.writes((*stmt.body,)))])
        before = self.contents
        new = super().repeat(stmt)
        self.contents = before
        return new

    def branch(self, stmt: If) -> If:
        ends: list[tuple[Expr, tuple[Content, ...]]] = []
        condition = self.visit(stmt.condition)
        self.overwritten(self.effects(stmt))
        before = self.contents
        then = self.under(condition, stmt.then)
        ends.append((condition, self.contents))
        self.contents = before
        orelse = stmt.orelse
        if orelse:
            orelse = self.under(negation(condition), stmt.orelse)
        ends.append((negation(condition), self.contents))
        self._merge(before, ends, stmt)
        if condition is stmt.condition and then is stmt.then and orelse is stmt.orelse:
            return stmt
        return stmt.replace(condition=condition, then=then, orelse=orelse)

    def _merge(self, before: tuple[Content, ...], ends: list[tuple[Expr, tuple[Content, ...]]], stmt: If) -> None:
        """What is known behind a branch: what was before less what an arm wrote, and what an arm found, if it ran."""
        self.contents = before
        self.overwritten(self.writes((*stmt.then, *stmt.orelse)))
        inner = {one for node in walk((*stmt.then, *stmt.orelse)) for one in _defined(node)}
        for condition, contents in ends:
            if reads_memory(condition):
                continue
            old = {content.element for content in before}
            for content in contents:
                if content.element in old or _speaks_of(content, inner):
                    continue
                both = condition if content.condition is TRUE else Call(_AND, (condition, content.condition), BOOL)
                self.add(structs.replace(content, condition=both))

    def init(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        before = self.contents
        new = super().init(stmts)
        # behind the first iterations it is long overwritten
        self.contents = before
        return new

    def attribute(self, stmt: Attr) -> Attr:
        self.overwritten(self.effects(stmt))
        new = super().attribute(stmt)
        inner = {one for node in walk(stmt.body) for one in _defined(node)}
        self.contents = tuple(content for content in self.contents if not _speaks_of(content, inner))
        return new

    def block(self, stmt: Block) -> Block:
        self.overwritten(self.effects(stmt))
        before = self.contents
        if stmt.init is not None:
            # the init runs in some iterations only
            self.overwritten(self.writes(stmt.init))
        new = super().block(stmt)
        gained = self._gained(before)
        self.contents = before
        self.overwritten(self.writes((stmt,)))
        if stmt.init is None and not any(reads_memory(axis.value) for axis in stmt.axes):
            values = {axis.var: axis.value for axis in stmt.axes}
            inner = {one for node in walk(stmt.body) for one in _defined(node)}
            for content in gained:
                if _speaks_of(content, inner):
                    continue
                moved = structs.replace(
                    content,
                    indices=tuple(substitute(index, values) for index in content.indices),
                    claim=substitute(content.claim, values),
                    condition=substitute(content.condition, values),
                    bound=tuple((v, substitute(a, values), substitute(b, values)) for v, a, b in content.bound),
                    excluded=tuple(_placed(write, values, ()) for write in content.excluded),
                )
                if stmt.predicate is not None:
                    if reads_memory(stmt.predicate):
                        continue
                    held = substitute(stmt.predicate, values)
                    both = held if moved.condition is TRUE else Call(_AND, (moved.condition, held), BOOL)
                    moved = structs.replace(moved, condition=both)
                self.add(moved)
        return new

    def threads(self, stmt: LaunchThread) -> LaunchThread:
        self.overwritten([*self.effects(stmt), *((buffer, Write(None)) for buffer, _ in self.writes(stmt.body))])
        before = self.contents
        new = super().threads(stmt)
        self.contents = before
        return new


def _write(indices: tuple[Expr, ...], bound: tuple[Bound, ...]) -> Write:
    """A store to `indices`; one whose indices read memory may be of any element later on."""
    known = not any(reads_memory(index) or index.dtype.is_vector for index in indices)
    return Write(indices, bound) if known else Write(None)


def _placed(write: Write, values: dict[Var, Expr], bound: tuple[Bound, ...]) -> Write:
    """A write with values in the place of variables, for all of `bound`."""
    if write.indices is None:
        return write
    inner = tuple((var, substitute(a, values), substitute(b, values)) for var, a, b in write.bound)
    placed = tuple(substitute(index, values) for index in write.indices)
    if any(map(reads_memory, (*placed, *_ends(inner)))):
        return Write(None)
    return Write(placed, (*bound, *inner))


def _speaks_of(content: Content, names: set[Any]) -> bool:
    """Whether a content is about, or said in, what is defined elsewhere."""
    if content.buffer in names:
        return True
    return any(name in names for part in content.parts() for name in free_vars(part))


def _ends(bound: tuple[Bound, ...]) -> tuple[Expr, ...]:
    return tuple(end for _, start, stop in bound for end in (start, stop))


def _of_writes(writes: tuple[Write, ...]) -> tuple[Expr, ...]:
    return tuple(part for write in writes for part in (*(write.indices or ()), *_ends(write.bound)))


def _defined(node: Any) -> tuple[Any, ...]:
    """The names that a statement defines, but for the variables of loops, which contents bind themselves."""
    if type(node) is For:
        return ()
    return tuple(getattr(node, name) for name in type(node).defines if name in ("var", "buffer"))


def _replaced(choice: Expr, element: Var) -> Expr:
    """A condition with `element` in the place of the loads, which are all that it reads."""
    result: Expr = rewrite(choice, {BufferLoad: lambda load: element})
    return result


def _joined(op: str, parts: list[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = get_op(op)(result, part)
    return result


def _learned(self: Contents, stmt: Any) -> None:
    self.learn(stmt.condition)


_AFTER: dict[type, Any] = {
    Assume: _learned,
    Assert: _learned,
    StaticAssert: _learned,
    BufferStore: Contents.stored,
    ScalarDecl: lambda self, stmt: (
        None if stmt.value is None else self.stored(BufferStore(stmt.buffer, (), stmt.value, span=stmt.span))
    ),
}
# statements whose own rules keep what is known up to date
_STRUCTURED = (For, If, While, Block, LaunchThread, Attr, AllocBuffer)

__all__ = ["Content", "Contents", "Known", "Write"]
