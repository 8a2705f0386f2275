"""How long an iteration of a loop takes, about: what decides how a parallel loop is split.

The unit is the time of one scalar operation in code that is not vectorized, about 0.3 ns. Known numbers stay numbers;
what depends on sizes that are known when the code runs becomes instructions that compute it before the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tirscript.ir.expr import BufferLoad, Call, CallFunction, Const, Expr, Var
from tirscript.ir.node import Node
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import definitions, uses, walk
from tirscript.ir.stmt import Attr, Bind, BufferStore, For, If, Stmt, While

if TYPE_CHECKING:
    from .codegen import Codegen

# what a vectorized loop does in the time of one operation: so many, of elements that have so many bits together at most
LANES, BITS = 16, 512
CALL = 10.0  # a mathematical function
FOREIGN = 200.0  # a C function, one in Python, another function of the module
UNKNOWN = 64.0  # iterations of a loop of which nothing is known
_DIVISIONS = frozenset(("floordiv", "floormod", "truncdiv", "truncmod", "div"))

# a number, or the double operand that holds it
Cost = float | str


def body_cost(g: Codegen, loop: For) -> Cost:
    """The cost of one iteration of a loop, as far as the code around it can tell; at least 1."""
    return _Estimate(g, loop).iteration(loop)


class _Estimate:
    def __init__(self, g: Codegen, loop: For) -> None:
        self.g = g
        self.loop = loop
        self.inside: set[Any] = set(definitions(loop))

    def iteration(self, loop: For) -> Cost:
        cost = self.body(loop.body)
        return self.times(cost, 1 / _lanes(loop)) if _vectorizes(loop) else self.plus(cost, 1.0)

    def body(self, stmts: tuple[Stmt, ...]) -> Cost:
        total: Cost = 0.0
        for stmt in stmts:
            total = self.plus(total, _COST.get(type(stmt), _plain)(self, stmt))
        return total

    def plus(self, a: Cost, b: Cost) -> Cost:
        if isinstance(a, float) and isinstance(b, float):
            return a + b
        return self.g.b.op(f"fadd double {_operand(a)}, {_operand(b)}", "cost")

    def times(self, a: Cost, b: Cost) -> Cost:
        if isinstance(a, float) and isinstance(b, float):
            return a * b
        return self.g.b.op(f"fmul double {_operand(a)}, {_operand(b)}", "cost")

    def greater(self, a: Cost, b: Cost) -> Cost:
        if isinstance(a, float) and isinstance(b, float):
            return max(a, b)
        return self.plus(a, b)

    def extent(self, loop: For) -> Cost:
        """How many iterations a loop inside has; of a triangle half of its greatest number."""
        step = abs(int(loop.step.value)) if type(loop.step) is Const and loop.step.value else 1
        if type(loop.start) is Const and type(loop.stop) is Const:
            return max(0.0, abs(float(loop.stop.value - loop.start.value)) / step)
        if all(self.known(bound) for bound in (loop.start, loop.stop)):
            g = self.g
            distance = g.b.op(f"sub i64 {g.wide(loop.stop)}, {g.wide(loop.start)}")
            count = g.b.intrinsic("llvm.abs", ["i64"], "i64", [("i64", distance), ("i1", "false")])
            return self.times(g.b.op(f"sitofp i64 {count} to double", "cost"), 1 / step)
        low, high = self.g.ranges.of(loop.start)[0], self.g.ranges.of(loop.stop)[1]
        most = float(high - low) / step
        return most / 2 if 0 <= most < 1 << 30 else UNKNOWN

    def known(self, bound: Expr) -> bool:
        """Whether the code before the loop can compute a bound, at little cost and without doing anything else."""
        return self.g.is_cheap(bound) and all(
            type(node) is not BufferLoad and (type(node) is not Var or node not in self.inside) for node in walk(bound)
        )


def _operand(cost: Cost) -> str:
    return repr(cost) if isinstance(cost, float) else cost


def _plain(estimate: _Estimate, stmt: Node) -> Cost:
    cost = 1.0
    for node in walk(stmt):
        rule = _OPERATION.get(type(node))
        if rule is not None:
            cost += rule(node)
    return cost


def _call(node: Call) -> float:
    if node.op is OPS["prefetch"]:
        return 1.0
    if node.op.effect == "opaque":
        return FOREIGN
    return CALL if node.op.llvm is not None or node.op.name in _DIVISIONS else 1.0


_OPERATION: dict[type, Callable[[Any], float]] = {
    Call: _call,
    BufferLoad: lambda node: 1.0,
    CallFunction: lambda node: FOREIGN * UNKNOWN,
}


def _loop(estimate: _Estimate, stmt: For) -> Cost:
    return estimate.times(estimate.extent(stmt), estimate.iteration(stmt))


def _branch(estimate: _Estimate, stmt: If) -> Cost:
    sides = estimate.greater(estimate.body(stmt.then), estimate.body(stmt.orelse))
    return estimate.plus(_plain(estimate, stmt.condition), sides)


_COST: dict[type, Callable[[_Estimate, Any], Cost]] = {
    For: _loop,
    If: _branch,
    Attr: lambda estimate, stmt: estimate.body(stmt.body),
    While: lambda estimate, stmt: estimate.times(estimate.body(stmt.body), UNKNOWN),
}


def _lanes(loop: For) -> int:
    """How many iterations of a loop a vector does: as many as it has of the widest elements that are stored."""
    stored = [node.buffer.dtype.bits for node in walk(loop.body, BufferStore)]
    return min(LANES, BITS // max(stored, default=1))


def _vectorizes(loop: For) -> bool:
    """Whether LLVM is likely to make vectors of the iterations of an innermost loop."""
    if not all(type(stmt) is BufferStore or type(stmt) is Bind for stmt in loop.body):
        return False
    for node in walk(loop.body):
        if type(node) is Call and (node.op.effect == "opaque" or node.op.name in ("floordiv", "floormod")):
            return False
        if type(node) is CallFunction or _is_vector(node):
            return False
        if type(node) is BufferStore or type(node) is BufferLoad:
            indices = node.indices
            if any(type(part) is BufferLoad for index in indices for part in walk(index)):
                return False
            if type(node) is BufferStore and not any(uses(index, loop.var) for index in indices):
                return False  # a sum in order
    return True


def _is_vector(node: Node) -> bool:
    """Whether a value is a vector already."""
    return isinstance(node, Expr) and node.dtype.is_vector
