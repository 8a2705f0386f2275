"""Checks for what is allowed and probably not meant: one small file a family, in one table by code.

The verifier's own warnings (`ir.verify.warnings`) are told with them.
"""

from __future__ import annotations

from tirscript.ir import Diagnostic, GraphFunc, Module, PrimFunc, recursion_room
from tirscript.ir.check import public
from tirscript.ir.out_of_bounds import out_of_bounds
from tirscript.ir.verify import warnings
from tirscript.ir.wellformed.places import in_order

from ..check_constraints import constraint_errors
from ..layouts.unwritten import padding_errors
from . import (  # noqa: F401  (each fills the table)
    bounds,
    effect,
    flow,
    names,
    precedence,
    precision,
    regions,
    unreachable,
    unused,
)
from .table import LINTS, Lint, lint_check


@public
def lint(program: PrimFunc | GraphFunc | Module) -> list[Diagnostic]:
    """Everything to be told of a function or module that is well formed, in source order.

    Those are the verifier's warnings, those of the table, and as errors the constraints that are not
    proved, the indices that are certainly out of bounds, and the padding that is read without a value in it.
    """
    functions = program.functions if isinstance(program, Module) else (program,)
    found = warnings(program)
    if isinstance(program, Module):
        found += padding_errors(program)
    with recursion_room():
        for function in functions:
            if isinstance(function, PrimFunc):
                found += constraint_errors(function)
                found += [one.diagnostic() for one in out_of_bounds(function)]
                for entry in LINTS.values():
                    found += entry.check(function)
    return in_order(found)


__all__ = ["LINTS", "Lint", "lint", "lint_check"]
