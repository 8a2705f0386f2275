"""Native code through LLVM.

`compile_functions` makes machine code of lowered prim_funcs; `emit_ir` and `emit_assembly` show it. The rules stand
in `expr.py`, `ops.py` and `stmt.py`; importing this package does not load llvmlite, compiling does, and the code
generator is loaded when one of its names is asked for.
"""

from typing import TYPE_CHECKING, Any

from .host import Host, host
from .sites import ERROR_SIZE, ERROR_TYPE, Site

if TYPE_CHECKING:
    from .module import CompiledFunction, CompiledModule, ParamInfo, compile_functions, emit_assembly, emit_ir, failure

__all__ = [
    "ERROR_SIZE",
    "ERROR_TYPE",
    "CompiledFunction",
    "CompiledModule",
    "Host",
    "ParamInfo",
    "Site",
    "compile_functions",
    "emit_assembly",
    "emit_ir",
    "failure",
    "host",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import module

    return getattr(module, name)
