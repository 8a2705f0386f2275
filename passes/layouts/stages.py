"""A tensor function as a list of stages: loops around one block with one store each.

What passes over layouts ask of a function is found here, in its statements; a function that is not of this kind is
opaque to them.
"""

from __future__ import annotations

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, INT64
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import BufferLoad, Expr, Let, Reduce, Var, const, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import NO_ATTRS, Attrs
from tirscript.ir.rewrite import holds, substitute, walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Axis, Block, BufferStore, For, If, Stmt

from ..plain_loops.blocks_from_loops import with_blocks

# loads of a stage, each of which is proved to be in range
LARGEST = 24


class Stage(Struct, frozen=True, eq=False):
    """`for axes: with T.block(name): store`, every axis from 0 and bound to a loop of its own.

    `where` (in the axes) says in which iterations it runs; `init` is the store of T.init.
    """

    name: str
    axes: tuple[Axis, ...]
    store: BufferStore
    init: BufferStore | None = None
    where: Expr | None = None
    annotations: Attrs = NO_ATTRS

    @property
    def buffer(self) -> Buffer:
        """What it writes."""
        return self.store.buffer

    def loads(self) -> list[BufferLoad]:
        """What it reads, its own buffer too, in the order of the text."""
        return loads_of(self.store.value)

    def analyzer(self) -> Analyzer:
        """What is known of its axes."""
        return known_axes(self.axes)


class Staged(Struct, frozen=True, eq=False):
    """A function as stages; `temporaries` are the buffers that it allocates, `constants` those that it holds."""

    func: PrimFunc
    stages: tuple[Stage, ...]
    temporaries: tuple[Buffer, ...] = ()
    constants: tuple[AllocateConst, ...] = ()

    @property
    def params(self) -> tuple[Buffer, ...]:
        """The parameters, which are all buffers."""
        return tuple(param for param in self.func.params if type(param) is Buffer)

    def written(self) -> set[Buffer]:
        """The buffers that are written."""
        return {stage.buffer for stage in self.stages}


class _No(Exception):
    """The function is not of this kind."""


def staged(func: PrimFunc) -> Staged | None:
    """The stages of a function, None where it is not of this kind."""
    if func.returns is not None or not all(type(param) is Buffer and _is_plain(param) for param in func.params):
        return None
    temporaries: list[Buffer] = []
    constants: list[AllocateConst] = []
    stages: list[Stage] = []
    try:
        for stmt in _flat(with_blocks(func).body):
            if type(stmt) is AllocBuffer:
                if not _is_plain(stmt.buffer) or stmt.annotations:
                    return None
                temporaries.append(stmt.buffer)
            elif type(stmt) is AllocateConst:
                constants.append(stmt)
            else:
                stages += stages_of(stmt)
    except _No:
        return None
    return Staged(func, tuple(stages), tuple(temporaries), tuple(constants)) if stages else None


def stages_of(stmt: Stmt) -> list[Stage]:
    """The stages that a nest is: one for each block in its loops, and for each store of a block."""
    parts = _parts(stmt)
    stages = [stage_of(part) for part in parts]
    for at, first in enumerate(stages):
        for second in stages[at + 1 :]:
            if not _are_apart(first, second):
                raise _No
    return stages


def _parts(stmt: Stmt) -> list[Stmt]:
    """The nest once for each block in it, and each store of a block."""
    loops: list[For] = []
    inner = stmt
    while type(inner) is For and len(inner.body) == 1:
        loops.append(inner)
        inner = inner.body[0]
    parts: list[Stmt] = [stmt]
    if type(inner) is For and inner.body and all(type(one) is Block for one in inner.body):
        parts = [part for one in inner.body for part in _parts(inner.replace(body=(one,)))]
    elif type(inner) is Block and len(inner.body) > 1 and all(type(one) is BufferStore for one in inner.body):
        begins = {one.buffer: one for one in inner.init or () if type(one) is BufferStore}
        if len(begins) != len(inner.init or ()) or (begins and set(begins) != {one.buffer for one in inner.body}):  # type: ignore[attr-defined]
            raise _No
        parts = []
        for store in inner.body:
            assert type(store) is BufferStore
            init = (begins[store.buffer],) if begins else None
            name = f"{inner.name}_{store.buffer.name}"
            parts.append(inner.replace(name=name, body=(store,), init=init, reads=None, writes=None))
    else:
        return parts
    for loop in reversed(loops):
        parts = [loop.replace(body=(part,)) for part in parts]
    return parts


def _are_apart(first: Stage, second: Stage) -> bool:
    """Whether all iterations of one stage may run before those of the other, of which each follows its own before.

    What both access, and one of them writes, are elements that no two iterations share.
    """
    ways = []
    for stage in (first, second):
        values = {axis.var: axis.value for axis in stage.axes}
        accesses = [(stage.buffer, stage.store.indices), *((load.buffer, load.indices) for load in stage.loads())]
        ways.append([(buffer, substitute(indices, values)) for buffer, indices in accesses])
    shared = {buffer for buffer, _ in ways[0]} & {buffer for buffer, _ in ways[1]} & {first.buffer, second.buffer}
    for buffer in shared:
        same = {indices for way in ways for one, indices in way if one is buffer}
        loops = {axis.value for stage in (first, second) for axis in stage.axes if not is_const(axis.stop, 1)}
        if len(same) != 1 or not loops <= set(next(iter(same))):
            return False
    return True


def stage_of(stmt: Stmt) -> Stage:
    """The stage that a statement is."""
    loops: dict[Var, For] = {}
    while type(stmt) is For:
        if stmt.kind != "serial" or stmt.step is not None or stmt.annotations or len(stmt.body) != 1:
            raise _No
        if not is_const(stmt.start, 0):
            raise _No
        loops[stmt.var] = stmt
        stmt = stmt.body[0]
    if type(stmt) is not Block or len(stmt.body) != 1 or type(stmt.body[0]) is not BufferStore:
        raise _No
    axes: list[Axis] = []
    known = Analyzer()
    for axis in stmt.axes:
        loop = loops.pop(axis.value, None) if type(axis.value) is Var else None
        if axis.kind not in ("spatial", "reduce") or not is_const(axis.start, 0):
            raise _No
        if axis.var.dtype not in (INT32, INT64):
            # places of padding may be more than a narrow axis counts
            raise _No
        if loop is None:
            # an axis of one element needs no loop
            if not (is_const(axis.value, 0) and is_const(axis.stop, 1)):
                raise _No
        elif not known.prove_equal(loop.stop, axis.stop):
            raise _No
        axes.append(axis)
    if any(not is_const(loop.stop, 1) for loop in loops.values()):
        raise _No
    init = None
    if stmt.init is not None:
        if len(stmt.init) != 1 or type(stmt.init[0]) is not BufferStore or stmt.predicate is not None:
            raise _No
        init = stmt.init[0]
    store = stmt.body[0]
    values = {axis.value: axis.var for axis in axes if type(axis.value) is Var}
    where = None if stmt.predicate is None else substitute(stmt.predicate, values)
    stage = Stage(stmt.name, tuple(axes), store, init, where, stmt.annotations)
    _check(stage)
    return stage


def _check(stage: Stage) -> None:
    if len(stage.loads()) > LARGEST:
        raise _No
    names = {axis.var for axis in stage.axes}
    for store in (stage.store, *(() if stage.init is None else (stage.init,))):
        if store.predicate is not None or store.buffer is not stage.buffer or has_effect(store):
            raise _No
        for node in walk(store):
            if type(node) is Var and node not in names and not _is_dimension(node, stage):
                raise _No
            if type(node) in (Let, Reduce):
                raise _No
            if isinstance(node, Expr) and node.dtype.is_vector:
                raise _No
            if type(node) is BufferLoad and (node.predicate is not None or node.buffer.is_scalar):
                raise _No
        for index in store.indices:
            if holds(index, BufferLoad):
                raise _No
    if stage.where is not None and holds(stage.where, BufferLoad):
        raise _No
    if stage.init is not None and stage.init.indices != stage.store.indices:
        raise _No


def _is_dimension(var: Var, stage: Stage) -> bool:
    """Whether a variable is one of a shape, the same in all iterations."""
    buffers = (stage.buffer, *(load.buffer for load in stage.loads()))
    shapes = [dim for buffer in buffers for dim in buffer.shape]
    return any(node is var for dim in shapes for node in walk(dim))


def loads_of(expr: Expr) -> list[BufferLoad]:
    """The loads in an expression."""
    return list(walk(expr, BufferLoad))


def known_axes(axes: tuple[Axis, ...]) -> Analyzer:
    """An analyzer that knows the ranges of axes."""
    known = Analyzer()
    for axis in axes:
        known.bind(axis.var, (axis.start, axis.stop))
    return known


def statement(stage: Stage, guard: Expr | None = None) -> Stmt:
    """A stage as loops around a block; with `guard` its update runs where that holds."""
    loops = [Var(axis.var.name.replace("v", "i", 1), axis.var.dtype) for axis in stage.axes]
    axes = tuple(axis.replace(value=loop) for axis, loop in zip(stage.axes, loops, strict=True))
    body: tuple[Stmt, ...] = (stage.store,)
    if guard is not None:
        body = (If(guard, body),)
    init = None if stage.init is None else (stage.init,)
    values = {axis.var: axis.value for axis in axes}
    where = None if stage.where is None else substitute(stage.where, values)
    stmt: Stmt = Block(stage.name, axes, body, init, where, annotations=stage.annotations)
    for axis in reversed(axes):
        assert type(axis.value) is Var
        stmt = For(axis.value, const(0, axis.stop.dtype), axis.stop, (stmt,))
    return stmt


def _flat(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements of a body, or of the one block without axes that is all of it."""
    if len(body) == 1 and type(body[0]) is Block:
        block = body[0]
        if not block.axes and block.init is None and block.predicate is None and not block.annotations:
            return block.body
    return body


def _is_plain(buffer: Buffer) -> bool:
    return (
        buffer.strides is None
        and buffer.elem_offset is None
        and buffer.scope == "global"
        and buffer.dtype.lanes == 1
        and not buffer.axis_separators
    )


__all__ = ["Stage", "Staged", "known_axes", "loads_of", "staged", "statement"]
