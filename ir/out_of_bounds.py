"""Indices that are certainly out of bounds: whoever calls the function gets there, with values that the loops have.

    for i in range(17):        the index of `A` is out of bounds: i = 16 is not < 16
        A[i] = 0.0

That is told of an index that is affine in variables of loops with constant ranges: each of them takes its first and its
last value whatever the others are, so that the least and the greatest index are among those that occur. What stands
under a condition, in a loop that may be empty, in an operand that may not be evaluated, or where something before or
around it may leave, is not certain. This is one walk over a function; nothing is proved.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .arith.linear import linear
from .buffer import Buffer
from .diagnostic import Diagnostic, DiagnosticError, Label, error
from .dtype import DType
from .expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    Call,
    CallFunction,
    Const,
    Expr,
    Let,
    Ramp,
    Reduce,
    Var,
    is_const,
)
from .func import PrimFunc
from .module import Module
from .node import Node, recursion_room
from .op import OPS
from .op_sets import CHOICES, LAZY
from .ops.foreign import FOREIGN
from .rewrite import children, walk
from .span import Span
from .stmt import (
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
from .wellformed.places import in_order, narrow

# what running a statement may do besides going on: go on with the loop around it, or behind that, or leave the function
STAYS, LOOP, FUNCTION = 0, 1, 2
_PARTLY = CHOICES | LAZY  # the operands behind the first may not count
_ADDRESS = OPS["address_of"]
_GOES_ON = frozenset((OPS["prefetch"], OPS["print"], FOREIGN["tvm_storage_sync"]))  # of those with effects

Access = BufferLoad | BufferStore


class Affine(Struct, frozen=True, eq=False):
    """An integer as a sum of multiples of loop variables; exactly that number, as no value of it wraps around."""

    terms: dict[Var, int]
    constant: int


class OutOfBounds(Struct, frozen=True, eq=False):
    """An index of an access that takes a value outside of its dimension, as `values` says."""

    access: Access
    dim: int
    values: str

    def diagnostic(self) -> Diagnostic:
        """The error that it is."""
        message, span, notes = described(self.access, self.dim, f"is out of bounds: {self.values}")
        hint = "correct the index or the loop, or guard the access with `if`"
        return error("T113", message, span, notes=notes, hint=hint)


def require_in_bounds(program: PrimFunc | Module) -> None:
    """Raise DiagnosticError with the indices that are certainly out of bounds, but for functions with
    `check_well_formed=False`."""
    functions = program.prim_funcs if isinstance(program, Module) else (program,)
    found = [one.diagnostic() for func in functions if func.check_well_formed for one in out_of_bounds(func)]
    if found:
        raise DiagnosticError(in_order(found))


def out_of_bounds(func: PrimFunc) -> list[OutOfBounds]:
    """The indices of a function that are certainly out of bounds."""
    search = _Search()
    with recursion_room():
        search.body(func.body)
    return search.found


def described(access: Access, dim: int, what: str) -> tuple[str, Span | None, list[Label]]:
    """What is said of an index: the message, the place, and where the buffer is declared."""
    buffer, index = access.buffer, access.indices[dim]
    where = f" in dimension {dim}" if buffer.ndim > 1 else ""
    # a variable's own place is where it is defined
    span = narrow(access.span, index.name) if type(index) is Var else index.span or access.span
    notes = [] if buffer.span is None else [Label(buffer.span, f"`{buffer.name}` is declared here")]
    return f"the index of `{buffer.name}`{where} {what}", span, notes


class _Search:
    """One walk over a function in the order in which it runs."""

    def __init__(self) -> None:
        self.found: list[OutOfBounds] = []
        self.reached = True  # whether the place is certainly reached, for all values of the loops around it
        self.ranges: dict[Var, tuple[int, int]] = {}  # the least and greatest value of the loops around that are run
        self.named: dict[Var, Affine] = {}  # names and axes that stand for sums of loop variables
        self.threads: set[str] = set()  # launched around the place
        self.pointed: set[Buffer] = set()  # one element at an address: TVM's lowered code means all that lie behind it

    # statements: each says how it may leave

    def body(self, stmts: tuple[Stmt, ...]) -> int:
        """Statements one after the other, up to one that may leave the function: none behind it is certain."""
        leaves = STAYS
        for stmt in stmts:
            rule = _RULES.get(type(stmt))
            leaves = max(leaves, FUNCTION if rule is None else rule(self, stmt))
            if leaves == FUNCTION:
                break
        return leaves

    def maybe(self, stmts: tuple[Stmt, ...]) -> int:
        """Statements that may not run."""
        reached, self.reached = self.reached, False
        leaves = self.body(stmts)
        self.reached = reached
        return leaves

    def loop(self, stmt: For) -> int:
        step = stmt.step
        if self.evaluated(stmt.start, stmt.stop, *(() if step is None else (step,))):
            return FUNCTION
        return self.iterations(stmt, _values(stmt.start, stmt.stop, step), stmt.thread)

    def launch(self, stmt: LaunchThread) -> int:
        if self.evaluated(stmt.extent):
            return FUNCTION
        start = Const(0, stmt.var.dtype)
        return self.iterations(stmt, _values(start, stmt.extent, None), stmt.thread)

    def iterations(self, stmt: For | LaunchThread, values: tuple[int, int] | None, thread: str | None) -> int:
        """The body of a loop over values between two, None where they are not known."""
        if values is None:
            return FUNCTION if self.maybe(stmt.body) == FUNCTION else STAYS
        mark, var = len(self.found), stmt.var
        outer = self.ranges.pop(var, None)
        again = thread in self.threads  # the same thread as further out, and not every one
        if not again:
            self.ranges[var] = values
            if thread is not None:
                self.threads.add(thread)
        leaves = self.body(stmt.body)
        if leaves:
            del self.found[mark:]  # the last iterations, or all but the first, may not come
        self.ranges.pop(var, None)
        if outer is not None:
            self.ranges[var] = outer
        if thread is not None and not again:
            self.threads.discard(thread)
        return FUNCTION if leaves == FUNCTION else STAYS

    def block(self, stmt: Block) -> int:
        for axis in stmt.axes:
            if self.evaluated(axis.value):
                return FUNCTION
            self.name(axis.var, axis.value)
        if stmt.predicate is not None and self.evaluated(stmt.predicate):
            return FUNCTION
        # that of a reduction runs in some iterations only
        first = self.maybe(stmt.init) if stmt.init is not None else STAYS
        if first:
            return first
        return self.body(stmt.body) if stmt.predicate is None else self.maybe(stmt.body)

    def branch(self, stmt: If) -> int:
        if self.evaluated(stmt.condition):
            return FUNCTION
        return max(self.maybe(stmt.then), self.maybe(stmt.orelse))

    def again(self, stmt: While) -> int:
        self.evaluated(stmt.condition)
        return FUNCTION  # it may not end

    def attr(self, stmt: Attr) -> int:
        return self.body(stmt.body)

    def store(self, stmt: BufferStore) -> int:
        parts = (*stmt.indices, stmt.value)
        if stmt.predicate is not None:
            return FUNCTION if any(map(_may_leave, (*parts, stmt.predicate))) else STAYS
        leaves = self.evaluated(*parts)
        if leaves == STAYS:
            self.access(stmt)
        return leaves

    def bind(self, stmt: Bind) -> int:
        self.name(stmt.var, stmt.value)
        return self.evaluated(stmt.value)

    def value(self, stmt: ScalarDecl | Evaluate) -> int:
        return STAYS if stmt.value is None else self.evaluated(stmt.value)

    def checked(self, stmt: Assert | Assume) -> int:
        self.evaluated(stmt.condition)
        return FUNCTION

    def view(self, stmt: DeclBuffer) -> int:
        if type(stmt.data) is not BufferData and all(is_const(size, 1) for size in stmt.buffer.shape):
            self.pointed.add(stmt.buffer)
        return FUNCTION if _may_leave(stmt.data) else STAYS

    def stays(self, stmt: Stmt) -> int:
        return STAYS

    def leaves_loop(self, stmt: Stmt) -> int:
        return LOOP

    def returns(self, stmt: Return) -> int:
        if stmt.value is not None:
            self.evaluated(stmt.value)
        return FUNCTION

    # expressions

    def evaluated(self, *exprs: Expr) -> int:
        """Look at what expressions read when they are evaluated; whether that may leave the function."""
        mark = len(self.found)
        stack: list[Any] = [*exprs]
        perhaps: list[Any] = []  # not evaluated, or not in every lane or case
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is Const or kind is Var:
                continue
            if kind is BufferLoad:
                if node.predicate is None:
                    self.access(node)
                    stack += node.indices
                else:
                    perhaps += (*node.indices, node.predicate)
            elif kind is Call:
                args = node.args
                if node.op in _PARTLY:
                    stack.append(args[0])
                    perhaps += args[1:]
                elif _leaves(node):
                    perhaps.append(node)
                    break
                else:
                    # where an element lies is no read of it
                    stack += args[0].indices if node.op is _ADDRESS and type(args[0]) is BufferLoad else args
            elif kind is CallFunction or kind is Reduce:
                perhaps.append(node)
            else:
                if kind is Let:
                    self.name(node.var, node.value)
                stack += children(node)
        if not any(map(_may_leave, perhaps)):
            return STAYS
        del self.found[mark:]
        return FUNCTION

    def access(self, node: Access) -> None:
        """A load or store that is done."""
        if self.reached and node.buffer not in self.pointed:
            for dim, (index, size) in enumerate(zip(node.indices, node.buffer.shape)):
                # a constant index is the verifier's, and a vector may run on into the next row
                if type(size) is Const and type(index) is not Const and not (index.dtype.is_vector and dim):
                    values = self.outside(index, int(size.value))
                    if values is not None:
                        self.found.append(OutOfBounds(node, dim, values))

    def outside(self, index: Expr, size: int) -> str | None:
        """Values for which an index is not below a size, or below 0; None where none are certain to occur."""
        first, step, lanes = index, 0, 1
        if type(index) is Ramp and not index.scalable and type(index.stride) is Const:
            first, step, lanes = index.base, int(index.stride.value), index.lanes
        elif type(index) is Broadcast:
            first = index.value
        form = self.affine(first)
        if form is None:
            return None
        least, greatest = self.ends(form)
        last = step * (lanes - 1)
        least, greatest = least + min(0, last), greatest + max(0, last)
        if (least >= 0 and greatest < size) or not _fits((least, greatest), first.dtype):
            return None
        value = least if least < 0 else greatest
        # the last lane, where that is further out than the first
        return self.told(index, form, value, size, lanes - 1 if last * value > 0 else 0)

    def told(self, index: Expr, form: Affine, value: int, size: int, lane: int) -> str:
        """The values of the loops for which an index, or a lane of it, takes a value."""
        from .arith.explain import text

        up = value >= 0
        values = {var: ends[(form.terms[var] > 0) is up] for var, ends in self.ranges.items() if var in form.terms}
        given = ", ".join(f"{var.name} = {number}" for var, number in values.items())
        limit = f"not < {size}" if value >= 0 else "not >= 0"
        if type(index) is Var and index in values:
            return f"{given} is {limit}"
        told = f"{f'lane {lane} of ' if index.dtype.is_vector else ''}`{text(index)}` = {value}"
        return f"{given} gives {told}, {limit}" if given else f"{told} is {limit}"

    def name(self, var: Var, value: Expr) -> None:
        """A name or an axis, for a sum of loop variables or not."""
        form = self.affine(value)
        if form is not None:
            self.named[var] = form
        else:
            self.named.pop(var, None)

    def affine(self, expr: Expr) -> Affine | None:
        """A value as a sum of multiples of loop variables that does not wrap around, or None."""
        dtype = expr.dtype
        if not dtype.is_int or dtype.is_vector:
            return None
        form = linear(expr, None, self.kept)
        terms: dict[Var, int] = {}
        constant = form.constant
        for atom, factor in form.terms.items():
            inner = self.affine_of(atom)
            if inner is None:
                return None
            constant += factor * inner.constant
            for var, times in inner.terms.items():
                terms[var] = terms.get(var, 0) + factor * times
        found = Affine({var: times for var, times in terms.items() if times}, constant)
        return found if _fits(self.ends(found), dtype) else None

    def affine_of(self, var: Expr) -> Affine | None:
        """A variable as such a sum."""
        if type(var) is not Var:
            return None
        if var in self.ranges:
            return Affine({var: 1}, 0)
        form = self.named.get(var)
        return form if form is not None and all(one in self.ranges for one in form.terms) else None

    def kept(self, expr: Expr, dtype: DType) -> bool:
        """Whether what is cast is a number that is known; whether it is one of the index's dtype shows at the end."""
        return dtype is expr.dtype and self.affine_of(expr) is not None

    def ends(self, form: Affine) -> tuple[int, int]:
        """The least and the greatest value, both of which occur."""
        least = greatest = form.constant
        for var, times in form.terms.items():
            low, high = self.ranges[var]
            least += times * (low if times > 0 else high)
            greatest += times * (high if times > 0 else low)
        return least, greatest


_RULES: dict[type, Any] = {
    For: _Search.loop,
    LaunchThread: _Search.launch,
    Block: _Search.block,
    If: _Search.branch,
    While: _Search.again,
    Attr: _Search.attr,
    BufferStore: _Search.store,
    Bind: _Search.bind,
    ScalarDecl: _Search.value,
    Evaluate: _Search.value,
    Assert: _Search.checked,
    Assume: _Search.checked,
    DeclBuffer: _Search.view,
    AllocBuffer: _Search.stays,
    AllocateConst: _Search.stays,
    MatchBuffer: _Search.stays,
    StaticAssert: _Search.stays,
    Break: _Search.leaves_loop,
    Continue: _Search.leaves_loop,
    Return: _Search.returns,
}


def _values(start: Expr, stop: Expr, step: Expr | None) -> tuple[int, int] | None:
    """The least and the greatest value of a loop variable; None where they are not known or there is none."""
    steps = Const(1, start.dtype) if step is None else step
    if type(start) is not Const or type(stop) is not Const or type(steps) is not Const or not steps.value:
        return None
    values = range(int(start.value), int(stop.value), int(steps.value))
    return (min(values[0], values[-1]), max(values[0], values[-1])) if values else None


def _fits(ends: tuple[int, int], dtype: DType) -> bool:
    """Whether all numbers between two are of an integer type."""
    low, high = dtype.int_range()
    return low <= ends[0] and ends[1] <= high


def _leaves(node: Node) -> bool:
    """Whether a call may end the function, raise, or never come back."""
    if type(node) is Call:
        return node.op.effect != "pure" and node.op not in _GOES_ON
    return type(node) is CallFunction


def _may_leave(expr: Node) -> bool:
    """Whether a call in an expression may."""
    return any(map(_leaves, walk(expr)))


__all__ = ["OutOfBounds", "described", "out_of_bounds", "require_in_bounds"]
