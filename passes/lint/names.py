"""Names that hide what the language calls by them."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir import Buffer, Diagnostic, PrimFunc, Var, definitions

from .table import lint_check, warning

# what a program may write without a definition
_LANGUAGE = frozenset(
    ("T", "I", "G", "R", "cls", "range", "len", "min", "max", "abs", "int", "float", "bool", "round", "sum", "pow")
) | frozenset(("tuple", "list", "zip", "enumerate"))


@lint_check("T606")
def shadowing(func: PrimFunc) -> Iterator[Diagnostic]:
    """A variable, buffer or parameter with the name of something that programs call, such as `min` or `range`."""
    for binder in definitions(func):
        assert isinstance(binder, (Var, Buffer))
        if binder.name in _LANGUAGE:
            message = f"`{binder.name}` hides what the language calls `{binder.name}`"
            yield warning(
                "T606", message, binder.span or func.span, hint="use another name; it is printed with another"
            )
