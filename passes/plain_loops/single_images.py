"""Windows over the one image of a batch get a loop over the batch, as windows over several have.

before:                                            after:
    for o, y, x in T.grid(32, 28, 28):                 for b in range(1):
        C[0, o, y, x] = 0.0                                for o, y, x in T.grid(32, 28, 28):
        for c, p, q in T.grid(16, 3, 3):                       C[b, o, y, x] = 0.0
            C[0, o, y, x] += A[0, c, y + p, x + q]             ...
                             * W[o, c, p, q]

Each index of what a block stores is an axis then, which the schedules of convolutions ask for.
"""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, BufferLoad, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import cast, const
from tirscript.ir.rewrite import rewrite, uses, walk
from tirscript.ir.stmt import Block, BufferStore, For, Stmt

from ..statements import may_overlap


def with_single_images(func: PrimFunc) -> PrimFunc:
    """The function with loops of one iteration for dimensions of one element that windows are stored at the only place
    of; itself where there are none."""
    nests = [stmt for stmt in func.body if type(stmt) is For]
    if not nests or may_overlap(func) or any(type(node) in (Block, BufferData) for node in walk(func.body)):
        return func
    places: dict[Buffer, list[int]] = {}
    for nest in nests:
        loops = [node.var for node in walk(nest, For)]
        if not any(type(node) is BufferLoad and _is_window(node, loops) for node in walk(nest)):
            continue
        for node in walk(nest):
            if type(node) is BufferStore and len(node.indices) > 2:
                dims = [at for at, index in enumerate(node.indices) if _is_only(node, at) and is_const(index, 0)]
                if dims and not all(type(index) is Const for index in node.indices):
                    places[node.buffer] = dims
    if not places:
        return func
    return func.replace(body=tuple([_with_loop(stmt, places) if type(stmt) is For else stmt for stmt in func.body]))


def _is_window(load: BufferLoad, loops: list[Var]) -> bool:
    """Whether an index counts by two loops, one of them over a window."""
    return any(sum(1 for var in loops if uses(index, var)) > 1 for index in load.indices)


def _is_only(access: BufferLoad | BufferStore, at: int) -> bool:
    return is_const(access.buffer.shape[at], 1)


def _with_loop(nest: For, places: dict[Buffer, list[int]]) -> Stmt:
    """A nest in a loop over the only element of dimensions; itself where it touches none."""
    image: Var | None = None

    def access(node: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        dims = [at for at in places.get(node.buffer, ()) if is_const(node.indices[at], 0)]
        if not dims:
            return node
        nonlocal image
        image = Var("b", node.indices[dims[0]].dtype) if image is None else image
        indices: list[Expr] = list(node.indices)
        for at in dims:
            indices[at] = cast(image, indices[at].dtype)
        return node.replace(indices=tuple(indices))

    found: For = rewrite(nest, {BufferLoad: access, BufferStore: access})
    if image is None:
        return nest
    zero, one = const(0, image.dtype), const(1, image.dtype)
    return For(image, zero, one, (found.replace(trivia=None),), span=nest.span, trivia=nest.trivia)


__all__ = ["with_single_images"]
