"""The page itself: one HTML file with all that it shows, compressed, and the code that shows it."""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from tirscript.ir import DiagnosticError, GraphFunc, Module, PrimFunc
from tirscript.passes import Sequential

from .graphs import Keys
from .listing import Listing, listing
from .native import native
from .stages import Program, Stage, functions, run_stages

SCRIPTS = ("diff.js", "highlight.js", "pane.js", "app.js", "drawing.js", "stages.js")


class _Sections:
    """What the page loads when it is opened: JSON, compressed."""

    def __init__(self) -> None:
        self.packed: list[str] = []

    def add(self, data: Any) -> int:
        """Keep a value; its number."""
        raw = json.dumps(data, separators=(",", ":")).encode()
        self.packed.append(base64.b64encode(zlib.compress(raw, 6)).decode())
        return len(self.packed) - 1


def page(
    filename: str,
    source: str,
    programs: Mapping[str, Program],
    pipeline: Sequential,
    *,
    compiled: bool = True,
    progress: Callable[[str], None] | None = None,
) -> str:
    """A page on what `pipeline` makes of `programs`, which were read from `source`.

    With `compiled` it shows LLVM IR and assembly as well; why a program cannot be compiled is told there. `progress` is
    called with what is being done. Raises DiagnosticError as the passes do.
    """
    tell = progress or (lambda what: None)
    sections = _Sections()
    shown: list[dict[str, Any]] = []
    passes = [
        {"name": name, "doc": doc, "seconds": 0.0}
        for name, doc in [("", ""), *((str(one), one.doc) for one in pipeline)]
    ]
    for program in programs.values():
        tell(f"passes on {program.name}")
        # passes that make kernels of graphs need a module to put them into, those of the other kind one to take it in
        whole = program
        if isinstance(program, GraphFunc) or (isinstance(program, PrimFunc) and pipeline.needs_module(program)):
            whole = Module((program,), name=program.name)
        stages = run_stages(whole, pipeline)
        for entry, stage in zip(passes, stages, strict=True):
            entry["doc"] = stage.doc
            entry["seconds"] += stage.seconds  # type: ignore[operator]
        shown += _functions(program, stages, filename, sections, compiled, tell)
    manifest = {
        "file": filename,
        "source": sections.add({"text": source.replace("\r\n", "\n")}),
        "passes": passes,
        "functions": shown,
        "compiled": compiled,
    }
    first = sections.add(manifest)
    tell("the page")
    return _html(f"{filename} · tirscript", sections.packed, first)


def _functions(
    program: Program,
    stages: list[Stage],
    filename: str,
    sections: _Sections,
    compiled: bool,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """What the page knows of the functions of one program."""
    keys = Keys()
    made: dict[int, tuple[int, Listing, PrimFunc | GraphFunc]] = {}  # section and listing by the function's id
    names: dict[str, list[int | None]] = {}
    for at, stage in enumerate(stages):
        progress(f"{program.name} after {stage.name}" if stage.name else f"{program.name} as it was read")
        for name, func in functions(stage.program).items():
            if id(func) not in made:
                module = stage.program if isinstance(stage.program, Module) else None
                one: Listing = listing(func, module, filename, keys)
                # the function is kept, so that no other gets its id; its data is no longer needed
                made[id(func)] = sections.add(one.data), one._replace(data={}), func
            names.setdefault(name, [None] * len(stages))[at] = made[id(func)][0]
    code: dict[str, dict[str, dict[str, Any]]] = {}
    problem = None
    last = stages[-1].program
    left = [name for name, func in functions(last).items() if isinstance(func, GraphFunc)]
    if left:
        problem = (
            f"The passes leave graph functions: {', '.join(left)}. `graph_to_tensor` makes tensor functions of them."
        )
    elif compiled and not isinstance(last, GraphFunc):
        progress(f"code of {program.name}")
        try:
            numbers = {key: at for func in functions(last).values() for key, at in made[id(func)][1].numbers.items()}
            code = native(last, numbers)
        except DiagnosticError as error:
            problem = "\n\n".join(one.render() for one in error.diagnostics)
    return [
        {
            "name": f"{program.name}.{name}" if isinstance(program, Module) else name,
            "stages": listed,
            "code": {view: sections.add(data) for view, data in code.get(name, {}).items()},
            "problem": problem,
        }
        for name, listed in names.items()
    ]


def _html(title: str, packed: list[str], first: int) -> str:
    folder = files(__package__)

    def read(name: str) -> str:
        return folder.joinpath(name).read_text(encoding="utf-8")

    data = "".join(f'<script type="text/plain" id="s{number}">{text}</script>\n' for number, text in enumerate(packed))
    parts = {
        "TITLE": html.escape(title.encode(errors="replace").decode()),  # names of files may hold bytes that are no text
        "STYLE": read("style.css"),
        "DATA": data,
        "FIRST": str(first),
        "SCRIPT": "\n".join(map(read, SCRIPTS)),
    }
    made = []
    for piece in read("page.html").split("@@"):
        made.append(parts.get(piece, piece))
    return "".join(made)
