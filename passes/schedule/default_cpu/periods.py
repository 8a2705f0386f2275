"""Lines that read one element for several of theirs, and ask which of these one is: their loop goes over the several.

before:                                            after:
    for i in range(4096):                              for i_0 in range(1024):
        Y[i] = X[i // 4] if i % 4 == 0 else 0              Y[i_0 * 4] = X[i_0]
                                                           Y[i_0 * 4 + 1] = 0
                                                           Y[i_0 * 4 + 2] = 0
                                                           Y[i_0 * 4 + 3] = 0

Of the first, LLVM makes gathers under masks, or no vectors at all; of the second vectors that it shuffles together.
"""

from __future__ import annotations

from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import walk

from .nests import Nest, stride_of
from .work import Work

# elements that share one: more of them are quicker looked up
MOST = 8
# iterations of the loop that is left: fewer are no vectors
FEWEST = 64
_DIV, _MOD = OPS["floordiv"], OPS["floormod"]


def periods(work: Work, nest: Nest) -> bool:
    """Write out the elements of a line that share what they read, where it asks which of them one is."""
    if nest.reduced or not nest.store.indices:
        return False
    column = nest.dims[-1]
    shared = {size for load in nest.loads() for index in load.indices for size in _sizes(index, _DIV, column.var)}
    if len(shared) != 1 or shared != _sizes(nest.value, _MOD, column.var) or stride_of(nest.store, column.var) != 1:
        return False
    (size,) = shared
    if not 2 <= size <= MOST or column.extent < FEWEST * size:
        return False
    if not (column.divides(size) or column.multiple % size == 0):
        return False
    outer, inner = work.sch.split(column.loop, [None, size])
    if work.block(nest.name).predicate is not None:
        return False
    work.sch.unroll(inner)
    work.parallel([*[dim.loop for dim in nest.dims[:-1]], outer], nest.work)
    return True


def _sizes(value: Expr, op: object, var: Var) -> set[int]:
    """The numbers by which a variable is divided somewhere."""
    calls = [node for node in walk(value, Call) if node.op is op and node.args[0] is var]
    return {int(node.args[1].value) if type(node.args[1]) is Const else 0 for node in calls}


__all__ = ["periods"]
