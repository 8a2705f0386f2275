"""IR back to source text: what docs/language.md says of printing."""

from __future__ import annotations

import functools
import os
import pathlib
from typing import Any

from tirscript.ir.check import public
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphFunc
from tirscript.ir.module import Module
from tirscript.ir.node import Node, recursion_room
from tirscript.ir.wellformed.fields import refuse_unreadable
from tirscript.ir.whole_files import write_file

from .constants import Constants
from .core import Dialect, Printer, tirscript_dialect
from .deep import shallow
from .diff import diff
from .func import file_text
from .func import fragment as _fragment
from .layout import fit
from .stmt import TAB

CONSTANTS = ("elide", "inline", "file")


@functools.cache
def dialect_of(name: str) -> Dialect:
    """The dialect of that name; ValueError where there is none."""
    if name == "tirscript":
        return tirscript_dialect()
    if name == "tvm":
        from .tvm import tvm_dialect

        return tvm_dialect()
    raise ValueError(f"{name!r} is not a dialect; the dialects are 'tirscript' and 'tvm'")


@public
def script(
    node: Node | tuple[Node, ...],
    *,
    dialect: str = "tirscript",
    constants: str = "elide",
    fragment: bool = False,
    width: int = 100,
    header: bool = True,
    constants_file: str | os.PathLike[str] | None = None,
) -> str:
    """`node` as source text.

    A function or module is a whole Python file: imports (without them where `header` is False), then the definition,
    as `ruff format --line-length {width}` would lay it out. Anything else, or anything with `fragment`, is the piece of
    a program that it is; a tuple of statements is a body. `dialect="tvm"` prints what apache-tvm 0.27 reads.
    `constants` says how the data of constants of over 16 elements is written: "elide" (by its digest alone), "inline"
    (base64 in the text), or "file": into the safetensors file `constants_file`, which the text names without its folder
    since both lie beside each other.
    """
    if constants not in CONSTANTS:
        raise ValueError(f"constants is {constants!r}; it is one of {', '.join(map(repr, CONSTANTS))}")
    if constants == "file" and constants_file is None:
        raise ValueError('constants="file" needs `constants_file`, the path of the file that is written')
    name = "" if constants_file is None else os.path.basename(constants_file)
    kept = Constants(constants, name)
    spelling = dialect_of(dialect)
    whole = not fragment and type(node) in (PrimFunc, GraphFunc, Module)
    with recursion_room():
        try:
            if whole and spelling.rearranged is not None:
                node = spelling.rearranged(node)  # type: ignore[arg-type]
            printer = Printer(spelling, node, width, kept)
            if whole:
                file_text(printer, node, header)  # type: ignore[arg-type]
            else:
                _fragment(printer, node)
        except Exception:
            refuse_unreadable(node)
            raise
        lines = shallow(printer.out, len(TAB), whole)
        if max(map(len, lines), default=0) > width or not all(map(str.isascii, lines)):
            lines = [
                line if (len(line) <= width and line.isascii()) or "\n" in line else fit(line, width) for line in lines
            ]
    text = "\n".join(lines)
    if kept.saved:
        assert constants_file is not None
        kept.save(constants_file)
    return f"{text}\n" if whole else text


@public
def save(node: Node, path: str | os.PathLike[str], **options: Any) -> None:
    """Write the source text of `node` into the file `path`; the options are those of `script`.

    With `constants="file"` the data goes into the file of the same name with the suffix `.safetensors`.
    """
    target = pathlib.Path(path)
    if options.get("constants") == "file":
        options.setdefault("constants_file", target.with_suffix(".safetensors"))
    write_file(target, script(node, **options).encode())


def show(node: Any, **options: Any) -> None:
    """Print the source text of `node`, highlighted where the output is a terminal; `options` are those of `script`."""
    import os
    import sys

    text = script(node, **options)
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        print(text)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(text, "python", background_color="default"))


__all__ = ["CONSTANTS", "diff", "dialect_of", "save", "script", "show"]
