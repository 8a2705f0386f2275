"""Where constants are at run time, and how much memory functions take.

| who says it | where the constant is |
| --- | --- |
| `T.func_attr({"constants_in": "code"})` | in the read-only section of the function's machine code |
| `T.func_attr({"constants_in": "memory"})` | outside of the code, in the one array of the process, or of a file |
| `T.allocate_const(..., scope="global.const")` | in the code, up to 1 MiB |
| nobody | in the code, up to 4 KiB, where LLVM sees its elements; else outside |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tirscript.ir.check import public
from tirscript.ir.constant import constant_nodes, constants_of
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphFunc
from tirscript.ir.module import Module
from tirscript.ir.stmt import AllocateConst

from ..arenas import aligned
from .compress_constants import as_table

if TYPE_CHECKING:
    from tirscript.ir.constant import ConstantTensor

PLACES = ("code", "memory")
ATTRIBUTE = "constants_in"  # of a function
SHORT = 4096  # bytes that are in the code unless somebody says otherwise
READ_ONLY = 1 << 20  # bytes that the scope "global.const" puts there


def place_of(stmt: AllocateConst, func: PrimFunc) -> str:
    """Where a constant of a function is: "code" or "memory". DiagnosticError T404 where the attribute is neither."""
    said = func.attrs.get(ATTRIBUTE)
    if said is not None:
        if said not in PLACES:
            message = f'`{func.name}` has its constants in {said!r}; they are in "code" or in "memory"'
            raise DiagnosticError([error("T404", message, func.span)])
        return str(said)
    limit = READ_ONLY if stmt.buffer.scope == "global.const" else SHORT
    return "code" if stmt.data.nbytes <= limit else "memory"


class FunctionMemory(Struct, frozen=True):
    """What a function takes, in bytes: temporaries that live at once (where their sizes are known), constants in its
    code and outside, each aligned to 64."""

    name: str
    temporaries: int
    code: int
    memory: int


class MemoryReport(Struct, frozen=True):
    """The memory of a program: of each function, and of all constants together, equal ones counted once."""

    functions: tuple[FunctionMemory, ...]
    constants: int

    def __str__(self) -> str:
        rows: list[tuple[object, ...]] = [("function", "temporaries", "in code", "in memory")]
        rows += [(one.name, one.temporaries, one.code, one.memory) for one in self.functions]
        return f"{as_table(rows, left=1)}\nall constants, equal ones once: {self.constants} bytes"


@public
def memory_report(program: PrimFunc | GraphFunc | Module) -> MemoryReport:
    """What the functions of a program take: the plan of their temporaries, and their constants by place.

    Graph functions are lowered first, as `build` does it. Constants count whether their data is at hand or not.
    """
    module = program if isinstance(program, Module) else Module((program,))
    if module.graph_funcs:
        from ..graph import GRAPH_LOWERING

        module = GRAPH_LOWERING(module)
    seen: dict[str, ConstantTensor] = {node.data.digest: node.data for node in constant_nodes(module)}
    functions = tuple(_function(func) for func in module.prim_funcs)
    return MemoryReport(functions, sum(aligned(data.nbytes) for data in seen.values()))


def _function(func: PrimFunc) -> FunctionMemory:
    from ..graph.static_memory_plan import lifetimes, plan

    sizes = dict.fromkeys(PLACES, 0)
    for place, data in {(place_of(stmt, func), stmt.data) for stmt in constants_of(func)}:
        sizes[place] += aligned(data.nbytes)
    return FunctionMemory(func.name, plan(lifetimes(func)).total, **sizes)


__all__ = ["PLACES", "FunctionMemory", "MemoryReport", "memory_report", "place_of"]
