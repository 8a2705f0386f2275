"""`tirscript print`: the programs of files as source text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from tirscript.ir import GraphFunc, Module

from .files import FILE, Program, some, spare
from .output import source

EPILOG = """\b
Examples:
  tirscript print kernel.py                 every function and module of a file
  tirscript print kernel.py:matmul          one of them
  tirscript print kernel.py --dialect tvm   for apache-tvm
  tirscript opt kernel.py --passes=default | tirscript print - --width 80"""


def file_text(
    programs: Sequence[Program], dialect: str = "tirscript", constants_file: str | None = None, **options: Any
) -> str:
    """Several programs as the text of one file: the imports that they need, then each of them.

    The constants of several go to files of their own, called after them.
    """
    from tirscript.printer import dialect_of

    if len(programs) == 1:
        return programs[0].script(dialect=dialect, constants_file=constants_file, **options)
    modules = [program for program in programs if isinstance(program, Module)]
    functions = [func for program in programs for func in (program if isinstance(program, Module) else (program,))]
    graphs = any(isinstance(func, GraphFunc) for func in functions)
    lines = dialect_of(dialect).imports(bool(modules), bool(functions), graphs)
    texts = ["".join(f"{line}\n" for line in lines)] if lines else []
    for program in programs:
        stem, end = os.path.splitext(constants_file or "")
        file = f"{stem}.{program.name}{end}" if constants_file else None
        texts.append(program.script(dialect=dialect, header=False, constants_file=file, **options))
    return "\n\n".join(texts)


def layout(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of printing among those of a command. Raises click.UsageError where one lacks another."""
    if given["constants"] == "file" and not given["constants_file"]:
        raise click.UsageError("--constants file needs --constants-file PATH, the file to write them to")
    if given["constants"] != "file" and given["constants_file"]:
        raise click.UsageError("--constants-file goes with --constants file")
    return {name: given[name] for name in ("dialect", "constants", "constants_file", "width")}


def printing(function: Any) -> Any:
    """The options of printing, for the commands that print."""
    from tirscript.printer import CONSTANTS

    for option in (
        click.option("--width", type=click.IntRange(20), default=100, show_default=True, help="Columns of a line."),
        click.option("--constants-file", metavar="PATH", help="The .safetensors file for --constants file."),
        click.option(
            "--constants",
            type=click.Choice(CONSTANTS),
            default="elide",
            show_default=True,
            help="How data of over 16 elements is written: by its digest, in the text, or to a file.",
        ),
        click.option(
            "--dialect",
            type=click.Choice(["tirscript", "tvm"]),
            default="tirscript",
            show_default=True,
            help="The language of the output; `tvm` is what apache-tvm 0.27 reads.",
        ),
    ):
        function = option(function)
    return function


@click.command(name="print", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE[:NAME]...")
@printing
def command(files: tuple[str, ...], **given: Any) -> None:
    """Print what FILES define, as a whole Python file that reads back as the same programs.

    Other Python of a file is left out: it is read, and never run.
    """
    options = layout(given)
    for file in files:
        spare(file, options["constants_file"])
    found = [program for file in files for program in some(file)[1].values()]
    source(file_text(found, **options))
