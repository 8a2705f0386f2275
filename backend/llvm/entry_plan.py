"""What an entry is made for, which code from the cache needs as well; it does not load what writes entries."""

from __future__ import annotations

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Var
from tirscript.ir.func import PrimFunc

TABLE = "tirscript.table"  # the global array of addresses of this process


class EntryPlan(Struct, frozen=True, eq=False):
    """What an entry is made for: the function as written, the symbols and the symbol of its kernel, and how it is
    called. `recursive` kernels are told that their calls are not nested yet."""

    func: PrimFunc
    kernel: str
    symbols: tuple[Var, ...]
    written: frozenset[Var | Buffer]
    noalias: bool = True
    release: bool = False
    recursive: bool = False


__all__ = ["TABLE", "EntryPlan"]
