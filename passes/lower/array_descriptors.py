"""Array descriptors, which TVM hands to libraries, become the buffers that they describe.

before:                                                               after:
    T.call_packed("f", T.tvm_stack_make_array(A.data,                     T.call_packed("f", A.data)
        T.tvm_stack_make_shape(4), 0, 1, T.float32(0), 0))

One of another shape than the buffer's becomes a view of it before the statement, whose `data` is passed.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.array_descriptor import declared_array
from tirscript.ir.expr import BufferData, Call, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import FOREIGN, OPS
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import Assert, Bind, BufferStore, DeclBuffer, Evaluate, If, Return, ScalarDecl

# what evaluates its values once, where it stands
_STATEMENTS = (Assert, Bind, BufferStore, Evaluate, If, Return, ScalarDecl)


def without_descriptors(func: PrimFunc) -> PrimFunc:
    """The function with buffers in the place of the descriptors that it passes to libraries."""
    if not any(node.op is FOREIGN["tvm_stack_make_array"] for node in walk(func.body, Call)):
        return func
    return func.replace(body=rewrite(func.body, dict.fromkeys(_STATEMENTS, _statement)))


def _statement(stmt: Any) -> Any:
    views: list[DeclBuffer] = []

    def passed(arg: Expr) -> Expr:
        view = declared_array(arg)
        if view is None or _is_whole(view):
            return arg if view is None else view.data
        views.append(view)
        return BufferData(view.buffer, span=arg.span)

    def call(node: Call) -> Call:
        return node.replace(args=tuple(map(passed, node.args))) if node.op is OPS["call_packed"] else node

    made = rewrite(stmt, {Call: call})
    return (*views, made) if views else made


def _is_whole(view: DeclBuffer) -> bool:
    """Whether a view is all of a buffer as it is."""
    if type(view.data) is not BufferData:
        return False
    buffer = view.data.buffer
    return all(
        getattr(buffer, field) == getattr(view.buffer, field) for field in ("shape", "dtype", "strides", "elem_offset")
    )
