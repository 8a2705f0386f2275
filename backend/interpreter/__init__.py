"""The meaning of the language: programs executed statement by statement on numpy arrays, at any stage of lowering.

A program is made once into Python closures over a frame. Every access is checked: indices against shapes, reads
against what was
written, undefined values against where they matter. What each operator computes is told in `ops.py`.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir import DiagnosticError, Module, PrimFunc
from tirscript.ir.check import public
from tirscript.ir.graph import GraphFunc
from tirscript.ir.target import EXTERNAL
from tirscript.ir.wellformed.fields import telling_unreadable

__all__ = ["interpret"]


@public
def interpret(x: Any, /, *args: Any, entry: str | None = None, max_steps: int | None = None, **kwargs: Any) -> Any:
    """Execute a prim_func, or a function of a module, on the caller's arrays, which are written in place.

    A graph function is executed by the numpy references of its operators and returns new arrays, or a tuple of them.
    `x` is a PrimFunc, a GraphFunc, a Module (its `main`, its only public function, or `entry`), or what was built from
    one. Arguments are given in order or by name: numpy arrays or anything that shares its memory (DLPack, the buffer
    protocol) for buffers and handles, Python or numpy scalars for scalars. Returns the value of `return` as a Python
    scalar, or None.

    A mistake of the program or of the call raises DiagnosticError with the source line; a failed `assert` raises
    AssertionError.
    `max_steps` bounds the number of statements executed.
    """
    from .program import entry_of

    program = x if isinstance(x, (PrimFunc, GraphFunc, Module)) else getattr(x, "func", None)
    if not isinstance(program, (PrimFunc, GraphFunc, Module)):
        from ..not_programs import no_program

        raise TypeError(f"interpret takes a PrimFunc, a GraphFunc or a Module, {no_program(x)}")
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 0):
        raise TypeError(f"max_steps is a number of statements, not {max_steps!r}")
    if isinstance(program, Module):
        name = entry_of(program, entry)
    else:
        name = program.name
        if entry not in (None, name):
            raise TypeError(f"`{name}` is a function; `entry` names a function of a module")
    try:
        with telling_unreadable(program):
            if isinstance(program, Module) and any(EXTERNAL in one.attrs for one in program.functions):
                from ..runtime.library import linked
                from .externals import external_functions

                with linked(external_functions(program, max_steps)):
                    return _run(program, name, args, kwargs, max_steps)
            return _run(program, name, args, kwargs, max_steps)
    except DiagnosticError as error:  # the user's mistake, shown without the frames of our closures
        raise error.with_traceback(None) from None


def _run(
    program: PrimFunc | GraphFunc | Module,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    max_steps: int | None,
) -> Any:
    from .program import program_of, run_program

    if isinstance(program, GraphFunc) or (isinstance(program, Module) and isinstance(program[name], GraphFunc)):
        from .graph import run_graph

        module = Module((program,)) if isinstance(program, GraphFunc) else program
        return run_graph(module, name, args, kwargs, max_steps)
    return run_program(program_of(program, max_steps is not None), name, args, kwargs, max_steps, apart=True)
