"""`tirscript roundtrip`: whether programs print to text that reads as the same program."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from tirscript.ir import DiagnosticError, Module, differences, error, structural_equal
from tirscript.ir.words import counted

from .files import FILE, Program, every_program, expand, name_of, pieces, read_text
from .output import coloured, described, machine, note, report, write

EPILOG = """\b
Examples:
  tirscript roundtrip kernels/ more.py
  tirscript roundtrip --dialect tvm --json kernels/
  tirscript roundtrip --passes default kernels/     after each pass of the lowering too"""


class Outcome(NamedTuple):
    """One program: whether it came back, and if not what was wrong."""

    file: str
    name: str
    stage: str
    ok: bool
    why: str = ""


def round_trip(program: Program, dialect: str = "tirscript") -> str | None:
    """What is wrong with the round trip of a program through its text; None where it is exact."""
    from tirscript.script import parse

    try:
        constants = "inline"
        try:
            text = program.script(dialect=dialect, constants=constants)
        except DiagnosticError as problem:
            if any(one.code != "T312" for one in problem.diagnostics):
                raise
            constants = "elide"  # the data is not at hand, and the digest tells it as well
            text = program.script(dialect=dialect, constants=constants)
        again = parse(text)
    except DiagnosticError as problem:
        first = problem.diagnostics[0]
        return f"{first.code}: {first.message}"
    if not structural_equal(program, again):
        found = differences(program, again, limit=3)
        return "the text reads as another program: " + "; ".join(map(str, found))
    if again.script(dialect=dialect, constants=constants) != text:
        return "printed again, it is another text"
    return None


def stages(program: Program, passes: Any) -> Iterator[tuple[str, Program]]:
    """The program itself, and what each of the passes makes of it."""
    yield "as read", program
    if passes.needs_module(program):
        program = Module((program,), name=program.name)  # type: ignore[arg-type]
    for entry in passes:
        after = entry(program)
        if after is not program:
            yield f"after {entry}", after
        program = after


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on standard error where that is a terminal; call what it gives with the name of each file."""
    if total < 2 or not sys.stderr.isatty() or not coloured(sys.stderr):
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(name: str) -> None:
            bar.update(task, description=name, advance=1)

        yield step


@click.command(name="roundtrip", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="PATH...")
@click.option(
    "--dialect",
    type=click.Choice(["tirscript", "tvm"]),
    default="tirscript",
    show_default=True,
    help="The language of the text.",
)
@click.option("--passes", "pipeline", default="", metavar="PASSES", help="Also after each of these passes.")
@click.option("--split", is_flag=True, help="The programs of a file are separated by lines `# -----`.")
@click.option("--json", "as_json", is_flag=True, help="The outcomes as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="A line for each program.")
@click.pass_context
def command(
    ctx: click.Context, paths: tuple[str, ...], dialect: str, pipeline: str, split: bool, as_json: bool, verbose: bool
) -> None:
    """Print each program of PATHS (files, folders, `-`), read the text and compare: text and program must be the same.

    Exits with 1 where a program does not come back, or a file cannot be read.
    """
    from .opt import read_passes

    passes = read_passes(pipeline)
    outcomes: list[Outcome] = []
    unread: list[DiagnosticError] = []
    files = expand(paths)
    started = time.perf_counter()
    with progress(len(files)) as step:
        for path in files:
            step(path)
            outcomes += _one(path, path not in paths, dialect, passes, split, unread)
    seconds = time.perf_counter() - started
    if not outcomes and not unread:
        unread.append(DiagnosticError([error("T022", f"there are no programs in {', '.join(map(name_of, paths))}")]))
    failed = [one for one in outcomes if not one.ok]
    if as_json:
        machine(
            {
                "programs": [one._asdict() for one in outcomes],
                "errors": [described(found) for problem in unread for found in problem.diagnostics],
            }
        )
    else:
        for problem in unread:
            report(problem)
        for one in outcomes if verbose else failed:
            write(f"{one.file}:{one.name}: {one.stage}: {'exact' if one.ok else one.why}\n")
        words = [f"{counted(len(outcomes) - len(failed), 'program')} exact"]
        words += [f"{len(failed)} not"] * bool(failed) + [f"{counted(len(unread), 'file')} not read"] * bool(unread)
        note(f"{', '.join(words)} ({counted(len(files), 'file')}, {seconds:.1f} s)")
    ctx.exit(1 if failed or unread else 0)


def _one(
    path: str, searched: bool, dialect: str, passes: Any, split: bool, unread: list[DiagnosticError]
) -> list[Outcome]:
    """The outcomes of one file; what keeps it from being read goes to `unread`."""
    found: list[Outcome] = []
    try:
        text = read_text(path, searched=searched)
    except DiagnosticError as problem:
        unread.append(problem)
        return found
    for piece in pieces(text) if split else [text]:
        if split and not piece.strip():
            continue
        try:
            for name, program in every_program(piece, path):
                for stage, one in stages(program, passes):
                    why = round_trip(one, dialect)
                    found.append(Outcome(name_of(path), name, stage, why is None, why or ""))
        except DiagnosticError as problem:
            unread.append(problem)
    return found
