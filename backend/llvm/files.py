"""The kind of target "llvm" ahead of time: files, and functions whose code does not run here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tirscript.ir import DiagnosticError, error
from tirscript.passes.targets import own_target

from ..core import Core
from ..request import Request
from ..runtime.function import PortableFunction, make_function
from .host import Host, host
from .machine import architecture, beyond, machine, system

if TYPE_CHECKING:
    from tirscript.ir import Span, Target

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
        threads=_has_threads(found),
        prefix=prefix,
    )


def _has_threads(target: Host) -> bool:
    return target.threads and not target.triple.startswith("wasm")


_ahead: ContextVar[bool] = ContextVar("ahead", default=False)


@contextmanager
def ahead_of_time() -> Iterator[None]:
    """What is built inside is to be exported, and never called: no code is made in this process."""
    token = _ahead.set(True)
    try:
        yield
    finally:
        _ahead.reset(token)


def is_foreign(request: Request) -> bool:
    """Whether the code of a request is not to run here: it is exported, or for another processor or system."""
    return _ahead.get() or _is_elsewhere(request.target) or _problem(request) is not None


def _is_elsewhere(target: Target) -> bool:
    """Whether a target has another architecture or system than this process."""
    there, here = machine(target).triple, host().triple
    return architecture(there) != architecture(here) or system(there) != system(here)


def _problem(request: Request, span: Span | None = None) -> DiagnosticError | None:
    """What a request for this architecture and system may use that this processor does not have."""
    targets = [(request.target, span or request.program.span), *own_targets(request)]
    found = (beyond(target, span) for target, span in targets if not _is_elsewhere(target))
    return next((problem for problem in found if problem is not None), None)


def own_targets(request: Request) -> list[tuple[Target, Span | None]]:
    """The targets of this kind that functions of a request name themselves, and where the functions stand."""
    kind = request.target.resolved().kind
    owned = [(own_target(func), func.span) for func in request.module.prim_funcs]
    return [(own, span) for own, span in owned if own is not None and own.resolved().kind == kind]


def foreign_functions(request: Request) -> dict[str, Any]:
    """Functions that can be exported and looked at, and not called."""
    found = {}
    for func in request.public:
        core = _Core(func, request)
        found[func.name] = make_function(PortableFunction, core, slow=core.refuse)
    return found


class _Core(Core):
    """What a function keeps whose code does not run here."""

    def refuse(self, *args: object, **kwargs: object) -> NoReturn:
        target = machine(self.request.target)
        problem = None if _is_elsewhere(self.request.target) else _problem(self.request, self.func.span)
        if problem is not None:
            raise problem
        message = f"`{self.func.name}` is code for {target.triple}, which does not run in this process"
        hint = 'write it to a file: `function.export("k.o", header="k.h")`'
        raise DiagnosticError([error("T402", message, self.func.span, hint=hint)])

    def llvm_ir(self) -> str:
        return str(self._module()[0])

    def assembly(self) -> str:
        from .compiling import assembly_text

        module, made = self._module()
        return assembly_text(made, module)

    def _module(self) -> tuple[Any, Any]:
        from ..export.built import exportable
        from ..export.code import library_code, optimized, struct_layout
        from ..export.library import prepare

        request, target = self.request, machine(self.request.target)
        names = tuple(func.name for func in request.public)  # they are one text, as they are for this machine
        what = exportable(request, names, {}, request.module.name)
        made = prepare(what, "library_", target.triple, struct_layout(target))
        code = library_code(made.module, made.plan, target, bounds_check=request.debug, threads=_has_threads(target))
        return optimized(code, target, request.opt_level)


__all__ = ["ahead_of_time", "foreign_functions", "is_foreign", "own_targets", "write_files"]
