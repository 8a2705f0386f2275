"""The one table of kinds of targets: what each takes, how programs are lowered for it, and what makes code of them.

A kind is one entry. Its hooks are functions, or the place of one as "package.module:function", which is loaded when
the hook is first used. A package outside of tirscript adds its own kind in the same way:

    register_target_kind(TargetKind("my_npu", "The NPU of this board.", graph_to_runtime=compile_graph))
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .check import describe
from .diagnostic import Diagnostic, DiagnosticError, error, suggest
from .target_option import TargetOption

if TYPE_CHECKING:
    from .span import Span
    from .target import Target

# a function, or "package.module:function"
Hook = Callable[..., Any] | str


class TargetKind(Struct, frozen=True, eq=False):
    """One kind of target.

    options:          what may be set; those of COMMON are known to every kind
    keys:             what it is also known as, where a target does not say
    lowering:         `(target, schedule) -> Sequential`: the passes from tensor functions to what `tir_to_runtime`
                      takes; `schedule` is False where every statement is to stay where it was written. Without it:
                      DEFAULT_LOWERING
    graph_to_tir:     `(module, target) -> module`: what is done to graph functions of this target before the common
                      lowering of graphs, such as kernels of its own for operators
    tir_to_runtime:   `(request) -> {name: function}`: code for the tensor functions of a module, which is
                      `request.lowered` (`tirscript.backend.request.Request`). What the functions are called with are
                      arrays and scalars in the order of the parameters; results are written
    graph_to_runtime: `(func, module, target) -> function`: code for a graph function as it stands; the function that
                      it makes takes the arrays of the parameters and then those of the results, which it writes
    export:           `(request, exportable, path, header, prefix) -> path`: functions as files, which other programs
                      use (`tirscript.backend.export.library.Exportable`)
    load:             `(path, target) -> functions`: what was exported to a file, by `tirscript.load(path, target=...)`
    scopes:           names of its own memories, which buffers may be in beside those of the language
    """

    name: str
    doc: str
    options: tuple[TargetOption, ...] = ()
    keys: tuple[str, ...] = ()
    lowering: Hook | None = None
    graph_to_tir: Hook | None = None
    tir_to_runtime: Hook | None = None
    graph_to_runtime: Hook | None = None
    export: Hook | None = None
    load: Hook | None = None
    scopes: tuple[str, ...] = ()

    def hook(self, name: str) -> Callable[..., Any] | None:
        """The function of a hook, None where the kind has none."""
        given: Hook | None = getattr(self, name)
        if not isinstance(given, str):
            return given
        where, _, function = given.partition(":")
        found: Callable[..., Any] = getattr(import_module(where), function)
        return found

    def option(self, name: str) -> TargetOption | None:
        """What is known of an option."""
        return next((one for one in (*self.options, *COMMON) if one.name == name), None)


COMMON = (
    TargetOption("tag", str, "the name by which the target was asked for"),
    TargetOption("device", str, "what a target is called where its kind does not say it"),
    TargetOption("model", str, "the name of the machine"),
    TargetOption("libs", tuple, "the libraries whose functions may be called; without it: all"),
)

TARGET_KINDS: dict[str, TargetKind] = {}


def register_target_kind(kind: TargetKind, *, override: bool = False) -> TargetKind:
    """Put a kind of target into the table; ValueError where another has its name, unless `override`."""
    if not isinstance(kind, TargetKind):
        raise TypeError(f"a kind of target is a TargetKind, not {kind!r}")
    for field in ("options", "keys", "scopes"):
        if not isinstance(getattr(kind, field), tuple):
            made = f"TargetKind({kind.name!r}, ..., {field}=(...,))"
            raise TypeError(f"`{field}` of a TargetKind is a tuple, not {describe(getattr(kind, field))}: `{made}`")
    if kind.name.split() != [kind.name]:
        raise ValueError(f"the name of a kind of target is one word, not {kind.name!r}")
    if kind.name in TARGET_KINDS and not override:
        raise ValueError(f"there is a kind of target {kind.name!r} already; pass override=True to replace it")
    TARGET_KINDS[kind.name] = kind
    return kind


def unregister_target_kind(name: str) -> None:
    """Forget the kind of that name; nothing where there is none."""
    TARGET_KINDS.pop(name, None)


# what other tools call the processor that they run on
THIS_MACHINE = ("host", "native", "cpu", "local")


def target_kind(name: str, span: Span | None = None) -> TargetKind:
    """The kind of that name; T402 where there is none."""
    found = TARGET_KINDS.get(name)
    if found is None:
        from .target_tags import TAGS

        near = suggest(name, (*TARGET_KINDS, *TAGS))
        hint = f"there are {', '.join(sorted(TARGET_KINDS))}, and machines by name, as `{next(iter(TAGS))}`"
        if name in THIS_MACHINE:
            hint = "`llvm` without options is the processor that this runs on"
        elif near:
            hint = f"did you mean `{near}`?"
        raise DiagnosticError([error("T402", f"there is no kind of target `{name}`", span, hint=hint)])
    return found


def check_target(target: Target, span: Span | None = None) -> TargetKind:
    """The kind of a target, whose options are those that it has. T402 and T404 with suggestions where they are not."""
    span = target.span or span
    resolved = target.resolved()
    kind = target_kind(resolved.kind, span)
    problems: list[Diagnostic] = []
    for name, value in resolved.attrs.items():
        if name == "targets" and resolved.targets:
            continue
        option = kind.option(name)
        if option is None:
            if name.startswith("feature."):  # what TVM found out of the other options
                continue
            names = [one.name for one in (*kind.options, *COMMON)]
            near = suggest(name, names)
            hint = f"did you mean `-{near}`?" if near else f"it has {', '.join(names)}"
            problems.append(error("T404", f"the target `{kind.name}` has no option `{name}`", span, hint=hint))
            continue
        takes = option.wrong(value)
        if takes is not None:
            message = f"the option `{name}` of the target `{kind.name}` is {takes}, not {value!r}"
            problems.append(error("T404", message, span, hint=option.doc))
    if problems:
        raise DiagnosticError(problems)
    for inner in target.targets.values():
        check_target(inner, span)
    if target.host is not None:
        check_target(target.host, span)
    return kind


PROCESSOR = (
    TargetOption("mcpu", str, "the processor by LLVM's name; without it and without mtriple: this one"),
    TargetOption("mattr", tuple, "its features by LLVM's names, as +avx2,-avx512f"),
    TargetOption("mtriple", str, "architecture, vendor and system; without it: this machine's"),
    TargetOption("mabi", str, "the convention of calls, where the architecture has several, as lp64d"),
    TargetOption("vector-width", int, "bits in the widest vector that loops should use", least=64),
    TargetOption("num-cores", int, "how many iterations of a parallel loop run at once", least=1),
    TargetOption("l1-cache", int, "bytes in the data cache of a core", least=0),
    TargetOption("l2-cache", int, "bytes in the second cache", least=0),
    TargetOption("l3-cache", int, "bytes in the third cache", least=0),
    TargetOption("entry", str, "how functions are entered: by CPython, or by plain C", choices=("packed", "c")),
    TargetOption("threads", str, "what runs parallel loops", choices=("pool", "none")),
)

register_target_kind(
    TargetKind(
        "llvm",
        "A processor, through LLVM; without options, the one this runs on.",
        PROCESSOR,
        keys=("cpu",),
        lowering="tirscript.backend.default_pipeline:lowering",
        tir_to_runtime="tirscript.backend.llvm.runtime:compile_request",
        export="tirscript.backend.llvm.files:write_files",
        load="tirscript.backend.runtime.loaded:load_library",
    )
)

register_target_kind(
    TargetKind(
        "c",
        "C99 source for a processor, one thread; functions run once the system's C compiler has made them.",
        tuple(one for one in PROCESSOR if one.name not in ("mattr", "entry", "threads")),
        keys=("cpu",),
        lowering="tirscript.backend.c.runtime:lowering",
        tir_to_runtime="tirscript.backend.c.runtime:compile_request",
        export="tirscript.backend.c.runtime:write_files",
    )
)

register_target_kind(
    TargetKind(
        "composite",
        "Several targets by name, one of them the host, for modules whose functions run in different places.",
    )
)

__all__ = [
    "COMMON",
    "PROCESSOR",
    "TARGET_KINDS",
    "Hook",
    "TargetKind",
    "TargetOption",
    "check_target",
    "register_target_kind",
    "target_kind",
    "unregister_target_kind",
]
