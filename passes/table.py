"""The one table of passes: each of ours is in the module named here, which is loaded when somebody asks for the pass.

A build that finds its code in the cache needs no more of a pass than its name.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .pipeline import Pass

PACKAGE = __name__.rpartition(".")[0]

MODULES = {
    "annotate_pattern": "graph.annotate_pattern",
    "bind_targets": "placement",
    "blocks_from_loops": "plain_loops.blocks_from_loops",
    "bounds_check": "bounds_check",
    "canonicalize_bindings": "graph.canonicalize_bindings",
    "check_constraints": "check_constraints",
    "common_graph_subexpression": "graph.common_graph_subexpression",
    "common_subexpression": "common_subexpression",
    "compact_buffer_allocation": "lower.compact_buffer_allocation",
    "compress_constants": "constants.compress_constants",
    "compress_slices": "constants.compress_slices",
    "constant_arena": "constants.constant_arena",
    "contract": "contract",
    "convert_layout": "graph.convert_layout",
    "convert_to_dataflow": "graph.convert_to_dataflow",
    "dead_code_elimination": "graph.dead_code",
    "decompose_for_inference": "graph.decompose_for_inference",
    "deduplicate_constants": "constants.deduplicate_constants",
    "default_cpu": "default_cpu",
    "flatten_buffer": "lower.flatten_buffer",
    "fold_constant": "constants.fold_constant",
    "fold_graph_constant": "graph.fold_graph_constant",
    "forget_memory": "graph.forget_memory",
    "fuse_ops": "graph.fuse_ops",
    "fuse_tir": "graph.fuse_tir",
    "graph_to_tensor": "graph.graph_to_tensor",
    "hoist_expression": "hoist_expression",
    "infer_regions": "lower.infer_regions",
    "inline_graph_functions": "graph.inline_graph_functions",
    "inline_private_functions": "inline_private_functions",
    "lambda_lift": "graph.lambda_lift",
    "legalize_ops": "graph.legalize_ops",
    "lift_constants": "constants.lift_constants",
    "lift_layout_blocks": "layouts.lift_layout_blocks",
    "lift_transform_params": "graph.lift_transform_params",
    "loop_partition": "loop_partition",
    "lower_blocks": "lower.lower_blocks",
    "lower_init_block": "lower.lower_init_block",
    "lower_match_buffer": "lower.lower_match_buffer",
    "lower_reduce": "lower.lower_reduce",
    "mark_constant_parameters": "constants.constant_parameters",
    "measure_sizes": "graph.measure_sizes",
    "merge_adjacent_loops": "merge_adjacent_loops",
    "merge_composite": "graph.merge_composite",
    "merge_conditionals": "merge_conditionals",
    "narrow_index_types": "narrow_index_types",
    "pack_constants": "constants.pack_constants",
    "plan_buffer_allocation": "lower.plan_buffer_allocation",
    "quantized_products": "graph.quantized_products",
    "reduce_loop_extents": "reduce_loop_extents",
    "reflow_layouts": "layouts.reflow_layouts",
    "remove_assume": "remove_assume",
    "remove_branching_through_overcompute": "overcompute",
    "remove_no_op": "remove_no_op",
    "remove_overcompute_through_branching": "overcompute",
    "remove_undef": "remove_undef",
    "rewrite_reshape": "graph.rewrite_reshape",
    "run_codegen": "graph.run_codegen",
    "serialize_races": "lower.serialize_races",
    "share_functions": "share_functions",
    "simplify": "simplify",
    "sink_constants": "constants.lift_constants",
    "slice_constants": "constants.slice_constants",
    "sparsify_report": "constants.sparsify_report",
    "split_at_sizes": "graph.split_at_sizes",
    "split_targets": "placement",
    "split_to_slices": "graph.split_to_slices",
    "static_memory_plan": "graph.static_memory_plan",
    "to_mixed_precision": "graph.to_mixed_precision",
    "trim_windows": "graph.trim_windows",
    "unroll_loop": "lower.unroll_loop",
    "vectorize_loop": "lower.vectorize_loop",
    "write_in_place": "graph.write_in_place",
}


class PassTable(MutableMapping[str, "Pass"]):
    """Passes by name. Names alone, their number and `in` load nothing."""

    def __init__(self) -> None:
        self._entries: dict[str, Pass | str] = {name: f"{PACKAGE}.{module}" for name, module in MODULES.items()}

    def __getitem__(self, name: str) -> Pass:
        found = self._entries[name]
        if isinstance(found, str):
            import_module(found)
            found = self._entries[name]
            if isinstance(found, str):
                raise ImportError(f"{found} does not define the pass {name}, as passes/table.py says")
        return found

    def __setitem__(self, name: str, entry: Pass) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def check(self, name: str, module: str) -> None:
        """Raise ValueError unless a module may define a pass: the name is free, and ours are where they should be."""
        found = self._entries.get(name)
        if found is not None and found != module:
            raise ValueError(f"pass {name} is defined twice")
        if found is None and module.startswith(f"{PACKAGE}."):
            raise ValueError(f"pass {name} of {module} is not in passes/table.py")

    def module(self, name: str) -> str:
        """The name of the module that defines a pass, "" where it has none."""
        found = self._entries[name]
        return found if isinstance(found, str) else found.function.__module__ or ""

    def loaded(self, name: str) -> bool:
        """Whether the module of a pass is loaded."""
        return not isinstance(self._entries[name], str)


__all__ = ["MODULES", "PACKAGE", "PassTable"]
