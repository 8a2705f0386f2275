"""What `export` of built functions and modules does: from the objects that Python has to the files of their target."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tirscript.ir import DiagnosticError, Module, error
from tirscript.ir.check import public
from tirscript.ir.graph import GraphFunc
from tirscript.ir.target_kinds import target_kind

from .library import Exportable

if TYPE_CHECKING:
    from ..request import Request


@public
def export_functions(
    functions: Iterable[Any],
    name: str,
    path: str | Path,
    *,
    header: str | Path | None = None,
    prefix: str | None = None,
) -> Path:
    """Write built functions to files: `path` says by its suffix what is written, `header` is for C programs.

    See docs/backends.md. Raises DiagnosticError T402 for programs that need Python, several targets, or a linker that
    is not there, T404 for a suffix that says nothing, a folder that is not there, and one file for both.
    """
    for folder, file in ((Path(one).parent, Path(one).name) for one in (path, header) if one is not None):
        if not folder.is_dir():
            raise DiagnosticError([error("T404", f"there is no folder `{folder}` to write `{file}` into")])
    if header is not None and Path(header).resolve() == Path(path).resolve():
        hint = f'give the header a name of its own: `header="{Path(path).with_suffix(".h").name}"`'
        raise DiagnosticError([error("T404", f"`{path}` cannot be the library and its header", hint=hint)])
    natives: dict[str, Any] = {}
    graphs: dict[str, GraphFunc] = {}
    for function in functions:
        settle = getattr(function, "_settle", None)
        if settle is not None:
            settle()
        refuse = getattr(function, "refuse_export", None)
        if refuse is not None:
            refuse()
        if isinstance(function.func, GraphFunc):
            graphs[function.func.name] = function.func
        natives[function.func.name] = getattr(function, "native", function)
    if not natives:
        message = f"`{name}` has no function to export"
        raise DiagnosticError(
            [error("T402", message, hint="functions with `private=True` stay inside of their module")]
        )
    requests = {id(request): request for request in map(_request_of, natives.values())}
    if len(requests) > 1:
        targets = ", ".join(f"`{one.target.kind}`" for one in requests.values())
        message = f"`{name}` has functions for several targets ({targets}), and a library is for one"
        raise DiagnosticError([error("T402", message, hint="export the functions of one target")])
    (request,) = requests.values()
    if request.externals:
        names = ", ".join(f"`{one}`" for one in request.externals)
        message = f"`{name}` calls functions of other targets: {names}"
        raise DiagnosticError([error("T402", message, hint="build it for one target")])
    what = exportable(request, tuple(natives), graphs, name)
    kind = target_kind(request.target.resolved().kind, request.target.span)
    hook = kind.hook("export")
    if hook is None:
        raise DiagnosticError([error("T402", f"the target `{kind.name}` does not write files", request.target.span)])
    made: Path = hook(request, what, Path(path), None if header is None else Path(header), prefix)
    return made


def exportable(request: Request, names: tuple[str, ...], graphs: dict[str, GraphFunc], name: str) -> Exportable:
    """The named functions of a request, with all that they call."""
    lowered = request.lowered
    module = lowered if isinstance(lowered, Module) else Module((lowered,), name=lowered.name)
    chosen = tuple(func for func in request.public if func.name in names)
    return Exportable(name, chosen, _reached(module, names), graphs)


def _request_of(native: Any) -> Request:
    request = getattr(getattr(native, "_core", None), "request", None)
    if request is None:
        message = f"`{native.func.name if hasattr(native, 'func') else native}` is not built by a target that exports"
        raise DiagnosticError([error("T402", message)])
    found: Request = request
    return found


def _reached(module: Module, names: tuple[str, ...]) -> Module:
    """The module without functions that nobody calls from the named ones."""
    from tirscript.ir import CallFunction, walk

    todo, kept = list(names), set(names)
    while todo:
        func = module.prim_func(todo.pop())
        for node in walk(func) if func is not None else ():
            if type(node) is CallFunction and node.function not in kept:
                kept.add(node.function)
                todo.append(node.function)
    return module.replace(functions=tuple(func for func in module.functions if func.name in kept))


__all__ = ["export_functions", "exportable"]
