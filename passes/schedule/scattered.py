"""What a loop adds to elements of buffers, and nothing else: updates that may come in any order, wherever they go."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import is_prefetch
from tirscript.ir.expr import BufferData, BufferLoad, Call, CallFunction
from tirscript.ir.node import Node
from tirscript.ir.op import OPS, Op
from tirscript.ir.rewrite import definitions, uses, walk
from tirscript.ir.stmt import (
    AllocBuffer,
    Bind,
    Block,
    Break,
    BufferStore,
    Continue,
    For,
    If,
    ScalarDecl,
    Stmt,
    While,
)

from ..statements import reads_memory
from .reducers import update_by
from .refusal import KINDS

# statements that do nothing but what the stores in them do
_QUIET = frozenset((AllocBuffer, Bind, Block, Break, BufferStore, Continue, For, If, ScalarDecl, While))
_KINDS = frozenset(("serial", "unroll", "vectorized"))


class Obstacle(Struct, frozen=True, eq=False):
    """Why a loop does not only add to elements: a clause, and the node it is about."""

    message: str
    node: Node


def scattered(loop: For) -> dict[Buffer, Op] | Obstacle:
    """The buffers from outside of a loop that it writes, where all it does with them is `X[..] = X[..] op value`.

    Each has one combiner, and nothing else reads it in the loop. So the updates may come in any order (of floats, up
    to rounding), at whatever places: which ones may be read from memory.
    """
    inside = set(definitions(loop))
    found: dict[Buffer, Op] = {}
    extra: dict[Buffer, int] = {}  # loads less those that are a part of updates
    where: dict[Buffer, Node] = {}
    for node in walk(loop.body):
        problem = _problem(node)
        if problem is not None:
            return problem
        if type(node) is BufferLoad:
            extra[node.buffer] = extra.get(node.buffer, 0) + 1
            where[node.buffer] = node
        if type(node) is not BufferStore or node.buffer in inside:
            continue
        buffer, update = node.buffer, update_by(node)
        if buffer.is_scalar:
            return Obstacle(f"the variable `{buffer.name}` from outside is written in it", node)
        if update is None:
            return Obstacle(f"what it stores to `{buffer.name}` is no update such as `X[i] = X[i] + value`", node)
        if found.setdefault(buffer, update.op) is not update.op:
            return Obstacle(f"it combines elements of `{buffer.name}` by different operators", node)
        extra[buffer] = extra.get(buffer, 0) - 1
    for buffer in found:
        if extra[buffer]:
            return Obstacle(f"it reads `{buffer.name}` elsewhere than in its updates", where[buffer])
    return found or Obstacle("it updates no buffer", loop)


def _problem(node: Node) -> Obstacle | None:
    """Why a loop that holds a node may do more than what its stores do."""
    kind = type(node)
    if isinstance(node, Stmt) and kind not in _QUIET and not is_prefetch(node):
        return Obstacle("something else than loops, conditions and stores stands in it", node)
    loud = kind is Call and node.op.effect in ("write", "opaque") and node.op is not OPS["prefetch"]  # type: ignore[attr-defined]
    if kind is CallFunction or kind is BufferData or loud:
        return Obstacle("it calls a function, has an effect or gives memory away", node)
    if kind is For and node.kind not in _KINDS:  # type: ignore[attr-defined]
        return Obstacle(f"the loop `{node.var.name}` in it is {KINDS[node.kind]}", node)  # type: ignore[attr-defined]
    if kind is Block and node.init is not None:  # type: ignore[attr-defined]
        return Obstacle(f"the block `{node.name}` has a T.init, which would begin each part anew", node)  # type: ignore[attr-defined]
    return None


def goes_anywhere(loop: For, found: Iterable[Buffer]) -> bool:
    """Whether a loop stores to one of the buffers at a place that is not known before the program runs."""
    own = [node.var for node in walk(loop.body, Bind)]
    stores = [node for node in walk(loop.body, BufferStore) if node.buffer in found]
    return any(
        reads_memory(index) or any(uses(index, var) for var in own) for store in stores for index in store.indices
    )


__all__ = ["Obstacle", "goes_anywhere", "scattered"]
