"""What is added when machine code is linked into this process: constants, C functions, and calls back into Python.

It does not load the code generator, which code from the cache does without.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tirscript.backend.runtime import packed
from tirscript.backend.runtime.arrays import address_of
from tirscript.backend.runtime.library import c_library
from tirscript.ir.constant import PREFIX, constants_of
from tirscript.ir.node import Node

from .host import Host, target_machine
from .symbols import ALLOCATE, undefined

if TYPE_CHECKING:
    from tirscript.backend.runtime.c_library import CFunction

NAME = "tirscript_constant_"  # a symbol is this, 64 hexadecimal digits of the digest, a dot, and the alignment
LIBRARY = "tirscript_library_"  # a symbol is this and the bytes of the registered name in hexadecimal


def link(constants: dict[str, Any]) -> None:
    """Tell LLVM where the arrays of a module's constants are; who calls this keeps them alive."""
    if not constants:
        return
    import llvmlite.binding as llvm

    for name, array in constants.items():
        llvm.add_symbol(name, address_of(array))


def library_symbol(name: str) -> str:
    """The symbol by which native code calls the C function that is registered as `name`; it says the name, and nothing
    of this process."""
    return LIBRARY + name.encode("utf-8", "surrogatepass").hex()


def link_libraries(libraries: dict[str, CFunction]) -> None:
    """Tell LLVM where the C functions of a module are; who calls this keeps them alive."""
    if not libraries:
        return
    import llvmlite.binding as llvm

    for symbol, function in libraries.items():
        llvm.add_symbol(symbol, function.address)


def find_libraries(symbols: Iterable[str]) -> dict[str, CFunction] | None:
    """The C functions that symbols name; None where one is not registered."""
    found = {}
    for symbol in symbols:
        if symbol.startswith(LIBRARY):
            name = bytes.fromhex(symbol.removeprefix(LIBRARY)).decode("utf-8", "surrogatepass")
            function = c_library(name)
            if function is None:
                return None
            found[symbol] = function
    return found


def find(symbols: Iterable[str], program: Node) -> dict[str, Any] | None:
    """The arrays that symbols name, from the constants of a program; None where it has not all of them."""
    known = {stmt.data.digest: stmt.data for stmt in constants_of(program)}
    found = {}
    for symbol in symbols:
        digest, _, align = symbol.removeprefix(NAME).partition(".")
        data = known.get(PREFIX + digest)
        if data is None:
            return None
        found[symbol] = data.aligned(int(align))
    return found


def executable(objects: Sequence[bytes], target: Host, opt_level: int) -> Any:
    """An engine that holds object files, which may call each other, as functions of this process."""
    import llvmlite.binding as llvm

    needed = undefined(objects)
    missing = sorted(name for name in needed if llvm.address_of_symbol(name) is None)
    if missing:  # LLVM would link address 0
        from .state import internal

        raise internal(f"machine code for {target.cpu} calls `{missing[0]}`, which this process does not have")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(target, opt_level))
    for code in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    engine.run_static_constructors()
    if ALLOCATE in needed:
        _keep_freed_memory()
    return engine


@cache
def _keep_freed_memory() -> None:
    """Let the C library keep some of the memory that kernels free for their next calls.

    Else glibc may give it back at the end of each call, and every page of it is a fault of the next: a quarter of the
    time of a small network. It keeps twice as much as the largest block that was ever mapped by itself and freed, such
    blocks being 32 MiB at most. This one is never written to, so that it takes no memory.
    """
    np.empty((32 << 20) - (1 << 16), np.uint8)


def answer_calls(owner: Any, engine: Any, calls: packed.Numbered[packed.PythonCall]) -> None:
    """Let the code of an engine call back into Python, as long as its owner lives."""
    if calls:
        token = packed.register_calls(calls)
        ctypes.c_int64.from_address(engine.get_global_value_address(packed.MODULE_TOKEN)).value = token
        weakref.finalize(owner, packed.unregister_calls, token)
