"""`tirscript lint`: mistakes and what is probably one, as an editor or CI reads them."""

from __future__ import annotations

import re
import sys
from collections import Counter

import click

from tirscript.ir import Diagnostic, DiagnosticError
from tirscript.ir.codes import CODES
from tirscript.ir.words import counted

from .files import FILE, every_program, expand, read_text
from .output import coloured, console, described, machine, note, report, write

EPILOG = """\b
Examples:
  tirscript lint kernels/
  tirscript lint --output-format github .          annotations of a pull request
  tirscript lint --ignore T607,T211 kernel.py
  tirscript explain T602                           what a code means

A comment `# lint: ignore[T602]` on the line of a warning silences it, `# lint: ignore` all of the line. Exit status: 0
where nothing is found, 1 where something is."""
_IGNORED = re.compile(r"#.*\blint: ignore(?:\[([\w, ]*)\])?")


def _codes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Codes or beginnings of codes, from options that may hold several."""
    found = tuple(code.strip().upper() for text in value for code in text.split(",") if code.strip())
    for code in found:
        if not any(known.startswith(code) for known in CODES):
            raise click.BadParameter(f"no code begins with {code}; `tirscript explain` lists them")
    return found


@click.command(name="lint", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="PATH...")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="`text` for people, `json` for programs, `github` for annotations.",
)
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Only warnings of these: T602, or T6.")
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="No warnings of these.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--statistics", is_flag=True, help="In place of the messages, how many there are of each code.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    output_format: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exit_zero: bool,
    statistics: bool,
    quiet: bool,
) -> None:
    """Read PATHS (files, folders, `-`) and tell every error, and what is allowed and probably not meant.

    Errors are those of the parser and the verifier; warnings are the verifier's and those of the codes T6.
    """
    found: list[Diagnostic] = []
    count = 0
    for path in expand(paths):
        got = findings(path, searched=path not in paths)
        count += got is not None
        found += [one for one in got or () if one.severity == "error" or _wanted(one, select, ignore)]
    if statistics:
        counts = sorted(Counter(one.code for one in found).items())
        if output_format == "json":
            machine([{"code": code, "title": CODES[code], "count": number} for code, number in counts])
        for code, number in counts if output_format != "json" else ():
            write(f"{number:6}  {code}  {CODES[code]}\n")
    else:
        FORMATS[output_format](found)
    if not quiet and output_format == "text":
        errors = sum(one.severity == "error" for one in found)
        words = f"{counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}"
        note(f"{words if found else 'nothing found'} ({counted(count, 'file')})")
    ctx.exit(1 if found and not exit_zero else 0)


def findings(path: str, *, searched: bool = False) -> list[Diagnostic] | None:
    """Every error and warning of a file; None where it holds no program. `searched`: it was found in a folder."""
    from tirscript.passes.lint import lint

    try:
        programs = every_program(read_text(path, searched=searched), path)
        return [one for _, program in programs for one in lint(program)] if programs else None
    except DiagnosticError as problem:
        return list(problem.diagnostics)


def _wanted(found: Diagnostic, select: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    """Whether a warning is asked for and not silenced where it stands."""
    if select and not found.code.startswith(select):
        return False
    if found.code.startswith(ignore):
        return False
    if found.span is None:
        return True
    match = _IGNORED.search(found.span.source.line(found.span.line))
    return match is None or (match[1] is not None and found.code not in match[1].replace(" ", "").split(","))


def _text(found: list[Diagnostic]) -> None:
    report(found, sys.stdout)
    if found and not coloured(sys.stdout):
        write("\n")
    elif found:
        console(sys.stdout).print()


def _json(found: list[Diagnostic]) -> None:
    machine([described(one) for one in found])


def _github(found: list[Diagnostic]) -> None:
    """https://docs.github.com/actions/reference/workflow-commands-for-github-actions"""
    for one in found:
        fields = []
        if one.span is not None:
            fields += [("file", one.span.filename), ("line", one.span.line), ("endLine", one.span.last_line)]
            fields.append(("col", one.span.column + 1))
            if one.span.line == one.span.last_line:
                fields.append(("endColumn", one.span.end + 1))
        fields.append(("title", one.code))
        message = one.message + "".join(f"\n{text}" for text in (*one.notes, one.hint) if text)
        words = ",".join(f"{name}={_escaped(str(value), ',:')}" for name, value in fields)
        write(f"::{one.severity} {words}::{_escaped(message)}\n")


def _escaped(text: str, more: str = "") -> str:
    for char in f"%\r\n{more}":
        text = text.replace(char, f"%{ord(char):02X}")
    return text


FORMATS = {"text": _text, "json": _json, "github": _github}
