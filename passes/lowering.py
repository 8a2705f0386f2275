"""The pipelines that `build` applies; their passes are loaded when they run."""

from __future__ import annotations

from .pipeline import Sequential

# from blocks to loops and flat memory, before a backend takes over
DEFAULT_LOWERING = Sequential(
    (
        "check_constraints",
        "lower_reduce",
        "plan_buffer_allocation",
        "lower_init_block",
        "lower_match_buffer",
        "lower_blocks",
        "compact_buffer_allocation",
        "simplify",
        "serialize_races",
        "flatten_buffer",
        "vectorize_loop",
        "unroll_loop",
        "simplify",
    )
)

# of graph functions that the runtime executes, as calls of tensor functions (`split_at_sizes`)
STEPS = "runs_steps"

# from graph functions to tensor functions, before DEFAULT_LOWERING
GRAPH_LOWERING = Sequential(
    (
        "forget_memory",
        "lambda_lift",
        "inline_graph_functions",
        "canonicalize_bindings",
        "common_graph_subexpression",
        "decompose_for_inference",
        "quantized_products",
        "fold_graph_constant",
        "trim_windows",
        "measure_sizes",
        "split_to_slices",
        "legalize_ops",
        "dead_code_elimination",
        "convert_to_dataflow",
        "annotate_pattern",
        "fuse_ops",
        "fuse_tir",
        "rewrite_reshape",
        "split_at_sizes",
        "graph_to_tensor",
        "share_functions",
        "write_in_place",
        "static_memory_plan",
    )
)

__all__ = ["DEFAULT_LOWERING", "GRAPH_LOWERING", "STEPS"]
