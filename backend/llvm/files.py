"""The kind of target "llvm" ahead of time: files, and functions whose code does not run here."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tirscript.ir import DiagnosticError, PrimFunc, error

from ..request import Request
from ..runtime.function import PortableFunction, make_function
from ..runtime.signature import signature
from .host import host
from .machine import architecture, machine, system

if TYPE_CHECKING:
    from ..export.library import Exportable


def write_files(request: Request, what: Exportable, path: Path, header: Path | None, prefix: str | None) -> Path:
    """The hook `export` of the kind: a library, an object or text, by the suffix of `path`."""
    from ..export.library import export

    found = machine(request.target)
    return export(
        what,
        path,
        header=header,
        target=found,
        opt_level=request.opt_level,
        bounds_check=request.debug,
        threads=found.threads and not found.triple.startswith("wasm"),
        prefix=prefix,
    )


_ahead: ContextVar[bool] = ContextVar("ahead", default=False)


@contextmanager
def ahead_of_time() -> Iterator[None]:
    """What is built inside is to be exported, and never called: no code is made in this process, and the processor may
    have features that this one lacks."""
    token = _ahead.set(True)
    try:
        yield
    finally:
        _ahead.reset(token)


def is_foreign(request: Request) -> bool:
    """Whether the code of a request is not to run here: it is exported, or for another processor or system."""
    if _ahead.get():
        return True
    there, here = machine(request.target).triple, host().triple
    return architecture(there) != architecture(here) or system(there) != system(here)


def foreign_functions(request: Request) -> dict[str, Any]:
    """Functions that can be exported and looked at, and not called."""
    found = {}
    for func in request.public:
        core = _Core(func, request)
        found[func.name] = make_function(PortableFunction, core, slow=core.refuse)
    return found


class _Core:
    """What a function keeps whose code does not run here."""

    def __init__(self, func: PrimFunc, request: Request) -> None:
        self.func = func
        self.request = request

    @property
    def lowered(self) -> PrimFunc:
        return self.request.after(self.func.name)

    def signature(self) -> inspect.Signature:
        return signature(self.func)

    def refuse(self, *args: object, **kwargs: object) -> NoReturn:
        target = machine(self.request.target)
        message = f"`{self.func.name}` is code for {target.triple}, which does not run in this process"
        hint = 'write it to a file: `function.export("k.o", header="k.h")`'
        raise DiagnosticError([error("T402", message, self.func.span, hint=hint)])

    def llvm_ir(self) -> str:
        return str(self._module()[0])

    def assembly(self) -> str:
        module, made = self._module()
        return str(made.emit_assembly(module))

    def _module(self) -> tuple[Any, Any]:
        from ..export.built import exportable
        from ..export.code import library_code, optimized, pointer_bytes
        from ..export.library import prepare

        request, target = self.request, machine(self.request.target)
        what = exportable(request, (self.func.name,), {}, self.func.name)
        made = prepare(what, "library_", target.triple, pointer_bytes(target))
        code = library_code(made.module, made.plan, target, bounds_check=request.debug, threads=target.threads)
        return optimized(code, target, request.opt_level)


__all__ = ["ahead_of_time", "foreign_functions", "is_foreign", "write_files"]
