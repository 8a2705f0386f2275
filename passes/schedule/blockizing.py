"""How a piece of program becomes a block: its axes are divided into what is outside of the piece and what is inside."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.arith.logic import conjuncts
from tirscript.ir.arith.presburger import may_parallel
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Call, Const, Expr, Var, is_const
from tirscript.ir.op import cast, const, get_op
from tirscript.ir.rewrite import refresh, substitute, uses
from tirscript.ir.stmt import Axis, Block, For, Stmt

from ..statements import conjunction, reads_memory
from .blocks import inferred
from .edit import Edit
from .legality import check_begun_once, dependences
from .loops import plus, times
from .tree import Place


class Part(Struct, eq=False):
    """One axis of a block: `start + outer * size + inner`, where `size` is larger than every value of `inner`."""

    axis: Axis
    outer: Linear
    inner: Linear
    size: Expr

    @property
    def is_outside(self) -> bool:
        """Whether the axis depends on loops around the piece."""
        return bool(self.outer.terms) or self.outer.constant != 0


def blockized(edit: Edit, pieces: Sequence[Place], preserve_unit_iters: bool) -> Place:
    """Put statements that stand behind each other into a new block; its place."""
    blocks = [
        found
        for piece in pieces
        for found in ([piece] if type(piece.stmt) is Block else piece.below(Block, nested=False))
    ]
    if not blocks:
        edit.refuse("there is no block in it", *pieces)
    return _Division(edit, pieces, blocks, preserve_unit_iters).made()


class _Division:
    """The axes of the new block, and what stands in it."""

    def __init__(self, edit: Edit, pieces: Sequence[Place], blocks: list[Place], keep_units: bool) -> None:
        self.edit, self.pieces, self.blocks = edit, pieces, blocks
        self.units = keep_units and len(blocks) == 1
        self.around = [place.stmt.var for place in pieces[0].loops()]
        self.inside: list[For] = []
        for piece in pieces:
            for place in (piece,) if type(piece.stmt) is Block else (piece, *piece.below(nested=False)):
                if type(place.stmt) is For:
                    self.inside.append(place.stmt)
                elif type(place.stmt) is not Block:
                    edit.refuse("something else than loops and blocks stands in it", (place, "this"))
        self.axes: list[Axis] = []
        self.conditions: list[Expr] = []
        # loops around the piece by the axes that are those loops
        self.names: dict[Var, Expr] = {}

    def made(self) -> Place:
        edit = self.edit
        parts = [[self.part(block, axis) for axis in block.stmt.axes] for block in self.blocks]
        values = [self.divide(block, found) for block, found in zip(self.blocks, parts, strict=True)]
        self.weaken()
        init: tuple[Stmt, ...] | None = None
        first: Block = self.blocks[0].stmt
        if len(self.blocks) == 1 and first.init is not None:
            init = self.init(self.blocks[0], parts[0], values[0])
        for block, found in zip(self.blocks, parts, strict=True):
            if block.stmt.init is not None and init is None:
                for part in found:
                    if part.axis.kind == "reduce" and part.is_outside:
                        edit.refuse(
                            f"the loops around run over the reduction axis `{part.axis.var.name}` of "
                            f"`{block.stmt.name}`, whose init would come again in each of them",
                            (block, ""),
                            (part.axis, "this axis"),
                            hint="decompose_reduction first",
                        )
        new = {
            id(block.stmt): self.inner(block, found, value, init is None)
            for block, found, value in zip(self.blocks, parts, values, strict=True)
        }
        body = tuple(self.rebuilt(piece.stmt, new) for piece in self.pieces)
        name = edit.fresh_block_name(f"{first.name}_o")
        made = Block(name, tuple(self.axes), body, init, conjunction(self.conditions), span=first.span)
        if any(block.stmt.reads is not None or block.stmt.writes is not None for block in self.blocks):
            made = inferred(made.replace(reads=(), writes=()))
        head = self.pieces[0]
        assert head.parent is not None
        return edit.tree.splice(head.parent, head.field, head.index, self.pieces[-1].index + 1, (made,))[0]

    def part(self, block: Place, axis: Axis) -> Part:
        """The axis as what is outside and what is inside."""
        edit = self.edit
        form = linear(axis.value) - linear(axis.start)
        dtype = axis.var.dtype
        inner = Linear({}, 0, dtype)
        outer = Linear({}, form.constant, dtype)
        for atom, factor in form.terms.items():
            within = any(uses(atom, loop.var) for loop in self.inside)
            if within and any(uses(atom, var) for var in self.around):
                edit.refuse(
                    f"the axis `{axis.var.name}` of the block `{block.stmt.name}` is no sum of what is around and what "
                    "is inside",
                    (axis, "this axis"),
                )
            (inner if within else outer).terms[atom] = factor
        known = edit.analyzer(block)
        extent = known.simplify(axis.extent)
        if not inner.terms:
            return Part(axis, outer, inner, const(1, dtype))
        if not outer.terms and outer.constant == 0:
            return Part(axis, outer, inner, extent)
        low, high = known.const_int_bound(expression(inner))
        if low is None or high is None:
            edit.refuse(f"what is inside of the axis `{axis.var.name}` has no known bounds", (axis, "this axis"))
        low, high = int(low), int(high)
        inner, outer = inner.shifted(-low), outer.shifted(low)
        size = high - low + 1
        steps = [*outer.terms.values(), outer.constant]
        if any(step % size for step in steps):
            size = math.gcd(*steps)
        if size < high - low + 1:
            edit.refuse(
                f"the axis `{axis.var.name}` of the block `{block.stmt.name}` takes the same values in several "
                "iterations around the piece",
                (axis, "this axis"),
            )
        divided = Linear({atom: c // size for atom, c in outer.terms.items()}, outer.constant // size, dtype)
        return Part(axis, divided, inner, const(size, dtype))

    def divide(self, block: Place, parts: list[Part]) -> dict[Var, Expr]:
        """Make the axes of the new block; what the axes of the old one are now."""
        edit = self.edit
        known = edit.analyzer(self.pieces[0])
        if len(self.blocks) == 1 and block.stmt.predicate is not None:
            # what becomes the predicate of the new block
            for condition in conjuncts(block.stmt.predicate):
                if not reads_memory(condition) and not any(uses(condition, loop.var) for loop in self.inside):
                    known.assume(condition)
        values: dict[Var, Expr] = {}
        for part in parts:
            axis = part.axis
            value = expression(part.outer)
            zero = const(0, axis.var.dtype)
            if not part.is_outside:
                if part.inner.terms:
                    if self.units:
                        self.axis(axis, zero, const(1, axis.var.dtype))
                    continue
                if not self.units:
                    values[axis.var] = axis.start
                    continue
            extent = known.simplify(axis.extent)
            stop = extent if is_const(part.size, 1) else known.simplify(get_op("ceildiv")(extent, part.size))
            if not (known.can_prove(value >= zero) and known.can_prove(value < stop)):
                edit.refuse(
                    f"the part of the axis `{axis.var.name}` that is around the piece is not proved to be from 0 to "
                    f"below {stop.script().strip()}",
                    (axis, "this axis"),
                )
            var = self.axis(axis, value, self.reached(value, stop))
            at = plus(axis.start, times(var, part.size))
            values[axis.var] = plus(at, Var(f"{axis.var.name}_i", axis.var.dtype)) if part.inner.terms else at
        return values

    def reached(self, value: Expr, stop: Expr) -> Expr:
        """Where an axis ends that is a loop alone: with the loop, which may go through a part of what is there."""
        loops = [place.stmt for place in self.pieces[0].above() if type(place.stmt) is For]
        loop = next((loop for loop in loops if loop.var is value), None)
        return stop if loop is None or not is_const(loop.start, 0) or type(loop.stop) is not Const else loop.stop

    def axis(self, axis: Axis, value: Expr, stop: Expr) -> Var:
        """The axis of the new block of that value, a new one or one that another block has too."""
        for other in self.axes:
            if len(self.blocks) > 1 and structural_equal(other.value, value) and structural_equal(other.stop, stop):
                if other.kind != axis.kind:
                    self.edit.refuse(
                        f"the same loops are a {other.kind} axis of one block and a {axis.kind} axis of another",
                        (axis, "this axis"),
                    )
                return other.var
        var = Var(f"{axis.var.name}_o", axis.var.dtype)
        self.axes.append(Axis(var, axis.kind, const(0, axis.var.dtype), stop, value, span=axis.span))
        if type(value) is Var:
            self.names.setdefault(value, var)
        return var

    def weaken(self) -> None:
        """Take back that the new axes are spatial where the blocks together are not known to keep that."""
        if len(self.blocks) == 1:
            return
        legal = {
            place.stmt.var: may_parallel(dependences(self.edit, place), place.stmt).legal
            for place in self.pieces[0].loops()
        }
        self.axes = [
            axis.replace(kind="opaque")
            if axis.kind == "spatial" and any(uses(axis.value, var) and not good for var, good in legal.items())
            else axis
            for axis in self.axes
        ]

    def inner(self, block: Place, parts: list[Part], values: dict[Var, Expr], keep_init: bool) -> Block:
        """The block as it stands in the new one."""
        stmt: Block = block.stmt
        axes = self.inner_axes(parts, values)
        predicate = conjunction(self.conditions_of(block, parts, values))
        made: Block = substitute(stmt.replace(axes=(), predicate=None), values)
        if not keep_init:
            made = made.replace(init=None)
        return made.replace(axes=tuple(axes), predicate=predicate)

    def inner_axes(self, parts: list[Part], values: dict[Var, Expr]) -> list[Axis]:
        axes: list[Axis] = []
        for part in parts:
            axis = part.axis
            if not part.inner.terms:
                continue
            if axis.var not in values:
                axes.append(axis)
                continue
            var = _inner_var(values[axis.var])
            axes.append(axis.replace(var=var, start=const(0, var.dtype), stop=part.size, value=expression(part.inner)))
        return axes

    def conditions_of(self, block: Place, parts: list[Part], values: dict[Var, Expr]) -> list[Expr]:
        """The parts of the block's predicate that stay with it, in terms of the new axes; the others are noted."""
        stmt: Block = block.stmt
        if stmt.predicate is None:
            return []
        known = self.edit.analyzer(block)
        kept: list[Expr] = []
        for condition in conjuncts(stmt.predicate):
            if len(self.blocks) == 1 and not any(uses(condition, loop.var) for loop in self.inside):
                self.conditions.append(condition)
                continue
            said = condition
            if type(condition) is Call and len(condition.args) == 2 and condition.args[0].dtype.is_int:
                args = list(condition.args)
                for part in parts:
                    place, start = part.axis.value, part.axis.start
                    for at, arg in enumerate(args):
                        if part.axis.var in values and arg.dtype is place.dtype and known.prove_equal(arg, place):
                            args[at] = plus(
                                plus(start, times(_outer_of(values[part.axis.var], part, self.axes), part.size)),
                                expression(part.inner),
                            )
                said = condition.op(*args)
            kept.append(self.free(said, block))
        return kept

    def free(self, expr: Expr, place: Place) -> Expr:
        """An expression of the piece without the loops around it, which a block does not see."""
        found: Expr = substitute(expr, self.names)
        for var in self.around:
            if uses(found, var):
                self.edit.refuse(
                    f"`{found.script().strip()}` in it depends on the loop `{var.name}` around it, which is no axis",
                    place,
                )
        return found

    def rebuilt(self, stmt: Stmt, new: dict[int, Block]) -> Stmt:
        if type(stmt) is Block:
            return new[id(stmt)]
        assert type(stmt) is For
        ends = {
            name: self.free(getattr(stmt, name), self.pieces[0])
            for name in ("start", "stop")
            if type(getattr(stmt, name)) is not Const
        }
        return stmt.replace(body=tuple(self.rebuilt(inner, new) for inner in stmt.body), **ends)

    def init(self, block: Place, parts: list[Part], values: dict[Var, Expr]) -> tuple[Stmt, ...]:
        """The init of the new block: that of the old one for each of the elements that the block makes."""
        edit = self.edit
        stmt: Block = block.stmt
        reduced = [part for part in parts if part.axis.kind != "spatial"]
        spatial = [part for part in parts if part.axis.kind == "spatial"]
        places = [place for place in block.loops() if any(place.stmt is one for one in self.inside)]
        check_begun_once(edit, block, places)
        loops = [place.stmt for place in places]
        over: list[For] = []
        starts: dict[Var, Expr] = {}
        for loop in loops:
            makes = any(uses(expression(part.inner), loop.var) for part in spatial)
            sums = any(uses(expression(part.inner), loop.var) for part in reduced)
            if makes and sums:
                edit.refuse(f"the loop `{loop.var.name}` runs over spatial and reduction axes at once", block)
            if makes:
                over.append(loop)
            else:
                starts[loop.var] = loop.start
        known = edit.analyzer(block)
        for part in reduced:
            if not known.prove_equal(substitute(expression(part.inner), starts), const(0, part.axis.var.dtype)):
                edit.refuse("a reduction axis is not at its start where its loops begin", (part.axis, "this axis"))
        noted = list(self.conditions)
        conditions = [
            known.simplify(substitute(condition, starts)) for condition in self.conditions_of(block, parts, values)
        ]
        self.conditions = noted
        for part in reduced:
            if uses(stmt.init or (), part.axis.var):
                edit.refuse(f"the init uses the reduction axis `{part.axis.var.name}`", block)
        axes = self.inner_axes(spatial, values)
        made: Block = Block(f"{stmt.name}_init", (), substitute(stmt.init or (), values))
        made = made.replace(
            name=edit.fresh_block_name(made.name),
            axes=tuple(axes),
            predicate=conjunction(one for one in conditions if not is_const(one, True)),
        )
        if stmt.reads is not None or stmt.writes is not None:
            made = inferred(made.replace(reads=(), writes=()))
        nest: Stmt = made
        for loop in reversed(over):
            nest = loop.replace(
                start=self.free(loop.start, block), stop=self.free(loop.stop, block), body=(nest,), trivia=None
            )
        return (refresh(nest),)


def _inner_var(value: Expr) -> Var:
    """The inner variable of what an axis is now: the last summand."""
    while type(value) is Call:
        value = value.args[1]
    assert type(value) is Var
    return value


def _outer_of(value: Expr, part: Part, axes: list[Axis]) -> Expr:
    """The axis of the new block that what an axis is now is made of."""
    return next(cast(axis.var, part.axis.var.dtype) for axis in axes if uses(value, axis.var))


__all__ = ["blockized"]
