"""Blocks that compute each element once: LLVM makes vectors of them; what is left is the order, and threads."""

from __future__ import annotations

import itertools

from tirscript.ir.expr import BufferLoad, Call, Const, Var
from tirscript.ir.node import Node, are_same
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses, walk

from ...reciprocals import FEWEST, REGISTER, has_reciprocal, others_beside
from ..primitive import LoopHandle
from ..reducers import update_of
from .nests import Dim, Nest, heavy, stride_of
from .reductions import begun_before
from .streams import in_vectors
from .tiles import is_short
from .work import Work, only_reader

# the height of the tiles of a transpose, which are a vector wide: their lines stay in the nearest cache
TILE = 64
# lines of so few vectors are written out
FEW = 8


def in_memory_order(work: Work, name: str) -> Nest | None:
    """The nest of a block, with the loops of one that computes each element once in the order in which those lie."""
    nest = work.nest(name, symbolic=True)
    if nest is None or nest.reduced:
        return nest
    order = [dim for index in nest.store.indices if (dim := nest.dim(index)) is not None]
    if len(order) != len(nest.dims) or are_same(order, nest.dims):
        return nest
    work.attempt(_reorder, tuple(dim.loop for dim in order))
    return work.nest(name, symbolic=True)


def _reorder(work: Work, loops: tuple[LoopHandle, ...]) -> None:
    work.sch.reorder(*loops)


def transpose(work: Work, nest: Nest) -> bool:
    """Go through a block that reads across the lines it writes in small tiles; False where it does not.

    A vector gathers what it stores in one piece.
    """
    if nest.reduced or len(nest.dims) < 2 or not nest.store.indices:
        return False
    column = nest.dim(nest.store.indices[-1])
    if column is None or nest.dims[-1] is not column:
        return False
    across = [load for load in nest.loads() if stride_of(load, column.var) is None]
    lines = [dim for dim in nest.dims if any(stride_of(load, dim.var) == 1 for load in across)]
    lanes = work.facts.lanes(max(32, nest.dtype.bits))
    if len(lines) != 1 or lines[0] is column or lines[0].extent < 2 * TILE or column.extent < 4 * lanes:
        return False
    sch, outer = work.sch, [dim.loop for dim in nest.dims if dim is not lines[0] and dim is not column]
    i_0, i_1 = sch.split(lines[0].loop, [None, TILE])
    j_0, j_1 = sch.split(column.loop, [None, lanes])
    sch.reorder(*outer, i_0, j_0, i_1, j_1)
    if nest.dtype.bits >= 32:
        sch.vectorize(j_1)
    work.done.add(nest.name)
    work.parallel([*outer, i_0], _work_of(nest))
    return True


def parallel(work: Work, nest: Nest) -> bool:
    """Run the outer loops of a block that no other rule takes in parallel, where there is enough to do."""
    outer = []
    for dim in nest.dims:
        if dim.reduces:
            break
        outer.append(dim.loop)
    if not outer:
        return False
    reader = only_reader(work, nest) if nest.reduced and len(outer) == len(nest.spatial) else None
    work.attempt(begun_before, nest.name)
    if reader is not None:
        work.attempt(_read_at_once, reader.name, outer[-1])
    # the innermost loop stays whole, for vectors
    work.parallel(outer if len(outer) == 1 or len(outer) < len(nest.dims) else outer[:-1], _work_of(nest))
    return True


def _read_at_once(work: Work, name: str, loop: LoopHandle) -> None:
    """Move the only reader of what a loop reduces into it: the result need not go to memory."""
    work.sch.reverse_compute_at(name, loop)
    work.done.add(name)


def in_own_vectors(work: Work, nest: Nest) -> bool:
    """Make vectors of a block whose vectors are better than those that LLVM makes of its loop."""
    column = nest.dims[-1]
    lanes = own_vectors(work, nest)
    if not lanes or nest.reduced or (column.known and column.extent < lanes):
        return False
    in_vectors(work, nest.name, column.loop, lanes)
    outer = work.sch.get_loops(nest.name)[:-1] if len(nest.dims) == 1 else [dim.loop for dim in nest.dims[:-1]]
    work.parallel(outer, _work_of(nest))
    return True


def own_vectors(work: Work, nest: Nest) -> int:
    """How many lanes a line should be computed in here, and not by LLVM; 0 where that makes vectors as good.

    A function may look into a table where some lane is out of the usual range: LLVM's loops do that for all lanes. And
    what all of a line is divided by is divided by once (`backend/llvm/quotients.py`).
    """
    column = nest.dims[-1]
    if not nest.store.indices or stride_of(nest.store, column.var) != 1:
        return 0
    if any(stride_of(load, column.var) not in (0, 1) for load in nest.loads()):
        return 0
    if any(map(_looks_up, walk(nest.value))):
        return work.facts.lanes(32)
    quotients = [node for node in walk(nest.value, Call) if _divides_by_one(node, column)]
    if not quotients or not work.facts.fuses or work.facts.vector_bits < REGISTER:
        return 0
    if not column.known and not work.facts.long_lines:
        return 0
    lanes = work.facts.lanes(max(node.dtype.bits for node in quotients))
    by_constants = all(type(node.args[1]) is Const for node in quotients)
    if column.known and column.extent < FEWEST * lanes and not by_constants:
        return 0
    others = sum(type(node) is Call and node.dtype.is_float for node in walk(nest.value)) - len(quotients)
    return lanes if others < sum(others_beside(node.dtype) for node in quotients) else 0


def _divides_by_one(node: Call, column: Dim) -> bool:
    """Whether all of a line of floats is divided by one number, of which LLVM does not take the reciprocal."""
    if node.op is not OPS["div"] or node.dtype.bits < 32 or uses(node.args[1], column.var):
        return False
    divisor = node.args[1]
    if type(divisor) is Const:
        return has_reciprocal(divisor)
    return type(divisor) is Var or type(divisor) is BufferLoad


def short_lines(work: Work, nest: Nest) -> bool:
    """Make vectors of a block in many lines of a few vectors each, the last of which is not whole, and of one such line
    that changes what is there.

    LLVM takes several vectors at once: where a line has fewer, or some are left, it would go element by element. A line
    of whole vectors it writes out: where a loop around changes it again and again, it keeps each element by itself.
    """
    again = any(load.buffer is nest.store.buffer for load in nest.loads())
    if nest.reduced or (len(nest.dims) < 2 and not again) or not nest.store.indices:
        return False
    column, lanes = nest.dims[-1], work.facts.lanes(nest.dtype.bits)
    if not column.known or nest.dtype.bits < 8 or stride_of(nest.store, column.var) != 1:
        return False
    if not lanes <= 2 * column.extent < 2 * FEW * lanes or (column.extent % lanes == 0 and len(nest.dims) > 1):
        return False
    if any(stride_of(load, column.var) not in (0, 1) for load in nest.loads()):
        return False
    in_vectors(work, nest.name, column.loop, lanes)
    work.parallel([dim.loop for dim in nest.dims[:-1]], _work_of(nest))
    return True


def _looks_up(node: Node) -> bool:
    return type(node) is Call and node.op.name in ("sin", "cos", "tan") and node.dtype.bits <= 32


def _work_of(nest: Nest) -> float:
    return nest.work * (8 if heavy(nest.value) else 1)


def along(work: Work, nest: Nest) -> bool:
    """Put the loop along memory innermost, and what begins the reduction before it: for lines of symbolic length, and
    of such that no vectors divide."""
    if not nest.reduced or not stream(work, nest.name):
        return False
    work.sch.decompose_reduction(nest.name, nest.reduced[0].loop)
    work.done |= {f"{nest.name}_init", f"{nest.name}_update"}
    outer = itertools.takewhile(lambda dim: not dim.reduces, nest.dims)
    work.parallel([dim.loop for dim in outer if dim.var is not nest.store.indices[-1]], _work_of(nest))
    return True


def stream(work: Work, name: str) -> bool:
    """Put the loop along which a reduction reads and writes memory innermost, whatever the loops' extents are.

    So it is for symbolic shapes, where no tile fits: LLVM makes vectors of such a loop. Of a short reduction it does so
    anyway, as it writes that out.
    """
    sch = work.sch
    block, loops = work.block(name), sch.get_loops(name)
    update = update_of(block)
    if update is None or len(loops) < 2 or not update.store.indices or block.predicate is not None:
        return False
    if update.store.buffer.dtype.is_bool:
        return False  # `or` and `and` read their second operand under a condition: no vectors
    axes = {axis.var: axis for axis in block.axes}
    last = update.store.indices[-1]
    column = axes.get(last) if type(last) is Var else None
    if column is None or column.kind != "spatial" or any(len(sch.get(loop).body) != 1 for loop in loops):
        return False
    if is_short(work, name):
        return False
    along = next((loop for loop in loops if sch.get(loop).var is column.value), None)
    if along is None or along is loops[-1]:
        return False
    loads = [node for node in walk(update.value, BufferLoad) if node.indices]
    strides = [stride_of(load, column.var) for load in loads]
    if 1 not in strides or any(stride not in (0, 1) for stride in strides):
        return False
    sch.reorder(*[loop for loop in loops if loop is not along], along)
    work.done.add(name)
    return True


__all__ = [
    "along",
    "in_memory_order",
    "in_own_vectors",
    "own_vectors",
    "parallel",
    "short_lines",
    "stream",
    "transpose",
]
