"""Tensor functions for nodes that graph operators have no words for: each is written as text, and called."""

from __future__ import annotations

from typing import Protocol

from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module


class Kernel(Protocol):
    """What decides a function: equal kernels have the same one. It is called by what `kind` says, in small letters."""

    @property
    def kind(self) -> str: ...

    def functions(self, name: str) -> tuple[PrimFunc, ...]:
        """The function of this name, and those it calls, whose names begin with it."""
        ...


def functions_in(text: str, name: str) -> tuple[PrimFunc, ...]:
    """The functions of a module that is text, with the name of its first in diagnostics."""
    from ..entry import parse

    found = parse(text, filename=f"<{name}>")
    assert isinstance(found, Module)
    return tuple(one for one in found.functions if type(one) is PrimFunc)


def rows_of(size: int | str) -> str:
    """A dimension in the annotation of a parameter: a number, or a name that the call gives a size."""
    return f'"{size}"' if isinstance(size, str) else str(size)


__all__ = ["Kernel", "functions_in", "rows_of"]
