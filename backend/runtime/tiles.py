"""The right to use the tile registers of x86 (AMX), which Linux gives a process that asks for it.

Threads that are started before or after have it, too, and child processes that are forked.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.span import Span

# stands among what native code needs of the process; nothing is called by it
SYMBOL = "tirscript_tiles"
# arch_prctl by its number in the 64-bit calls of Linux; ARCH_GET_XCOMP_SUPP, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
_CALL, _SUPPORTED, _REQUEST, _TILE_DATA = 158, 0x1021, 0x1023, 18


@cache
def supported() -> bool:
    """Whether the system knows how to give the tile registers to a process; asks for nothing."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    found = ctypes.c_uint64()
    answer = ctypes.CDLL(None).syscall(_CALL, _SUPPORTED, ctypes.byref(found))
    return int(answer) == 0 and bool(found.value >> _TILE_DATA & 1)


@cache
def permitted() -> bool:
    """Whether this process may use the tile registers; asks for it, once."""
    return supported() and int(ctypes.CDLL(None).syscall(_CALL, _REQUEST, _TILE_DATA)) == 0


def require(span: Span | None) -> None:
    """Raise a Diagnostic (T402) where the process may not use the tile registers."""
    if not permitted():
        raise DiagnosticError(
            [
                error(
                    "T402",
                    "the system does not let this process use the tile registers of its processor",
                    span,
                    hint="use `dot_16x4_vnni` for bytes, or write the products with operators",
                )
            ]
        )
