"""The one table of graph operators, by family."""

from . import calls as _calls  # noqa: F401  (fills the table)
from . import elementwise as _elementwise  # noqa: F401
from . import foreign as _foreign  # noqa: F401
from .table import FUSION_KINDS, GRAPH_OPS, GraphOp, Parameter, graph_op, register

__all__ = ["FUSION_KINDS", "GRAPH_OPS", "GraphOp", "Parameter", "graph_op", "register"]
