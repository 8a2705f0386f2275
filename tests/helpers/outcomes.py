"""What a run of a program comes to, for comparing programs."""

from __future__ import annotations

from typing import Any

from tirscript.backend.interpreter import interpret
from tirscript.ir import PrimFunc
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.testing import copies

STEPS = 200_000


def outcome(func: PrimFunc, inputs: list[Any]) -> tuple[Any, list[bytes]]:
    """What a run returns or raises, and the bytes it leaves in its arguments."""
    args = copies(inputs)
    try:
        result = interpret(func, *args, max_steps=STEPS)
    except AssertionError as problem:
        return ("assert", str(problem)), []
    except DiagnosticError as problem:
        return ("error", problem.diagnostics[0].code), []
    return repr(result), [arg.tobytes() for arg in args if hasattr(arg, "tobytes")]
