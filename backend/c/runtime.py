"""The kind of target "c": functions in C source, which Python calls once the system's compiler has made them."""

from __future__ import annotations

import tempfile
import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tirscript.ir import DiagnosticError, PrimFunc, Var, error
from tirscript.ir.whole_files import write_file

from ..core import Core
from ..request import Request
from ..runtime.function import PortableFunction, make_function

if TYPE_CHECKING:
    from tirscript.ir.target import Target
    from tirscript.passes import Sequential

    from ..export.library import Exportable
    from ..runtime.c_library import CFunction
    from ..runtime.loaded import LoadedLibrary


def lowering(target: Target, schedule: bool) -> Sequential:
    """What is done to programs before they become C: each statement stays where it was written, for its readers."""
    from tirscript.passes import DEFAULT_LOWERING

    return DEFAULT_LOWERING


def compile_request(request: Request) -> dict[str, Any]:
    """The functions of a request. What is wrong with them is told here; the compiler runs at the first call."""
    from ..llvm.runtime import check_libraries

    check_libraries(request)
    sources = Sources(request)
    _ = sources.text
    found = {}
    for func in request.public:
        core = _Core(func, request, sources)
        found[func.name] = make_function(PortableFunction, core, slow=core.call)
    return found


def write_files(request: Request, what: Exportable, path: Path, header: Path | None, prefix: str | None) -> Path:
    """The hook `export` of the kind: the source (`.c`), or a library that the system's compiler makes of it."""
    from ..export.entries import StructLayout
    from ..export.header import header_text
    from ..export.library import library_prefix, prepare
    from ..export.link import compile_c
    from ..llvm.host import host

    if path.suffix not in (".c", ".so", ".dylib"):
        message = f"the target `c` writes no `{path.suffix or path.name}`"
        hint = "write the source (`.c`) or a shared library (`.so`); the target llvm has more"
        raise DiagnosticError([error("T404", message, hint=hint)])
    made = prepare(what, library_prefix(path, prefix), "C99", StructLayout())
    text, libraries = source_text(made, request.debug)
    if path.suffix == ".c":
        write_file(path, text.encode())
    else:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{path.stem}.c"
            source.write_bytes(text.encode())
            compile_c(source, path, host(), libraries, request.opt_level)
    if header is not None:
        write_file(header, header_text(made.plan, header.name).encode())
    return path


def source_text(made: Any, debug: bool) -> tuple[str, tuple[CFunction, ...]]:
    """The C source of a prepared library, and the C functions of libraries that it calls."""
    from .module import CModule

    module = CModule(made.kernels, made.plan, made.public, debug=debug)
    return module.text(), tuple(module.libraries.values())


class Sources:
    """The source of the functions of a request, and the library that is made of it when it is first called."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @cached_property
    def _made(self) -> tuple[str, tuple[CFunction, ...]]:
        from ..export.built import exportable
        from ..export.entries import StructLayout
        from ..export.library import prepare

        names = tuple(func.name for func in self.request.public)
        what = exportable(self.request, names, {}, self.request.module.name)
        return source_text(prepare(what, "tirscript_", "C99", StructLayout()), self.request.debug)

    @property
    def text(self) -> str:
        """The C source."""
        return self._made[0]

    @cached_property
    def library(self) -> LoadedLibrary:
        """The functions, compiled and loaded."""
        from ..export.link import compile_c
        from ..llvm.host import host
        from ..runtime.loaded import load

        folder = tempfile.TemporaryDirectory()
        source, made = Path(folder.name) / "kernels.c", Path(folder.name) / "libkernels.so"
        source.write_bytes(self.text.encode())
        compile_c(source, made, host(), self._made[1], self.request.opt_level)
        library = load(made)
        weakref.finalize(library, _unload, library.handle, folder)
        return library


def _unload(handle: int, folder: tempfile.TemporaryDirectory[str]) -> None:
    """Close a library before its file goes: the system knows libraries by their files, whose numbers are used again."""
    from _ctypes import dlclose

    dlclose(handle)
    folder.cleanup()


class _Core(Core):
    """What a function keeps: its program and its source."""

    def __init__(self, func: PrimFunc, request: Request, sources: Sources) -> None:
        super().__init__(func, request)
        self.sources = sources

    @cached_property
    def written(self) -> frozenset[Any]:
        from ..runtime.arguments import written_params

        return frozenset(written_params(self.func, self.request.module))

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Check the arguments as every target does, and call the C function."""
        from ..runtime.arguments import bind_arguments

        bound = bind_arguments(self.func, args, kwargs, written=self.written)
        given = [
            bound.scalars[param] if isinstance(param, Var) and param in bound.scalars else bound.arrays[param]
            for param in self.func.params
        ]
        return self.sources.library[self.func.name](*given)

    def source(self) -> str:
        return self.sources.text

    def llvm_ir(self) -> NoReturn:
        raise self._no("LLVM IR")

    def assembly(self) -> NoReturn:
        raise self._no("assembly")

    def _no(self, what: str) -> DiagnosticError:
        hint = "its source is `function.source()`, `tirscript build FILE --target c --emit source`"
        return DiagnosticError([error("T402", f"the target `c` has no {what}", self.func.span, hint=hint)])


__all__ = ["compile_request", "lowering", "source_text", "write_files"]
