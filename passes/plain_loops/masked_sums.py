"""Sums whose terms reach over a border under a condition are left alone there, lane by lane, and not added zeros to.

before, inside of the block:
    C[vy, vx] = C[vy, vx] + (A[vy + vk - 1, vx] * w[vk] if 0 <= vy + vk - 1 and vx < 6 else -0.0)
after:
    C[vy, vx] = (
        T.Select(vx < 6, C[vy, vx] + (A[vy + vk - 1, vx] if vx < 6 else 0.0) * w[vk], C[vy, vx])
        if 0 <= vy + vk - 1
        else C[vy, vx]
    )

What the condition says of the axis along memory becomes a mask of the vectors, the rest a branch around all of a tile;
what is read beyond the border is guarded by itself, so that products are fused into sums. The bits stay: nothing is
added where nothing was.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS
from tirscript.ir.op_sets import DIVISIONS
from tirscript.ir.rewrite import map_except_buffers, uses, walk
from tirscript.ir.stmt import Axis, Block, BufferStore

from ..statements import conjunction, reads_memory
from .plain import conjuncts, is_there

# lanes come in multiples of so many
LANES = 4
# large vectors have so many, or half of them; filters fill them where they are this part of whole ones
LARGE, FULL = 16, 0.6
_CHOICE, _ADD = OPS["if_then_else"], OPS["add"]
_DIVISIONS = DIVISIONS | {OPS["div"]}
# what gives a value of whatever operands
_TOTAL = frozenset(OPS[name] for name in ("add", "sub", "mul", "negative", "cast", "max", "min", "abs"))


def masked_sums(func: PrimFunc) -> PrimFunc:
    """The function with masks in its blocks' sums that reach over a border; itself where there are none."""
    chooses = any(type(node) is Call and node.op is _CHOICE for node in walk(func.body))
    return _Masked().function(func) if chooses else func


def reaches_over(block: Block) -> bool:
    """Whether a block sums up products in windows that reach over a border, along an axis that vectors can follow."""
    store = block.body[0]
    lane = lane_of(block, store) if type(store) is BufferStore else None
    if type(store) is not BufferStore or lane is None or not divides(lane) or not _has_product(store.value):
        return False
    choices = [node for node in walk(store.value, Call) if node.op is _CHOICE]
    spatial = [axis.var for axis in block.axes if axis.kind == "spatial"]
    summed = [axis.var for axis in block.axes if axis.kind == "reduce"]
    return any(
        any(uses(index, var) for var in spatial) and any(uses(index, var) for var in summed) and not reads_memory(index)
        for choice in choices
        for load in walk(choice.args[1], BufferLoad)
        for index in load.indices
    )


def lane_of(block: Block, store: BufferStore) -> Axis | None:
    """The axis of what a block stores along memory; None where it is none."""
    last = store.indices[-1] if store.indices else None
    return next((axis for axis in block.axes if axis.var is last and axis.kind == "spatial"), None)


def divides(axis: Axis, lanes: int = LANES) -> bool:
    """Whether vectors divide an axis, small ones where nothing else is said."""
    return type(axis.extent) is Const and axis.extent.value % lanes == 0


def _fills(axis: Axis) -> bool:
    """Whether an axis fills large vectors, or nearly."""
    if type(axis.extent) is not Const:
        return False
    extent = int(axis.extent.value)
    return extent % (LARGE // 2) == 0 or extent >= FULL * -(-extent // LARGE) * LARGE


class _Masked(Scoped):
    """Knows the axes of the blocks around a store."""

    def __init__(self) -> None:
        super().__init__()
        self.holder: Block | None = None

    def inside(self, block: Block) -> Any:
        """A block, its store among its axes."""
        before, self.holder = self.holder, block
        try:
            return self.descend(block)
        finally:
            self.holder = before

    def store(self, store: BufferStore) -> BufferStore:
        """A store, masked where it adds under a condition what it may not read without."""
        from ..schedule.reducers import update_by

        value = store.value
        if self.holder is None or self.holder.init is None or type(value) is not Call:
            return store
        update = update_by(store)
        if update is None or update.op is not _ADD:
            return store
        mine, added = BufferLoad(store.buffer, store.indices), update.value
        conditions: list[Expr] = []
        while type(added) is Call and added.op is _CHOICE and self.is_nothing(added.args[2]):
            conditions += conjuncts(added.args[0])
            added = added.args[1]
        if not conditions or any(reads_memory(one) for one in conditions):
            return store
        if not _is_total(added) or any(map(_divides_by_what, conditions)):
            return store
        if not _has_product(added):
            return store  # nothing to fuse: lanes take -0.0 as well
        lane = self.lane(store, added)
        along = [one for one in conditions if lane is not None and uses(one, lane)]
        around = [one for one in conditions if lane is None or not uses(one, lane)]
        mask, branch = conjunction(along), conjunction(around)
        guarded = self.guarded(added, mask)
        if guarded is None:
            return store
        new: Expr = Call(_ADD, (mine, guarded), value.dtype)
        if mask is not None:
            new = Call(OPS["Select"], (mask, new, mine), value.dtype)
        if branch is not None:
            new = Call(_CHOICE, (branch, new, mine), value.dtype)
        return store.replace(value=new)

    def is_nothing(self, value: Expr) -> bool:
        """Whether a value changes no sum: a sum that begins with another number than -0.0 never becomes that one."""
        assert self.holder is not None and self.holder.init is not None
        if type(value) is not Const or value.value != 0:
            return False
        begin = self.holder.init[0]
        begins = type(begin) is BufferStore and type(begin.value) is Const and repr(begin.value.value) != "-0.0"
        return not value.dtype.is_float or repr(value.value) == "-0.0" or begins

    def lane(self, store: BufferStore, added: Expr) -> Var | None:
        """The axis along which vectors go; None where another one does better, as the filters of a convolution do
        where large vectors do not divide its lines, or its lines are not read one element after the other."""
        from ..schedule.default_cpu.nests import stride_of

        assert self.holder is not None
        axis = lane_of(self.holder, store)
        if axis is None:
            return None
        loads = list(walk(added, BufferLoad))
        over = [load for load in loads if not is_there(self.analyzer, load.indices, load.buffer.shape)]
        filters = [
            one
            for one in self.holder.axes
            if one.kind == "spatial" and not any(uses(load.indices, one.var) for load in over)
        ]
        straight = divides(axis) and all(stride_of(load, axis.var) in (0, 1) for load in over)
        if straight and (divides(axis, LARGE // 2) or not any(map(_fills, filters))):
            return axis.var
        return None if filters else axis.var

    def guarded(self, value: Expr, mask: Expr | None) -> Expr | None:
        """A value whose elements beyond the border are zeros; None where it reads none."""
        found = False

        def load(node: Any) -> Any:
            nonlocal found
            if type(node) is not BufferLoad:
                return map_except_buffers(node, load)
            if is_there(self.analyzer, node.indices, node.buffer.shape):
                return node
            found = True
            zero = Const(0.0 if node.dtype.is_float else 0, node.dtype)
            return node if mask is None else Call(_CHOICE, (mask, node, zero), node.dtype)

        made = load(value)
        return made if found else None

    rules = {Block: inside, BufferStore: store}  # noqa: RUF012


def _has_product(value: Expr) -> bool:
    stack = [value]
    while stack:
        node = stack.pop()
        if type(node) is Call:
            if node.op is OPS["mul"]:
                return True
            # not what is compared or indexed
            stack += node.args[1:] if node.op in (_CHOICE, OPS["Select"]) else node.args
    return False


def _is_total(value: Expr) -> bool:
    """Whether a value may be computed of whatever elements."""
    stack = [value]
    while stack:
        node = stack.pop()
        if type(node) is not Call:
            continue  # what stands in indices is read with its element, or not
        if node.op not in _TOTAL or (node.op is OPS["cast"] and node.args[0].dtype.is_float and node.dtype.is_int):
            return False
        stack += node.args
    return True


def _divides_by_what(condition: Expr) -> bool:
    """Whether a condition divides by something that the conditions before it may keep from being zero."""
    calls = [node for node in walk(condition, Call) if node.op in _DIVISIONS]
    return any(type(call.args[1]) is not Const or call.args[1].value == 0 for call in calls)


__all__ = ["masked_sums", "reaches_over"]
