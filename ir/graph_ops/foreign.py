"""Operators of TVM's graphs that this project has no meaning for: its virtual machine, its memory, several devices
at once. They are read, verified, kept and printed, so that programs that hold them lose nothing. Those that only say
where values lie are executed as what they give (`forget_memory`); all others are refused by name where they would be.

A call keeps its positional arguments as values and its named ones as attributes. Of most results nothing is known but
what the program says; new memory has the shape and dtype that the call names, and what hands a tensor on gives one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtype import FLOAT32, INT64, DType, dtype
from ..expr import Const, const
from ..graph import (
    DTypeValue,
    GraphType,
    GraphVar,
    ObjectType,
    OpCall,
    PrimValue,
    ShapeExpr,
    ShapeType,
    StringValue,
    TensorType,
    TupleType,
)
from ..graph_op import GraphOp
from . import dims
from .rules import Types, of_shape
from .table import FOREIGN_GRAPH_OPS, GRAPH_OPS


def unknown(call: OpCall, types: Types) -> GraphType:
    """Nothing is known of the result."""
    return ObjectType()


def new_memory(call: OpCall) -> tuple[Any, Any]:
    """The shape and dtype that a call allocates, as its arguments or attributes are."""
    at = ALLOCATIONS[call.op.name]
    return given(call, at, "shape"), given(call, at + 1, "dtype")


def memory(call: OpCall, types: Types) -> GraphType:
    """A tensor of the shape and dtype that the call names."""
    shape, kind = new_memory(call)
    if type(shape) is ShapeExpr:
        return TensorType(shape.values, dtype_of(kind))
    if type(shape) is GraphVar and type(shape.type) is ShapeType:
        return of_shape(shape.type, dtype_of(kind))
    return ObjectType()


def wrapped(call: OpCall, types: Types) -> GraphType:
    """The first argument in the dtype that the call names."""
    found, kind = handed_on(call, types), dtype_of(given(call, 1, "dtype"))
    return found.replace(dtype=kind or FLOAT32) if type(found) is TensorType else found


def moved(call: OpCall, types: Types) -> GraphType:
    """The first argument on another device, by the name that the call gives it."""
    found, told = handed_on(call, types), given(call, 1, "dst_vdevice")
    name = told.value if type(told) is StringValue else told
    return found.replace(vdevice=name if isinstance(name, str) else None) if type(found) is TensorType else found


def workers(joined: bool) -> Callable[[OpCall, Types], GraphType]:
    """The tensors of all workers one after the other, or the part of a tensor that each worker gets."""

    def rule(call: OpCall, types: Types) -> GraphType:
        found = handed_on(call, types)
        number = _number(given(call, 1, "num_workers"))
        along = 0 if joined else _number(given(call, 2, "axis") or 0)
        if type(found) is not TensorType or found.shape is None:
            return found
        if type(number) is not int or number < 1 or type(along) is not int or not 0 <= along < len(found.shape):
            return TensorType(None, found.dtype, found.rank, found.vdevice)
        count = const(number, INT64)
        made = (dims.mul if joined else dims.floordiv)(found.shape[along], count)
        return found.replace(shape=(*found.shape[:along], made, *found.shape[along + 1 :]))

    return rule


def handed_on(call: OpCall, types: Types) -> GraphType:
    """The result is of the type of the first argument."""
    return types[0] if types else ObjectType()


def ended(call: OpCall, types: Types) -> GraphType:
    """The result is the empty tuple."""
    return TupleType(())


def given(call: OpCall, at: int, name: str) -> Any:
    """An argument, by its place or its name; None where the call has none."""
    return call.args[at] if at < len(call.args) else call.attrs.get(name)


def _number(value: Any) -> Any:
    """A number as Python has it."""
    value = value.value if type(value) is PrimValue else value
    return value.value if type(value) is Const else value


def dtype_of(value: Any) -> DType | None:
    """The dtype that an argument names; None where it names none."""
    found = value.value if isinstance(value, (DTypeValue, StringValue)) else value
    if not isinstance(found, (DType, str)):
        return None
    try:
        return dtype(found)
    except ValueError:
        return None


def is_foreign(op: GraphOp) -> bool:
    """Whether an operator is one of those that are kept and not executed."""
    return FOREIGN_GRAPH_OPS.get(op.name) is op


def keeps_arguments(op: GraphOp) -> bool:
    """Whether the arguments of an operator are kept as they stand, since it declares none."""
    return is_foreign(op) and not op.parameters


def find_op(name: str) -> GraphOp | None:
    """The operator of that name, of the table or of these."""
    return GRAPH_OPS.get(name) or FOREIGN_GRAPH_OPS.get(name)


# what is done with memory, and what says where a value is
ALLOCATIONS = {"builtin.alloc_tensor": 0, "memory.alloc_tensor": 2, "vm.alloc_tensor": 2}  # where the shape stands
STORAGE = ("memory.alloc_storage", "vm.alloc_storage")
# where a list is a shape, which is a tuple elsewhere: the place of the argument, and its names
SHAPE_PLACES = {**ALLOCATIONS, **dict.fromkeys(STORAGE, 0), "memory.view": 1}
SHAPE_NAMES = ("shape", "size")
ENDS = ("memory.kill_storage", "memory.kill_tensor", "vm.kill_object")
PLACES = (
    "hint_on_device",
    "memory.ensure_zero_offset",
    "stop_lift_params",
    "to_vdevice",
    "dist.annotate_sharding",
    "dist.redistribute",
)
_PURE = {
    "": "collapse_sum_like collapse_sum_to hamming_window hint_on_device to_vdevice wrap_param size bucketize"
    " dynamic_strided_slice index_tensor index_put nonzero meshgrid linear outer"
    " reverse_sequence log_add_exp ewise_fma eye eye_like scatter_elements scatter_nd slice_scatter"
    " shape_to_tensor tensor_to_shape layout_transform stop_lift_params",
    "nn": "attention_var_len batch_flatten cross_entropy_with_logits pixel_shuffle attention_bias",
    "inspect": "tensor_byte_offset tensor_dtype_bits tensor_dtype_code tensor_dtype_lanes tensor_elem_offset"
    " tensor_ndim tensor_shape_i tensor_stride_i",
    "memory": "ensure_zero_offset",
    "ccl": "allgather allreduce broadcast_from_worker0 scatter_from_worker0",
}
_IMPURE = {
    "builtin": "alloc_tensor",
    "memory": "alloc_storage alloc_tensor kill_storage kill_tensor",
    "vm": "alloc_storage alloc_tensor call_tir_dyn kill_object",
}
_RULES: dict[str, Callable[[OpCall, Types], GraphType]] = {
    **dict.fromkeys(ALLOCATIONS, memory),
    **dict.fromkeys(("hint_on_device", "memory.ensure_zero_offset", "stop_lift_params"), handed_on),
    "to_vdevice": moved,
    "wrap_param": wrapped,
    "ccl.allgather": workers(joined=True),
    "ccl.scatter_from_worker0": workers(joined=False),
    **dict.fromkeys(("ccl.allreduce", "ccl.broadcast_from_worker0"), handed_on),
    **dict.fromkeys(ENDS, ended),
}
for _names, _pure in ((_PURE, True), (_IMPURE, False)):
    for _group, _words in _names.items():
        for _word in _words.split():
            _name = f"{_group}.{_word}" if _group else _word
            FOREIGN_GRAPH_OPS[_name] = GraphOp(
                _name, (), _RULES.get(_name, unknown), "An operator of TVM's, kept as it is.", pure=_pure
            )
