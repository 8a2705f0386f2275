"""Native calls of C functions that are registered with their signature (`backend/runtime/c_library.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tirscript.backend.runtime.c_library import CFunction, Parameter, largest
from tirscript.backend.runtime.library import c_library
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import BufferData, BufferLoad, Call, Expr, StringImm
from tirscript.ir.op import const
from tirscript.ir.words import counted

from . import memory
from .linking import library_symbol
from .sites import Report
from .types import value_type

if TYPE_CHECKING:
    from .codegen import Codegen


def call_library(g: Codegen, call: Call) -> str:
    """Call a C function that is registered as a library function; "" where the name is not that of one."""
    if call.op.name != "call_packed":
        return ""
    name = call.args[0]
    function = c_library(name.value) if isinstance(name, StringImm) else None
    return "" if function is None else _LibraryCall(g, call, function).call()


class _LibraryCall:
    """One call: checks what it passes, and knows the sizes that shapes name."""

    def __init__(self, g: Codegen, node: Call, function: CFunction) -> None:
        self.g, self.node, self.function = g, node, function
        self.span = node.span or g.span
        self.sizes: dict[str, str] = {}  # as i64

    def call(self) -> str:
        g, function = self.g, self.function
        args = self.node.args[1:]
        function.check_count(len(args), self.span)
        pairs = enumerate(zip(function.given, args, strict=True))
        given = iter([_RULES[one.kind](self, at, arg) for at, (one, arg) in pairs])
        passed = [next(given) if one.given else self.beside(one) for one in function.signature]
        symbol = library_symbol(function.name)
        g.state.libraries[symbol] = function
        result = "void" if function.returns is None else "i32"
        declared = g.b.module.declare(symbol, result, [kind for kind, _ in passed], "nounwind")
        status = g.b.call(result, declared, passed)
        return "0" if function.returns is None else status

    def scalar(self, at: int, arg: Expr) -> tuple[str, str]:
        want = self.function.given[at].dtype
        if isinstance(arg, (StringImm, BufferData)) or arg.dtype is not want:
            self.wrong(at, "a string" if isinstance(arg, StringImm) else f"{arg.dtype}")
        return _widened(want), self.g.value(arg)

    def array(self, at: int, arg: Expr) -> tuple[str, str]:
        """The address of an array, which is checked to be what the signature says."""
        g, one = self.g, self.function.given[at]
        if isinstance(arg, Call) and arg.op.name == "address_of" and isinstance(arg.args[0], BufferLoad):
            if one.shape is not None:
                self.wrong(at, "an address, whose shape is not known")
            if arg.args[0].buffer.dtype is not one.dtype:
                self.wrong(at, f"an address of {arg.args[0].buffer.dtype}")
            return "ptr", g.value(arg)
        if not isinstance(arg, BufferData):
            self.wrong(at, "a string" if isinstance(arg, StringImm) else f"{arg.dtype}")
        buffer, place = arg.buffer, memory.place(g, arg.buffer)
        if buffer.dtype is not one.dtype:
            self.wrong(at, f"a buffer of {buffer.dtype}")
        if one.shape is not None:
            if len(one.shape) != buffer.ndim:
                self.wrong(at, f"a buffer of {counted(buffer.ndim, 'dimension')}")
            for axis, (want, got) in enumerate(zip(one.shape, place.dims, strict=True)):
                wanted = self.sizes.setdefault(want, got) if isinstance(want, str) else str(want)
                self.same(at, axis, wanted, got)
        if buffer.strides is not None:
            self.dense(at, place.dims, place.strides)
        return "ptr", memory.first_element(g, buffer)

    def same(self, at: int, axis: int, wanted: str, got: str) -> None:
        if wanted == got:
            return
        text = self.function.given[at].text
        if not wanted.startswith("%") and not got.startswith("%"):
            self.wrong(at, f"a buffer whose dimension {axis} is {got} where {wanted} is expected")
        self.check(
            self.g.b.op(f"icmp eq i64 {wanted}, {got}"),
            f"dimension {axis} of argument {at + 1} of `{self.function.name}`, which is `{text}`, does not fit",
            [Report("expected", wanted, INT64), Report("got", got, INT64)],
        )

    def dense(self, at: int, dims: tuple[str, ...], strides: tuple[str, ...]) -> None:
        """Check that elements lie row by row; the stride of a dimension of at most one element does not matter."""
        b, expected = self.g.b, "1"
        for dim, stride in reversed(list(zip(dims, strides, strict=True))):
            if stride != expected:
                near = b.op(f"icmp eq i64 {stride}, {expected}")
                single = b.op(f"icmp ult i64 {dim}, 2")
                self.check(
                    b.op(f"or i1 {near}, {single}"),
                    f"argument {at + 1} of `{self.function.name}` is `{self.function.given[at].text}`, whose elements "
                    "lie row by row without gaps",
                    [Report("stride", stride, INT64), Report("expected", expected, INT64)],
                )
            expected = memory.multiply(self.g, expected, dim)

    def beside(self, one: Parameter) -> tuple[str, str]:
        """What is passed beside the arguments of the call: a size or a number."""
        g, b = self.g, self.g.b
        if one.kind == "number":
            return _widened(one.dtype), g.value(const(one.value, one.dtype))
        size = self.sizes[one.value]
        if one.least:
            size = b.intrinsic("llvm.smax", ["i64"], "i64", [("i64", size), ("i64", str(one.least))])
        if one.dtype.bits < 64:
            fits = b.op(f"icmp ule i64 {size}, {largest(one.dtype)}")
            self.check(fits, self.function.too_large(one), [Report(one.value, size, INT64)])
            size = b.op(f"trunc i64 {size} to {value_type(one.dtype)}")
        return _widened(one.dtype), size

    def check(self, condition: str, message: str, reports: list[Report]) -> None:
        self.g.check(condition, "shape", message, lambda: reports)

    def wrong(self, at: int, got: str) -> NoReturn:
        raise self.function.wrong(at, got, self.span)


def _widened(dtype: DType) -> str:
    """The type of an argument; C's calling convention widens small integers to an int."""
    kind = value_type(dtype)
    return kind if kind not in ("i1", "i8", "i16") else f"{kind} {'signext' if dtype.kind == 'int' else 'zeroext'}"


_RULES = {"scalar": _LibraryCall.scalar, "array": _LibraryCall.array}
