"""What an exported library offers: its functions as C sees them, and as `tirscript.load` reads them.

This is plain data, kept in the library as JSON, so that loading it needs neither the front end nor a compiler.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

VERSION = 1

# what a function returns: how its mistakes are told apart
OK, ARGUMENT, ASSERTION, BOUNDS, DIVISION, MEMORY, DEPTH = range(7)
CODES = {
    OK: ("OK", "the function did its work"),
    ARGUMENT: ("ARGUMENT", "an argument is not what the function takes; nothing has run"),
    ASSERTION: ("ASSERTION", "an assertion of the program does not hold"),
    BOUNDS: ("BOUNDS", "an index is out of bounds (libraries built with bounds_check)"),
    DIVISION: ("DIVISION", "a division by zero, or a loop with a step of zero"),
    MEMORY: ("MEMORY", "there is no memory for a temporary"),
    DEPTH: ("DEPTH", "functions that call each other are nested too deep"),
}


class CParam(Struct, frozen=True):
    """A parameter: kind is "array" (a struct), "scalar", or "pointer" (bare memory).

    `shape` is that of an array in words; `written` says that its memory may be written.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[str, ...] = ()
    written: bool = False


class GraphShape(Struct, frozen=True):
    """How the arrays of a graph function's parameters and result hang together.

    `takes` holds a tree for each parameter and `gives` one for the result: a name of a leaf ("tensor", "prim", or
    "shape:2" with its rank), or a list of trees. The last `outs` arrays of a call are the results, whose dimensions are
    `dims`: numbers, or None where the function `shapes` tells them.
    """

    takes: tuple[Any, ...]
    gives: Any
    outs: int
    dims: tuple[tuple[int | None, ...], ...]
    shapes: str | None = None


class CFunctionPlan(Struct, frozen=True):
    """A function: its name in the program, its C symbol, and what it takes; `returns` is a dtype, given through a
    pointer behind the parameters."""

    name: str
    symbol: str
    params: tuple[CParam, ...]
    returns: str | None = None
    doc: str | None = None
    graph: GraphShape | None = None


class LibraryPlan(Struct, frozen=True):
    """A library: what its own symbols begin with, and its functions."""

    prefix: str
    functions: tuple[CFunctionPlan, ...]
    version: int = VERSION
    threads: bool = False
    target: str = ""
