"""Passes over graph functions, and their way to tensor functions."""

from ..pipeline import Sequential
from ..share_functions import share_functions
from .annotate_pattern import annotate_pattern
from .bind import bind_params, bind_symbolic_vars
from .canonicalize_bindings import canonicalize_bindings
from .common_graph_subexpression import common_graph_subexpression
from .dead_code import dead_code_elimination
from .decompose_for_inference import decompose_for_inference
from .fold_graph_constant import fold_graph_constant
from .fuse_by_pattern import fuse_by_pattern
from .fuse_ops import fuse_ops
from .fuse_tir import fuse_tir
from .graph_to_tensor import graph_to_tensor
from .legalize_ops import legalize_ops
from .merge_composite import merge_composite
from .run_codegen import run_codegen
from .static_memory_plan import static_memory_plan

# from graph functions to tensor functions, which `build` does before DEFAULT_LOWERING
GRAPH_LOWERING = Sequential(
    (
        canonicalize_bindings,
        common_graph_subexpression,
        decompose_for_inference,
        fold_graph_constant,
        legalize_ops,
        dead_code_elimination,
        annotate_pattern,
        fuse_ops,
        fuse_tir,
        graph_to_tensor,
        share_functions,
        static_memory_plan,
    )
)

__all__ = [
    "GRAPH_LOWERING",
    "annotate_pattern",
    "bind_params",
    "bind_symbolic_vars",
    "canonicalize_bindings",
    "common_graph_subexpression",
    "dead_code_elimination",
    "decompose_for_inference",
    "fold_graph_constant",
    "fuse_by_pattern",
    "fuse_ops",
    "fuse_tir",
    "graph_to_tensor",
    "legalize_ops",
    "merge_composite",
    "run_codegen",
    "static_memory_plan",
]
