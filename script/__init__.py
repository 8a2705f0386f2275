"""Source to IR. `from tirscript.script import ir as I, tir as T` is the header of every program."""

from typing import TYPE_CHECKING

from .entry import parse, parse_all, parse_file
from .extract import extract, parse_python

if TYPE_CHECKING:
    # the stubs know every name, and that type checkers do not look into kernels
    from . import graph, ir, tir
    from . import graph as relax
    from . import tir as tirx
    from .entry import graph_func
    from .ir import ir_module
    from .tir import prim_func
else:
    from .entry import G as graph
    from .entry import I as ir
    from .entry import T as tir
    from .entry import graph_func, ir_module, prim_func

    relax, tirx = graph, tir  # as TVM calls them

__all__ = [
    "extract",
    "graph",
    "graph_func",
    "ir",
    "ir_module",
    "parse",
    "parse_all",
    "parse_file",
    "parse_python",
    "prim_func",
    "relax",
    "tir",
    "tirx",
]
