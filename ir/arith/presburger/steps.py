"""The steps of a program in textual order: where each runs, and what it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, structs

from ... import attributes
from ...buffer import Buffer
from ...dtype import INT64
from ...effects import exits, reads_memory
from ...expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Const,
    Expr,
    Let,
    Ramp,
    Reduce,
    Var,
)
from ...func import PrimFunc
from ...node import Node, recursion_room
from ...op import OPS, get_op
from ...rewrite import children, holds, walk
from ...stmt import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Bind,
    Block,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)
from .memory import Memory, Place, Root, View

Guard = tuple[Expr, bool]
# operators that may be applied to the terms of a reduction in any order (floats up to rounding)
REDUCTIONS = frozenset(
    ("add", "mul", "min", "max", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or")
)


class Loop(Struct, frozen=True, eq=False):
    """A loop around a step: a `for` loop, the threads of a launch, or the rounds of a `while`, counted by `var`."""

    node: For | LaunchThread | While
    var: Var
    start: Expr | None
    stop: Expr | None
    step: Expr | None = None

    @property
    def backward(self) -> bool:
        """Whether the variable goes down."""
        return type(self.step) is Const and self.step.value < 0


class Access(Struct, frozen=True, eq=False):
    """One read or write of an element of `view`, of any element where `indices` is None.

    `guards` must hold besides those of the step; `certain` says that the access happens then. It happens for all values
    of the variables `inner` that the guards allow: the lanes of a vector.
    """

    view: View
    write: bool
    indices: Place | None
    node: Node
    guards: tuple[Guard, ...] = ()
    certain: bool = True
    inner: tuple[Var, ...] = ()

    @property
    def root(self) -> Root:
        """The memory that is touched."""
        return self.view.root

    @property
    def place(self) -> Place | None:
        """The coordinates of the element in the root; None where they are not known."""
        return None if self.indices is None else self.view.coordinates(self.indices)


class Step(Struct, frozen=True, eq=False):
    """A statement, or the condition or the bounds of one, that runs once in every iteration of its loops.

    `path` holds the statements around it, outermost first, and itself. `guards` are the conditions under which it
    runs; `certain` says that it runs then. `reduction` is the operator where it is `A[i] = A[i] + x` or alike.
    """

    node: Stmt
    number: int
    loops: tuple[Loop, ...]
    path: tuple[Stmt, ...]
    guards: tuple[Guard, ...]
    accesses: tuple[Access, ...]
    certain: bool
    reduction: str | None = None


class Steps:
    """All steps of a function, or of statements that stand in one."""

    def __init__(
        self, program: PrimFunc | tuple[Stmt, ...], noalias: bool | None = None, within: PrimFunc | None = None
    ) -> None:
        func = program if isinstance(program, PrimFunc) else within
        if noalias is None:
            noalias = func is None or attributes.noalias(func.attrs)
        self.memory = Memory(noalias)
        self.found: list[Step] = []
        self.values: dict[Var, Expr] = {}
        self.defined: set[Var] = set()
        self.sizes: set[Var] = set()
        self.lanes: dict[Var, int] = {}  # how many values the variables have that stand for lanes
        self._loops: tuple[Loop, ...] = ()
        self._path: tuple[Stmt, ...] = ()
        self._guards: tuple[Guard, ...] = ()
        self._certain = True
        self._controls: list[tuple[Root, type]] = []
        self._accesses: list[Access] = []
        self._inside: tuple[Guard, ...] = ()
        self._ends = Root("the end of the program", None)
        body = program.body if isinstance(program, PrimFunc) else program
        if func is not None:
            for param in func.params:
                self.memory.parameter(param)
            self.sizes.update(func.symbols)
            for buffer in func.param_buffers:
                self.sizes.update(walk(buffer.shape, Var))
        if func is not None and func is not program:
            self._around(func, body)
        # what may leave the function is ordered against every other step
        self._leaves = holds(body, Return)
        self._certain = not self._leaves
        with recursion_room():
            self.body(body)

    def _around(self, func: PrimFunc, body: tuple[Stmt, ...]) -> None:
        """The buffers that the function defines around the statements that are looked at."""
        own = {id(node) for node in _statements(body)}
        for node in _statements(func.body):
            if id(node) not in own and "buffer" in type(node).defines:
                if type(node) is MatchBuffer:
                    self.memory.match(node)
                elif type(node) is DeclBuffer:
                    self.memory.declare(node)
                else:
                    self.memory.allocate(node.buffer, 0)  # type: ignore[attr-defined]
                    self.memory.view(node.buffer).root.escapes = True  # type: ignore[attr-defined]

    # statements

    def body(self, stmts: Iterable[Stmt]) -> None:
        guards, certain = self._guards, self._certain
        for stmt in stmts:
            before = self._path
            self._path = (*before, stmt)
            rule = _STMTS.get(type(stmt), Steps.other)
            rule(self, stmt)
            self._path = before
        self._guards, self._certain = guards, certain

    def step(self, stmt: Stmt, exprs: Iterable[Any] = (), reduction: str | None = None) -> None:
        """Add a step that evaluates `exprs` and does what was collected before."""
        own, self._accesses = self._accesses, []
        for expr in exprs:
            self.expr(expr)
        accesses = [*self._accesses, *own]
        for root, _ in self._controls:
            accesses.append(Access(View(root, None), False, None, stmt))
        if self._leaves:
            accesses.append(Access(View(self._ends, None), False, None, stmt))
        self._accesses = []
        self.found.append(
            Step(
                stmt,
                len(self.found),
                self._loops,
                self._path,
                self._guards,
                tuple(accesses),
                self._certain,
                reduction,
            )
        )

    def other(self, stmt: Stmt) -> None:
        """A statement without an own rule: a definition, or one that orders itself against all effects."""
        if "buffer" in type(stmt).defines:
            self._allocate(stmt)
            return
        self._effect(stmt)
        self.step(stmt, [child for child in children(stmt) if not isinstance(child, (Stmt, Buffer))])
        inner = tuple(child for child in children(stmt) if isinstance(child, Stmt))
        if inner:
            self._maybe(inner)

    def _maybe(self, stmts: Iterable[Stmt]) -> None:
        before, self._certain = self._certain, False
        self.body(stmts)
        self._certain = before

    def _effect(self, node: Node) -> None:
        self._both(View(self.memory.effects, None), node)

    def _both(self, view: View, node: Node) -> None:
        """Anything there may be read and written."""
        for write in (False, True):
            self._add(Access(view, write, None, node, self._inside, False))

    def _add(self, access: Access) -> None:
        self._accesses.append(access)

    def _store(self, stmt: BufferStore) -> None:
        undefined = type(stmt.value) is Call and stmt.value.op is OPS["undef"]
        certain = stmt.predicate is None and not undefined
        self._access(stmt.buffer, True, stmt.indices, stmt, certain)
        exprs: list[Expr] = [*stmt.indices, stmt.value]
        self.step(stmt, exprs if stmt.predicate is None else [*exprs, stmt.predicate], reduction_of(stmt))

    def _access(self, buffer: Buffer, write: bool, indices: Place, node: Node, certain: bool) -> None:
        view = self.memory.accessed(buffer)
        plain: list[Expr] = []
        lanes: list[Var] = []
        guards = self._inside
        for index in indices:
            if not index.dtype.is_vector:
                plain.append(index)
            elif type(index) is Broadcast:
                plain.append(index.value)
            elif type(index) is Ramp and not index.scalable:
                lane = Var("lane", index.base.dtype)
                lanes.append(lane)
                self.lanes[lane] = index.lanes
                self.defined.add(lane)
                guards = (*guards, (lane >= 0, True), (lane < index.lanes, True))
                plain.append(index.base + lane * index.stride)
            else:
                self._add(Access(view, write, None, node, guards, False))
                return
        self._add(Access(view, write, tuple(plain), node, guards, certain, tuple(lanes)))

    def _declare(self, stmt: ScalarDecl) -> None:
        self.memory.allocate(stmt.buffer, len(self._loops))
        if stmt.value is not None:
            self._access(stmt.buffer, True, (), stmt, True)
            self.step(stmt, [stmt.value])

    def _allocate(self, stmt: Any) -> None:
        self.memory.allocate(stmt.buffer, len(self._loops))

    def _constant(self, stmt: AllocateConst) -> None:
        self.memory.allocate(stmt.buffer, len(self._loops), constant=True)

    def _match(self, stmt: MatchBuffer) -> None:
        self.memory.match(stmt)

    def _view(self, stmt: DeclBuffer) -> None:
        self.memory.declare(stmt)

    def _bind(self, stmt: Bind) -> None:
        self.defined.add(stmt.var)
        if stmt.value.dtype.is_handle:
            self.memory.pointer(stmt.var, stmt.value)
            return
        self._name(stmt.var, stmt.value)
        if reads_memory(stmt.value):
            self.step(stmt, [stmt.value])

    def _name(self, var: Var, value: Expr) -> None:
        self.defined.add(var)
        if not value.dtype.is_vector and not reads_memory(value):
            self.values[var] = value

    def _for(self, stmt: For) -> None:
        bounds = [stmt.start, stmt.stop, *(() if stmt.step is None else (stmt.step,))]
        if any(reads_memory(bound) for bound in bounds):
            self.step(stmt, bounds)
        # a bound that is read may be another later: in the loop it says nothing
        start, stop = (None if reads_memory(end) else end for end in (stmt.start, stmt.stop))
        certain = self._certain
        self._certain = certain and not any(reads_memory(bound) for bound in bounds)
        self._loop(Loop(stmt, stmt.var, start, stop, stmt.step), stmt.body)
        self._certain = certain

    def _launch(self, stmt: LaunchThread) -> None:
        if any(loop.var is stmt.var for loop in self._loops):
            self.body(stmt.body)  # the same threads
            return
        self._loop(Loop(stmt, stmt.var, Const(0, stmt.var.dtype), stmt.extent), stmt.body)

    def _while(self, stmt: While) -> None:
        before = self._loops
        loop = Loop(stmt, Var("round", INT64), None, None)
        certain, self._certain = self._certain, False
        # no round begins before the condition of the last one is known
        control = Root("the condition of a loop", None, len(before))
        self._controls.append((control, While))
        self._loops = (*before, loop)
        self.defined.add(loop.var)
        self._add(Access(View(control, None), True, None, stmt, certain=False))
        self.step(stmt, [stmt.condition])
        self._loops = before
        self._loop(loop, stmt.body)
        self._controls.pop()
        self._certain = certain

    def _loop(self, loop: Loop, body: tuple[Stmt, ...]) -> None:
        self.defined.add(loop.var)
        before, certain, guards = self._loops, self._certain, self._guards
        self._loops = (*before, loop)
        left = dict.fromkeys(exits(body))
        for kind in left:
            depth = len(before) + (1 if kind is Continue else 0)
            self._controls.append((Root(f"a {kind.__name__.lower()}", None, depth), kind))
        self._certain = certain and not left
        self.body(body)
        for _ in left:
            self._controls.pop()
        self._loops, self._certain, self._guards = before, certain, guards

    def _exit(self, stmt: Stmt) -> None:
        kind = type(stmt)
        if kind is Return:
            self._add(Access(View(self._ends, None), True, None, stmt, certain=False))
            value = stmt.value  # type: ignore[attr-defined]
            self.step(stmt, () if value is None else (value,))
            return
        root = next((root for root, which in reversed(self._controls) if which is kind), None)
        if root is not None:
            self._add(Access(View(root, None), True, None, stmt, certain=False))
        self.step(stmt)

    def _if(self, stmt: If) -> None:
        if reads_memory(stmt.condition):
            self.step(stmt, [stmt.condition])
        guards, certain = self._guards, self._certain
        for branch, taken in ((stmt.then, True), (stmt.orelse, False)):
            self._guard(stmt.condition, taken)
            self.body(branch)
            self._guards, self._certain = guards, certain

    def _guard(self, condition: Expr, holds: bool = True) -> None:
        """What follows runs under a condition; one that is read may be another later, and says nothing."""
        if reads_memory(condition):
            self._certain = False
        else:
            self._guards = (*self._guards, (condition, holds))

    def _fact(self, stmt: Assume | Assert | StaticAssert) -> None:
        """A condition that holds from here to the end of the body."""
        if type(stmt) is Assert and reads_memory(stmt.condition):
            self.step(stmt, [stmt.condition])
        if not reads_memory(stmt.condition):
            self._guards = (*self._guards, (stmt.condition, True))

    def _evaluate(self, stmt: Evaluate) -> None:
        self.step(stmt, [stmt.value])

    def _attr(self, stmt: Attr) -> None:
        self.body(stmt.body)

    def _block(self, stmt: Block) -> None:
        guards, certain = self._guards, self._certain
        values = [axis.value for axis in stmt.axes]
        if any(reads_memory(value) for value in values):
            self.step(stmt, values)
        for axis in stmt.axes:
            self._name(axis.var, axis.value)
            if axis.var not in self.values:
                low, high = get_op("less_equal")(axis.start, axis.var), get_op("less")(axis.var, axis.stop)
                self._guards = (*self._guards, (low, True), (high, True))
        if stmt.predicate is not None:
            if reads_memory(stmt.predicate):
                self.step(stmt, [stmt.predicate])
            self._guard(stmt.predicate)
        if stmt.init is not None:
            inner = self._guards
            definitions = [one for one in stmt.body if "buffer" in type(one).defines and type(one) is not ScalarDecl]
            for one in definitions:
                _STMTS.get(type(one), Steps.other)(self, one)
            known = set(map(id, definitions))
            starts = [get_op("equal")(axis.var, axis.start) for axis in stmt.axes if axis.kind == "reduce"]
            self._guards = (*inner, *((start, True) for start in starts))
            self.body(stmt.init)
            self._guards = inner
            self.body([one for one in stmt.body if id(one) not in known])
        else:
            self.body(stmt.body)
        self._guards, self._certain = guards, certain

    # expressions

    def expr(self, node: Any) -> None:
        """The accesses of an expression; what is evaluated under a condition has it as a guard."""
        rule = _EXPRS.get(type(node))
        if rule is not None:
            rule(self, node)
        elif type(node) is not Buffer:
            for child in children(node):
                self.expr(child)

    def _load(self, node: BufferLoad) -> None:
        for index in node.indices:
            self.expr(index)
        if node.predicate is not None:
            self.expr(node.predicate)
        self._access(node.buffer, False, node.indices, node, node.predicate is None)

    def _call(self, node: Call) -> None:
        name = node.op.name
        if name == "if_then_else":
            condition, taken, other = node.args
            self.expr(condition)
            self._under(condition, True, taken)
            self._under(condition, False, other)
            return
        if name in ("logical_and", "logical_or"):
            self.expr(node.args[0])
            self._under(node.args[0], name == "logical_and", node.args[1])
            return
        address = node.args[0] if name == "prefetch" else None
        if type(address) is Call and address.op.name == "address_of" and type(address.args[0]) is BufferLoad:
            for index in address.args[0].indices:  # the element is neither read nor written
                self.expr(index)
            return
        if name == "address_of" and type(node.args[0]) is BufferLoad:
            for index in node.args[0].indices:
                self.expr(index)
            self._whole(node.args[0].buffer, node)
            return
        if node.op.effect in ("write", "opaque"):
            self._effect(node)
            for arg in node.args:
                if type(arg) is Var and arg.dtype.is_handle:
                    self._anything(arg, node)
        for arg in node.args:
            self.expr(arg)

    def _under(self, condition: Expr, holds: bool, inner: Expr) -> None:
        before = self._inside
        if not reads_memory(condition):
            self._inside = (*before, (condition, holds))
            self.expr(inner)
        else:
            count = len(self._accesses)
            self.expr(inner)
            self._accesses[count:] = [_uncertain(access) for access in self._accesses[count:]]
        self._inside = before

    def _anything(self, handle: Var, node: Node) -> None:
        self._both(self.memory.views.get(handle) or View(self.memory.anywhere, None), node)

    def _whole(self, buffer: Buffer, node: Node) -> None:
        """The address of a buffer is given away: anything in it may be read and written."""
        self._both(self.memory.view(buffer), node)

    def _call_function(self, node: CallFunction) -> None:
        self._effect(node)
        for arg in node.args:
            if type(arg) is Buffer:
                self._whole(arg, node)
            elif type(arg) is BufferRegion:
                self._region(arg)
            elif type(arg) is Var and arg.dtype.is_handle:
                self._anything(arg, node)
            else:
                self.expr(arg)

    def _region(self, node: BufferRegion) -> None:
        view = self.memory.accessed(node.buffer)
        indices: list[Expr] = []
        guards = self._inside
        for one in node.ranges:
            self.expr(one)
            if one.stop is None:
                indices.append(one.start)
                continue
            at = Var("at", one.start.dtype)
            indices.append(at)
            self.defined.add(at)
            guards = (*guards, (get_op("less_equal")(one.start, at), True), (get_op("less")(at, one.stop), True))
        for write in (False, True):
            self._add(Access(view, write, tuple(indices), node, guards, False))

    def _let(self, node: Let) -> None:
        self.expr(node.value)
        if node.value.dtype.is_handle:
            self.defined.add(node.var)
            self.memory.pointer(node.var, node.value)
        else:
            self._name(node.var, node.value)
        self.expr(node.body)

    def _reduce(self, node: Reduce) -> None:
        before = len(self._accesses)
        self.defined.update(node.axes)
        guards = [(get_op("less_equal")(one.start, var), True) for var, one in zip(node.axes, node.domains)]
        guards += [
            (get_op("less")(var, one.stop), True) for var, one in zip(node.axes, node.domains) if one.stop is not None
        ]
        outer, self._inside = self._inside, (*self._inside, *guards)
        for child in (*node.source, *(() if node.condition is None else (node.condition,)), *node.init):
            self.expr(child)
        self._inside = outer
        self._accesses[before:] = [_uncertain(access) for access in self._accesses[before:]]


def _uncertain(access: Access) -> Access:
    return structs.replace(access, certain=False)


def _statements(body: Iterable[Stmt]) -> Iterable[Stmt]:
    """All statements in a body, in textual order, without looking at expressions."""
    stack = list(body)[::-1]
    while stack:
        node = stack.pop()
        yield node
        for name in ("orelse", "then", "body", "init"):
            inner = getattr(node, name, None)
            if inner:
                stack += inner[::-1]


def reduction_of(stmt: BufferStore) -> str | None:
    """The operator where a store is `A[i] = A[i] + x`, with no other read of `A` in it."""
    value = stmt.value
    if type(value) is not Call or value.op.name not in REDUCTIONS or stmt.predicate is not None:
        return None
    own = [arg for arg in value.args if type(arg) is BufferLoad and arg.buffer is stmt.buffer]
    if len(own) != 1 or own[0].indices != stmt.indices or own[0].predicate is not None:
        return None
    others = [arg for arg in (*value.args, *stmt.indices) if arg is not own[0]]
    if any(type(node) is BufferLoad and node.buffer is stmt.buffer for arg in others for node in walk(arg)):
        return None
    return value.op.name


_STMTS: dict[type, Callable[[Steps, Any], None]] = {
    BufferStore: Steps._store,
    ScalarDecl: Steps._declare,
    AllocBuffer: Steps._allocate,
    AllocateConst: Steps._constant,
    MatchBuffer: Steps._match,
    DeclBuffer: Steps._view,
    Bind: Steps._bind,
    For: Steps._for,
    LaunchThread: Steps._launch,
    While: Steps._while,
    If: Steps._if,
    Break: Steps._exit,
    Continue: Steps._exit,
    Return: Steps._exit,
    Assume: Steps._fact,
    Assert: Steps._fact,
    StaticAssert: Steps._fact,
    Evaluate: Steps._evaluate,
    Attr: Steps._attr,
    Block: Steps._block,
}
_EXPRS: dict[type, Callable[[Steps, Any], None]] = {
    BufferLoad: Steps._load,
    BufferData: lambda self, node: self._whole(node.buffer, node),
    BufferRegion: Steps._region,
    Call: Steps._call,
    CallFunction: Steps._call_function,
    Let: Steps._let,
    Reduce: Steps._reduce,
}

__all__ = ["Access", "Loop", "REDUCTIONS", "Step", "Steps", "reduction_of"]
