"""Short lines beside each other are one line, and dimensions of one element at the end of a shape are none.

before:                                            after:
    for c, y, x in T.grid(672, 14, 14):                A_2d = T.decl_buffer((672, 196), data=A.data)
        with T.block("B"):                             for c, x in T.grid(672, 196):
            vc, vy, vx = ...                               with T.block("B"):
            B[vc, vy, vx] = A[vc, vy, vx] * G[vc, 0]           vc, vx = ...
                                                               B_2d[vc, vx] = A_2d[vc, vx] * G_1d[vc]

The rules look at the last index for what lies beside each other, and a line of 14 is no whole vector. Two dimensions
are joined where every access of the function goes through both of them by the same two loops, of which one is right in
the other. Of products so are the rows, which have their columns behind them: 14 by 14 pixels are 196 rows.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import constant
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import BufferData, BufferLoad, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import rewrite, uses, walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Axis, Block, BufferStore, DeclBuffer, For, Stmt

from .contraction import LONG

_ACCESSES = (BufferLoad, BufferStore)


class _Nest(Struct, frozen=True, dict=True):
    """Loops around one block, outermost first, whose axes they are."""

    loops: tuple[For, ...]
    block: Block

    def stmt(self) -> Stmt:
        made: Stmt = self.block
        for loop in reversed(self.loops):
            made = loop.replace(body=(made,))
        return made

    @functools.cached_property
    def counted(self) -> tuple[tuple[Any, ...], Counter[tuple[Any, ...]], Counter[int]]:
        """Accesses, one of each kind; how often each of a buffer by the same indices stands there, and each variable.
        Code that was unrolled says the same hundreds of times."""
        kinds: dict[tuple[Any, ...], Any] = {}
        times: Counter[tuple[Any, ...]] = Counter()
        variables: Counter[int] = Counter()
        for node in walk((*self.block.body, *(self.block.init or ()))):
            if type(node) is Var:
                variables[id(node)] += 1
            elif type(node) in _ACCESSES:
                key = _key(node)
                kinds.setdefault(key, node)
                times[key] += 1
        return tuple(kinds.values()), times, variables

    def accesses(self) -> tuple[Any, ...]:
        return self.counted[0]

    def without(self, axes: list[Axis]) -> _Nest:
        """The nest less axes and their loops."""
        gone = [axis.value for axis in axes]
        return _Nest(
            tuple(loop for loop in self.loops if not any(loop.var is var for var in gone)),
            self.block.replace(axes=tuple(axis for axis in self.block.axes if not any(axis is one for one in axes))),
        )


def _key(access: Any) -> tuple[Any, ...]:
    return (access.buffer, *map(id, access.indices))


def with_joined_lines(func: PrimFunc) -> PrimFunc:
    """The function with short lines that it goes through together as one; itself where there are none."""
    nests = _nests(func)
    if nests is None or not nests:
        return func
    buffers = _plain_buffers(func)
    views: dict[Buffer, Buffer] = {}
    nests = _without_units(nests, buffers, views)
    products = any(_multiplies(nest) for nest in nests)
    for behind in (1, 0) if products else (0,):
        while pairs := _pairs(nests, buffers | set(views.values()), behind, products):
            nests = _joined(nests, dict.fromkeys(pairs, behind), views)
    while moved := _moved(nests, buffers | set(views.values())):
        nests = _joined(nests, moved, views)
    return _declared(func, nests, views) if views else func


def _nests(func: PrimFunc) -> list[_Nest] | None:
    """What a function does besides allocations, where all of it are nests."""
    found: list[_Nest] = []
    for stmt in func.body:
        if type(stmt) in (AllocBuffer, AllocateConst):
            continue
        loops: list[For] = []
        while type(stmt) is For:
            if stmt.kind != "serial" or stmt.step is not None or not is_const(stmt.start, 0) or len(stmt.body) != 1:
                return None
            loops.append(stmt)
            stmt = stmt.body[0]
        if type(stmt) is not Block or stmt.predicate is not None or len(loops) != len(stmt.axes):
            return None
        if any(uses(one.stop, other.var) for one in loops for other in loops):
            return None  # what is left of two loops counts otherwise
        own = [axis for loop in loops for axis in stmt.axes if axis.value is loop.var and axis.stop == loop.stop]
        one_each = len({id(axis.value) for axis in own}) == len(own) == len(loops)
        if not one_each or not all(is_const(axis.start, 0) for axis in own):
            return None
        if any(type(one) is not BufferStore or one.predicate is not None for one in (*stmt.body, *(stmt.init or ()))):
            return None
        found.append(_Nest(tuple(loops), stmt.replace(reads=None, writes=None)))
    return found


def _plain_buffers(func: PrimFunc) -> set[Buffer]:
    """Parameters and allocations that lie whole in memory and that nothing but loads and stores reach."""
    held = [stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer]
    held += [stmt.buffer for stmt in func.body if type(stmt) is AllocateConst and stmt.data.resolved]
    found = {
        buffer
        for buffer in (*func.param_buffers, *held)
        if buffer.strides is None
        and buffer.elem_offset is None
        and not buffer.axis_separators
        and not buffer.allocated_addr
        and not buffer.dtype.is_vector
    }
    for node in walk(func.body):
        if type(node) is BufferData or (type(node) is BufferLoad and node.predicate is not None):
            found.discard(node.buffer)
    return found


def _without_units(nests: list[_Nest], buffers: set[Buffer], views: dict[Buffer, Buffer]) -> list[_Nest]:
    """Leave out the dimensions of one element behind the others, where a result has such, and loops for them alone."""
    stored = {store.buffer for nest in nests for store in nest.block.body}  # type: ignore[attr-defined]
    if not any(_units(buffer) for buffer in stored & buffers):
        return nests
    for nest in nests:
        for access in nest.accesses():
            if access.buffer in buffers and access.buffer not in views and (count := _units(access.buffer)):
                views[access.buffer] = _view(access.buffer, access.buffer.shape[:-count])
    found = []
    for nest in nests:
        rewritten = _Nest(nest.loops, _viewed(nest.block, {old: len(new.shape) for old, new in views.items()}, views))
        inside = (*rewritten.block.body, *(rewritten.block.init or ()))
        idle = [axis for axis in nest.block.axes if is_const(axis.stop, 1) and not uses(inside, axis.var)]
        found.append(rewritten.without(idle[: len(nest.loops) - 1]))
    return found


def _units(buffer: Buffer) -> int:
    """The dimensions of one element behind the others."""
    count = 0
    while count < len(buffer.shape) - 1 and is_const(buffer.shape[-1 - count], 1):
        count += 1
    return count


def _view(buffer: Buffer, shape: tuple[Expr, ...]) -> Buffer:
    return Buffer(f"{buffer.name}_{len(shape)}d", shape, buffer.dtype, scope=buffer.scope)


def _viewed(block: Block, ranks: dict[Buffer, int], views: dict[Buffer, Buffer]) -> Block:
    """A block that accesses views of buffers by the first indices, so many of each."""

    def access(node: Any) -> Any:
        if node.buffer not in ranks:
            return node
        return node.replace(buffer=views[node.buffer], indices=node.indices[: ranks[node.buffer]])

    made: Block = rewrite(block, dict.fromkeys(_ACCESSES, access))
    return made


def _multiplies(nest: _Nest) -> bool:
    """Whether a nest sums up what several elements make."""
    reduces = any(axis.kind != "spatial" for axis in nest.block.axes)
    stored = {store.buffer for store in nest.block.body}  # type: ignore[attr-defined]
    return reduces and len({access.buffer for access in nest.accesses()} - stored) > 1


def _pairs(nests: list[_Nest], buffers: set[Buffer], behind: int, products: bool) -> set[Buffer]:
    """The buffers of which two dimensions, with so many `behind` them, become one: all accesses go through both by two
    loops together."""
    found = {
        access.buffer
        for nest in nests
        for access in nest.accesses()
        if access.buffer in buffers
        and len(access.buffer.shape) > 1 + behind
        and _is_short(access.buffer, behind, products)
    }
    while True:
        kept = set(found)
        for nest in nests:
            for access in nest.accesses():
                if access.buffer in kept and not _goes_through(nest, access, dict.fromkeys(kept, behind)):
                    kept.discard(access.buffer)
        if kept == found:
            return found
        found = kept


def _pair(parts: tuple[Expr, ...], behind: int) -> tuple[Expr, Expr]:
    """Two neighbours with so many behind them."""
    return parts[-2 - behind], parts[-1 - behind]


def _with_one(parts: tuple[Expr, ...], one: Expr, behind: int) -> tuple[Expr, ...]:
    """One in place of two neighbours with so many behind them."""
    return (*parts[: -2 - behind], one, *parts[len(parts) - behind :])


def _is_short(buffer: Buffer, behind: int, products: bool) -> bool:
    """Whether lines are short, or may be."""
    lines, line = _pair(buffer.shape, behind)
    if type(line) is not Const and line.dtype is INT64:
        return not products if type(lines) is Const else lines.dtype is INT64
    if products and not behind:
        return False  # the rules for products join known lines of columns by themselves
    return _is_known(buffer, behind) and line.value < LONG  # type: ignore[attr-defined]


def _goes_through(nest: _Nest, access: Any, places: Mapping[Buffer, int]) -> bool:
    """Whether an access goes through two dimensions, with so many behind them, by two axes that the nest uses for
    nothing else."""
    behind = places[access.buffer]
    line, place = _pair(access.indices, behind)
    axes = [next((axis for axis in nest.block.axes if axis.var is index), None) for index in (line, place)]
    outer, inner = axes
    if outer is None or inner is None or outer is inner or outer.kind != inner.kind:
        return False
    if (outer.stop, inner.stop) != _pair(access.buffer.shape, behind):
        return False
    at = next(at for at, loop in enumerate(nest.loops) if loop.var is outer.value)
    if nest.loops[at + 1 : at + 2] == () or nest.loops[at + 1].var is not inner.value:
        return False
    found, times, variables = nest.counted
    together = sum(
        times[_key(other)]
        for other in found
        if other.buffer in places and all(map(operator.is_, _pair(other.indices, places[other.buffer]), (line, place)))
    )
    return variables[id(outer.var)] == variables[id(inner.var)] == together


def _moved(nests: list[_Nest], buffers: set[Buffer]) -> dict[Buffer, int]:
    """The buffers of which two dimensions become one, by how many dimensions are behind these, where it is not the same
    number for all: pixels, which are the last dimensions in one layout and have the channels behind them in another."""
    for nest in nests:
        for outer, inner in itertools.pairwise(nest.loops):
            found = _grown(nests, buffers, nest, (outer.var, inner.var))
            if len(set(found.values())) > 1:
                return found
    return {}


def _grown(nests: list[_Nest], buffers: set[Buffer], first: _Nest, loops: tuple[Var, Var]) -> dict[Buffer, int]:
    """The buffers that a nest goes through by two loops, and those that others go through with them; none where one of
    them is accessed in another way."""
    places: dict[Buffer, int] = {}
    outer, inner = (next(axis.var for axis in first.block.axes if axis.value is loop) for loop in loops)
    pairs: dict[int, tuple[Expr, Expr]] = {id(first): (outer, inner)}
    before = -1
    while before != (before := len(places) + len(pairs)):
        for nest in nests:
            for access in nest.accesses():
                if id(nest) in pairs:
                    at = next((at for at, index in enumerate(access.indices) if index is pairs[id(nest)][0]), None)
                    if at is not None:
                        places.setdefault(access.buffer, len(access.indices) - at - 2)
                elif access.buffer in places:
                    pairs[id(nest)] = _pair(access.indices, places[access.buffer])
    for nest in nests:
        for access in nest.accesses():
            if access.buffer in places and not (
                access.buffer in buffers
                and places[access.buffer] >= 0
                and _is_known(access.buffer, places[access.buffer])
                and _goes_through(nest, access, places)
            ):
                return {}
    return places


def _is_known(buffer: Buffer, behind: int) -> bool:
    """Whether the sizes of two dimensions are known, and that of both together fits their dtype."""
    lines, line = _pair(buffer.shape, behind)
    if type(lines) is not Const or type(line) is not Const or line.value < 2:
        return False
    return 1 < lines.value <= line.dtype.int_range()[1] // line.value


def _joined(nests: list[_Nest], pairs: dict[Buffer, int], views: dict[Buffer, Buffer]) -> list[_Nest]:
    """The nests with two dimensions of some buffers, with so many behind them, as one."""
    made: dict[Buffer, Buffer] = {}
    given = {new: old for old, new in views.items()}
    for buffer, behind in pairs.items():
        lines, line = _pair(buffer.shape, behind)
        known = type(lines) is Const and type(line) is Const
        if known:
            size: Expr = Const(lines.value * line.value, line.dtype)  # type: ignore[attr-defined]
        else:
            size = get_op("mul")(const(lines.value, line.dtype) if type(lines) is Const else lines, line)
        first = given.get(buffer, buffer)
        made[buffer] = views[first] = _view(first, _with_one(buffer.shape, size, behind))
    return [_with_pairs(nest, made, pairs) for nest in nests]


def _with_pairs(nest: _Nest, made: dict[Buffer, Buffer], pairs: dict[Buffer, int]) -> _Nest:
    gone: dict[int, Axis] = {}
    sizes: dict[Expr, Expr] = {}
    for access in nest.accesses():
        if access.buffer in made:
            behind = pairs[access.buffer]
            line, place = _pair(access.indices, behind)
            gone[id(line)] = next(axis for axis in nest.block.axes if axis.var is line)
            sizes[place] = made[access.buffer].shape[-1 - behind]

    def access_of(node: Any) -> Any:
        if node.buffer not in made:
            return node
        behind = pairs[node.buffer]
        indices = _with_one(node.indices, node.indices[-1 - behind], behind)
        return node.replace(buffer=made[node.buffer], indices=indices)

    nest = nest.without(list(gone.values()))
    own = {axis.value: sizes[axis.var] for axis in nest.block.axes if axis.var in sizes}
    block = rewrite(nest.block, dict.fromkeys(_ACCESSES, access_of))
    axes = tuple(axis.replace(stop=sizes.get(axis.var, axis.stop)) for axis in block.axes)
    loops = tuple(loop.replace(stop=own.get(loop.var, loop.stop)) for loop in nest.loops)
    return _Nest(loops, block.replace(axes=axes))


def _declared(func: PrimFunc, nests: list[_Nest], views: dict[Buffer, Buffer]) -> PrimFunc:
    """The function with the views of parameters, and other allocations."""
    head: list[Stmt] = []
    for stmt in func.body:
        if type(stmt) in (AllocBuffer, AllocateConst):
            view = views.get(stmt.buffer)  # type: ignore[attr-defined]
            if view is not None and type(stmt) is AllocateConst:
                stmt = stmt.replace(data=constant(stmt.data.array.reshape(view.constant_shape()), view.dtype))
            head.append(stmt if view is None else stmt.replace(buffer=view))
    declared = [DeclBuffer(views[one], BufferData(one)) for one in func.param_buffers if one in views]
    return func.replace(body=(*head, *declared, *[nest.stmt() for nest in nests]))


__all__ = ["with_joined_lines"]
