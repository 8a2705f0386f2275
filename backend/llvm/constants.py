"""Constants in machine code: short ones are bytes of the module, others the array's own memory, known by a symbol.

Either way it is a global that LLVM knows as constant, so that loads of known elements fold, and that others move out of
loops whatever is stored there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.stmt import AllocateConst

from . import memory
from .linking import NAME
from .types import lane_bytes

if TYPE_CHECKING:
    from .codegen import Codegen

ALIGN = 64
SPELLED = 4096  # bytes that are spelled in the module's text
_HEX = [f"\\{byte:02X}" for byte in range(256)]


def define(g: Codegen, stmt: AllocateConst) -> None:
    """The buffer is at the global of its digest from here on."""
    data, buffer = stmt.data, stmt.buffer
    array = data.array
    name = NAME + data.digest.partition(":")[2]
    text = g.state.text
    if array.nbytes <= SPELLED:
        align = max(ALIGN, buffer.align)
        spelled = "".join([_HEX[byte] for byte in array.tobytes()])
        symbol = f'@"{name}.{align}"'
        line = f'{symbol} = private unnamed_addr constant [{array.nbytes} x i8] c"{spelled}", align {align}'
        if line not in text.globals:
            text.globals.append(line)
    else:
        # no more than the program asks for: the code may be loaded where the array has another address
        align = max(lane_bytes(buffer.dtype), buffer.align)
        name = f"{name}.{align}"
        symbol = f'@"{name}"'
        if name not in g.state.constants:
            g.state.constants[name] = data.aligned(align)
            text.globals.append(f"{symbol} = external constant [{array.nbytes} x i8], align {align}")
    memory.enter_buffer(g, buffer, symbol, align, buffer)
