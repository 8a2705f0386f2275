"""Short ways to read one function or the mistakes of one."""

from __future__ import annotations

import textwrap

from tirscript.ir import Diagnostic, DiagnosticError, PrimFunc, Stmt
from tirscript.script import parse

HEADER = "from tirscript.script import ir as I, tir as T\n\n\n"
PARAMS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32"), X: T.Buffer((16,), "int32"), n: T.int32'


def body_text(body: str, params: str = PARAMS, returns: str = "") -> str:
    """A whole file with one function `f` of these parameters and this body."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEADER}@T.prim_func\ndef f({params}){returns}:\n{lines}\n"


def function(body: str, params: str = PARAMS, returns: str = "", **names: object) -> PrimFunc:
    """The function with this body."""
    found = parse(body_text(body, params, returns), names=names)
    assert isinstance(found, PrimFunc)
    return found


def statements(body: str, **names: object) -> tuple[Stmt, ...]:
    """The statements of a body."""
    return function(body, **names).body


def mistakes(body: str, params: str = PARAMS, returns: str = "", **names: object) -> tuple[Diagnostic, ...]:
    """The diagnostics of a function with this body."""
    try:
        found = parse(body_text(body, params, returns), names=names)
    except DiagnosticError as problem:
        return problem.diagnostics
    raise AssertionError(f"no mistake was found in {found!r}")


def one_mistake(body: str, params: str = PARAMS, returns: str = "", **names: object) -> Diagnostic:
    """The only diagnostic of a function with this body."""
    found = mistakes(body, params, returns, **names)
    assert len(found) == 1, [str(each) for each in found]
    return found[0]
