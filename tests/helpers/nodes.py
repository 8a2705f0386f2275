"""Nodes built by hand: a function over a few buffers and variables, and short ways to make its statements."""

from __future__ import annotations

from typing import Any

from tirscript.ir import (
    Axis,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    For,
    PrimFunc,
    Var,
    const,
    dtype,
    get_op,
)

I32, I64, F32, F64, BOOL, VOID = map(dtype, ("int32", "int64", "float32", "float64", "bool", "void"))
A = Buffer(name="A", shape=(const(16),))
B = Buffer(name="B", shape=(const(4), const(4)))
N = Buffer(name="N", shape=(const(16),), dtype=I32)
n = Var(name="n", dtype=I32)
m = Var(name="m", dtype=I64)
x = Var(name="x", dtype=F32)
h = Var(name="h", dtype=dtype("handle"))
ZERO = const(0.0)


def func(*body: Any, params: Any = (A, B, N, n, m, x, h), **fields: Any) -> PrimFunc:
    return PrimFunc(name="f", params=params, body=body, **fields)


def store(value: Any = ZERO, *indices: Any, buffer: Buffer = A, **fields: Any) -> BufferStore:
    return BufferStore(buffer=buffer, indices=indices or (const(0),), value=value, **fields)


def load(*indices: Any, buffer: Buffer = A) -> BufferLoad:
    return BufferLoad(buffer=buffer, indices=indices)


def loop(var: Var, *body: Any, stop: Any = None, **fields: Any) -> For:
    stop = const(16, var.dtype) if stop is None else stop
    return For(var=var, start=const(0, var.dtype), stop=stop, body=body, **fields)


def axis(var: Var, value: Any, stop: Any = 16, kind: str = "spatial") -> Axis:
    return Axis(var=var, kind=kind, start=const(0, var.dtype), stop=const(stop, var.dtype), value=value)


def block(*body: Any, axes: Any = (), **fields: Any) -> Block:
    return Block(name="b", axes=axes, body=body, **fields)


def call(name: str, *args: Any, dtype: Any = I32) -> Call:
    return Call(op=get_op(name), args=args, dtype=dtype)


def scalar(name: str = "s", kind: Any = F32, **fields: Any) -> Buffer:
    return Buffer(name=name, shape=(), dtype=kind, scope="scalar", **fields)


def local(name: str = "L", *shape: int, **fields: Any) -> Buffer:
    return Buffer(name=name, shape=tuple(map(const, shape or (4,))), **fields)
