"""Calls in C: of C functions by name, of registered C functions with their signature, of functions of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir import (
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    DiagnosticError,
    Expr,
    MatchBuffer,
    PrimFunc,
    Span,
    StringImm,
    Var,
    error,
    suggest,
)
from tirscript.ir.dtype import INT64
from tirscript.ir.words import counted

from ..export.names import is_taken
from ..llvm.calls import VARIADIC
from ..llvm.sites import outside
from ..llvm.types import lane_bytes
from ..recursion import ADDRESS_ALONE, DEEPEST_CALL, too_deep
from ..runtime.c_library import CFunction, Parameter, largest
from ..runtime.library import c_library
from . import memory
from .code import EQUAL, ORDER, PLUS, Code, binary, call, cast, within
from .types import NARROW, c_type, declared, literal
from .writer import Report

if TYPE_CHECKING:
    from .writer import Writer


def call_extern(w: Writer, node: Call) -> str:
    """Call a C function; its signature is that of the arguments' dtypes."""
    name, args = node.args[0], node.args[1:]
    assert isinstance(name, StringImm)
    for kind in (node.dtype, *(arg.dtype for arg in args)):
        if kind.is_vector or kind.name in NARROW:
            message = f"C functions called with call_extern take and return no {kind}"
            hint = "pass scalars of other dtypes, or an address"
            raise DiagnosticError([error("T402", message, node.span or w.span, hint=hint)])
    given = [w.value(arg) for arg in args]
    if name.value in VARIADIC:
        given = [cast("double", text) if arg.dtype.is_float else text for text, arg in zip(given, args, strict=True)]
        given = [
            cast("long long", text) if arg.dtype.kind == "int" and arg.dtype.bits == 64 else text
            for text, arg in zip(given, args, strict=True)
        ]
    if not is_taken(name.value):
        kinds = ", ".join(c_type(arg.dtype).strip() for arg in args) or "void"
        w.module.declare(name.value, f"extern {declared(node.dtype, name.value)}({kinds});")
    made = call(name.value, *given)
    if node.op.effect == "opaque" and node.dtype.kind != "void":
        return w.keep(made, node.dtype, "result")
    return made


# library functions


def call_library(w: Writer, node: Call) -> str:
    """Call a C function that is registered as a library function; there is no Python to call others."""
    name = node.args[0]
    assert isinstance(name, StringImm)
    function, span = c_library(name.value), node.span or w.span
    if function is None or function.symbol is None:
        what = f"the program calls the Python function `{name.value}`, and C runs without Python"
        if function is not None:
            what = f"`{name.value}` is a C function without a symbol, so no linker can find it"
        hint = "register a C function: `tirscript.register_library(name, symbol=..., library=..., signature=...)`"
        raise DiagnosticError([error("T402", what, span, hint=hint)])
    return _LibraryCall(w, node, function, span).call()


class _LibraryCall:
    """One call: checks what it passes, and knows the sizes that shapes name."""

    def __init__(self, w: Writer, node: Call, function: CFunction, span: Span | None) -> None:
        self.w, self.node, self.function, self.span = w, node, function, span
        self.sizes: dict[str, str] = {}

    def call(self) -> str:
        w, function = self.w, self.function
        args = self.node.args[1:]
        function.check_count(len(args), self.span)
        pairs = enumerate(zip(function.given, args, strict=True))
        given = iter([self.array(at, arg) if one.kind == "array" else self.scalar(at, arg) for at, (one, arg) in pairs])
        passed = [next(given) if one.given else self.beside(one) for one in function.signature]
        kinds = ", ".join("void *" if one.kind == "array" else c_type(one.dtype) for one in function.signature)
        symbol = function.symbol or ""
        result = "void" if function.returns is None else "int32_t"
        w.module.declare(symbol, f"extern {result} {symbol}({kinds or 'void'});")
        w.module.libraries[symbol] = function
        made = call(symbol, *passed)
        if function.returns is None:
            w.out.add(f"{made};")
            return "0"
        return w.keep(made, self.node.dtype, "result")

    def scalar(self, at: int, arg: Expr) -> str:
        want = self.function.given[at].dtype
        if isinstance(arg, (StringImm, BufferData)) or arg.dtype is not want:
            raise self.wrong(at, "a string" if isinstance(arg, StringImm) else f"{arg.dtype}")
        return self.w.value(arg)

    def array(self, at: int, arg: Expr) -> str:
        """The address of an array, which is checked to be what the signature says."""
        w, one = self.w, self.function.given[at]
        if isinstance(arg, Call) and arg.op.name == "address_of" and isinstance(arg.args[0], BufferLoad):
            if one.shape is not None:
                raise self.wrong(at, "an address, whose shape is not known")
            if arg.args[0].buffer.dtype is not one.dtype:
                raise self.wrong(at, f"an address of {arg.args[0].buffer.dtype}")
            return w.value(arg)
        if not isinstance(arg, BufferData):
            raise self.wrong(at, "a string" if isinstance(arg, StringImm) else f"{arg.dtype}")
        buffer, place = arg.buffer, memory.place(w, arg.buffer)
        if buffer.dtype is not one.dtype:
            raise self.wrong(at, f"a buffer of {buffer.dtype}")
        if one.shape is not None:
            if len(one.shape) != buffer.ndim:
                raise self.wrong(at, f"a buffer of {counted(buffer.ndim, 'dimension')}")
            for axis, (want, got) in enumerate(zip(one.shape, place.dims, strict=True)):
                wanted = self.sizes.setdefault(want, got) if isinstance(want, str) else str(want)
                if wanted != got:
                    self.check(
                        _same(wanted, got),
                        f"dimension {axis} of argument {at + 1} of `{self.function.name}`, "
                        f"which is `{one.text}`, does not fit",
                        [("expected", wanted), ("got", got)],
                    )
        if buffer.strides is not None:
            self.dense(at, place)
        return cast("void *", memory.first_element(w, buffer))

    def dense(self, at: int, place: memory.Place) -> None:
        """Check that elements lie row by row; the stride of a dimension of at most one element does not matter."""
        expected: str = "1"
        for dim, stride in reversed(list(zip(place.dims, place.strides, strict=True))):
            if stride != expected:
                near = f"{within(stride, ORDER)} == {within(expected, ORDER)} || {within(dim, ORDER)} < 2"
                one = self.function.given[at]
                who = f"argument {at + 1} of `{self.function.name}`"
                message = f"{who} is `{one.text}`, whose elements lie row by row without gaps"
                self.check(Code(near, 4), message, [("stride", stride), ("expected", expected)])
            expected = memory.times(expected, dim)

    def beside(self, one: Parameter) -> str:
        """What is passed beside the arguments of the call: a size or a number."""
        if one.kind == "number":
            return literal(one.value, one.dtype)
        size = self.sizes[one.value]
        if one.least:
            size = call(self.w.helpers.need("max", INT64), size, str(one.least))
        if one.dtype.bits < 64:
            self.check(
                Code(f"{within(size, ORDER)} <= {largest(one.dtype)}", ORDER),
                self.function.too_large(one),
                [(one.value, size)],
            )
            size = cast(c_type(one.dtype), size)
        return size

    def check(self, condition: Code, message: str, values: list[tuple[str, str]]) -> None:
        self.w.check(condition, "shape", message, lambda: [Report(name, text, INT64) for name, text in values])

    def wrong(self, at: int, got: str) -> DiagnosticError:
        return self.function.wrong(at, got, self.span)


def _same(a: str, b: str) -> Code:
    return Code(f"{within(a, ORDER)} == {within(b, ORDER)}", EQUAL)


# functions of the module


class _View(Struct, frozen=True, eq=False):
    """Memory passed to a function: the address of its first element, dims and strides in elements."""

    pointer: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]
    whole: bool  # row-major without gaps, as its declaration says


def call_function(w: Writer, node: CallFunction) -> str:
    """Call another function of the module; its shapes are checked here."""
    span = node.span or w.span
    callee = w.module.functions.get(node.function)
    if callee is None:
        near = suggest(node.function, w.module.functions)
        hint = f"did you mean `{near}`?" if near else None
        raise DiagnosticError([error("T307", f"the module has no function `{node.function}`", span, hint=hint)])
    if len(node.args) != len(callee.params):
        message = f"`{callee.name}` takes {counted(len(callee.params), 'argument')}, not {len(node.args)}"
        raise DiagnosticError([error("T101", message, span)])
    return _Binding(w, node, callee, span).call()


class _Binding:
    """One call: what its parameters and symbols are."""

    def __init__(self, w: Writer, node: CallFunction, callee: PrimFunc, span: Span | None) -> None:
        self.w, self.node, self.callee, self.span = w, node, callee, span
        self.matched = {s.source: s.buffer for s in callee.body if type(s) is MatchBuffer and type(s.source) is Var}
        self.known: dict[Var, str] = {}
        self.passed: list[str] = []

    def call(self) -> str:
        w, callee = self.w, self.callee
        views: list[tuple[int, Buffer, _View]] = []
        for param, arg in zip(callee.params, self.node.args, strict=True):
            buffer = param if isinstance(param, Buffer) else self.matched.get(param)
            if isinstance(param, Var) and not param.dtype.is_handle:
                self.scalar(param, arg)
            elif isinstance(arg, (Buffer, BufferRegion)):
                view = self.view(arg)
                if buffer is not None:
                    dims, strides = self.fitting(buffer, arg, view)
                    view = _View(view.pointer, dims, strides, view.whole)
                    self.bind(buffer, view)
                    views.append((len(self.passed), buffer, view))
                self.passed.append(view.pointer)
            elif arg.dtype.is_handle:
                if isinstance(param, Buffer):
                    raise self.wrong(
                        f"`{param.name}` of `{callee.name}` is a buffer and cannot be given an address", "T301"
                    )
                self.passed.append(w.value(arg))
            else:
                raise self.wrong(f"`{param.name}` of `{callee.name}` takes memory, not {arg.dtype}", "T301")
        self.check(views)
        for symbol in callee.symbols:
            if symbol not in self.known:
                hint = "pass whole buffers or regions, whose shapes are known"
                raise self.wrong(f"`{symbol.name}` of `{callee.name}` cannot be bound by this call", "T206", hint)
            text = self.known[symbol]
            self.passed.append(text if symbol.dtype is INT64 else cast(c_type(symbol.dtype), text))
        made = ""
        if callee.returns is not None:
            made = w.name("returned")
            w.out.add(f"{declared(callee.returns, made)};")
            self.passed.append(f"&{made}")
        w.passes(call(w.module.kernel(callee.name), *self.passed, *self.depth()))
        return made

    def depth(self) -> tuple[str, ...]:
        """How deep the call is nested, which is told to a function that may have called this one."""
        w = self.w
        if self.callee.name not in w.module.recursive:
            return ()
        if not w.depth:
            return ("0",)
        before, w.span = w.span, self.span
        w.check(Code(f"{w.depth} < {DEEPEST_CALL}", ORDER), "depth", too_deep())
        w.span = before
        return (f"{w.depth} + 1",)

    def wrong(self, message: str, code: str, hint: str | None = None) -> DiagnosticError:
        return DiagnosticError([error(code, message, self.span, hint=hint)])

    def scalar(self, param: Var, arg: Any) -> None:
        if not isinstance(arg, Expr) or arg.dtype is not param.dtype:
            got = arg.dtype if isinstance(arg, Expr) else "a buffer"
            raise self.wrong(f"`{param.name}` of `{self.callee.name}` is {param.dtype}, not {got}", "T204")
        text = self.w.once(arg)
        self.passed.append(text)
        if param.dtype.is_int:
            self.known[param] = text

    def view(self, arg: Buffer | BufferRegion) -> _View:
        """The memory that an argument names."""
        w = self.w
        buffer = arg if isinstance(arg, Buffer) else arg.buffer
        at = memory.place(w, buffer)
        kind = c_type(buffer.dtype)
        if not isinstance(arg, BufferRegion):
            first: str = memory.first_element(w, buffer)
            if at.alias:
                first = cast(f"{kind} *", first)
            return _View(first, at.dims, at.strides, buffer.strides is None)
        index, dims = Code(at.offset), []
        for axis, (part, stride) in enumerate(zip(arg.ranges, at.strides, strict=True)):
            start = memory.size(w, part.start)
            index = memory.plus(index, memory.times(start, stride))
            stop = None if part.stop is None else memory.size(w, part.stop)
            if stop is None or (stop.isdigit() and start.isdigit()):
                dims.append("1" if stop is None else str(int(stop) - int(start)))
            else:
                dims.append(stop if start == "0" else binary(stop, "-", start, PLUS))
            if w.debug and not w.ranges.holds(arg, axis):
                self.report_outside(arg, axis, start, dims[-1], at.dims[axis])
        index = memory.times(index, str(buffer.dtype.lanes))
        pointer: str = at.data if index == "0" else Code(f"&{within(at.data, 15)}[{index}]", 14)
        return _View(cast(f"{kind} *", pointer) if at.alias else pointer, tuple(dims), at.strides, False)

    def report_outside(self, arg: BufferRegion, axis: int, start: str, size: str, dim: str) -> None:
        """In a debug build: report a region outside of its buffer."""
        w = self.w
        stop = Code(f"{within(start, 12)} + {within(size, 13)}", 12)
        ends = [f"{within(start, ORDER + 1)} >= 0", f"{within(size, ORDER + 1)} >= 0", f"{stop} <= {within(dim, 11)}"]
        values = [Report("", value, INT64) for value in (start, stop, dim)]
        before, w.span = w.span, arg.span or self.span
        w.check(Code(" && ".join(ends), 5), "bounds", outside(arg.buffer, axis), lambda: values)
        w.span = before

    def fitting(self, param: Buffer, arg: Any, view: _View) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The dims and strides without the single elements that the parameter has no dimension for."""
        buffer = arg if isinstance(arg, Buffer) else arg.buffer
        if buffer.dtype is not param.dtype:
            given = f"`{buffer.name}` holds {buffer.dtype}"
            raise self.wrong(f"`{param.name}` of `{self.callee.name}` holds {param.dtype}, but {given}", "T204")
        dims, strides = view.dims, view.strides
        if len(dims) > param.ndim and isinstance(arg, BufferRegion):
            keep = [part.stop is not None for part in arg.ranges]
            dims = tuple(dim for dim, kept in zip(dims, keep, strict=True) if kept)
            strides = tuple(stride for stride, kept in zip(strides, keep, strict=True) if kept)
        if len(dims) != param.ndim:
            given = f"what is passed has {len(dims)}"
            what = f"`{param.name}` of `{self.callee.name}` has {counted(param.ndim, 'dimension')}, but {given}"
            raise self.wrong(what, "T207", ADDRESS_ALONE if param in self.matched.values() else None)
        return dims, strides

    def bind(self, param: Buffer, view: _View) -> None:
        """What stands alone in the shape, the strides and the offset of a parameter."""
        for dim, given in zip(param.shape, view.dims, strict=True):
            if isinstance(dim, Var):
                self.known.setdefault(dim, given)
        for stride, given in zip(param.strides or (), view.strides, strict=False):
            if isinstance(stride, Var):
                self.known.setdefault(stride, given)
        if isinstance(param.elem_offset, Var):
            self.known.setdefault(param.elem_offset, "0")

    def check(self, views: list[tuple[int, Buffer, _View]]) -> None:
        """Compare shapes and strides with what the parameters declare, where that is not plain."""
        w = self.w
        mine = {var: w.values[var] for var in self.known if var in w.values}
        for var, text in self.known.items():
            w.values[var] = text if var.dtype is INT64 else cast(c_type(var.dtype), text)
        for position, param, view in views:
            wanted = [self.wanted(dim) for dim in param.shape]
            who = f"`{param.name}` of `{self.callee.name}`"
            for axis, (want, given) in enumerate(zip(wanted, view.dims, strict=True)):
                self.same(want, given, f"dimension {axis} of {who}")
            if not (view.whole and param.strides is None):
                expected: str = "1"
                for axis in reversed(range(param.ndim)):
                    if param.strides is not None:
                        expected = self.wanted(param.strides[axis])
                    if "0" not in wanted and wanted[axis] != "1":
                        self.same(expected, view.strides[axis], f"stride {axis} of {who}", (axis, wanted))
                    if param.strides is None:
                        expected = memory.times(expected, wanted[axis])
            if param.elem_offset is not None and not isinstance(param.elem_offset, Var):
                # the callee adds its offset to the pointer
                back = memory.times(memory.size(w, param.elem_offset), str(param.dtype.lanes))
                self.passed[position] = f"{within(view.pointer, 12)} - {within(back, 13)}"
            if param.align > lane_bytes(param.dtype):
                low = f"(uintptr_t){within(view.pointer, 14)} % {param.align} == 0"
                w.check(Code(low, EQUAL), "shape", f"{who} must be aligned to {param.align} bytes")
        for var in self.known:
            if var in mine:
                w.values[var] = mine[var]
            else:
                w.values.pop(var, None)

    def wanted(self, size: Expr) -> str:
        return self.known[size] if isinstance(size, Var) and size in self.known else memory.size(self.w, size)

    def same(self, want: str, given: str, what: str, step: tuple[int, list[str]] | None = None) -> None:
        """`want` must be `given`; the stride of an axis, `step` with all dimensions, only where something lies one
        step away: the dimension has more than one element, and no dimension has none."""
        if want == given:
            return
        limits = [(dim, int(at == step[0])) for at, dim in enumerate(step[1]) if not dim.isdigit()] if step else []
        if want.isdigit() and given.isdigit() and not limits:
            raise self.wrong(f"{what} must be {want}, but is {given}", "T207")
        condition = _same(want, given)
        for dim, most in limits:
            condition = Code(f"{condition} || {within(dim, ORDER)} <= {most}", 4)
        self.w.check(
            condition,
            "shape",
            f"{what} does not agree with what is passed",
            lambda: [Report("wanted", want, INT64), Report("given", given, INT64)],
        )


__all__ = ["call_extern", "call_function", "call_library"]
