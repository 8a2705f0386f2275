"""The table of graph operators, by name.

It imports neither numpy nor the parser: kernels are functions in the tensor language, read when an operator is
legalized, and numpy functions import it when called.
"""

from __future__ import annotations

from ..graph_op import GraphOp

GRAPH_OPS: dict[str, GraphOp] = {}
FOREIGN_GRAPH_OPS: dict[str, GraphOp] = {}  # TVM's that are kept and not executed (foreign.py)


def register(entry: GraphOp) -> GraphOp:
    """Add an entry to the table; ValueError where the name is taken."""
    if entry.name in GRAPH_OPS:
        raise ValueError(f"graph operator {entry.name} is defined twice")
    GRAPH_OPS[entry.name] = entry
    return entry


def graph_op(name: str) -> GraphOp:
    """The entry of that name; KeyError where there is none."""
    return GRAPH_OPS.get(name) or FOREIGN_GRAPH_OPS[name]
