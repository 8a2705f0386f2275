"""The native entry of a built function: what CPython's vectorcall jumps to.

    PyObject *entry(PyObject *self, PyObject *const *args, size_t nargs, PyObject *kwnames)

It checks the arguments by reading Python's and numpy's structs (`runtime/layout.py`), binds the symbolic dimensions,
calls the kernel and makes the result. Keywords and tensors of other libraries take a detour that is native, too
(`runtime/exchange.py`). Whatever it does not know at once (numpy scalars, other DLPack objects, every mistake) goes to
the slow path that the function object carries, which converts the arguments or tells what is wrong.
"""

from __future__ import annotations

import ctypes

from msgspec import Struct

from tirscript.backend.runtime import layout
from tirscript.backend.runtime.exchange import type_code
from tirscript.backend.runtime.layout import ArrayFields, offset
from tirscript.ir import Buffer, Const, MatchBuffer, Var

from .builder import FunctionText, ModuleText
from .entry_plan import TABLE, EntryPlan
from .entry_values import INTEGERS, SCALARS, Table, ValueWriter, unbound_symbol
from .sites import ERROR_TYPE
from .types import call_type

__all__ = ["TABLE", "EntryPlan", "Table", "add_entry", "add_portable_entry"]


class _Array(Struct, eq=False):
    """A buffer argument: values of the entry."""

    param: Var | Buffer
    buffer: Buffer
    data: str = ""
    dims: tuple[str, ...] = ()
    strides: tuple[str, ...] = ()


def add_entry(module: ModuleText, table: Table, plan: EntryPlan) -> str:
    """Write the entry of a function into the module of its kernel; returns the entry's symbol."""
    symbol = f"entry.{plan.kernel}"
    text = FunctionText(module)
    _Writer(text, table, plan).write()
    # not optimized: that would cost more time in every build than the kernel's, and gain one nanosecond a call
    head = f'define ptr @"{symbol}"(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) noinline optnone'
    module.functions.append(text.text(head))
    return symbol


def add_portable_entry(module: ModuleText, plan: EntryPlan) -> str:
    """Write `i32 entry(ptr slots, ptr out, ptr error)`, which takes every argument of the kernel in an 8-byte slot;
    returns its symbol."""
    symbol = f"portable.{plan.kernel}"
    text = FunctionText(module)
    kinds = [_param_type(param) for param in plan.func.params] + [call_type(var.dtype) for var in plan.symbols]
    args = []
    for at, kind in enumerate(kinds):
        where = text.op(f"getelementptr inbounds i64, ptr %slots, i64 {at}")
        args.append((kind, text.op(f"load {kind}, ptr {where}, align 8")))
    if plan.func.returns is not None:
        args.append(("ptr", "%out"))
    args += [("ptr", "%error"), *_depth(plan)]
    text.end(f"ret i32 {text.kernel(plan.kernel, args)}")
    module.functions.append(text.text(f'define i32 @"{symbol}"(ptr %slots, ptr %out, ptr %error)'))
    return symbol


def _depth(plan: EntryPlan) -> list[tuple[str, str]]:
    """What a function that may call itself is told."""
    return [("i32", "0")] if plan.recursive else []


def _param_type(param: Var | Buffer) -> str:
    return "ptr" if isinstance(param, Buffer) else call_type(param.dtype)


class _Writer(ValueWriter):
    """Writes one entry."""

    def __init__(self, text: FunctionText, table: Table, plan: EntryPlan) -> None:
        super().__init__(text, table, plan)
        self.arrays: dict[Var | Buffer, _Array] = {}
        matched = {
            stmt.source: stmt.buffer
            for stmt in plan.func.body
            if type(stmt) is MatchBuffer and type(stmt.source) is Var
        }
        for param in plan.func.params:
            if isinstance(param, Buffer):
                self.arrays[param] = _Array(param, param)
            elif param in matched:
                self.arrays[param] = _Array(param, matched[param])

    def write(self) -> None:
        """The whole entry: types first, then the arrays' heads, then scalars, shapes and overlap, then the call."""
        text, params = self.text, self.plan.func.params
        args = self.in_order(len(params))
        objects = {}
        for at, param in enumerate(params):
            where = text.op(f"getelementptr inbounds ptr, ptr {args}, i64 {at}")
            objects[param] = text.op(f"load ptr, ptr {where}, align 8", "object")
            if not self.is_viewable(param):
                self.check_type(param, objects[param])
        self.require()
        objects |= self.as_arrays({param: objects[param] for param in params if self.is_viewable(param)})
        for param, array in self.arrays.items():
            self.read_array(array, objects[param])
        self.require()
        given: dict[Var | Buffer, tuple[str, str]] = {}
        for param in params:
            if param in self.arrays:
                self.read_shape(self.arrays[param])
            else:
                assert isinstance(param, Var)
                given[param] = SCALARS[param.dtype.kind](self, objects[param], param)
        self.bind_symbols()
        self.check_shapes()
        self.require()
        if self.plan.noalias:
            self.check_overlap()
        self.call_kernel(
            [("ptr", self.arrays[param].data) if param in self.arrays else given[param] for param in params]
        )
        text.start(self.slow)
        slow = self.own(layout.FUNCTION_SLOW)
        call = [("ptr", slow), ("ptr", "%args"), ("i64", "%nargs"), ("ptr", "%kwnames")]
        text.end(f"ret ptr {self.api('ptr', 'PyObject_Vectorcall', *call)}")

    def in_order(self, params: int) -> str:
        """Where the arguments are in the order of the parameters: keywords are rare, and put in order elsewhere
        (`runtime/exchange.py`)."""
        text = self.text
        count = text.op("and i64 %nargs, 9223372036854775807")  # without PY_VECTORCALL_ARGUMENTS_OFFSET
        keywords, plain, ready = text.block("keywords"), text.block("plain"), text.block("ready")
        text.branch(text.op("icmp ne ptr %kwnames, null"), keywords, plain, unlikely=True)
        text.start(keywords)
        order = self.helper("order")
        out = text.alloca(f"[{max(1, params)} x ptr]", 8, "ordered")
        names = self.table.names(self.plan.kernel, params)
        given = [
            ("ptr", "%args"),
            ("i64", count),
            ("ptr", "%kwnames"),
            ("ptr", names),
            ("i64", str(params)),
            ("ptr", out),
        ]
        self.leave_unless(text.call("i1", order, given))
        by_keyword = text.label
        text.jump(ready)
        text.start(plain)
        self.check(f"icmp eq i64 {count}, {params}")
        self.require()
        by_position = text.label
        text.jump(ready)
        text.start(ready)
        return text.phi("ptr", (out, by_keyword), ("%args", by_position))

    def helper(self, name: str) -> str:
        """A function of `runtime/exchange.py`; the slow path where it is not there yet."""
        cell = self.table.load(self.text, f"cell:{name}")
        function = self.text.op(f"load ptr, ptr {cell}, align 8")
        self.leave_unless(self.text.op(f"icmp ne ptr {function}, null"))
        return function

    # types

    def is_viewable(self, param: Var | Buffer) -> bool:
        """Whether a tensor of another library may stand for the parameter without the slow path."""
        array = self.arrays.get(param)
        return array is not None and array.buffer.strides is None and type_code(array.buffer.dtype) is not None

    def as_arrays(self, given: dict[Var | Buffer, str]) -> dict[Var | Buffer, str]:
        """Arrays of numpy for all of these parameters: as they are, or what heads of tensors look like as such."""
        text = self.text
        if not given:
            return given
        read, foreign = text.block("arrays"), text.block("foreign")
        numpy = [self.is_type(value, "ndarray") for value in given.values()]
        every = numpy[0]
        for one in numpy[1:]:
            every = text.op(f"and i1 {every}, {one}")
        from_numpy = text.label
        text.branch(text.op(f"xor i1 {every}, true"), foreign, read, unlikely=True)
        text.start(foreign)
        view = self.helper("view")
        found = {}
        for param, value in given.items():
            kind = self.arrays[param].buffer.dtype.element
            out = text.alloca(f"[{ctypes.sizeof(ArrayFields)} x i8]", 8, "head")
            flags = layout.WRITEABLE if param in self.plan.written else 0
            descr = self.table.load(text, f"dtype:{kind.name}")
            size = str(kind.itemsize)
            args = [("ptr", value), ("ptr", out), ("i32", str(type_code(kind))), ("i64", size), ("i32", str(flags))]
            found[param] = text.call("ptr", view, [*args, ("ptr", descr)])
            self.leave_unless(text.op(f"icmp ne ptr {found[param]}, null"))
        from_foreign = text.label
        text.jump(read)
        text.start(read)
        return {
            param: text.phi("ptr", (value, from_numpy), (found[param], from_foreign)) for param, value in given.items()
        }

    def check_type(self, param: Var | Buffer, value: str) -> None:
        """The argument must be of the type that the entry reads without asking."""
        if param in self.arrays:
            self.checks.append(self.is_type(value, "ndarray"))
            return
        assert isinstance(param, Var)
        kind = param.dtype.kind
        if kind == "bool":
            either = self.text.op(f"or i1 {self.is_object(value, 'True')}, {self.is_object(value, 'False')}")
            self.checks.append(either)
        elif kind == "handle":
            self.checks.append(self.text.op(f"or i1 {self.is_type(value, 'ndarray')}, {self.is_object(value, 'None')}"))
        elif kind in INTEGERS:
            self.checks.append(self.is_type(value, "int"))
        else:
            self.checks.append(self.is_type(value, "float"))

    # arrays

    def read_array(self, array: _Array, value: str) -> None:
        """What is in the array's head: rank, flags, dtype, address. The shape is read once the rank is known."""
        buffer, text = array.buffer, self.text
        lanes = buffer.dtype.lanes  # vectors are the last dimension of the caller's array
        rank = buffer.ndim + (lanes != 1)
        self.check(f"icmp eq i32 {self.field('i32', value, offset(ArrayFields, 'nd'), 4)}, {rank}")
        wanted = layout.ALIGNED
        if buffer.strides is None:
            wanted |= layout.C_CONTIGUOUS
        if array.param in self.plan.written:
            wanted |= layout.WRITEABLE
        have = text.op(f"and i32 {self.field('i32', value, offset(ArrayFields, 'flags'), 4)}, {wanted}")
        self.check(f"icmp eq i32 {have}, {wanted}")
        self.check_dtype(buffer.dtype.element, value)
        array.data = self.field("ptr", value, offset(ArrayFields, "data"))
        if rank:
            array.dims = (self.field("ptr", value, offset(ArrayFields, "dimensions")),)
            if buffer.strides is not None:
                array.strides = (self.field("ptr", value, offset(ArrayFields, "strides")),)

    def read_shape(self, array: _Array) -> None:
        """Dimensions and strides as values; lanes must be as many as the elements have, side by side."""
        buffer, lanes = array.buffer, array.buffer.dtype.lanes
        if lanes != 1:
            self.check(f"icmp eq i64 {self.field('i64', array.dims[0], 8 * buffer.ndim)}, {lanes}")
            if array.strides:
                step = buffer.dtype.itemsize // lanes
                self.check(f"icmp eq i64 {self.field('i64', array.strides[0], 8 * buffer.ndim)}, {step}")
        array.dims = tuple(self.field("i64", array.dims[0], 8 * at) for at in range(buffer.ndim))
        if array.strides:
            array.strides = tuple(self.field("i64", array.strides[0], 8 * at) for at in range(buffer.ndim))

    def bind_symbols(self) -> None:
        """Give each symbolic dimension the first dimension, stride or offset that is it alone."""
        unbound = set(self.plan.func.symbols) - set(self.values)
        found: dict[Var, str] = {}
        for array in self.arrays.values():
            for dim, have in zip(array.buffer.shape, array.dims, strict=True):
                if type(dim) is Var and dim in unbound:
                    found.setdefault(dim, have)
        for array in self.arrays.values():
            size = array.buffer.dtype.itemsize
            for stride, have in zip(array.buffer.strides or (), array.strides, strict=True):
                if type(stride) is Var and stride in unbound and stride not in found:
                    found[stride] = self.text.op(f"sdiv i64 {have}, {size}")
        for array in self.arrays.values():
            if type(array.buffer.elem_offset) is Var and array.buffer.elem_offset in unbound:
                found.setdefault(array.buffer.elem_offset, "0")
        for var in self.plan.func.symbols:
            if var not in self.values and var not in found:
                raise unbound_symbol(var, self.plan.func)
        for var, value in found.items():
            self.values[var] = value
            low, high = var.dtype.int_range()
            if value.startswith("%") and high < (1 << 63) - 1:
                self.check(f"icmp sle i64 {value}, {high}")
            if value.startswith("%") and low > -(1 << 63):
                self.check(f"icmp sge i64 {value}, {low}")

    def check_shapes(self) -> None:
        """Every dimension and declared stride is what the buffer says; so are the declared alignment and offset."""
        text = self.text
        for array in self.arrays.values():
            buffer, size = array.buffer, array.buffer.dtype.itemsize
            for extent, have in zip(buffer.shape, array.dims, strict=True):
                want = self.value(extent)
                if want != have:
                    self.check(f"icmp eq i64 {have}, {want}")
            for stride, dim, have in zip(buffer.strides or (), array.dims, array.strides, strict=bool(buffer.strides)):
                same = text.op(f"icmp eq i64 {have}, {text.op(f'mul i64 {self.value(stride)}, {size}')}")
                single = text.op(f"icmp ule i64 {dim}, 1")  # one element or none: the stride takes no step
                steps = text.op(f"or i1 {same}, {single}")
                self.checks.append(text.op(f"or i1 {steps}, {self.is_empty(array)}"))
            if buffer.align > buffer.dtype.element.itemsize:
                rest = text.op(f"and i64 {text.op(f'ptrtoint ptr {array.data} to i64')}, {buffer.align - 1}")
                aligned = text.op(f"icmp eq i64 {rest}, 0")
                self.checks.append(text.op(f"or i1 {aligned}, {self.is_empty(array)}"))
            if buffer.elem_offset is not None:
                self.check(f"icmp eq i64 {self.value(buffer.elem_offset)}, 0")  # an array begins at its first element

    def is_empty(self, array: _Array) -> str:
        """Whether the array has no elements."""
        empty = "false"
        for dim, have in zip(array.buffer.shape, array.dims, strict=True):
            if type(dim) is not Const or dim.value == 0:
                empty = self.text.op(f"or i1 {empty}, {self.text.op(f'icmp eq i64 {have}, 0')}")
        return empty

    # overlap

    def check_overlap(self) -> None:
        """Where a written buffer shares bytes with another one, ask the slow path, which knows about elements between
        elements."""
        text, plan = self.text, self.plan
        arrays = list(self.arrays.values())
        every = [(a, b) for at, a in enumerate(arrays) for b in arrays[at + 1 :]]
        pairs = [(a, b) for a, b in every if a.param in plan.written or b.param in plan.written]
        if not pairs:
            return
        bounds = {id(array): self.bounds(array) for array in {id(a): a for pair in pairs for a in pair}.values()}
        clash = "false"
        for a, b in pairs:
            (low_a, high_a), (low_b, high_b) = bounds[id(a)], bounds[id(b)]
            first = text.op(f"icmp ult i64 {low_a}, {high_b}")
            second = text.op(f"icmp ult i64 {low_b}, {high_a}")
            both = text.op(f"and i1 {first}, {second}")
            clash = both if clash == "false" else text.op(f"or i1 {clash}, {both}")
        ask, run = text.block("overlap"), text.block("run")
        text.branch(clash, ask, run, unlikely=True)
        text.start(ask)
        allowed = text.op(f"icmp eq ptr {self.own(layout.FUNCTION_SLOW)}, {self.table.load(text, 'object:refuse')}")
        text.branch(allowed, run, self.slow)
        text.start(run)

    def bounds(self, array: _Array) -> tuple[str, str]:
        """The first byte and the byte after the last of the elements. An empty array begins at the greatest address, so
        that no
        pair of bounds crosses it."""
        text, size = self.text, array.buffer.dtype.itemsize
        start = text.op(f"ptrtoint ptr {array.data} to i64")
        if array.buffer.strides is None:
            length = str(size)
            for dim, have in zip(array.buffer.shape, array.dims, strict=True):
                length = text.op(f"mul i64 {length}, {int(dim.value) if type(dim) is Const else have}")
            return text.select(self.is_empty(array), "i64", "-1", start), text.op(f"add i64 {start}, {length}")
        low, high = start, text.op(f"add i64 {start}, {size}")
        for have, stride in zip(array.dims, array.strides, strict=True):
            span = text.op(f"mul i64 {text.op(f'sub i64 {have}, 1')}, {stride}")
            down = text.op(f"icmp slt i64 {span}, 0")
            low = text.op(f"add i64 {low}, {text.select(down, 'i64', span, '0')}")
            high = text.op(f"add i64 {high}, {text.select(down, 'i64', '0', span)}")
        return text.select(self.is_empty(array), "i64", "-1", low), high

    # the call

    def call_kernel(self, args: list[tuple[str, str]]) -> None:
        """Call the kernel, without the GIL where that pays, and turn what it says into a result or an exception."""
        text, plan = self.text, self.plan
        record = text.alloca(ERROR_TYPE, 8, "error")
        args += [(call_type(var.dtype), self.narrow(self.values[var], var.dtype)) for var in plan.symbols]
        out = text.alloca("i64", 8, "out") if plan.func.returns is not None else None
        if out is not None:
            args.append(("ptr", out))
        args += [("ptr", record), *_depth(plan)]
        state = self.api("ptr", "PyEval_SaveThread") if plan.release else ""
        status = text.kernel(plan.kernel, args)
        if plan.release:
            self.api("void", "PyEval_RestoreThread", ("ptr", state))
        failed = text.block("failed")
        self.leave_unless(text.op(f"icmp eq i32 {status}, 0"), failed)
        if out is None:
            text.end(f"ret ptr {self.shared('None')}")
        else:
            text.end(f"ret ptr {self.result(out, plan.func.returns)}")  # type: ignore[arg-type]
        text.start(failed)
        null, tell = text.block("null"), text.block("tell")
        address = self.api("ptr", "PyLong_FromVoidPtr", ("ptr", record))
        text.branch(text.op(f"icmp eq ptr {address}, null"), null, tell, unlikely=True)
        text.start(tell)
        answer = self.api("ptr", "PyObject_CallOneArg", ("ptr", self.own(layout.FUNCTION_FAIL)), ("ptr", address))
        self.api("void", "Py_DecRef", ("ptr", address))
        text.end(f"ret ptr {answer}")
        text.start(null)
        text.end("ret ptr null")
