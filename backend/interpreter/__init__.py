"""The meaning of the language: programs executed statement by statement on numpy arrays, at any stage of lowering.

A program is made once into Python closures over a frame. Every access is checked: indices against shapes, reads
against what was
written, undefined values against where they matter. What each operator computes is told in `ops.py`.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir import DiagnosticError, Module, PrimFunc
from tirscript.ir.check import public

__all__ = ["interpret"]


@public
def interpret(x: Any, /, *args: Any, entry: str | None = None, max_steps: int | None = None, **kwargs: Any) -> Any:
    """Execute a prim_func, or a function of a module, on the caller's arrays, which are written in place.

    `x` is a PrimFunc, a Module (its `main`, its only public function, or `entry`), or what was built from one.
    Arguments are
    given in order or by name: numpy arrays or anything that shares its memory (DLPack, the buffer protocol) for
    buffers and handles,
    Python or numpy scalars for scalars. Returns the value of `return` as a Python scalar, or None.

    A mistake of the program or of the call raises DiagnosticError with the source line; a failed `assert` raises
    AssertionError.
    `max_steps` bounds the number of statements executed.
    """
    from .program import entry_of, program_of, run_program

    program = x if isinstance(x, (PrimFunc, Module)) else getattr(x, "func", None)
    if not isinstance(program, (PrimFunc, Module)):
        raise TypeError(f"interpret takes a prim_func or a module, not a {type(x).__name__}")
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 0):
        raise TypeError(f"max_steps is a number of statements, not {max_steps!r}")
    if isinstance(program, Module):
        name = entry_of(program, entry)
    else:
        name = program.name
        if entry not in (None, name):
            raise TypeError(f"`{name}` is a function; `entry` names a function of a module")
    try:
        return run_program(program_of(program, max_steps is not None), name, args, kwargs, max_steps)
    except DiagnosticError as error:  # the user's mistake, shown without the frames of our closures
        raise error.with_traceback(None) from None
