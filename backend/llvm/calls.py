"""Calls: of C functions by symbol, of Python functions, of other functions of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.backend.recursion import ADDRESS_ALONE, DEEPEST_CALL, HINT, too_deep
from tirscript.backend.runtime.failure import RAISED as RAISED_SITE
from tirscript.backend.runtime.packed import CALLBACK, MODULE_TOKEN, PythonCall
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, Call, CallFunction, Const, Expr, StringImm, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.span import Span
from tirscript.ir.stmt import MatchBuffer
from tirscript.ir.words import counted

from . import memory
from .sites import Report, outside
from .state import RAISED
from .types import call_type, lane_bytes, memory_type, scalar_type, value_type

if TYPE_CHECKING:
    from .codegen import Codegen

# C functions with `...`, and how many parameters stand before it
VARIADIC = {"printf": 1, "fprintf": 2, "dprintf": 2, "sprintf": 2, "snprintf": 3}


# C functions


def call_extern(g: Codegen, call: Call, *, pure: bool) -> str:
    """Call a C function; its signature is that of the arguments' dtypes."""
    name, args = call.args[0], call.args[1:]
    assert isinstance(name, StringImm)
    span = call.span or g.span
    result = "void" if call.dtype.kind == "void" else _c_type(call.dtype, span)
    given = []
    for arg in args:
        value, kind = g.value(arg), _c_type(arg.dtype, span)
        if name.value in VARIADIC and kind == "float":
            value, kind = g.b.op(f"fpext float {value} to double"), "double"
        given.append((_extended(kind, arg.dtype), value))
    g.state.externs.setdefault(name.value, span)
    attributes = "nounwind willreturn memory(none)" if pure else "nounwind"
    back = _extended(result, call.dtype, result=True)
    fixed = VARIADIC.get(name.value)
    if fixed is None:
        symbol = g.b.module.declare(name.value, back, [kind for kind, _ in given], attributes)
        return g.b.call(back, symbol, given)
    shape = [kind for kind, _ in given[:fixed]]
    symbol = g.b.module.declare(name.value, back, [*shape, "..."], attributes)
    return (
        g.b.call(f"{back} ({', '.join([*shape, '...'])})", symbol, given)
        if result != "void"
        else _variadic_void(g, shape, symbol, given)
    )


def _variadic_void(g: Codegen, shape: list[str], symbol: str, given: list[tuple[str, str]]) -> str:
    g.b.do(
        f"call void ({', '.join([*shape, '...'])}) {symbol}({', '.join(f'{kind} {value}' for kind, value in given)})"
    )
    return ""


def _c_type(dtype: DType, span: Span | None) -> str:
    if dtype.is_vector or dtype.kind in ("bfloat", "float8"):
        raise DiagnosticError(
            [
                error(
                    "T402",
                    f"C functions called with call_extern take and return no {dtype}",
                    span,
                    hint="pass scalars of other dtypes, or an address",
                )
            ]
        )
    return value_type(dtype)


def _extended(kind: str, dtype: DType, *, result: bool = False) -> str:
    """Small integers are widened to an int in C's calling convention."""
    if kind not in ("i1", "i8", "i16"):
        return kind
    word = "signext" if dtype.kind == "int" else "zeroext"
    return f"{word} {kind}" if result else f"{kind} {word}"


# Python functions


def call_python(g: Codegen, call: Call) -> str:
    """Call a registered function, or print; every argument is laid into 8-byte slots, the first of which takes the
    result."""
    b = g.b
    slots: list[str] = []
    described: list[tuple[str, Any]] = []
    packed = call.op.name == "call_packed"
    name = call.args[0].value if packed and isinstance(call.args[0], StringImm) else ""
    for arg in call.args[1:] if packed else call.args:
        if isinstance(arg, StringImm):
            described.append(("string", arg.value))
        elif isinstance(arg, BufferData):
            place = memory.place(g, arg.buffer)
            slots.append(g.carried(memory.first_element(g, arg.buffer), arg.dtype))
            slots += place.dims
            slots += place.strides
            described.append(("buffer", arg.buffer))
        elif isinstance(arg, Call) and arg.op.name == "address_of" and isinstance(arg.args[0], BufferLoad):
            pointer = g.value(arg)
            slots += [g.carried(pointer, arg.dtype), memory.elements_after(g, arg.args[0].buffer, pointer)]
            described.append(("pointer", arg.args[0].buffer.dtype))
        elif arg.dtype.is_handle:
            slots.append(g.carried(g.value(arg), arg.dtype))
            described.append(("handle", arg.dtype))
        else:
            value, dtype = g.value(arg), arg.dtype
            slots += [
                g.carried(b.lane(scalar_type(dtype), value, dtype.lanes, k), dtype.element) for k in range(dtype.lanes)
            ]
            described.append(("value", dtype))
    g.state.python_calls.append(
        PythonCall("packed" if packed else "print", name, tuple(described), call.span or g.span)
    )
    memory_ = b.alloca(f"[{len(slots) + 1} x i64]", 8, "args")
    for at, slot in enumerate(slots, 1):
        b.do(f"store i64 {slot}, ptr {b.op(f'getelementptr inbounds i64, ptr {memory_}, i64 {at}')}, align 8")
    symbol = b.module.declare(CALLBACK, "i32", ["i64", "i32", "ptr"])
    token = b.op(f'load i64, ptr @"{MODULE_TOKEN}", align 8')
    status = b.call("i32", symbol, [("i64", token), ("i32", str(len(g.state.python_calls) - 1)), ("ptr", memory_)])
    good, bad = b.block("passed"), b.block("raised")
    b.branch(b.op(f"icmp ne i32 {status}, 0"), bad, good, unlikely=True)
    b.start(bad)
    g.record(RAISED_SITE, [b.op(f"load i64, ptr {memory_}, align 8", "ticket")])
    g.leave(str(RAISED))
    b.start(good)
    if call.dtype.kind == "void":
        return ""
    return b.op(f"load {memory_type(call.dtype)}, ptr {memory_}, align 8")


# functions of the module


class _View(Struct, frozen=True, eq=False):
    """Memory passed to a function: the address of its first element, dims and strides in elements."""

    pointer: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]
    buffer: Buffer | None
    whole: bool  # row-major without gaps, as its declaration says


def call_function(g: Codegen, call: CallFunction) -> str:
    """Call another function of the module; what a caller from Python would be told of wrong shapes is checked here."""
    span = call.span or g.span
    callee = g.state.functions.get(call.function)
    if callee is None:
        near = suggest(call.function, g.state.functions)
        raise DiagnosticError(
            [
                error(
                    "T307",
                    f"the module has no function `{call.function}`",
                    span,
                    hint=f"did you mean `{near}`?" if near else None,
                )
            ]
        )
    if len(call.args) != len(callee.params):
        raise DiagnosticError(
            [
                error(
                    "T101",
                    f"`{callee.name}` takes {counted(len(callee.params), 'argument')}, not {len(call.args)}",
                    span,
                )
            ]
        )
    return _Binding(g, call, callee, span).call()


class _Binding:
    """One call: what its parameters and symbols are."""

    def __init__(self, g: Codegen, call: CallFunction, callee: PrimFunc, span: Span | None) -> None:
        self.g, self.call_node, self.callee, self.span = g, call, callee, span
        self.matched = {
            stmt.source: stmt.buffer
            for stmt in callee.body
            if type(stmt) is MatchBuffer and isinstance(stmt.source, Var)
        }
        self.known: dict[Var, str] = {}  # as i64
        self.passed: list[tuple[str, str]] = []

    def call(self) -> str:
        g, b, callee = self.g, self.g.b, self.callee
        views: list[tuple[int, Buffer, _View]] = []
        for param, arg in zip(callee.params, self.call_node.args, strict=True):
            buffer = param if isinstance(param, Buffer) else self.matched.get(param)
            if isinstance(param, Var) and not param.dtype.is_handle:
                self.scalar(param, arg)
            elif isinstance(arg, (Buffer, BufferRegion)):
                view = self.view(arg)
                if buffer is not None:
                    self.match(buffer, view)
                    views.append((len(self.passed), buffer, view))
                self.passed.append(("ptr", view.pointer))
            elif arg.dtype.is_handle:
                if isinstance(param, Buffer):
                    raise self.wrong(
                        f"`{param.name}` of `{callee.name}` is a buffer and cannot be given an address", "T301"
                    )
                self.passed.append(("ptr", g.value(arg)))
            else:
                raise self.wrong(f"`{param.name}` of `{callee.name}` takes memory, not {arg.dtype}", "T301")
        self.check(views)
        for symbol in callee.symbols:
            if symbol not in self.known:
                raise self.wrong(
                    f"`{symbol.name}` of `{callee.name}` cannot be bound by this call",
                    "T206",
                    "pass whole buffers or regions, whose shapes are known",
                )
            kind = value_type(symbol.dtype)
            self.passed.append((kind, self.known[symbol] if kind == "i64" else self.narrow(self.known[symbol], kind)))
        out = ""
        if callee.returns is not None:
            out = b.alloca(memory_type(callee.returns), 8, "out")
            self.passed.append(("ptr", out))
        g.passes(self.status())
        if callee.returns is None:
            return ""
        value = b.op(f"load {memory_type(callee.returns)}, ptr {out}, align {lane_bytes(callee.returns)}")
        return b.op(f"icmp ne i8 {value}, 0") if callee.returns.is_bool else value

    def status(self) -> str:
        """Call the kernel, which must not be nested too deep where it may have called this one."""
        g, symbol = self.g, self.g.state.symbols[self.callee.name]
        self.passed.append(("ptr", "%error"))
        nested = g.depth != "0"
        if self.callee.name not in g.state.recursive:
            # put into the place of the call, it would make each of the nested frames larger
            return g.b.kernel(symbol, self.passed, " noinline" if nested else "")
        if nested:
            with g.pointing(self.span):
                g.check(g.b.op(f"icmp ult i32 {g.depth}, {DEEPEST_CALL}"), "depth", too_deep(), hint=HINT)
        depth = g.b.op(f"add nuw nsw i32 {g.depth}, 1") if nested else "0"
        return g.b.kernel(symbol, [*self.passed, ("i32", depth)])

    def narrow(self, value: str, kind: str) -> str:
        return self.g.b.op(f"trunc i64 {value} to {kind}") if value.startswith("%") else value

    def wrong(self, message: str, code: str, hint: str | None = None) -> DiagnosticError:
        return DiagnosticError([error(code, message, self.span, hint=hint)])

    def scalar(self, param: Var, arg: Any) -> None:
        g, b = self.g, self.g.b
        if not isinstance(arg, Expr) or arg.dtype is not param.dtype:
            got = arg.dtype if isinstance(arg, Expr) else "a buffer"
            raise self.wrong(f"`{param.name}` of `{self.callee.name}` is {param.dtype}, not {got}", "T204")
        given = value = g.value(arg)
        have, want = value_type(param.dtype), call_type(param.dtype)
        if have != want:
            value = b.op(f"{'zext' if param.dtype.is_bool else 'bitcast'} {have} {value} to {want}")
        self.passed.append((want, value))
        if not param.dtype.is_int:
            return
        if type(arg) is Var or type(arg) is Const or param.dtype.bits == 64:
            self.known[param] = given if param.dtype.bits == 64 else g.wide(arg)
        else:  # the argument is not evaluated again: it may be a call
            self.known[param] = g.carried(given, param.dtype)

    def view(self, arg: Buffer | BufferRegion) -> _View:
        """The memory that an argument names."""
        g = self.g
        buffer = arg if isinstance(arg, Buffer) else arg.buffer
        at = memory.place(g, buffer)
        if not isinstance(arg, BufferRegion):
            return _View(memory.first_element(g, buffer), at.dims, at.strides, buffer, buffer.strides is None)
        index, dims = at.offset, []
        for axis, (part, stride) in enumerate(zip(arg.ranges, at.strides, strict=True)):
            start = g.wide(part.start)
            index = memory.add(g, index, memory.multiply(g, start, stride))
            dims.append("1" if part.stop is None else self.difference(g.wide(part.stop), start))
            if g.debug and not g.ranges.holds(arg, axis):
                self.report_outside(arg, axis, start, dims[-1], at.dims[axis])
        pointer = memory.pointer_to(g, buffer.dtype, at.data, index)
        return _View(pointer, tuple(dims), at.strides, buffer, False)

    def report_outside(self, arg: BufferRegion, axis: int, start: str, size: str, dim: str) -> None:
        """In a debug build: report a region outside of its buffer."""
        g, b = self.g, self.g.b
        fits = b.op(f"icmp ule i64 {size}, {dim}")
        begins = b.op(f"icmp ule i64 {start}, {b.op(f'sub i64 {dim}, {size}')}")
        stop = b.op(f"add i64 {start}, {size}")
        values = [Report("", value, INT64) for value in (start, stop, dim)]
        message = outside(arg.buffer, axis)
        with g.pointing(arg.span or self.span):
            g.check(b.op(f"and i1 {fits}, {begins}"), "bounds", message, lambda: values, buffer=arg.buffer)

    def difference(self, stop: str, start: str) -> str:
        if start == "0":
            return stop
        if not stop.startswith("%") and not start.startswith("%"):
            return str(int(stop) - int(start))
        return self.g.b.op(f"sub nsw i64 {stop}, {start}")

    def match(self, param: Buffer, view: _View) -> None:
        """Bind what stands alone in the shape, the strides and the offset of a parameter; dtypes and ranks must
        agree."""
        assert view.buffer is not None
        if view.buffer.dtype is not param.dtype:
            given = f"`{view.buffer.name}` holds {view.buffer.dtype}"
            raise self.wrong(f"`{param.name}` of `{self.callee.name}` holds {param.dtype}, but {given}", "T204")
        dims, strides = self.aligned(param, view)
        for dim, given in zip(param.shape, dims, strict=True):
            if isinstance(dim, Var):
                self.known.setdefault(dim, given)
        for stride, given in zip(param.strides or (), strides, strict=False):
            if isinstance(stride, Var):
                self.known.setdefault(stride, given)
        if isinstance(param.elem_offset, Var):
            self.known.setdefault(param.elem_offset, "0")

    def aligned(self, param: Buffer, view: _View) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The dims and strides of a region without the single elements that the parameter has no dimension for."""
        dims, strides = view.dims, view.strides
        arg = next((a for a in self.call_node.args if isinstance(a, BufferRegion) and a.buffer is view.buffer), None)
        if len(dims) > param.ndim and arg is not None and not view.whole:
            keep = [part.stop is not None for part in arg.ranges]
            dims = tuple(dim for dim, kept in zip(dims, keep, strict=True) if kept)
            strides = tuple(stride for stride, kept in zip(strides, keep, strict=True) if kept)
        if len(dims) != param.ndim:
            given = f"what is passed has {len(dims)}"
            what = f"`{param.name}` of `{self.callee.name}` has {counted(param.ndim, 'dimension')}, but {given}"
            raise self.wrong(what, "T207", ADDRESS_ALONE if param in self.matched.values() else None)
        return dims, strides

    def check(self, views: list[tuple[int, Buffer, _View]]) -> None:
        """Compare shapes and strides with what the parameters declare, where that is not plain."""
        g = self.g
        # the function may call itself
        mine = [(table, {var: table[var] for var in self.known if var in table}) for table in (g.values, g.wides)]
        for var, value in self.known.items():
            g.wides[var] = value
            g.values[var] = value if var.dtype.bits == 64 else self.narrow(value, value_type(var.dtype))
        for position, param, view in views:
            dims, strides = self.aligned(param, view)
            wanted = [
                self.known[dim] if isinstance(dim, Var) and dim in self.known else g.wide(dim) for dim in param.shape
            ]
            for axis, (want, given) in enumerate(zip(wanted, dims, strict=True)):
                self.same(want, given, f"dimension {axis} of `{param.name}` of `{self.callee.name}`")
            if not (view.whole and param.strides is None):
                self.check_strides(param, wanted, strides)
            if param.elem_offset is not None and not isinstance(param.elem_offset, Var):
                # the callee adds its offset to the pointer
                back = memory.multiply(g, g.wide(param.elem_offset), "-1")
                self.passed[position] = ("ptr", memory.pointer_to(g, param.dtype, view.pointer, back))
            if param.align > lane_bytes(param.dtype):
                self.check_align(param, view.pointer)
        for table, before in mine:
            for var in self.known:
                if var in before:
                    table[var] = before[var]
                else:
                    table.pop(var, None)

    def check_strides(self, param: Buffer, dims: list[str], strides: tuple[str, ...]) -> None:
        g = self.g
        expected = "1"
        for axis in reversed(range(param.ndim)):
            if param.strides is not None:
                stride = param.strides[axis]
                expected = self.known[stride] if isinstance(stride, Var) and stride in self.known else g.wide(stride)
            if "0" not in dims and dims[axis] != "1":
                what = f"stride {axis} of `{param.name}` of `{self.callee.name}`"
                self.same(expected, strides[axis], what, step=(axis, dims))
            if param.strides is None:
                expected = memory.multiply(g, expected, dims[axis])

    def same(self, want: str, given: str, what: str, step: tuple[int, list[str]] | None = None) -> None:
        """`want` must be `given`; the stride of an axis, `step` with all dimensions, only where something lies one
        step away: the dimension has more than one element, and no dimension has none."""
        g, b = self.g, self.g.b
        if want == given:
            return
        limits = [(dim, int(at == step[0])) for at, dim in enumerate(step[1]) if dim.startswith("%")] if step else []
        if not want.startswith("%") and not given.startswith("%") and not limits:
            raise self.wrong(f"{what} must be {want}, but is {given}", "T207")
        equal = b.op(f"icmp eq i64 {want}, {given}")
        for dim, most in limits:
            equal = b.op(f"or i1 {equal}, {b.op(f'icmp sle i64 {dim}, {most}')}")
        g.check(
            equal,
            "shape",
            f"{what} does not agree with what is passed",
            lambda: [Report("wanted", want, INT64), Report("given", given, INT64)],
        )

    def check_align(self, param: Buffer, pointer: str) -> None:
        b = self.g.b
        low = b.op(f"and i64 {b.op(f'ptrtoint ptr {pointer} to i64')}, {param.align - 1}")
        message = f"`{param.name}` of `{self.callee.name}` must be aligned to {param.align} bytes"
        self.g.check(b.op(f"icmp eq i64 {low}, 0"), "shape", message)
