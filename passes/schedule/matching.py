"""Whether a piece of program is what a tensor intrinsic describes, and which elements its buffers are."""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.node import Node
from tirscript.ir.op import OPS, cast
from tirscript.ir.rewrite import free_vars, substitute
from tirscript.ir.stmt import Axis, Block, BufferStore, For
from tirscript.ir.words import counted

from .edit import Edit
from .tree import Place

COMMUTATIVE = frozenset(OPS[name] for name in ("add", "mul", "min", "max"))


class Mismatch(Exception):
    """What is not as described: the reason, and the node of the program that it is about."""

    def __init__(self, reason: str, node: Any) -> None:
        super().__init__(reason)
        self.reason, self.node = reason, node


class Match:
    """Walks a description and a piece of program together.

    `starts` are the first elements of the buffers of the description, in those of `buffers`.
    """

    def __init__(self, edit: Edit, place: Place) -> None:
        self.known = edit.analyzer(place, inside=True)
        self.buffers: dict[Buffer, Buffer] = {}
        self.starts: dict[Buffer, tuple[Expr, ...]] = {}
        # variables of the description by those of the program
        self.vars: dict[Var, Expr] = {}
        self.inner: set[Var] = set()

    def bodies(self, desc: tuple[Node, ...], given: tuple[Node, ...], around: Node) -> None:
        """Compare statement by statement; Mismatch where they differ."""
        if len(desc) != len(given):
            raise Mismatch(f"there are {len(given)} statements where {len(desc)} are described", around)
        for one, other in zip(desc, given, strict=True):
            self.stmt(one, other)

    def stmt(self, desc: Any, given: Any) -> None:
        rule = _STMTS.get(type(desc))
        if rule is None:
            raise Mismatch(f"a {type(desc).__name__} is described, which cannot be matched", given)
        if type(desc) is not type(given):
            raise Mismatch(f"a {_WORDS[type(desc)]} is described here", given)
        rule(self, desc, given)

    def loop(self, desc: For, given: For) -> None:
        if desc.kind != given.kind or given.step is not None or desc.step is not None:
            raise Mismatch(f"the loop `{given.var.name}` is {given.kind}, and {desc.kind} is described", given)
        self.same(desc.start, given.start, given)
        self.same(desc.stop, given.stop, given)
        self.bind(desc.var, given.var)
        self.known.enter_loop(given)
        self.bodies(desc.body, given.body, given)

    def bind(self, desc: Var, given: Var) -> None:
        self.vars[desc] = given if given.dtype is desc.dtype else cast(given, desc.dtype)
        self.inner.add(given)

    def block(self, desc: Block, given: Block) -> None:
        if len(desc.axes) != len(given.axes):
            raise Mismatch(
                f"the block `{given.name}` has {counted(len(given.axes), 'axis')}, and {len(desc.axes)} are described",
                given,
            )
        for one, other in zip(desc.axes, given.axes, strict=True):
            self.axis(one, other)
        if desc.predicate is not None or not (given.predicate is None or self.known.can_prove(given.predicate)):
            raise Mismatch(f"the block `{given.name}` has a predicate", given)
        for axis in given.axes:
            self.known.enter_axis(axis)
        if (desc.init is None) != (given.init is None):
            word = "has no init" if given.init is None else "has an init"
            hint = "" if given.init is None else ", which decompose_reduction takes apart"
            raise Mismatch(f"the block `{given.name}` {word}{hint}; the description is otherwise", given)
        self.bodies(desc.init or (), given.init or (), given)
        self.bodies(desc.body, given.body, given)

    def axis(self, desc: Axis, given: Axis) -> None:
        if desc.kind != given.kind:
            raise Mismatch(f"the axis `{given.var.name}` is {given.kind}, and {desc.kind} is described", given)
        self.same(desc.start, given.start, given)
        self.same(desc.stop, given.stop, given)
        self.same(desc.value, given.value, given)
        self.bind(desc.var, given.var)

    def store(self, desc: BufferStore, given: BufferStore) -> None:
        if desc.predicate is not None or given.predicate is not None:
            raise Mismatch("a store under a mask", given)
        self.access(desc, given)
        self.expr(desc.value, given.value, given)

    def access(self, desc: Any, given: Any) -> None:
        """Two accesses: the distance between their indices must be the same for all accesses of the buffer."""
        old, new = desc.buffer, given.buffer
        if self.buffers.setdefault(old, new) is not new:
            raise Mismatch(f"`{new.name}` is accessed where `{self.buffers[old].name}` is described", given)
        if old.dtype is not new.dtype:
            raise Mismatch(f"`{new.name}` is {new.dtype}, and {old.dtype} is described", given)
        if old.scope not in ("global", new.scope):
            raise Mismatch(f"`{new.name}` is in the scope {new.scope!r}, and {old.scope!r} is described", given)
        more = len(given.indices) - len(desc.indices)
        if more < 0:
            raise Mismatch(f"`{new.name}` has fewer dimensions than described", given)
        starts: list[Expr] = []
        for at, index in enumerate(given.indices):
            start: Expr = index
            if at >= more:
                # places are not negative, so what is narrower is exact before it is widened
                narrow = index.args[0] if _is_widened(index) else index  # type: ignore[attr-defined]
                own = cast(substitute(desc.indices[at - more], self.vars), narrow.dtype)
                start = cast(narrow - own, index.dtype)
            start = self.known.simplify(start)
            if any(var in self.inner for var in free_vars(start)):
                raise Mismatch(f"`{new.name}` is accessed at other indices than described", given)
            starts.append(start)
        for before, start in zip(self.starts.setdefault(old, tuple(starts)), starts, strict=True):
            if not self.known.prove_equal(before, start):
                raise Mismatch(f"`{new.name}` is accessed at several places at once", given)

    def same(self, desc: Expr, given: Expr, node: Node) -> None:
        """Two integers that must be equal."""
        value = substitute(desc, self.vars)
        if not self.known.prove_equal(cast(value, given.dtype), given):
            raise Mismatch(f"`{given.script().strip()}` stands where `{desc.script().strip()}` is described", node)

    def expr(self, desc: Any, given: Any, around: Node) -> None:
        if type(desc) is BufferLoad and type(given) is BufferLoad:
            if desc.predicate is not None or given.predicate is not None:
                raise Mismatch("a load under a mask", around)
            self.access(desc, given)
            return
        if type(desc) is Call and type(given) is Call and desc.op is given.op and len(desc.args) == len(given.args):
            if desc.dtype is not given.dtype:
                raise Mismatch(f"it is computed in {given.dtype}, and {desc.dtype} is described", around)
            self.args(desc, given, around)
            return
        if type(desc) is Const and is_const(given, desc.value) and desc.dtype is given.dtype:
            return
        if isinstance(desc, Expr) and isinstance(given, Expr) and desc.dtype is given.dtype and desc.dtype.is_int:
            if not free_buffers_in(desc) and self.known.prove_equal(substitute(desc, self.vars), given):
                return
        if isinstance(given, Expr) and structural_equal(substitute(desc, self.vars), given, map_free_vars=False):
            return
        raise Mismatch(f"`{_text(given)}` stands where `{_text(desc)}` is described", around)

    def args(self, desc: Call, given: Call, around: Node) -> None:
        orders = [given.args]
        if desc.op in COMMUTATIVE:
            orders.append(given.args[::-1])
        state = dict(self.buffers), dict(self.starts)
        problem: Mismatch | None = None
        for args in orders:
            try:
                for one, other in zip(desc.args, args, strict=True):
                    self.expr(one, other, around)
            except Mismatch as found:
                problem = problem or found
                self.buffers, self.starts = dict(state[0]), dict(state[1])
            else:
                return
        assert problem is not None
        raise problem


def _is_widened(index: Expr) -> bool:
    """Whether an index is a narrower whole number, converted."""
    inner = index.args[0] if type(index) is Call and index.op is OPS["cast"] else index
    return inner.dtype.is_int and inner.dtype.is_signed and inner.dtype.bits < index.dtype.bits


def free_buffers_in(expr: Expr) -> bool:
    """Whether an expression reads memory."""
    from ..statements import reads_memory

    return reads_memory(expr)


def _text(node: Any) -> str:
    return node.script().strip() if isinstance(node, Expr) else type(node).__name__


_STMTS: dict[type, Any] = {For: Match.loop, Block: Match.block, BufferStore: Match.store}
_WORDS: dict[type, str] = {For: "loop", Block: "block", BufferStore: "store"}

__all__ = ["Match", "Mismatch"]
