"""What is said of the arguments of a call, and where, when the function that takes them refuses them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError


def dtype_place(problem: DiagnosticError, node: ast.Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ast.expr:
    """The argument that is blamed for being no dtype; the whole call where something else is blamed."""
    found = problem.diagnostics[0]
    places = [*node.args, *(word.value for word in node.keywords)]
    values = [*args, *kwargs.values()]
    if found.code == "T109" and len(places) == len(values):
        for value, place in zip(values, places, strict=True):
            if isinstance(value, (str, int, float, tuple, list)) and found.message.startswith(repr(value)):
                return place
    return node


def argument_error(problem: TypeError) -> str:
    """What Python says of wrong arguments, as a message says it."""
    text = str(problem).split("() ", 1)[-1]
    missing = re.match(r"missing \d+ required \S+ arguments?: '(\w+)'", text)
    if missing:
        return f"`{missing[1]}` is missing"
    odd = re.match(r"got an unexpected keyword argument '(\w+)'", text)
    return f"it has no `{odd[1]}`" if odd else text
