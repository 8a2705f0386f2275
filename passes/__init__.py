"""Passes from program to program, and the pipelines of them."""

from . import (  # noqa: F401  (these fill the table of passes)
    blocks_from_loops,
    bounds_check,
    check_constraints,
    common_subexpression,
    contract,
    default_cpu,
    hoist_expression,
    loop_partition,
    merge_adjacent_loops,
    merge_conditionals,
    narrow_index_types,
    overcompute,
    placement,
    reduce_loop_extents,
    remove_assume,
    remove_no_op,
    remove_undef,
    share_functions,
)
from . import constants as _constants  # noqa: F401
from . import graph as _graph  # noqa: F401
from . import layouts as _layouts  # noqa: F401
from . import lower as _lower  # noqa: F401
from .access import access_regions
from .bisection import Broken, bisect
from .instruments import DumpEach, PrintAfter, PrintBefore, PrintChanged, RoundTripEach, Skip, Timing, VerifyEach
from .lower import DEFAULT_LOWERING
from .pipeline import (
    PASSES,
    Instrument,
    Pass,
    PassContext,
    Sequential,
    get_pass,
    graph_func_pass,
    module_pass,
    prim_func_pass,
)
from .simplify import simplified

__all__ = [
    "DEFAULT_LOWERING",
    "PASSES",
    "Broken",
    "DumpEach",
    "Instrument",
    "Pass",
    "PassContext",
    "PrintAfter",
    "PrintBefore",
    "PrintChanged",
    "RoundTripEach",
    "Sequential",
    "Skip",
    "Timing",
    "VerifyEach",
    "access_regions",
    "bisect",
    "get_pass",
    "graph_func_pass",
    "module_pass",
    "prim_func_pass",
    "simplified",
]
