"""The C entry of a function, written in the tensor language itself, so that every back end compiles it.

    i32 entry(struct *A, int64_t n, struct *B)      checks the arrays and calls      kernel(A, n, B)

An array is the struct DLTensor of DLPack. The entry reads its fields, looks that rank, dtype and address are what the
kernel takes and that no array that is written overlaps another, and calls the kernel with views of the memory; shapes,
strides and alignment are checked by that call, as by any call between functions of a module.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tirscript.ir import (
    Bind,
    Buffer,
    BufferLoad,
    Call,
    CallFunction,
    Const,
    DeclBuffer,
    DiagnosticError,
    DType,
    Evaluate,
    Expr,
    MatchBuffer,
    PrimFunc,
    Return,
    Stmt,
    Var,
    error,
)
from tirscript.ir.dtype import HANDLE, INT32, INT64, VOID
from tirscript.ir.expr import const
from tirscript.ir.op import OPS, get_op
from tirscript.ir.stmt import Assert
from tirscript.ir.words import counted
from tirscript.ir.written import noalias
from tirscript.passes.names import Names

from ..runtime.arguments import buffer_of
from ..runtime.exchange import type_code
from .plan import CParam

ENTRY = "c entry of "  # before a function's name: no name of a program has a space
SUFFIX_SHAPES = "_shapes"
CPU = 1  # DLPack's number of the device


class Entry(Struct, frozen=True, eq=False):
    """An entry: the function to compile, and its parameters in C."""

    func: PrimFunc
    params: tuple[CParam, ...]


class StructLayout(Struct, frozen=True):
    """Where the fields of DLTensor are: the bytes of an address, and to how many an int64 in a struct is aligned."""

    pointer: int = 8
    wide: int = 8

    def field(self, head: _Head, at: int) -> Expr:
        """The pointer at a byte, as an int64."""
        if self.pointer == 8:
            return head.wide(at // 8)
        return head.narrow(at // 4).astype("uint32").astype("int64")

    def data(self, head: _Head) -> Expr:
        return self.field(head, 0)

    def device(self, head: _Head) -> Expr:
        return head.narrow(self.pointer // 4)

    def ndim(self, head: _Head) -> Expr:
        return head.narrow((self.pointer + 8) // 4)

    def dtype(self, head: _Head) -> Expr:
        return head.narrow((self.pointer + 12) // 4)

    def shape(self, head: _Head) -> Expr:
        return self.field(head, self.pointer + 16)

    def strides(self, head: _Head) -> Expr:
        return self.field(head, 2 * self.pointer + 16)

    def byte_offset(self, head: _Head) -> Expr:
        at = -(-(3 * self.pointer + 16) // self.wide) * self.wide
        if at % 8 == 0 and self.wide == 8:
            return head.wide(at // 8)
        high, low = (head.narrow(at // 4 + half).astype("uint32").astype("int64") for half in (1, 0))
        return high * const(1 << 32, INT64) + low


class _Head:
    """The struct of one argument, as two views of its memory."""

    def __init__(self, struct: Var) -> None:
        words = 12
        self.narrow_view = Buffer(f"{struct.name}_words", (const(words, INT64),), INT32)
        self.wide_view = Buffer(f"{struct.name}_fields", (const(words // 2, INT64),), INT64)
        self.decls = (DeclBuffer(self.narrow_view, struct), DeclBuffer(self.wide_view, struct))

    def narrow(self, at: int) -> Expr:
        return BufferLoad(self.narrow_view, (const(at, INT64),))

    def wide(self, at: int) -> Expr:
        return BufferLoad(self.wide_view, (const(at, INT64),))


class _Array(Struct, eq=False):
    """An array argument: the view that is passed on, and the bytes it takes."""

    name: str
    view: Buffer
    written: bool
    low: Expr
    high: Expr
    empty: Expr


def entry_of(func: PrimFunc, kernel: PrimFunc, written: frozenset[Any], layout: StructLayout) -> Entry:
    """The entry of `kernel`, which `func` was lowered to.

    Raises DiagnosticError T402 for parameters that C has no words for.
    """
    return _Writer(func, kernel, written, layout).write()


class _Writer:
    """Writes one entry."""

    def __init__(self, func: PrimFunc, kernel: PrimFunc, written: frozenset[Any], struct: StructLayout) -> None:
        self.func, self.kernel, self.written, self.struct = func, kernel, written, struct
        self.body: list[Stmt] = []
        self.arrays: list[_Array] = []
        self.unique = Names(()).fresh  # the names of parameters, each unlike those before it

    def write(self) -> Entry:
        """All of it."""
        given: list[Var] = []
        passed: list[Any] = []
        params: list[CParam] = []
        for param in self.func.params:
            buffer = buffer_of(self.func, param)
            is_written = param in self.written
            if buffer is not None:
                struct = Var(buffer.name, HANDLE)
                given.append(struct)
                passed.append(self.array(struct, buffer, is_written))
                shape = tuple(map(_words, buffer.shape))
                if buffer.dtype.lanes != 1:
                    shape = (*shape, str(buffer.dtype.lanes))
                params.append(CParam(self.unique(buffer.name), "array", buffer.dtype.element.name, shape, is_written))
                continue
            assert isinstance(param, Var)
            if param.dtype.is_vector:
                raise self.refused(f"`{param.name}` is a vector, {param.dtype}", param)
            copy = Var(param.name, param.dtype)
            given.append(copy)
            passed.append(copy)
            if param.dtype.is_handle:
                to = param.dtype.pointee
                params.append(
                    CParam(self.unique(param.name), "pointer", "void" if to is None else to.name, (), is_written)
                )
            else:
                params.append(CParam(self.unique(param.name), "scalar", param.dtype.name))
        if noalias(self.func):
            self.separate()
        returns = self.kernel.returns
        call = CallFunction(self.kernel.name, tuple(passed), VOID if returns is None else returns)
        self.body.append(Evaluate(call) if returns is None else Return(call))
        made = PrimFunc(
            ENTRY + self.func.name, tuple(given), tuple(self.body), returns=returns, private=True, span=self.func.span
        )
        return Entry(made, tuple(params))

    def refused(self, message: str, param: Any) -> DiagnosticError:
        return DiagnosticError(
            [error("T402", f"`{self.func.name}` cannot be exported: {message}", param.span or self.func.span)]
        )

    def bind(self, name: str, value: Expr) -> Var:
        var = Var(name, value.dtype)
        self.body.append(Bind(var, value))
        return var

    def require(self, condition: Expr, message: str) -> None:
        self.body.append(Assert(condition, message, span=self.func.span))

    def array(self, struct: Var, buffer: Buffer, written: bool) -> Buffer:
        """Check the head of an array and view its memory; returns the view."""
        name, layout = struct.name, self.struct
        who = f"`{name}` of `{self.func.name}`"
        code = type_code(buffer.dtype)
        if code is None:
            raise self.refused(f"`{name}` holds {buffer.dtype}, which DLPack has no word for", buffer)
        self.require(OPS["logical_not"](OPS["isnullptr"](struct)), f"{who} must not be null")
        head = _Head(struct)
        self.body += head.decls
        self.require(_equal(layout.device(head), CPU), f"{who} must be in the memory of the processor (device_type 1)")
        lanes = buffer.dtype.lanes
        rank = buffer.ndim + (lanes != 1)
        ndim = self.bind(f"{name}.ndim", layout.ndim(head))
        self.require(_equal(ndim, rank), f"{who} must have {counted(rank, 'dimension')}")
        kind = self.bind(f"{name}.dtype", layout.dtype(head))
        self.require(
            _equal(kind, code), f"{who} must hold {buffer.dtype.element}, by the number that code, bits and lanes make"
        )
        dims: list[Expr] = []
        steps: list[Expr] = []
        if rank:
            dims, steps = self.sizes(name, head, rank)
        if lanes != 1:
            self.require(_equal(dims[-1], lanes), f"the last dimension of {who} must be {lanes}")
            self.require(_equal(steps[-1], 1), f"the last dimension of {who} must have no gaps")
            dims, steps = dims[:-1], [OPS["truncdiv"](step, const(lanes, INT64)) for step in steps[:-1]]
        empty: Expr = const(False)
        for dim in dims:
            empty = OPS["logical_or"](empty, _equal(dim, 0)) if empty != const(False) else _equal(dim, 0)
        begin = self.bind(f"{name}.address", layout.data(head) + layout.byte_offset(head))
        self.require(
            OPS["logical_or"](OPS["not_equal"](begin, const(0, INT64)), empty), f"the data of {who} must not be null"
        )
        size = buffer.dtype.element.itemsize
        if size > 1:
            self.require(_equal(begin % size, 0), f"the data of {who} must be aligned to {size} bytes")
        # the loads stand in the address itself, so that passes see which argument it comes from
        address = get_op("reinterpret")(HANDLE, layout.data(head) + layout.byte_offset(head))
        view = Buffer(name, tuple(dims), buffer.dtype, tuple(steps))
        self.body.append(DeclBuffer(view, address))
        low, high = self.span_of(name, begin, dims, steps, buffer.dtype)
        self.arrays.append(_Array(name, view, written, low, high, empty))
        return view

    def sizes(self, name: str, head: _Head, rank: int) -> tuple[list[Expr], list[Expr]]:
        """The dimensions and strides in elements; a struct without strides lies row by row."""
        count = (const(rank, INT64),)
        shape = Buffer(f"{name}_shape", count, INT64)
        self.require(
            OPS["not_equal"](self.struct.shape(head), const(0, INT64)),
            f"`{name}` of `{self.func.name}` must have a shape",
        )
        self.body.append(DeclBuffer(shape, get_op("reinterpret")(HANDLE, self.struct.shape(head))))
        dims = [self.bind(f"{name}.shape{at}", BufferLoad(shape, (const(at, INT64),))) for at in range(rank)]
        for at, dim in enumerate(dims):
            within = OPS["logical_and"](dim >= const(0, INT64), dim < const(1 << 56, INT64))
            self.require(within, f"dimension {at} of `{name}` of `{self.func.name}` must be a size")
        given = Buffer(f"{name}_strides", count, INT64)
        where = self.bind(f"{name}.strides", self.struct.strides(head))
        self.body.append(DeclBuffer(given, get_op("reinterpret")(HANDLE, where)))
        there = OPS["not_equal"](where, const(0, INT64))
        expected: Expr = const(1, INT64)
        steps: list[Expr] = []
        for at in reversed(range(rank)):
            load = BufferLoad(given, (const(at, INT64),))
            steps.insert(0, self.bind(f"{name}.stride{at}", OPS["if_then_else"](there, load, expected)))
            expected = expected * dims[at]
        return list(dims), steps

    def span_of(self, name: str, begin: Expr, dims: list[Expr], steps: list[Expr], dtype: DType) -> tuple[Expr, Expr]:
        """The first byte of the elements, and the byte after the last."""
        zero = const(0, INT64)
        low, high = begin, begin + const(dtype.itemsize, INT64)
        for dim, step in zip(dims, steps, strict=True):
            reach = (dim - const(1, INT64)) * step * const(dtype.itemsize, INT64)
            low, high = low + OPS["min"](reach, zero), high + OPS["max"](reach, zero)
        return self.bind(f"{name}.begin", low), self.bind(f"{name}.end", high)

    def separate(self) -> None:
        """No array that is written shares bytes with another."""
        either = OPS["logical_or"]
        for at, one in enumerate(self.arrays):
            for other in self.arrays[at + 1 :]:
                if not (one.written or other.written):
                    continue
                apart = either(one.high <= other.low, other.high <= one.low)
                which = one if one.written else other
                rest = other if which is one else one
                message = f"`{which.name}` of `{self.func.name}` is written and must not overlap `{rest.name}`"
                self.require(either(apart, either(one.empty, other.empty)), message)


def shapes_of(func: PrimFunc, outs: int, layout: StructLayout) -> tuple[PrimFunc, Entry] | None:
    """For a function whose last `outs` parameters are results: one that writes their dimensions, and its entry.

    None where all of them are known.
    """
    results = [param for param in func.params[len(func.params) - outs :] if isinstance(param, Buffer)]
    dims = [dim for result in results for dim in result.shape]
    if all(type(dim) is Const for dim in dims):
        return None
    from tirscript.ir.stmt import BufferStore

    inputs = func.params[: len(func.params) - outs]
    shapes = Buffer("shapes", (const(len(dims), INT64),), INT64)
    handle = Var("shapes", HANDLE)
    stores = [BufferStore(shapes, (const(at, INT64),), _int64(dim)) for at, dim in enumerate(dims)]
    matched = tuple(stmt for stmt in func.body if type(stmt) is MatchBuffer and stmt.source in inputs)
    body = (*matched, DeclBuffer(shapes, handle), *stores)
    teller = PrimFunc(func.name + SUFFIX_SHAPES, (*inputs, handle), body, span=func.span)
    bound = teller.symbols
    free = [var for dim in dims for var in _variables(dim) if var not in bound and var not in inputs]
    if free:
        names = ", ".join(f"`{var.name}`" for var in dict.fromkeys(free))
        message = f"`{func.name}` cannot be exported: the shape of its result depends on {names}, which no argument has"
        raise DiagnosticError([error("T402", message, func.span)])
    return teller, entry_of(teller, teller, frozenset((handle,)), layout)


def _variables(expr: Expr) -> list[Var]:
    from tirscript.ir.rewrite import walk

    return list(walk(expr, Var))


def _int64(expr: Expr) -> Expr:
    return expr if expr.dtype is INT64 else expr.astype("int64")


def _equal(value: Expr, to: int) -> Call:
    made = OPS["equal"](value, const(to, value.dtype))
    assert type(made) is Call
    return made


def _words(dim: Expr) -> str:
    from ..runtime.arguments import expr_words

    return str(int(dim.value)) if type(dim) is Const else expr_words(dim)


__all__ = ["ENTRY", "Entry", "entry_of", "shapes_of"]
