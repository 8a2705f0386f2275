"""LLVM's intrinsics in the interpreter: those whose meaning is known."""

from __future__ import annotations

from typing import Any

from tirscript.ir import Call, DiagnosticError, DType, error

from ..llvm_intrinsics import KNOWN, as_operator, fitting, name_of
from ..runtime.arrays import numpy_dtype
from .context import Closure, Context
from .errors import undefined_used, unsupported
from .undef import has_undef


def call_intrinsic(ctx: Context, node: Call) -> Closure:
    """A call of an LLVM intrinsic by name."""
    same = as_operator(node)
    if same is not None:
        return ctx.expr(same)
    name = name_of(node)
    known = KNOWN.get(name or "")
    if known is None:
        what = "an LLVM intrinsic given by its number" if name is None else f"the LLVM intrinsic `{name}`"
        raise unsupported(node, f"the interpreter does not know what {what} computes", "build the function")
    args = fitting(known, node)
    if args is None:
        got = ", ".join(str(arg.dtype) for arg in node.args[1:])
        wanted = f"({', '.join(map(str, known.params))}) -> {known.result}"
        raise DiagnosticError([error("T204", f"`{name}` is {wanted}, not ({got}) -> {node.dtype}", node.span)])
    values = [ctx.expr(arg) for arg in args]
    kinds = [arg.dtype for arg in args]

    def run(f: list[Any]) -> Any:
        given = [value(f) for value in values]
        if any(map(has_undef, given)):
            raise undefined_used(node, f"an operand of `{name}`")
        arrays = [
            _array(value, have).view(numpy_dtype(want.element))
            for value, have, want in zip(given, kinds, known.params, strict=True)
        ]
        return tuple(known.compute(*arrays).tolist())

    return run


def _array(value: Any, kind: DType) -> Any:
    import numpy

    return numpy.array(value if kind.is_vector else [value], numpy_dtype(kind.element))
