"""One step of a schedule on one function: what a primitive works with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import suggest
from tirscript.ir.dtype import DType
from tirscript.ir.expr import BufferLoad, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.node import Node
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import definitions, walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Block, BufferStore, DeclBuffer, For, If, MatchBuffer, Stmt
from tirscript.ir.words import counted

from ..statements import counts_of, reads_memory, sizes_of
from .refusal import refusal
from .tree import Place, Tree


class Edit:
    """The function that a primitive changes: its places, what is known at them, and how to refuse.

    A primitive checks first and edits then; what it raises undoes the whole step.
    """

    def __init__(
        self,
        tree: Tree,
        primitive: str,
        function: str,
        random: Callable[[], Any] | None = None,
        renamed: dict[str, str] | None = None,
    ) -> None:
        self.tree = tree
        self.primitive = primitive
        self.function = function
        # blocks that have other names since a handle was given for them: the new names by the old ones
        self.renamed = {} if renamed is None else renamed
        # what a sampler drew, by the name of the argument that fixes it in a replay
        self.decisions: dict[str, Any] = {}
        # the functions of indices that a user gave, as what they made of so many indices as they were called with
        self.called: dict[Any, IndexMap | Expr] = {}
        self._random = random

    @property
    def func(self) -> PrimFunc:
        """The function as it is now."""
        return self.tree.func

    # finding

    def block(self, name: str) -> Place:
        """The place of the block of that name; "root" is the function itself where no block is called so."""
        place = self.tree.blocks.get(name)
        if place is None and name == "root":
            return self.tree.root
        if place is None:
            self._missing("block", name, self.tree.blocks)
        return place

    def handled(self, name: str) -> Place:
        """The place of the block that a handle of that name was given for, which may have another name by now."""
        while name not in self.tree.blocks and name in self.renamed:
            name = self.renamed[name]
        return self.block(name)

    def rename(self, old: str, new: str) -> None:
        """Let handles of a block be good for it under its new name."""
        self.renamed.pop(new, None)
        self.renamed[old] = new

    def loop(self, var: Var) -> Place:
        """The place of the loop of that variable."""
        place = self.tree.loops.get(var)
        if place is None:
            raise refusal(
                "T502",
                f"`{self.primitive}`: the loop `{var.name}` is not in the function any more",
                None,
                notes=(f"the loops of `{self.function}` are {self._names(self._loop_names())}",),
                hint="take the handles that the step which changed it returned, or `sch.get_loops(block)` again",
            )
        return place

    def loop_named(self, name: str) -> Place:
        """The place of the only loop whose variable has that name."""
        found = [place for var, place in self.tree.loops.items() if var.name == name]
        if not found:
            self._missing("loop", name, self._loop_names())
        if len(found) > 1:
            raise refusal(
                "T502",
                f"`{self.primitive}`: {counted(len(found), 'loop')} are named `{name}`",
                self.func,
                [(place.stmt, "") for place in found],
                hint="take the handle from `sch.get_loops(block)`",
            )
        return found[0]

    def _loop_names(self) -> list[str]:
        return list(dict.fromkeys(var.name for var in self.tree.loops))

    def _missing(self, kind: str, name: str, known: Iterable[str]) -> NoReturn:
        names = list(known)
        raise refusal(
            "T502",
            f"`{self.primitive}`: `{self.function}` has no {kind} named `{name}`",
            None,
            notes=(f"its {kind}s are {self._names(names)}",) if names else (f"it has no {kind}s",),
            hint=self._instead(kind, name, names),
        )

    def _instead(self, kind: str, name: str, names: list[str]) -> str | None:
        """The way out where no block or loop has a name: what has it, or the one that was meant."""
        near = suggest(name, names)
        usage = self._usage()
        if kind == "loop" and name in self.tree.blocks:
            return f"`{name}` is a block: `sch.get_loops({name!r})` gives the loops around it"
        if kind == "block" and name in self._loop_names():
            return f"`{name}` is a loop" + (f": it is `{usage}`" if usage else "")
        users = self._users(name) if kind == "block" and near is None else []
        if users:
            return f"`{name}` is a buffer, used in {self._names(users)}" + (f": it is `{usage}`" if usage else "")
        if kind == "block" and not names:
            return 'make one with `with T.block("name"):`, or of plain loops with `get_pass("blocks_from_loops")(func)`'
        if near is None and not name.isidentifier():
            return usage and f"it is `{usage}`"
        return f"did you mean `{near}`?" if near else None

    def _users(self, buffer: str) -> list[str]:
        """The names of the blocks that load or store elements of the buffers of a name."""
        used = (BufferLoad, BufferStore)
        return [
            name
            for name, place in self.tree.blocks.items()
            if any(isinstance(node, used) and node.buffer.name == buffer for node in walk(place.stmt))
        ]

    def _usage(self) -> str | None:
        """How the primitive is called; None for one that only asks, whose name is all it takes."""
        from .primitive import PRIMITIVES

        entry = PRIMITIVES.get(self.primitive)
        return None if entry is None or entry.query else entry.usage

    @staticmethod
    def _names(names: Sequence[str]) -> str:
        shown = ", ".join(f"`{name}`" for name in list(names)[:20])
        return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown

    def same_function(self, function: str, handle: Any) -> None:
        """Refuse a handle of another function."""
        if function != self.function:
            self.wrong(f"{handle!r} is not of the function `{self.function}` that the other arguments are of")

    # refusing

    def refuse(
        self,
        message: str,
        *places: Place | Node | tuple[Place | Node, str],
        notes: Sequence[str] = (),
        hint: str | None = None,
    ) -> NoReturn:
        """Refuse the step (T501): `message` says which condition fails, the places are underlined."""
        shown = [place if type(place) is tuple else (place, "") for place in places]
        nodes = [(place.stmt if type(place) is Place else place, words) for place, words in shown]
        nodes = [(node, words) for node, words in nodes if not isinstance(node, PrimFunc)]
        raise refusal("T501", f"`{self.primitive}`: {message}", self.func, nodes, notes=notes, hint=hint) from None  # type: ignore[arg-type]

    def wrong(self, message: str, *, hint: str | None = None) -> NoReturn:
        """Refuse the arguments (T503)."""
        raise refusal("T503", f"`{self.primitive}`: {message}", None, hint=hint) from None

    # knowing

    def analyzer(self, place: Place, *, inside: bool = False, sizes: bool = False) -> Analyzer:
        """What is known at a place: the loops, axes, predicates and conditions around it.

        With `inside` also what the statement at the place says of its own body, with `sizes` that none is negative.
        """
        known = Analyzer()
        for size in (*sizes_of(self.func), *counts_of(self.func)) if sizes else ():
            known.assume(get_op("greater_equal")(size, 0))
        way = [*reversed(list(place.above())), place]
        for around, inner in itertools.pairwise(way):
            _enter(known, around.stmt, inner.field)
        if inside and place.parent is not None:
            _enter(known, place.stmt, "body")
        return known

    # making

    @property
    def random(self) -> Any:
        """The schedule's generator of random numbers, a `random.Random`."""
        assert self._random is not None
        return self._random()

    def fresh_block_name(self, base: str) -> str:
        """`base`, with a number behind it where a block has that name."""
        name, number = base, 0
        while name in self.tree.blocks or name in self.renamed:
            number += 1
            name = f"{base}_{number}"
        return name

    def fresh_var(self, name: str, dtype: DType) -> Var:
        """A variable; the printer tells apart variables of one name."""
        return Var(name, dtype)

    def replace(self, place: Place, *stmts: Stmt) -> list[Place]:
        """Put statements in the place of one; the places of the new ones."""
        return self.tree.replace(place, stmts)

    def allocate(self, buffer: Buffer, place: Place | None = None) -> None:
        """Allocate a buffer at the head of the block around `place`, or of the function where there is none. Refused
        where its size is not known there yet."""
        parent = None if place is None else place.block()
        target = parent or self.tree.root
        at = self.head(target)
        if any(type(dim) is not Const for dim in buffer.shape):
            later = defined_in(tuple([child.stmt for child in target.children["body"][at:]]))
            var = next((node for node in walk(buffer.shape) if node in later), None)
            if var is not None:
                self.refuse(
                    f"the size of `{buffer.name}` depends on the loop over `{var.name}`, outside of which it would be",  # type: ignore[attr-defined]
                    *(() if place is None else (place,)),
                )
        self.tree.splice(target, "body", at, at, (AllocBuffer(buffer),))

    def head(self, scope: Place) -> int:
        """How many definitions of buffers stand at the head of the body of a block or function."""
        children = scope.children.get("body", [])
        return next((at for at, place in enumerate(children) if type(place.stmt) not in _HEADS), len(children))


_HEADS = frozenset((MatchBuffer, AllocBuffer, DeclBuffer, AllocateConst))


def _enter(known: Analyzer, stmt: Stmt, field: str) -> None:
    """What a statement says of its body `field`. What reads memory is left out: it may have changed since."""
    kind = type(stmt)
    if kind is For:
        known.enter_loop(stmt)  # type: ignore[arg-type]
    elif kind is Block:
        for axis in stmt.axes:  # type: ignore[attr-defined]
            known.enter_axis(axis)
        predicate = stmt.predicate  # type: ignore[attr-defined]
        if predicate is not None and not reads_memory(predicate):
            known.assume(predicate)
    elif kind is If and not reads_memory(stmt.condition):  # type: ignore[attr-defined]
        condition = stmt.condition  # type: ignore[attr-defined]
        known.assume(condition if field == "then" else get_op("logical_not")(condition))


def defined_in(stmts: tuple[Stmt, ...]) -> set[Any]:
    """The variables and buffers that statements define."""
    return set(definitions(stmts))


def used_in(node: Any) -> set[Any]:
    """The variables and buffers that occur in a program."""
    return {item for item in walk(node) if type(item) in (Var, Buffer)}


__all__ = ["Edit", "defined_in", "used_in"]
