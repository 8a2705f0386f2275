"""Native code through LLVM.

`compile_functions` makes machine code of lowered prim_funcs; `emit_ir` and `emit_assembly` show it. The rules stand
in `expr.py`, `ops.py` and `stmt.py`; importing this package does not load llvmlite, compiling does.
"""

from .host import Host, host
from .module import CompiledFunction, CompiledModule, ParamInfo, compile_functions, emit_assembly, emit_ir, failure
from .sites import ERROR_SIZE, ERROR_TYPE, Site

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
