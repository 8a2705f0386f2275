"""What apache-tvm's virtual machine does for the programs that it runs: memory by a shape known when the program runs,
checks of arguments, and sizes kept in a tensor, the heap of shapes.

A function takes its arguments and the place of the call. In `match_shape` and `make_shape` a pair of numbers says for
each dimension where its size is: a number itself, or a place in the heap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tirscript.ir.constant import numpy_dtype
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.graph import GraphExpr, OpCall
from tirscript.ir.graph_ops.foreign import new_memory
from tirscript.ir.span import Span
from tirscript.ir.words import counted

from ..runtime.arrays import new_array

Args = Sequence[Any]
Builtin = Callable[[Args, Span | None], Any]


def new_tensor(call: OpCall, value: Callable[[GraphExpr], Any]) -> Any:
    """Memory of the shape and dtype that a call names; `value` gives the value of an argument."""
    shape, kind = (value(one) if isinstance(one, GraphExpr) else one for one in new_memory(call))
    if not isinstance(shape, tuple) or min(shape, default=0) < 0 or not isinstance(kind, (str, DType)):
        _wrong("new memory is told no shape and dtype", call.span)
    return new_array(shape, numpy_dtype(dtype(kind)), "a tensor", call.span, zeros=True)


def _wrong(message: str, span: Span | None, told: Any = "") -> NoReturn:
    hint = told if isinstance(told, str) and told else None
    raise DiagnosticError([error("T301", message, span, hint=hint)])


def _heap(args: Args, span: Span | None) -> Any:
    return new_array((int(args[0]),), np.dtype("int64"), "the heap of shapes", span, zeros=True)


def _match_shape(args: Args, span: Span | None) -> Any:
    value, heap, count, *rest = args
    shape, told = tuple(np.shape(value) if isinstance(value, np.ndarray) else value), rest[2 * count]
    if len(shape) != count:
        _wrong(f"expected {counted(count, 'dimension')}, got {len(shape)}", span, told)
    for at, size in enumerate(shape):
        what, number = rest[2 * at : 2 * at + 2]
        _matched(what, number, size, heap, f"dimension {at}", span, told)
    return ()


def _matched(what: int, number: int, size: Any, heap: Any, where: str, span: Span | None, told: Any) -> None:
    if what == 1:  # the size is kept
        heap[number] = size
        return
    expected = {0: lambda: number, 2: lambda: size, 3: lambda: heap[number]}[what]()
    if expected != size:
        _wrong(f"{where}: expected {expected}, got {size}", span, told)


def _match_scalar(args: Args, span: Span | None) -> Any:
    value, heap, what, number, *told = args
    _matched(what, number, value, heap, "the scalar", span, *told[:1] or ("",))
    return ()


def _make_shape(args: Args, span: Span | None) -> Any:
    heap, count, *rest = args
    return tuple(_sized(heap, *rest[2 * at : 2 * at + 2]) for at in range(count))


def _sized(heap: Any, what: int, number: int) -> int:
    return int(heap[number]) if what == 1 else int(number)


def _make_scalar(args: Args, span: Span | None) -> Any:
    return _sized(*args[:3])


def _check_tensor(args: Args, span: Span | None) -> Any:
    value, rank, *kind, told = args
    if not isinstance(value, np.ndarray):
        _wrong(f"expected a tensor, got {type(value).__name__}", span, told)
    if rank not in (-1, value.ndim):
        _wrong(f"expected {counted(rank, 'dimension')}, got {value.ndim}", span, told)
    if kind and kind[0] is not None and numpy_dtype(dtype(kind[0])) != value.dtype:
        _wrong(f"expected {kind[0]}, got {value.dtype}", span, told)
    return ()


def _check_shape(args: Args, span: Span | None) -> Any:
    value, rank, told = args
    if not isinstance(value, tuple) or rank not in (-1, len(value)):
        _wrong(f"expected a shape of {counted(rank, 'dimension')}", span, told)
    return ()


def _check_tuple(args: Args, span: Span | None) -> Any:
    value, count, told = args
    if not isinstance(value, tuple) or len(value) != count:
        _wrong(f"expected a tuple of {count}", span, told)
    return ()


def _check_nothing(args: Args, span: Span | None) -> Any:
    return ()  # what the types of scalars and functions say, the program has been verified for


def _reshape(args: Args, span: Span | None) -> Any:
    value, shape = args
    if int(np.prod(shape)) != value.size:
        _wrong(f"{value.size} elements do not have the shape {tuple(shape)}", span)
    return value.reshape(shape)


BUILTINS: dict[str, Builtin] = {
    "vm.builtin.alloc_shape_heap": _heap,
    "vm.builtin.match_shape": _match_shape,
    "vm.builtin.match_prim_value": _match_scalar,
    "vm.builtin.make_shape": _make_shape,
    "vm.builtin.make_prim_value": _make_scalar,
    "vm.builtin.check_tensor_info": _check_tensor,
    "vm.builtin.check_shape_info": _check_shape,
    "vm.builtin.check_tuple_info": _check_tuple,
    "vm.builtin.check_prim_value_info": _check_nothing,
    "vm.builtin.check_func_info": _check_nothing,
    "vm.builtin.reshape": _reshape,
    "vm.builtin.copy": lambda args, span: args[0].copy(),
    "vm.builtin.shape_of": lambda args, span: tuple(args[0].shape),
    "vm.builtin.tensor_to_shape": lambda args, span: tuple(map(int, args[0])),
    "vm.builtin.to_device": lambda args, span: args[0],
}
__all__ = ["BUILTINS", "new_tensor"]
