"""Exporting: from functions that `build` has lowered to files that other programs use."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tirscript.ir import Buffer, Const, DiagnosticError, Module, PrimFunc, StringImm, error, suggest
from tirscript.ir.graph import GraphFunc, GraphType, PrimType, ShapeType, TupleType
from tirscript.ir.node import recursion_room
from tirscript.ir.whole_files import write_file

from ..llvm.host import Host, host
from ..runtime.arguments import written_params
from .entries import SUFFIX_SHAPES, StructLayout, entry_of, shapes_of
from .header import header_text
from .names import c_name, is_taken
from .plan import CFunctionPlan, GraphShape, LibraryPlan

FORMATS = {
    ".so": "a shared library",
    ".dylib": "a shared library of macOS",
    ".a": "a static library",
    ".o": "an object file",
    ".s": "assembly",
    ".ll": "LLVM IR as text",
    ".bc": "LLVM IR as bitcode",
    ".wasm": "a module of WebAssembly",
    ".c": "C source, of the target `c`",
}
# what the triple of a target says whose code is in such a file, and a target of that kind
SYSTEMS = {".wasm": (("wasm",), "wasm32/generic"), ".dylib": (("macos", "darwin", "ios"), "apple/m1")}


class Exportable(Struct, frozen=True, eq=False):
    """What is exported: functions as they were written (`public`), the lowered module that holds them, and the graph
    functions among them by name."""

    name: str
    public: tuple[PrimFunc, ...]
    lowered: Module
    graphs: Mapping[str, GraphFunc]


class Prepared(Struct, frozen=True, eq=False):
    """A plan, the module of its kernels, the functions that C programs call as they were written, and their entries."""

    plan: LibraryPlan
    kernels: Module
    public: tuple[PrimFunc, ...]
    entries: tuple[PrimFunc, ...]

    @property
    def module(self) -> Module:
        """The kernels and their entries."""
        return self.kernels.replace(functions=(*self.kernels.functions, *self.entries))


def export(
    what: Exportable,
    path: str | Path,
    *,
    header: str | Path | None = None,
    target: Host | None = None,
    opt_level: int = 3,
    bounds_check: bool = False,
    threads: bool = True,
    prefix: str | None = None,
) -> Path:
    """Write a library of the functions to `path`, and its header to `header`; returns the path.

    The file's name says what is written, by FORMATS. `prefix` begins the names of the library's own functions, and of
    those whose own name C has for itself; without one, it is made of the file's name ("libk.so": `k_`).
    """
    from ..llvm.compiling import assembly_text, object_file
    from .code import library_code, optimized, struct_layout

    path = Path(path)
    form = _format(path)
    chosen = target or host()
    if form == ".c":
        hint = 'build it for C: `tirscript.build(program, target="c")`, `tirscript build FILE -o FILE.c --target c`'
        raise DiagnosticError([error("T402", "C source comes from the target `c`", hint=hint)])
    _check_system(form, chosen.triple)
    prepared = prepare(what, library_prefix(path, prefix), chosen.triple, struct_layout(chosen))
    code = library_code(prepared.module, prepared.plan, chosen, bounds_check=bounds_check, threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        spill = None
        if form in (".so", ".dylib", ".a", ".o") and chosen.triple == host().triple and "linux" in chosen.triple:
            spill = temporary / "constants"
            spill.mkdir()
        module, machine = optimized(code, chosen, opt_level, spill)
        if form == ".ll":
            write_file(path, str(module).encode())
        elif form == ".bc":
            write_file(path, module.as_bitcode())
        elif form == ".s":
            write_file(path, assembly_text(machine, module).encode())
        elif form == ".o":
            write_file(path, object_file(machine, module))
        else:
            from .link import archive, link_shared

            made = temporary / f"{path.stem}.o"
            made.write_bytes(object_file(machine, module))
            if form == ".a":
                archive([made], path)
            else:
                link_shared([made], path, chosen, code.libraries, threads=code.plan.threads)
    if header is not None:
        write_file(header, header_text(code.plan, Path(header).name).encode())
    return path


def _format(path: Path) -> str:
    if path.suffix not in FORMATS:
        near = suggest(path.suffix, FORMATS)
        known = ", ".join(f"`{suffix}` ({doc})" for suffix, doc in FORMATS.items())
        hint = f"did you mean `{near}`?" if near else None
        message = f"`{path.name}` does not say what to export by its suffix"
        raise DiagnosticError([error("T404", message, notes=[f"there are {known}"], hint=hint)])
    return path.suffix


def _check_system(form: str, triple: str) -> None:
    """Raise T402 where a file of this form holds code for other systems than that of the triple."""
    words, example = SYSTEMS.get(form, (("",), ""))
    if not any(word in triple for word in words):
        message = f"`{form}` is {FORMATS[form]}, and the code is for {triple}"
        raise DiagnosticError([error("T402", message, hint=f'write a `.so`, or build it for `target="{example}"`')])


def library_prefix(path: Path, given: str | None) -> str:
    """What the library's own names begin with."""
    if given is None:
        return c_name(path.name.split(".")[0].removeprefix("lib") or "library") + "_"
    if given and not re.fullmatch(r"[A-Za-z_]\w*", given, re.ASCII):
        raise DiagnosticError([error("T404", f"the prefix {given!r} cannot begin a name of C")])
    return given


def prepare(what: Exportable, prefix: str, triple: str, layout: StructLayout) -> Prepared:
    """The functions' entries beside their kernels, and the plan of the library."""
    plans: list[CFunctionPlan] = []
    public: list[PrimFunc] = []
    tellers: list[PrimFunc] = []
    entries: list[PrimFunc] = []
    if not what.public:
        message = f"`{what.name}` has no function to export"
        raise DiagnosticError(
            [error("T402", message, hint="functions with `private=True` are seen inside their module")]
        )
    with recursion_room():
        for func in what.public:
            kernel = what.lowered.prim_func(func.name)
            assert kernel is not None
            entry = entry_of(func, kernel, written_params(func, what.lowered), layout)
            public.append(func)
            entries.append(entry.func)
            graph = None
            shape_entry = None
            if func.name in what.graphs:
                graph, shape_entry = _graph(what.graphs[func.name], func, prefix, layout)
            symbol = _symbol(func, prefix)
            source = what.graphs.get(func.name, func)
            plans.append(
                CFunctionPlan(
                    func.name,
                    symbol,
                    entry.params,
                    None if kernel.returns is None else kernel.returns.name,
                    source.docstring,
                    graph,
                )
            )
            if shape_entry is not None:
                teller, its = shape_entry
                public.append(teller)
                tellers.append(teller.replace(private=True))
                entries.append(its.func)
                count = len([stmt for stmt in teller.body if type(stmt).__name__ == "BufferStore"])
                doc = f"Writes the {count} dimensions of the results of {symbol}, one after the other."
                plans.append(CFunctionPlan(teller.name, symbol + SUFFIX_SHAPES, its.params, None, doc))
    _check_unique(plans, prefix)
    kernels = what.lowered.replace(
        functions=(*(one.replace(private=True) for one in what.lowered.prim_funcs), *tellers)
    )
    plan = LibraryPlan(prefix, tuple(plans), target=triple)
    return Prepared(plan, kernels, tuple(public), tuple(entries))


def _symbol(func: PrimFunc, prefix: str) -> str:
    """The C symbol of a function: its global_symbol, else its name, with the prefix where C has that for itself."""
    asked = func.attrs.get("global_symbol")
    asked = asked.value if type(asked) is StringImm else asked
    name = c_name(asked if isinstance(asked, str) else func.name)
    plain = asked if isinstance(asked, str) else func.name
    return f"{prefix}{plain}" if is_taken(plain) else name


def _check_unique(plans: list[CFunctionPlan], prefix: str) -> None:
    own = {f"{prefix}{word}" for word in ("message", "functions", "set_num_threads")}
    seen: dict[str, str] = {}
    for plan in plans:
        other = seen.get(plan.symbol)
        if other is not None or plan.symbol in own:
            taken = f"as `{other}` has" if other is not None else "which the library has for itself"
            message = f"`{plan.name}` has the C symbol `{plan.symbol}`, {taken}"
            hint = 'give it another: `T.func_attr({"global_symbol": "..."})`'
            raise DiagnosticError([error("T402", message, hint=hint)])
        seen[plan.symbol] = plan.name


def _graph(graph: GraphFunc, func: PrimFunc, prefix: str, layout: StructLayout) -> tuple[GraphShape, Any]:
    """How the arrays of a graph function hang together, and the function that tells the shapes of its results."""
    outs = _count(graph.result)
    results = [param for param in func.params[len(func.params) - outs :] if isinstance(param, Buffer)]
    dims = tuple(tuple(int(dim.value) if type(dim) is Const else None for dim in result.shape) for result in results)
    teller = shapes_of(func, outs, layout)
    symbol = None if teller is None else _symbol(func, prefix) + SUFFIX_SHAPES
    takes = tuple(_tree(param.type) for param in graph.params)
    return GraphShape(takes, _tree(graph.result), outs, dims, symbol), teller


def _tree(kind: GraphType) -> Any:
    if type(kind) is TupleType:
        return [_tree(field) for field in kind.fields]
    if type(kind) is ShapeType:
        return f"shape:{kind.rank}"
    return "prim" if type(kind) is PrimType else "tensor"


def _count(kind: GraphType) -> int:
    """How many tensors a result is made of."""
    return sum(map(_count, kind.fields)) if type(kind) is TupleType else 1


__all__ = ["FORMATS", "Exportable", "export", "library_prefix", "prepare"]
