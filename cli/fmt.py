"""`tirscript fmt`: kernels laid out as they are printed, the rest of the file as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from tirscript.ir import DiagnosticError, error
from tirscript.ir.words import counted

from .files import FILE, STDIN, expand, may_hold_programs, name_of, read_bytes, save
from .output import difference, note, report, write

EPILOG = """\b
Examples:
  tirscript fmt kernel.py src/            write files and folders
  tirscript fmt --check --diff .          in CI: say what would change
  tirscript fmt - < kernel.py             from standard input to standard output

A definition with `# fmt: off` in it or above it, or `# fmt: skip` on its first line, is left as it is, and so is a
statement with `# fmt: skip`.

Exit status, as of black: 0, 1 where --check finds something to change, 123 where a file cannot be read or is no
Python."""
FAILED = 123


def formatted(data: bytes, filename: str, width: int) -> str:
    """The text of a file with each decorated definition laid out; line ends and a mark of order are kept.

    Raises DiagnosticError where the file is no Python, T499 where the layout would change a program.
    """
    from tirscript.printer.reformat import reformat
    from tirscript.script import extract
    from tirscript.script.source import decode, normalize

    mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
    text = decode(data, filename)
    found = extract(text, filename=filename, comments=False)
    if not found.definitions_at:
        return mark + text
    lines = normalize(text).split("\n")
    ends = _ends(text)
    for place in reversed(found.definitions_at):
        if _left_alone(lines, place):
            continue
        before = "\n".join(lines[place.first - 1 : place.last])
        try:
            made = reformat(before, width)
        except (AssertionError, SyntaxError) as problem:
            message = f"{filename}:{place.first}: this definition cannot be laid out: {problem}"
            raise DiagnosticError([error("T499", message, hint="the file is unchanged; please report it")]) from problem
        if made != before:
            end = ends[place.first - 1]
            new = made.split("\n")
            lines[place.first - 1 : place.last] = new
            ends[place.first - 1 : place.last] = [end] * (len(new) - 1) + [ends[place.last - 1]]
    return mark + "".join(map("".join, zip(lines, ends, strict=True)))


_SWITCH = re.compile(r"^\s*# fmt: (off|on)\s*$")


def _left_alone(lines: list[str], place: Any) -> bool:
    """Whether `# fmt: off` stands in a definition or is in force above it, or `# fmt: skip` on its first line."""
    if lines[place.first - 1].rstrip().endswith("# fmt: skip"):
        return True
    if any(_SWITCH.match(line) for line in lines[place.first - 1 : place.last]):
        return True
    switches = [match[1] for match in map(_SWITCH.match, lines[: place.first - 1]) if match]
    return bool(switches) and switches[-1] == "off"


def _ends(text: str) -> list[str]:
    """How each line of a text ends."""
    return [*re.findall(r"\r\n|\r|\n", text), ""]


def _diff(old: str, new: str, name: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        old.replace("\r", "").split("\n"), new.replace("\r", "").split("\n"), f"a/{name}", f"b/{name}", lineterm=""
    )
    return "".join(f"{line}\n" for line in lines)


class _Count:
    """What became of the files."""

    def __init__(self) -> None:
        self.changed = self.unchanged = self.failed = 0

    def parts(self, would: str) -> Iterator[str]:
        """The words of the summary."""
        if self.changed:
            yield f"{counted(self.changed, 'file')} {would}reformatted"
        if self.unchanged:
            yield f"{counted(self.unchanged, 'file')} {would}left unchanged"
        if self.failed:
            yield f"{counted(self.failed, 'file')} failed"


@click.command(name="fmt", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="PATH...")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a file would change.")
@click.option("--diff", "show", is_flag=True, help="Write nothing; print what would change.")
@click.option("--line-length", type=click.IntRange(20), default=100, show_default=True, help="Columns of a line.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], check: bool, show: bool, line_length: int, quiet: bool) -> None:
    """Lay out the functions, modules and macros in PATHS (files, folders, `-`) as the printer does.

    Every word stays as it is written: only blanks, line breaks, quotes and commas at line ends change, and only within
    decorated definitions. The rest of a file is not touched. `tirscript print` is what writes a program anew.
    """
    count = _Count()
    for path in expand(paths):
        try:
            changed = _one(path, path not in paths, check, show, line_length, quiet)
        except DiagnosticError as problem:
            report(problem)
            count.failed += 1
            continue
        count.changed += changed
        count.unchanged += not changed
    if not quiet:
        would = "would be " if check or show else ""
        note(", ".join(count.parts(would)) + "." if list(count.parts(would)) else "There are no Python files.")
    ctx.exit(FAILED if count.failed else int(check and count.changed > 0))


def _one(path: str, searched: bool, check: bool, show: bool, width: int, quiet: bool) -> bool:
    """Format one file; whether it changes."""
    data = read_bytes(path)
    if searched and not may_hold_programs(data.decode("utf-8", "replace")):
        return False
    new = formatted(data, name_of(path), width)
    old = data.decode("utf-8")
    if show:
        difference(_diff(old, new, name_of(path)))
    elif path == STDIN and not check:
        write(new)
    if new == old:
        return False
    if path != STDIN:
        if not check and not show:
            save(path, new)
        if not quiet:
            note(f"{'would reformat' if check or show else 'reformatted'} {path}")
    return True
