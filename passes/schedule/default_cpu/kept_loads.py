"""An element that each iteration of a loop reads waits in a variable where no iteration writes it.

before:                                            after:
    for i in range(k + 1, 150):                        for i in range(k + 1, 150):
        for j in range(k + 1, 150):                        kept = A[i, k]
            A[i, j] = A[i, j] - A[i, k] * A[k, j]          for j in range(k + 1, 150):
                                                               A[i, j] = A[i, j] - kept * A[k, j]

LLVM does this itself for buffers that the loop does not write. Of one that it writes, LLVM would compare addresses when
the kernel runs, where threads share a loop around for all of its iterations at once: row k lies among the rows that
these write, so it never went in vectors. Here it is proved from the bounds of the loops that the elements differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.effects import has_effect
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.op import OPS, const, get_op
from tirscript.ir.op_sets import LAZY
from tirscript.ir.rewrite import children, definitions, free_vars, holds, rewrite, walk
from tirscript.ir.stmt import Bind, Block, BufferStore, DeclBuffer, For, If, ScalarDecl, Stmt

from ...statements import keep_comments, may_overlap, reads_memory

_TAKEN = frozenset((BufferStore, If, Bind, ScalarDecl))
# operators of which only the first operand is evaluated always
_ADDRESS = OPS["address_of"]


def kept_loads(func: PrimFunc) -> PrimFunc:
    """The function, which `may_schedule` leaves to us, with elements that its innermost plain loops only read kept in
    variables; itself where there are none."""
    if may_overlap(func) or holds(func.body, DeclBuffer):
        return func  # one memory under several names
    if not any(True for node in walk(func.body) if type(node) is For for _ in _candidates(node)):
        return func
    return _Kept().function(func)


class _Kept(Scoped):
    """Knows at each loop what is true of the variables of those around it."""

    def block(self, stmt: Block) -> Block:
        return stmt

    def nested(self, loop: For) -> Any:
        if loop.kind == "vectorized":
            return loop
        apart = self.apart(loop)
        if not apart:
            return self.descend(loop)
        names = [(load, Bind(Var("kept", load.dtype), load, span=load.span)) for load in apart]

        def kept(load: BufferLoad) -> Expr:
            return next((bind.var for one, bind in names if structural_equal(one, load)), load)

        binds = tuple([bind for _, bind in names])
        made: tuple[Stmt, ...] = (*binds, loop.replace(body=rewrite(loop.body, {BufferLoad: kept}), trivia=None))
        runs = get_op("less")(loop.start, loop.stop)
        if not self.analyzer.can_prove(runs):
            made = (If(runs, made, (), span=loop.span),)
        return keep_comments(loop, made)

    rules = {For: nested, Block: block}  # noqa: RUF012

    def apart(self, loop: For) -> list[BufferLoad]:
        """What a loop reads in each iteration, and is proved to write in none."""
        found: list[BufferLoad] = []
        for load in _candidates(loop):
            if not any(structural_equal(load, other) for other in found):
                found.append(load)
        if found:
            with self.analyzer.scope():
                self.analyzer.enter_loop(loop)
                stores = _Stores(self.analyzer, found)
                stores.storage = self.storage
                stores.body(loop.body)
                found = stores.loads
        return found


class _Stores(Scoped):
    """Leaves of `loads` those that no store writes that it meets."""

    def __init__(self, analyzer: Analyzer, loads: list[BufferLoad]) -> None:
        super().__init__(analyzer)
        self.loads = loads

    def store(self, store: BufferStore) -> BufferStore:
        self.loads = [load for load in self.loads if load.buffer is not store.buffer or self.differ(load, store)]
        return store

    rules = {BufferStore: store}  # noqa: RUF012

    def differ(self, load: BufferLoad, store: BufferStore) -> bool:
        """Whether the places of two accesses are never the same, told by one of their indices."""
        known, less = self.analyzer, get_op("less")
        for a, b in map(_of_one_dtype, load.indices, store.indices):
            if a.dtype is b.dtype and not reads_memory(b):
                if known.can_prove(less(a, b)) or known.can_prove(less(b, a)):
                    return True
        return False


def _of_one_dtype(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two indices, a number among them in the dtype of the other one."""
    if type(a) is Const:
        return const(int(a.value), b.dtype), b
    return (a, const(int(b.value), a.dtype)) if type(b) is Const else (a, b)


def _candidates(loop: For) -> Iterator[BufferLoad]:
    """What an innermost loop may read before it runs: the same element in each iteration, of what it writes."""
    if loop.kind not in ("serial", "parallel") or loop.step is not None or loop.annotations:
        return
    if reads_memory(loop.start) or reads_memory(loop.stop):
        return
    written = set()
    for node in walk(loop.body):
        if isinstance(node, Stmt) and type(node) not in _TAKEN:
            return
        if type(node) is BufferStore:
            written.add(node.buffer)
    if not any(type(node) is BufferLoad and node.buffer in written and node.indices for node in walk(loop.body)):
        return
    if any(map(has_effect, loop.body)) or any(type(node) is Call and node.op is _ADDRESS for node in walk(loop.body)):
        return
    own = {loop.var, *definitions(loop.body)}
    for load in (load for stmt in loop.body for part in _expressions(stmt) for load in _always(part)):
        if load.buffer not in written or not load.indices or load.predicate is not None or load.dtype.is_vector:
            continue
        if own.isdisjoint(free_vars(load.indices)) and not any(map(reads_memory, load.indices)):
            yield load


def _expressions(stmt: Stmt) -> Sequence[Expr]:
    """The expressions of a statement that each iteration evaluates."""
    return [part for part in children(stmt) if isinstance(part, Expr)]


def _always(root: Expr) -> Iterator[BufferLoad]:
    """What is read whenever an expression is evaluated."""
    todo: list[Node] = [root]
    while todo:
        node = todo.pop()
        if type(node) is BufferLoad:
            yield node
        todo += node.args[:1] if type(node) is Call and node.op in LAZY else children(node)


__all__ = ["kept_loads"]
