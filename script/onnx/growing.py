"""What a loop carries and only makes longer: a tensor that each round concatenates a piece to, or a list that it
inserts one into at the end. The pieces are gathered instead, and joined behind the loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir.graph import GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims

from .sequences import Stacked

if TYPE_CHECKING:
    from .node import Node


class Growing(Struct, frozen=True, eq=False):
    """One that grows: the node in the loop that makes it longer, whose second input is the piece, and before that node
    one, or none, that leaves what it had as it is."""

    proto: Any
    before: Any = None

    @property
    def piece(self) -> str:
        name: str = self.proto.input[1]
        return name

    def joined(self, node: Node, start: str, pieces: GraphExpr) -> Any:
        """What it is behind the loop, by what it was before and the pieces, one behind the other on axis 0."""
        importer = node.importer
        if self.proto.op_type == "SequenceInsert":
            if importer.sequences.get(start) != ():
                raise node.wrong(f"`{start}` grows in it, and is no empty sequence before")
            return Stacked(pieces)
        length, *shape = node.shape(pieces)
        axis = node.axis(int(self.proto.attribute[0].i), len(shape))
        order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
        turned = node.op("permute_dims", pieces, order) if axis else pieces
        shape[axis] = dims.mul(length, shape[axis])
        line = node.op("reshape", turned, ShapeExpr(tuple(shape)))
        return node.op("concat", (importer.tensor(start), line), axis=axis)


def growing(graph: Any, inputs: Iterable[Any], outputs: Iterable[Any]) -> list[Growing | None]:
    """For each pair of what a round takes and gives, how it grows; None where it does anything else."""
    made = {name: one for one in graph.node for name in one.output}
    uses = _uses(graph)
    given = [one.name for one in graph.output]
    found: list[Growing | None] = []
    for before, behind in zip((one.name for one in inputs), (one.name for one in outputs), strict=True):
        one = made.get(behind)
        had = one.input[0] if one is not None and one.input else ""
        same = made.get(had)
        # what is carried keeps its type, so that a cast on its way is none
        if same is not None and same.op_type in ("Cast", "Identity") and uses.count(had) == 1 and had not in given:
            had = same.input[0]
        else:
            same = None
        grows = (
            one is not None
            and one.op_type in ("Concat", "SequenceInsert")
            and len(one.input) == 2
            and had == before
            and uses.count(before) == 1
            and behind not in uses
            and given.count(behind) == 1
        )
        found.append(Growing(one, same) if grows else None)
    return found


def _uses(graph: Any) -> list[str]:
    """The names that the nodes of a graph take, and those of graphs inside them take and give."""
    found: list[str] = []
    for node in graph.node:
        found += node.input
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                found += [*_uses(inner), *(one.name for one in inner.output)]
    return found


__all__ = ["Growing", "growing"]
