"""Casts, calls out of the program, addresses, and what only the interpreter or a later pass understands."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..dtype import VOID, DType, advice, dtype, pointer
from ..expr import BufferLoad, Call, Const, Expr, const
from ..op import ANY, OPS, Op, Operand, as_expr, fail, op
from ..op import cast as cast_to


def _dtype(value: Any) -> DType:
    try:
        return dtype(value)
    except ValueError as error:
        raise fail("T109", str(error).partition(";")[0], advice(value)) from None


def _cast(value: Operand, dtype: Any) -> Expr:
    kind = _dtype(dtype)
    if not isinstance(value, Expr) and not isinstance(value, str):
        # a whole number takes the dtype itself, which may hold what int32, its own where it is alone, does not
        if kind.element.is_float or isinstance(value, Integral) or not as_expr(value).dtype.is_float:
            try:
                return const(value, kind)
            except (ValueError, TypeError):
                pass
    return cast_to(value, kind)


def _reinterpret(dtype: Any, value: Operand) -> Expr:
    kind, expr = _dtype(dtype), as_expr(value)
    if kind.bits * kind.lanes != expr.dtype.bits * expr.dtype.lanes:
        raise fail("T108", f"cannot reinterpret {expr.dtype} as {kind}: the sizes differ")
    return Call(OPS["reinterpret"], (expr,), kind)


def _undef(to: Any) -> Expr:
    kind = _dtype(to)
    if kind is VOID:
        raise fail("T109", "void has no values")
    return Call(OPS["undef"], (), kind)


def _named(entry: str) -> Any:
    def make(to: Any, name: Any, *args: Operand) -> Expr:
        if not isinstance(name, str):
            hint = f'T.{entry}("float32", "sinf", x)'
            raise fail("T104", f"`T.{entry}` takes a dtype, then the function's name as a string", hint)
        return Call(OPS[entry], (as_expr(name), *map(as_expr, args)), _dtype(to))

    return make


def _call_packed(name: Any, *args: Operand) -> Expr:
    if not isinstance(name, str):
        raise fail("T104", "`T.call_packed` takes the function's name as a string")
    return Call(OPS["call_packed"], (as_expr(name), *map(as_expr, args)), dtype("int32"))


def _address_of(obj: Operand) -> Expr:
    if not isinstance(obj, BufferLoad):
        raise fail("T104", "`T.address_of` takes an element of a buffer, as in `T.address_of(A[0])`")
    return Call(OPS["address_of"], (obj,), pointer(obj.buffer.dtype, obj.buffer.scope))


def _isnullptr(x: Operand) -> Expr:
    expr = as_expr(x)
    if not expr.dtype.is_handle or isinstance(x, str):
        kind = "a string" if isinstance(x, str) else expr.dtype
        raise fail("T104", f"`T.isnullptr` takes a pointer, not {kind}", "that of a buffer is `A.data`")
    return Call(OPS["isnullptr"], (expr,), dtype("bool"))


def _print(*args: Operand) -> Expr:
    return Call(OPS["print"], tuple(map(as_expr, args)), VOID)


def _breakpoint() -> Expr:
    return Call(OPS["breakpoint"], (), VOID)


def _intrinsic(entry: str) -> Any:
    def make(to: Any, name: Operand, *args: Operand) -> Expr:
        return Call(OPS[entry], (as_expr(name), *map(as_expr, args)), _dtype(to))

    return make


def _prefetch(address: Operand, rw: int = 0, locality: int = 3, cache: int = 1) -> Expr:
    place = as_expr(address)
    if not place.dtype.is_handle:
        raise fail("T104", "`T.prefetch` takes an address, as in `T.prefetch(T.address_of(A[0]))`")
    hints = []
    for name, value, greatest in (("rw", rw, 1), ("locality", locality, 3), ("cache", cache, 1)):
        given = as_expr(value)
        if type(given) is not Const or not given.dtype.is_int or not 0 <= given.value <= greatest:
            raise fail("T104", f"`{name}` of `T.prefetch` is a number from 0 to {greatest}")
        hints.append(const(given.value, dtype("int32")))
    return Call(OPS["prefetch"], (place, *hints), VOID)


cast = op(
    "cast", 1, ANY, dtype_arg="last", make=_cast, doc="x converted to a dtype; floats to integers truncate toward zero."
)
reinterpret = op(
    "reinterpret", 1, ANY, dtype_arg="first", make=_reinterpret, doc="The bits of x as another dtype of the same size."
)
undef = op("undef", 0, ANY, dtype_arg="first", make=_undef, doc="Any value.")


def _outside(name: str, make: Any, doc: str, effect: str = "pure") -> Op:
    """A call of what is outside the program, whose dtype comes first and whose name second."""
    return op(name, (1, 1 << 16), ANY, dtype_arg="first", make=make(name), effect=effect, doc=doc)


call_extern = _outside("call_extern", _named, "A C function by symbol: dtype, name, arguments.", "opaque")
call_pure_extern = _outside("call_pure_extern", _named, "A C function without side effects.")
call_llvm_intrin = _outside(
    "call_llvm_intrin", _intrinsic, "An LLVM intrinsic by name: dtype, name, arguments.", "opaque"
)
call_llvm_pure_intrin = _outside("call_llvm_pure_intrin", _intrinsic, "An LLVM intrinsic without side effects.")
prefetch = op(
    "prefetch",
    (1, 4),
    ANY,
    make=_prefetch,
    effect="opaque",
    doc="Bring the memory at an address near: rw (1 to write it), locality (3 near to 0 far), cache (1 data, 0 code).",
)
call_packed = op(
    "call_packed",
    (1, 1 << 16),
    ANY,
    make=_call_packed,
    effect="opaque",
    doc="A registered Python function by name: name, arguments.",
)
address_of = op("address_of", 1, ANY, make=_address_of, doc="The address of an element.")
isnullptr = op("isnullptr", 1, ANY, make=_isnullptr, doc="Whether a handle is null.")
print_ = op("print", (0, 1 << 16), ANY, make=_print, effect="opaque", doc="Print the values, strings as they are.")
breakpoint_ = op(
    "breakpoint", 0, ANY, make=_breakpoint, effect="opaque", doc="Stop in the debugger; the interpreter only."
)
