"""`tirscript textconv`: what git compares of a file."""

from __future__ import annotations

import os

import click

from tirscript.ir import DiagnosticError

from .files import FILE, may_hold_programs, name_of, read_bytes
from .output import write

EPILOG = """\b
Example, so that `git diff` and `git log -p` compare what programs say and not how they are laid out:
  echo '*.py diff=tirscript' >> .gitattributes
  git config diff.tirscript.textconv 'tirscript textconv'"""


def converted(data: bytes, filename: str) -> str:
    """The programs of a file as they are printed; the text itself of a file that has none or cannot be read."""
    from tirscript.script import extract

    text = data.decode("utf-8", "surrogateescape")
    if not may_hold_programs(text):
        return text
    try:
        found = extract(text, filename=filename, comments=False)
        programs = found.definitions(os.path.dirname(filename) or ".") if found.places else {}
    except DiagnosticError:
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for name, place in sorted(found.places.items(), key=lambda item: -item[1].first):
        dialect = "tvm" if found.tvm else "tirscript"
        lines[place.first - 1 : place.last] = programs[name].script(header=False, dialect=dialect).rstrip().split("\n")
    return "\n".join(lines)


@click.command(name="textconv", epilog=EPILOG)
@click.argument("file", type=FILE)
def command(file: str) -> None:
    """Print FILE with its programs in their printed form, for git's textconv.

    Whatever cannot be read as a program is printed as it is, so that git can compare it all the same.
    """
    write(converted(read_bytes(file), name_of(file)))
