"""Calling kernels through ctypes, without the entries that Python calls."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tirscript.backend.llvm import ERROR_SIZE, CompiledModule, compile_functions
from tirscript.backend.runtime import packed
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import Buffer, DType, Module, PrimFunc, Var

_WORDS = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}


def compiled(source: Module | PrimFunc | str, **options: Any) -> CompiledModule:
    """Machine code of a program; text is parsed and lowered."""
    if isinstance(source, str):
        from tirscript.passes.lower import DEFAULT_LOWERING
        from tirscript.script import parse

        source = DEFAULT_LOWERING(parse(source))
    return compile_functions(source, **options)


def call(module: CompiledModule, name: str, *args: Any, symbols: dict[str, int] | None = None) -> Any:
    """Call a kernel; symbols are bound by the arrays' shapes or given. Raises what a failed check raises."""
    function = module.functions[name]
    given: list[Any] = []
    known: dict[Var, int] = {}
    for info, arg in zip(function.params, args, strict=False):
        if info.llvm == "ptr":
            given.append(ctypes.c_void_p(arg.ctypes.data if isinstance(arg, np.ndarray) else arg))
            if isinstance(info.buffer, Buffer) and isinstance(arg, np.ndarray):
                known.update(
                    {dim: size for dim, size in zip(info.buffer.shape, arg.shape, strict=False) if isinstance(dim, Var)}
                )
        else:
            given.append(_scalar(arg, info.dtype))
    for info in function.params[len(args) :]:
        assert info.kind == "symbol", f"{name} misses {info.name}"
        assert isinstance(info.var, Var)
        given.append(_scalar(known[info.var] if info.var in known else (symbols or {})[info.name], info.dtype))
    out = np.zeros(1, numpy_dtype(function.returns)) if function.returns is not None else None
    if out is not None:
        given.append(ctypes.c_void_p(out.ctypes.data))
    record = ctypes.create_string_buffer(ERROR_SIZE)
    given.append(ctypes.c_void_p(ctypes.addressof(record)))
    if function.recursive:
        given.append(ctypes.c_int32(0))
    status = ctypes.CFUNCTYPE(ctypes.c_int32, *[type(value) for value in given])(function.address)(*given)
    if status == 2:
        raised = packed.take_exception(ctypes.c_int64.from_buffer(record, 8).value)
        assert raised is not None
        raise raised
    if status == 1:
        raise module.failure(ctypes.addressof(record))
    assert status == 0
    return None if out is None else out[0]


def _scalar(value: Any, dtype: DType) -> Any:
    """A scalar as ctypes passes it; narrow floats as their bits."""
    if dtype.name == "float32":
        return ctypes.c_float(value)
    if dtype.name == "float64":
        return ctypes.c_double(value)
    bits = np.array([value], numpy_dtype(dtype)).view(f"u{dtype.itemsize}")[0]
    return _WORDS[dtype.itemsize](int(bits))


def run(
    source: Module | PrimFunc | str,
    *args: Any,
    name: str | None = None,
    symbols: dict[str, int] | None = None,
    **options: Any,
) -> Any:
    """Compile a program and call its function of that name, or the first."""
    module = compiled(source, **options)
    return call(module, name or next(iter(module.functions)), *args, symbols=symbols)
