"""Calls out of the function: other functions of the module, C symbols, registered Python functions, printing and the
debugger."""

from __future__ import annotations

import builtins
import ctypes
import ctypes.util
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from tirscript.ir import (
    Buffer,
    BufferData,
    BufferRegion,
    Call,
    CallFunction,
    DiagnosticError,
    DType,
    Expr,
    StringImm,
    error,
    suggest,
)
from tirscript.ir.array_descriptor import declared_array
from tirscript.ir.words import counted

from ..runtime.c_library import C_TYPES
from ..runtime.library import call_library, get_library, library_names
from .context import Closure, Context
from .errors import Loops, loop_values, malformed, show, undefined_used, unsupported
from .intrinsics import call_intrinsic
from .memory import Pointer, View
from .ops import float_converter, wrap_to
from .regions import compile_decl, compile_region
from .undef import has_undef

Rule = Callable[[Context, Call], Closure]


# -- functions of the module


def call_function(ctx: Context, node: CallFunction) -> Closure:
    """A call of another prim_func with its own frame."""
    program = ctx.program
    callee = program.function(node.function)
    if callee is None:
        near = suggest(node.function, program.names())
        hint = f"did you mean `{near}`?" if near else "functions that call each other are run as a module"
        raise DiagnosticError(
            [error("T307", f"there is no function `{node.function}` in the module", node.span, hint=hint)]
        )
    if len(callee.params) != len(node.args):
        message = f"`{callee.name}` takes {counted(len(callee.params), 'argument')}, not {len(node.args)}"
        raise malformed(node, "T101", message)
    args = [_argument(ctx, node, arg, param) for arg, param in zip(node.args, callee.params, strict=True)]
    name = node.function

    def run(f: list[Any]) -> Any:
        return program.code(name).call(f[0], [arg(f) for arg in args], node)

    return run


def _argument(ctx: Context, node: CallFunction, arg: Expr | Buffer | BufferRegion, param: Any) -> Closure:
    if isinstance(arg, Buffer):
        slot = ctx.slot(arg, node)
        return lambda f: f[slot]
    if isinstance(arg, BufferRegion):
        count = param.ndim if isinstance(param, Buffer) else sum(1 for one in arg.ranges if one.stop is not None)
        return compile_region(ctx, arg, count, node)
    return ctx.expr(arg)


# -- C functions


_C_TYPES: dict[str, Any] = {**C_TYPES, "handle": ctypes.c_void_p, "void": None}


@cache
def _libraries() -> list[ctypes.CDLL]:
    found = [ctypes.CDLL(None)]
    for name in ("m", "c"):
        path = ctypes.util.find_library(name)
        if path is not None:
            found.append(ctypes.CDLL(path))
    return found


def find_symbol(name: str) -> Any:
    """The C function of that name in the process, libm or libc; None where there is none."""
    for library in _libraries():
        try:
            return library[name]  # a new object each time, so that its types are ours alone
        except AttributeError:
            continue
    return None


def _c_type(kind: DType, node: Call, what: str) -> Any:
    if kind.name not in _C_TYPES:
        raise unsupported(
            node, f"{what} is {kind}, which has no C type in the interpreter", "cast it, or build the function"
        )
    return _C_TYPES[kind.name]


def _call_extern(ctx: Context, node: Call) -> Closure:
    name = _function_name(node)
    symbol = find_symbol(name)
    if symbol is None:
        hint = (
            "Python functions are called with `T.call_packed`"
            if get_library(name) is not None
            else "it was looked for in libm, libc and this process"
        )
        raise DiagnosticError([error("T307", f"there is no C function `{name}`", node.span, hint=hint)])
    given = node.args[1:]
    symbol.argtypes = [
        ctypes.c_char_p if type(arg) is StringImm else _c_type(arg.dtype, node, f"argument {number}")
        for number, arg in enumerate(given)
    ]
    symbol.restype = _c_type(node.dtype, node, f"the result of `{name}`")
    args = [ctx.expr(arg) for arg in given]
    result = node.dtype
    back = _result(result)

    def run(f: list[Any]) -> Any:
        values = [arg(f) for arg in args]
        ready: list[Any] = []
        for value in values:
            if has_undef(value):
                raise undefined_used(node, f"an argument of `{name}`")
            if type(value) is Pointer:
                ready.append(value.address)
            else:
                ready.append(
                    value.encode() if type(value) is str else value.item() if hasattr(value, "item") else value
                )
        out = symbol(*ready)
        _written_outside(values)
        if result.is_handle and out:
            raise unsupported(node, f"`{name}` returned an address, which the interpreter cannot follow")
        return back(out)

    return run


def _written_outside(values: list[Any]) -> None:
    for value in values:
        if type(value) is Pointer:
            value.storage.mark_written()


def _result(kind: DType) -> Callable[[Any], Any]:
    if kind.is_float:
        return float_converter(kind)
    if kind.is_bool:
        return bool
    if kind.is_int:
        wrap = wrap_to(kind)
        return lambda value: wrap(int(value))
    return lambda value: None


def _function_name(node: Call) -> str:
    first = node.args[0]
    if type(first) is not StringImm:
        raise malformed(node, "T104", f"`{node.op.spelling}` takes the function's name as a string")
    return first.value


# -- registered functions


def _call_packed(ctx: Context, node: Call) -> Closure:
    name = _function_name(node)
    args = [_packed_argument(ctx, arg) for arg in node.args[1:]]
    kinds = [None if type(arg) is StringImm else arg.dtype for arg in node.args[1:]]
    back = _result(node.dtype)

    def run(f: list[Any]) -> Any:
        function = get_library(name)
        if function is None:
            near = suggest(name, library_names())
            hint = f"did you mean `{near}`?" if near else "name it with `tirscript.register_library(name, function)`"
            raise DiagnosticError(
                [error("T307", f"no library function is registered as `{name}`", node.span, hint=hint)]
            )
        values = [arg(f) for arg in args]
        if any(has_undef(value) for value in values):
            raise undefined_used(node, f"an argument of `{name}`")
        passed = [python_value(value) for value in values]
        out = call_library(function, passed, node.span, kinds)
        if any(out is value for value in passed):
            out = None  # the array that it wrote to, as numpy's functions give back
        for value in values:
            if type(value) is View:
                value.pointer.storage.mark_written()
        _written_outside(values)
        try:
            return back(0 if out is None else out)
        except (TypeError, ValueError):
            raise DiagnosticError(
                [error("T301", f"`{name}` returned {out!r} where {node.dtype} is expected", node.span)]
            ) from None

    return run


def _packed_argument(ctx: Context, arg: Expr) -> Closure:
    if type(arg) is BufferData:  # the whole buffer with its shape
        slot = ctx.slot(arg.buffer, arg)
        return lambda f: f[slot]
    view = declared_array(arg)
    if view is not None:
        declare = compile_decl(ctx, view)
        slot = ctx.slot(view.buffer, arg)
        return lambda f: (declare(f), f[slot])[1]
    return ctx.expr(arg)


def python_value(value: Any) -> Any:
    """A value as Python code outside gets it: arrays that share the memory, Python scalars, tuples of lanes."""
    if type(value) in (View, Pointer):
        return value.array()
    if type(value) is tuple:
        return tuple([python_value(lane) for lane in value])
    if hasattr(value, "item"):
        return float(value)
    return value


# -- printing and the debugger


def _print(ctx: Context, node: Call) -> Closure:
    args = [ctx.expr(arg) for arg in node.args]

    def run(f: list[Any]) -> None:
        sys.stdout.write(" ".join([show(arg(f)) for arg in args]) + "\n")

    return run


def _breakpoint(ctx: Context, node: Call) -> Closure:
    names = [(binder.name, slot) for binder, slot in ctx.visible()]
    loops = ctx.loops

    def run(f: list[Any]) -> None:
        stop({name: python_value(f[slot]) for name, slot in names}, _place(node, f, loops))

    return run


def _place(node: Call, f: list[Any], loops: Loops) -> str:
    return "; ".join([str(node.span) if node.span is not None else "a kernel", *loop_values(f, loops)])


def stop(kernel: dict[str, Any], place: str) -> None:
    """Where `breakpoint()` in a kernel stops: `kernel` holds its variables and buffers by name, `place` says where
    it is."""
    builtins.breakpoint()


def _prefetch(ctx: Context, node: Call) -> Closure:
    address = ctx.expr(node.args[0])  # which is computed, and changes nothing

    def run(f: list[Any]) -> None:
        address(f)

    return run


CALLS: dict[str, Rule] = {
    "call_llvm_intrin": call_intrinsic,
    "call_llvm_pure_intrin": call_intrinsic,
    "prefetch": _prefetch,
    "call_extern": _call_extern,
    "call_pure_extern": _call_extern,
    "call_packed": _call_packed,
    "print": _print,
    "breakpoint": _breakpoint,
}
