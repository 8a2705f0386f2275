"""Operators of TVM's graphs that this project has no meaning for: its virtual machine, its memory, several devices
at once. They are read, verified, kept and printed, so that programs that hold them lose nothing, and refused by
name where they would be executed.

A call keeps its positional arguments as values and its named ones as attributes. Of its result nothing is known but
what the program says.
"""

from __future__ import annotations

from ..graph import GraphType, ObjectType, OpCall
from .rules import Types
from .table import FOREIGN_GRAPH_OPS, GRAPH_OPS, GraphOp


def unknown(call: OpCall, types: Types) -> GraphType:
    """Nothing is known of the result."""
    return ObjectType()


def is_foreign(op: GraphOp) -> bool:
    """Whether an operator is one of those that are kept and not executed."""
    return FOREIGN_GRAPH_OPS.get(op.name) is op


def find_op(name: str) -> GraphOp | None:
    """The operator of that name, of the table or of these."""
    return GRAPH_OPS.get(name) or FOREIGN_GRAPH_OPS.get(name)


# operators whose strings TVM writes and reads as such, not as R.str
PLAIN_STRINGS = frozenset({"hint_on_device"})
_PURE = {
    "": "collapse_sum_like collapse_sum_to hamming_window hint_on_device to_vdevice wrap_param size bucketize"
    " dynamic_strided_slice index_tensor index_put nonzero unique meshgrid linear outer"
    " reverse_sequence log_add_exp ewise_fma eye eye_like scatter_elements scatter_nd slice_scatter"
    " shape_to_tensor tensor_to_shape layout_transform stop_lift_params",
    "nn": "attention_var_len batch_flatten cross_entropy_with_logits pixel_shuffle attention_bias",
    "inspect": "tensor_byte_offset tensor_dtype_bits tensor_dtype_code tensor_dtype_lanes tensor_elem_offset"
    " tensor_ndim tensor_shape_i tensor_stride_i",
    "memory": "ensure_zero_offset view",
    "vision": "all_class_non_max_suppression get_valid_counts multibox_transform_loc non_max_suppression",
    "ccl": "allgather allreduce broadcast_from_worker0 scatter_from_worker0",
}
_IMPURE = {
    "builtin": "alloc_tensor",
    "memory": "alloc_storage alloc_tensor kill_storage kill_tensor",
    "vm": "alloc_storage alloc_tensor call_tir_dyn kill_object",
}
for _names, _pure in ((_PURE, True), (_IMPURE, False)):
    for _group, _words in _names.items():
        for _word in _words.split():
            _name = f"{_group}.{_word}" if _group else _word
            FOREIGN_GRAPH_OPS[_name] = GraphOp(_name, (), unknown, "An operator of TVM's, kept as it is.", pure=_pure)
