"""Constants in machine code: bytes of the module, or the array's own memory, known by a symbol (`place_of` says which).

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

_HEX = [f"\\{byte:02X}" for byte in range(256)]


def define(g: Codegen, stmt: AllocateConst) -> None:
    """The buffer is at the global of its digest from here on."""
    from tirscript.passes.arenas import ALIGN
    from tirscript.passes.constants.placement import place_of

    data, buffer = stmt.data, stmt.buffer
    array = data.array
    name = NAME + data.digest.partition(":")[2]
    text = g.state.text
    if place_of(stmt, g.func) == "code":
        align = max(ALIGN, buffer.align)
        spelled = "".join([_HEX[byte] for byte in array.tobytes()])
        symbol = f'@"{name}.code{align}"'  # another function may have the same data outside of its code
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
        line = f"{symbol} = external constant [{array.nbytes} x i8], align {align}"
        if line not in text.globals:
            text.globals.append(line)
    memory.enter_buffer(g, buffer, symbol, align, buffer)
