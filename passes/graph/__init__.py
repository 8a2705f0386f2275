"""Passes over graph functions, and their way to tensor functions."""

from ..lowering import GRAPH_LOWERING
from .annotate_pattern import annotate_pattern
from .bind import bind_params, bind_symbolic_vars
from .canonicalize_bindings import canonicalize_bindings
from .common_graph_subexpression import common_graph_subexpression
from .convert_layout import convert_layout
from .convert_to_dataflow import convert_to_dataflow
from .dead_code import dead_code_elimination
from .decompose_for_inference import decompose_for_inference
from .fold_graph_constant import fold_graph_constant
from .forget_memory import forget_memory
from .fuse_by_pattern import fuse_by_pattern
from .fuse_ops import fuse_ops
from .fuse_tir import fuse_tir
from .graph_to_tensor import graph_to_tensor
from .inline_graph_functions import inline_graph_functions
from .lambda_lift import lambda_lift
from .legalize_ops import legalize_ops
from .lift_transform_params import lift_transform_params
from .measure_sizes import measure_sizes
from .merge_composite import merge_composite
from .quantized_products import quantized_products
from .rewrite_reshape import rewrite_reshape
from .run_codegen import run_codegen
from .split_at_sizes import split_at_sizes
from .split_to_slices import split_to_slices
from .static_memory_plan import static_memory_plan
from .to_mixed_precision import to_mixed_precision
from .trim_windows import trim_windows
from .write_in_place import write_in_place

__all__ = [
    "GRAPH_LOWERING",
    "annotate_pattern",
    "bind_params",
    "bind_symbolic_vars",
    "canonicalize_bindings",
    "common_graph_subexpression",
    "convert_layout",
    "convert_to_dataflow",
    "dead_code_elimination",
    "decompose_for_inference",
    "fold_graph_constant",
    "forget_memory",
    "fuse_by_pattern",
    "fuse_ops",
    "fuse_tir",
    "graph_to_tensor",
    "inline_graph_functions",
    "lambda_lift",
    "legalize_ops",
    "lift_transform_params",
    "measure_sizes",
    "merge_composite",
    "quantized_products",
    "rewrite_reshape",
    "run_codegen",
    "split_at_sizes",
    "split_to_slices",
    "static_memory_plan",
    "to_mixed_precision",
    "trim_windows",
    "write_in_place",
]
