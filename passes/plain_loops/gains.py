"""What of a block says how it gains: by loops of its own, or by those of products.

for j in range(m):
    greatest: T.float32 = A[0, j]
    for i in range(1, n):
        greatest = T.max(greatest, A[i, j])   # down the columns: vectors along j, if nothing else is in its loop
    B[j] = greatest + 1.0
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.linear import linear
from tirscript.ir.expr import BufferLoad, Call, Const, Expr
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import Axis, Block, BufferStore

from .masked_sums import divides, lane_of, reaches_over
from .places import place_of

# columns that so few bits beside each other hold are no vectors
NARROW = 256
# lines of fewer results have no tiles of windows
LINE = 4


def gains_apart(block: Block) -> bool:
    """Whether a block runs faster in loops of its own than in those that it shares with others."""
    if block.axes[-1].kind == "scan" or len(block.body) > 1:
        return True
    return reads_again(block) or _goes_down(block) or _slides(block)


def reads_again(block: Block) -> bool:
    """Whether a block sums up products whose factors it reads for several of its results, as matrix products do."""
    from ..schedule.reducers import update_by

    store = block.body[0]
    update = update_by(store) if type(store) is BufferStore else None
    if update is None or not any(axis.kind == "reduce" for axis in block.axes):
        return False
    loads = list(walk(update.value, BufferLoad))
    spatial = [axis.var for axis in block.axes if axis.kind == "spatial"]
    if reaches_over(block):
        return True
    lane = lane_of(block, store) if type(store) is BufferStore else None
    # products that are left out beyond a border get masks: of whole vectors
    windows = lane is not None and (divides(lane) or not _leaves_out(update.value))
    return len(loads) > 1 and all(
        any(not uses(load.indices, var) for var in spatial) or (windows and _overlaps(block, load)) for load in loads
    )


def _slides(block: Block) -> bool:
    """Whether a block reduces windows of one image, as pooling does."""
    from ..schedule.reducers import update_by

    store = block.body[0]
    update = update_by(store) if type(store) is BufferStore and lane_of(block, store) is not None else None
    loads = list(walk(update.value, BufferLoad)) if update is not None else []
    return any(axis.kind == "reduce" for axis in block.axes) and len(loads) == 1 and _overlaps(block, loads[0])


def _leaves_out(value: Expr) -> bool:
    """Whether a value chooses between others than an element and a number."""
    choices = [node for node in walk(value, Call) if node.op is OPS["if_then_else"]]
    return any(type(choice.args[1]) is not BufferLoad for choice in choices)


def _overlaps(block: Block, load: BufferLoad) -> bool:
    """Whether a load goes through windows of which one begins before the one before it ends, for lines of results."""
    store = block.body[0]
    lane = lane_of(block, store) if type(store) is BufferStore else None
    if lane is None or (type(lane.extent) is Const and _count(lane) < LINE):
        return False
    axes: dict[Any, Axis] = {axis.var: axis for axis in block.axes if type(axis.extent) is Const}
    for index in load.indices:
        used = [(axes[var], abs(step)) for var, step in linear(place_of(index).inner).terms.items() if var in axes]
        results = [step for axis, step in used if axis.kind == "spatial"]
        inside = [_count(axis) * step for axis, step in used if axis.kind == "reduce"]
        if results and inside and max(inside) > min(results):
            return True
    return False


def _count(axis: Axis) -> int:
    return int(axis.extent.value)  # type: ignore[attr-defined]


def adds_lines(block: Block) -> bool:
    """Whether a block adds up integers along the lines of all that it reads: LLVM makes vectors of that as it is."""
    from ..schedule.default_cpu.nests import stride_of

    store: Any = block.body[0]
    loads = [node for node in walk(store.value, BufferLoad) if node.buffer is not store.buffer]
    along = [axis.var for axis in block.axes if axis.kind == "reduce"]
    return bool(store.buffer.dtype.is_int and all(stride_of(load, along[-1]) == 1 for load in loads))


def _goes_down(block: Block) -> bool:
    """Whether a block reduces across the lines of all that it reads, along which its results lie: with these innermost
    it makes vectors of results."""
    from ..schedule.default_cpu.nests import stride_of

    store = block.body[0] if len(block.body) == 1 else None
    inner = block.axes[-1]
    if type(store) is not BufferStore or not store.indices or inner.kind != "reduce":
        return False
    column = next((axis for axis in block.axes if axis.var is store.indices[-1]), None)
    if column is None or (type(column.stop) is Const and int(column.stop.value) * store.buffer.dtype.bits < NARROW):
        return False
    loads = [node for node in walk(store.value, BufferLoad) if node.buffer is not store.buffer]
    strides = [(stride_of(load, inner.var), stride_of(load, column.var)) for load in loads]
    return (None, 1) in strides and all(across == 0 or (across == 1 and along != 1) for along, across in strides)


__all__ = ["adds_lines", "gains_apart", "reads_again"]
