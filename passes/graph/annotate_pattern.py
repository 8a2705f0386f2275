"""Each kernel says how its result depends on its arguments, which is what fusing asks.

before:                                            after:
    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def addone(A: ..., B: ...):                        def addone(A: ..., B: ...):
        for i in range(4):                                 T.func_attr({"op_pattern": 0})
            with T.block("B"):                             ...
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + 1

The numbers are TVM's: 0 elementwise, 1 broadcast, 2 injective, 3 reduction, 4 contraction (a sum of products, whose
result elementwise work may follow), 8 opaque. They are found in the blocks; an `op_pattern` that is there stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import BufferData, BufferLoad, Call, CallFunction, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Attrs
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import holds, uses, walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Block, BufferStore, For, If, Stmt

from ..pipeline import prim_func_pass
from ..targets import TARGET

ELEMENTWISE, BROADCAST, INJECTIVE, REDUCTION, CONTRACTION, OPAQUE = 0, 1, 2, 3, 4, 8
PATTERN = "op_pattern"
_MULTIPLY = OPS["mul"]


@prim_func_pass()
def annotate_pattern(func: PrimFunc) -> PrimFunc:
    """`def addone(...): ...` gets `T.func_attr({"op_pattern": 0})`."""
    if PATTERN in func.attrs:
        return func
    return func.replace(attrs=Attrs({**func.attrs, PATTERN: pattern_of(func)}))


def pattern_of(func: PrimFunc) -> int:
    """How the results of a kernel depend on its arguments, found in its blocks.

    A kernel for a target of its own is opaque, so that it stays one.
    """
    if TARGET in func.attrs:
        return OPAQUE
    if func.returns is not None or not all(type(param) is Buffer or param.dtype.is_int for param in func.params):
        return OPAQUE
    blocks = list(_blocks(func.body))
    if not blocks or None in blocks:
        return OPAQUE
    found = [_of_block(block) for block in blocks if block is not None]
    work = [kind for kind in found if kind not in (ELEMENTWISE, BROADCAST, INJECTIVE)]
    if OPAQUE in work or len(work) > 1:
        return OPAQUE
    if not work:
        return max(found)
    # what follows a reduction would have to wait for all of it: only its producers may stand in the kernel
    return work[0] if found[-1] == work[0] or work[0] == CONTRACTION else OPAQUE


def is_permutation(func: PrimFunc) -> bool:
    """Whether a kernel puts the dimensions of a tensor in another order, and does nothing else."""
    blocks = list(_blocks(func.body))
    block = blocks[0] if len(blocks) == 1 else None
    store = block.body[0] if block is not None and len(block.body) == 1 else None
    if type(store) is not BufferStore or type(store.value) is not BufferLoad or pattern_of(func) != INJECTIVE:
        return False
    return sorted(map(id, store.value.indices)) == sorted(map(id, store.indices))


def is_product(func: PrimFunc) -> bool:
    """Whether a kernel sums up products of elements at plain axes: a matrix product of any rank."""
    sums = [block for block in _blocks(func.body) if block is not None and _of_block(block) == CONTRACTION]
    loads = [load for block in sums for load in _loads(block.body)]
    return bool(loads) and all(type(index) in (Var, Const) for load in loads for index in load.indices)


def _blocks(body: tuple[Stmt, ...]) -> Iterator[Block | None]:
    """The blocks of a body in order; None for a statement outside of blocks that is no plain loop."""
    for stmt in body:
        if type(stmt) is Block and (stmt.axes or not holds(stmt.body, Block)):
            yield stmt
        elif (type(stmt) is For and stmt.kind != "thread_binding") or (
            type(stmt) is Block and stmt.init is None and stmt.predicate is None
        ):
            yield from _blocks(stmt.body)
        elif type(stmt) not in (AllocBuffer, AllocateConst):
            yield None


def _of_block(block: Block) -> int:
    """The kind of one block: of its one store."""
    if len(block.body) != 1 or type(block.body[0]) is not BufferStore or block.body[0].predicate is not None:
        return OPAQUE
    store = block.body[0]
    if any(type(node) in (CallFunction, BufferData, If) for node in walk(store)) or has_effect(store):
        return OPAQUE
    kinds = {axis.kind for axis in block.axes}
    if not kinds <= {"spatial", "reduce"}:
        return OPAQUE
    if "reduce" in kinds:
        return _of_reduction(block, store)
    if block.init is not None or any(load.buffer is store.buffer for load in _loads(store.value)):
        return OPAQUE
    places = store.indices
    if not all(type(place) is Var for place in places) or len(set(places)) != len(places):
        return INJECTIVE if all(_is_plain(place) for place in places) else OPAQUE
    return max((_of_load(load, places) for load in _loads(store.value)), default=ELEMENTWISE)


def _of_load(load: BufferLoad, places: tuple[Expr, ...]) -> int:
    if load.indices == places:
        return ELEMENTWISE
    at = [places.index(index) if index in places else None for index in load.indices]
    named = [one for one in at if one is not None]
    constant = all(one is not None or not list(_vars(index)) for one, index in zip(at, load.indices, strict=True))
    if constant and named == sorted(set(named)):
        return BROADCAST
    return INJECTIVE


def _of_reduction(block: Block, store: BufferStore) -> int:
    reduced = [axis.var for axis in block.axes if axis.kind == "reduce"]
    if block.init is None or any(uses(index, var) for index in store.indices for var in reduced):
        return OPAQUE
    others = [load for load in _loads(store.value) if load.buffer is not store.buffer]
    products = [
        node
        for node in walk(store.value)
        if type(node) is Call and node.op is _MULTIPLY and len(list(_loads(node))) > 1
    ]
    return CONTRACTION if products and len(others) > 1 else REDUCTION


def _loads(expr: Expr | BufferStore | tuple[Stmt, ...]) -> Iterator[BufferLoad]:
    return walk(expr, BufferLoad)


def _vars(expr: Expr) -> Iterator[Var]:
    return walk(expr, Var)


def _is_plain(expr: Expr) -> bool:
    return not holds(expr, BufferLoad)


__all__ = [
    "BROADCAST",
    "CONTRACTION",
    "ELEMENTWISE",
    "INJECTIVE",
    "OPAQUE",
    "PATTERN",
    "REDUCTION",
    "annotate_pattern",
    "is_permutation",
    "is_product",
    "pattern_of",
]
