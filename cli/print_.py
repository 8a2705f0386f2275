"""`tirscript print`: the programs of files as source text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from tirscript.ir import Module

from .files import FILE, Program, some
from .output import source

EPILOG = """\b
Examples:
  tirscript print kernel.py                 every function and module of a file
  tirscript print kernel.py:matmul          one of them
  tirscript print kernel.py --dialect tvm   for apache-tvm
  tirscript opt kernel.py --passes=default | tirscript print - --width 80"""


def file_text(programs: Sequence[Program], dialect: str = "tirscript", **options: Any) -> str:
    """Several programs as the text of one file: the imports that they need, then each of them."""
    from tirscript.printer import dialect_of

    if len(programs) == 1:
        return programs[0].script(dialect=dialect, **options)
    modules = [program for program in programs if isinstance(program, Module)]
    functions = len(modules) < len(programs) or any(module.functions for module in modules)
    lines = dialect_of(dialect).imports(bool(modules), functions)
    texts = [program.script(dialect=dialect, header=False, **options) for program in programs]
    return "\n\n".join([f"{line}\n" for line in ["\n".join(lines)] if line] + texts)


def printing(function: Any) -> Any:
    """The options of printing, for the commands that print."""
    from tirscript.printer import CONSTANTS

    for option in (
        click.option("--width", type=click.IntRange(20), default=100, show_default=True, help="Columns of a line."),
        click.option(
            "--constants",
            type=click.Choice(CONSTANTS),
            default="elide",
            show_default=True,
            help="How large constant data is written.",
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
def command(files: tuple[str, ...], dialect: str, constants: str, width: int) -> None:
    """Print what FILES define, as a whole Python file that reads back as the same programs.

    Other Python of a file is left out: it is read, and never run.
    """
    found = [program for file in files for program in some(file)[1].values()]
    source(file_text(found, dialect, constants=constants, width=width))
