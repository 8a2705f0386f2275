"""Operators of TVM's on tensors over several devices (`G.DTensor`).

One machine holds such a tensor as a whole: what says where its parts lie is executed as what it gives
(`forget_memory`), and a tensor function is called on whole tensors. What computes on the parts of one device is kept,
and refused by name where it would be executed.
"""

from __future__ import annotations

from ..dtype import INT64
from ..expr import const
from ..graph import GraphType, OpCall, Sharding, TensorType
from ..graph_op import GraphOp, Parameter
from . import dims
from .attrs import attr, integer, text
from .calls import ARGS, FUNCTION, OUT, TIR_VARS, several, told
from .foreign import handed_on
from .rules import Types
from .table import FOREIGN_GRAPH_OPS

X = Parameter("x")


def _redistributed(call: OpCall, types: Types) -> GraphType:
    """The tensor where the call says."""
    found = handed_on(call, types)
    placement = tuple(part.strip() for part in call.attrs["placement"].split(","))
    return (
        found.replace(sharding=Sharding(call.attrs["device_mesh"], placement)) if type(found) is TensorType else found
    )


def _part(call: OpCall, types: Types) -> GraphType:
    """The part of a tensor that each worker gets: of one over several devices, the same tensor in parts."""
    found = handed_on(call, types)
    axis, workers = call.attrs["axis"], call.attrs["num_workers"]
    if type(found) is not TensorType:
        return found
    if found.sharding is not None:
        return found.replace(sharding=found.sharding.replace(placement=(f"S[{axis}]",)))
    if found.shape is None or not 0 <= axis < len(found.shape) or workers < 1:
        return TensorType(None, found.dtype, found.rank, found.vdevice)
    part = dims.floordiv(found.shape[axis], const(workers, INT64))
    return found.replace(shape=(*found.shape[:axis], part, *found.shape[axis + 1 :]))


_PLACE = (X, attr("device_mesh", text), attr("placement", text))
DIST_CALL_TIR = GraphOp(
    "dist.call_tir",
    (FUNCTION, ARGS, OUT, TIR_VARS),
    told,
    "`call_tir` on tensors over several devices.",
    bind=several,
)
for _op in (
    DIST_CALL_TIR,
    GraphOp(
        "dist.call_tir_local_view",
        (FUNCTION, ARGS, OUT, TIR_VARS),
        told,
        "A tensor function called on the parts of each device.",
        bind=several,
    ),
    GraphOp("dist.annotate_sharding", _PLACE, handed_on, "The tensor, with a wish where its parts should lie."),
    GraphOp("dist.redistribute", _PLACE, _redistributed, "The tensor with its parts on other devices."),
    GraphOp(
        "dist.redistribute_replica_to_shard",
        (X, attr("num_workers", integer), attr("axis", integer)),
        _part,
        "Of a tensor that each device has, the part that is its own.",
    ),
):
    FOREIGN_GRAPH_OPS[_op.name] = _op
