"""The one table of graph operators, by family."""

from . import elementwise as _elementwise  # noqa: F401  (fills the table)
from .table import FUSION_KINDS, GRAPH_OPS, GraphOp, Parameter, graph_op, register

__all__ = ["FUSION_KINDS", "GRAPH_OPS", "GraphOp", "Parameter", "graph_op", "register"]
