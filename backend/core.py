"""What function objects keep, whatever runs their code."""

from __future__ import annotations

import inspect

from tirscript.ir import PrimFunc

from .request import Request
from .runtime.signature import signature


class Core:
    """The program of a function, and how code was made of it."""

    def __init__(self, func: PrimFunc, request: Request) -> None:
        self.func = func
        self.request = request

    @property
    def lowered(self) -> PrimFunc:
        """The program after the passes."""
        return self.request.after(self.func.name)

    def signature(self) -> inspect.Signature:
        """How Python calls it."""
        return signature(self.func)


__all__ = ["Core"]
