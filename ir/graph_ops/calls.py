"""Calls of tensor functions, libraries and closures, and what is done for its effect.

`G.call_tir(cls.f, (x,), out=G.Tensor((4,), "float32"))` passes the arguments, then a new tensor for each type of `out`,
then `tir_vars`; the others are variations of it. Where the result types are told they stand in `OpCall.types`.
"""

from __future__ import annotations

from typing import Any

from ..graph import GraphType, ObjectType, OpCall, TupleExpr, TupleType
from ..graph_op import GraphOp, Parameter
from ..op import fail
from ..words import counted
from .attrs import attr, integers, text
from .rules import Types
from .table import register

FUNCTION = Parameter("func", "function")
ARGS = Parameter("args", "value")
SPREAD = Parameter("args", "spread")
OUT = Parameter("out", "type")
RESULT = Parameter("ty_args", "type", None)
TIR_VARS = Parameter("tir_vars", "shape", None)


def several(given: dict[str, Any]) -> dict[str, Any]:
    """One argument that stands alone is a tuple of one."""
    args = given["args"]
    return given if isinstance(args, (tuple, list, TupleExpr)) else {**given, "args": (args,)}


def told(call: OpCall, types: Types) -> GraphType:
    """The result is what the call is told: one type, or a tuple of several; nothing is known where it is not."""
    if not call.types:
        return ObjectType()
    return call.types[0] if len(call.types) == 1 else TupleType(call.types)


def told_in_place(call: OpCall, types: Types) -> GraphType:
    """As `told`, for a call that says of each result which argument it is written into."""
    places: tuple[int, ...] = call.attrs["inplace_indices"]
    given = call.args[1]
    count = len(given.fields) if type(given) is TupleExpr else None
    for place in places:
        if place < -1 or (count is not None and place >= count):
            there = "" if count is None else f" to {count - 1}"
            raise fail("T032", f"`inplace_indices` has {place}, but the arguments are 0{there}", "-1 is a new tensor")
    inside = [place for place in places if place >= 0]
    if len(set(inside)) != len(inside):
        raise fail("T032", f"`inplace_indices` names an argument twice: {list(places)}")
    if call.types and len(places) != len(call.types):
        results = counted(len(call.types), "result")
        raise fail("T032", f"the call has {results}, and `inplace_indices` has {len(places)}", "one for each result")
    return told(call, types)


def nothing(call: OpCall, types: Types) -> GraphType:
    """The result is the empty tuple."""
    return TupleType(())


CALL_TIR = register(
    GraphOp(
        "call_tir",
        (FUNCTION, ARGS, OUT, TIR_VARS),
        told,
        "A tensor function on tensors: it writes its results into new ones, which the call gives.",
        bind=several,
    )
)
CALL_TIR_INPLACE = register(
    GraphOp(
        "call_tir_inplace",
        (FUNCTION, ARGS, attr("inplace_indices", integers), OUT, TIR_VARS),
        told_in_place,
        "A tensor function that writes result i into argument `inplace_indices[i]`; at -1 into a new tensor.",
        bind=several,
    )
)
CALL_TIR_WITH_GRAD = register(
    GraphOp(
        "call_tir_with_grad",
        (FUNCTION, ARGS, OUT, attr("te_grad_name", text), Parameter("te_grad_kwargs", "attr", None)),
        told,
        "`call_tir` with the name of the function that computes its gradient.",
        bind=several,
    )
)
CALL_DPS_PACKED = register(
    GraphOp(
        "call_dps_packed",
        (FUNCTION, ARGS, OUT),
        told,
        "A library function that writes its results into tensors passed behind the arguments.",
        bind=several,
    )
)
register(
    GraphOp(
        "call_pure_packed",
        (FUNCTION, SPREAD, RESULT),
        told,
        "A library function that gives its result and does nothing else.",
    )
)
CALL_INPLACE_PACKED = register(
    GraphOp(
        "call_inplace_packed",
        (FUNCTION, SPREAD, attr("inplace_indices", integers), RESULT),
        told,
        "A library function that writes into the arguments at `inplace_indices`.",
    )
)
register(
    GraphOp(
        "call_py_func",
        (Parameter("func", "value"), SPREAD, OUT),
        told,
        "A Python function of the module, by name, that gives its result and does nothing else.",
    )
)
register(
    GraphOp(
        "call_builtin_with_ctx",
        (FUNCTION, ARGS, RESULT),
        told,
        "A function of TVM's virtual machine.",
        pure=False,
    )
)
MAKE_CLOSURE = register(
    GraphOp("make_closure", (FUNCTION, ARGS), told, "A function of the module with its first arguments given.")
)
INVOKE_CLOSURE = register(
    GraphOp(
        "invoke_closure", (FUNCTION, ARGS, RESULT), told, "A closure called with the rest of its arguments.", pure=False
    )
)
INVOKE_PURE_CLOSURE = register(
    GraphOp("invoke_pure_closure", (FUNCTION, ARGS, RESULT), told, "`invoke_closure` of a closure without effects.")
)
register(
    GraphOp(
        "print", (SPREAD, attr("format", text, "")), nothing, "Values are printed when the program runs.", pure=False
    )
)
register(
    GraphOp(
        "assert_op",
        (Parameter("condition"), SPREAD, attr("format", text, "")),
        nothing,
        "The program ends with a message where the condition is false.",
        pure=False,
    )
)
register(GraphOp("null_value", (), told, "No value."))

# their arguments hold other elements behind them
IN_PLACE = (CALL_TIR_INPLACE, CALL_INPLACE_PACKED)
# those whose results are told by types, which annotations need not say once more
DESTINATION_PASSING = (CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD, CALL_DPS_PACKED)
