"""`tirscript diff`: what differs between the programs of two files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
from msgspec import Struct

from tirscript.ir import DiagnosticError, Difference, Span, differences, structural_equal

from .files import FILE, Program, may_hold_programs, name_of, read_bytes, some, split_name
from .output import difference, machine, place, report, write

EPILOG = """\b
Examples:
  tirscript diff old.py new.py
  tirscript diff old.py:matmul new.py:matmul --paths
  tirscript opt k.py --passes=simplify | tirscript diff k.py -

\b
For git, as a difftool:
  git config difftool.tirscript.cmd 'tirscript diff --text "$LOCAL" "$REMOTE"'
  git difftool --tool=tirscript
and for `git diff` itself:
  GIT_EXTERNAL_DIFF='tirscript diff' git diff
`tirscript textconv --help` has the other way, which needs no files to be readable.

Exit status: 0; with --exit-code 1 where the programs differ; 128 where a file cannot be read or, without --text, is no
program."""
TROUBLE = 128
GIT_ARGUMENTS = (7, 9)  # what git passes to GIT_EXTERNAL_DIFF: path, old file, hex, mode, new file, hex, mode, rename


class Change(Struct, frozen=True, eq=False):
    """One function or module that is not the same in both files; None where it is in one only."""

    name: str
    before: Program | None
    after: Program | None
    was: str | None = None  # its name in the old file, where it is another

    @property
    def kind(self) -> str:
        """What happened to it."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def changes(before: dict[str, Program], after: dict[str, Program]) -> list[Change]:
    """What differs structurally, in the order of the new file; names of variables and comments do not count."""
    if len(before) == len(after) == 1:  # one each: compared whatever they are called
        ((was, a),), ((name, b),) = before.items(), after.items()
        return [] if structural_equal(a, b) else [Change(name, a, b, was)]
    found = [Change(name, program, None) for name, program in before.items() if name not in after]
    for name, program in after.items():
        old = before.get(name)
        if old is None or not structural_equal(old, program):
            found.append(Change(name, old, program))
    return found


def unified(change: Change, left: str, right: str, context: int) -> str:
    """The unified diff of a change; `left` and `right` are what the two files are called."""
    import difflib

    from tirscript.printer import diff

    if change.before is not None and change.after is not None:
        lines = diff(change.before, change.after, context=context).split("\n")[2:]
    else:
        a, b = (program.script().splitlines() if program else [] for program in (change.before, change.after))
        lines = [*list(difflib.unified_diff(a, b, lineterm="", n=context))[2:], ""]
    return "\n".join([f"--- {left}:{change.was or change.name}", f"+++ {right}:{change.name}", *lines])


def described(change: Change) -> dict[str, Any]:
    """A change as JSON has it."""
    found = []
    if change.before is not None and change.after is not None:
        for one, before, after in _places(change.before, change.after):
            found.append({"path": one.path, "reason": one.reason, "before": place(before), "after": place(after)})
    return {"name": change.name, "change": change.kind, "differences": found}


def _places(before: Program, after: Program) -> Iterator[tuple[Difference, Span | None, Span | None]]:
    """Each difference with the places where both sides are written, or the smallest known thing around them."""
    from tirscript.testing.mismatch import Side

    left, right = Side("old", before), Side("new", after)
    for one in differences(before, after):
        yield one, left.origin(one.path), right.origin(one.right_path)


@click.command(name="diff", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="OLD NEW")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where the programs differ.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; implies --exit-code.")
@click.option("-U", "--unified", "context", type=click.IntRange(0), default=3, show_default=True, help="Lines around.")
@click.option("--paths", is_flag=True, help="List the places that differ, `body[2].extent: ...`, in place of the text.")
@click.option("--json", "as_json", is_flag=True, help="The places that differ as JSON.")
@click.option("--text", is_flag=True, help="Compare files that hold no programs, or broken ones, as text.")
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    exit_code: bool,
    quiet: bool,
    context: int,
    paths: bool,
    as_json: bool,
    text: bool,
) -> None:
    """Compare the functions and modules of OLD with those of the same names of NEW.

    What is compared is what they mean: layout, comments and the names of variables are no difference. The text that is
    shown has the variables of NEW renamed to those of OLD.
    """
    if len(files) in GIT_ARGUMENTS:
        _for_git(files, context)
        return
    if len(files) == 1 and "GIT_DIFF_PATH_TOTAL" in os.environ:
        write(f"* Unmerged path {files[0]}\n")
        return
    if len(files) != 2:
        raise click.UsageError(f"two files are compared, and {len(files)} {'is' if len(files) == 1 else 'are'} given")
    if files == ("-", "-"):
        raise click.UsageError("standard input is read once: one of the two is a file")
    try:
        if text:
            if paths or as_json:
                raise click.UsageError("--text has no places to list")
            differ = _in_any_case(files[0], files[1], *files, context, quiet)
            ctx.exit(1 if differ and (exit_code or quiet) else 0)
        (left, before), (right, after) = some(files[0]), some(files[1])
    except DiagnosticError as problem:
        report(problem)
        ctx.exit(TROUBLE)
    found = changes(before, after)
    if not quiet:
        _show(found, name_of(left), name_of(right), context, paths, as_json)
    ctx.exit(1 if found and (exit_code or quiet) else 0)


def _show(found: list[Change], left: str, right: str, context: int, paths: bool, as_json: bool) -> None:
    if as_json:
        machine([described(change) for change in found])
        return
    for change in found:
        if not paths:
            difference(unified(change, left, right, context))
        elif change.kind != "changed":
            write(f"{change.name}: {change.kind}\n")
        else:
            assert change.before is not None and change.after is not None
            for one, old, new in _places(change.before, change.after):
                where = ", ".join(str(span) for span in (old, new) if span is not None)
                name = f"{change.name}.{one.path}" if one.path else change.name
                write(f"{name}: {one.reason}{f' ({where})' if where else ''}\n")


def _for_git(files: tuple[str, ...], context: int) -> None:
    """What `git diff` asks of its external program."""
    path, old, new = files[0], files[1], files[4]
    _in_any_case(old, new, f"a/{path}", f"b/{path}", context, heading=True)


def _in_any_case(
    old: str, new: str, left: str, right: str, context: int, quiet: bool = False, heading: bool = False
) -> bool:
    """Show what differs, of the text where there is no program; whether anything does. /dev/null is no file."""
    import difflib

    texts = [_blob(name) for name in (old, new)]
    found: list[Change] | None = None
    try:
        if all(text is None or may_hold_programs(text) for text in texts):
            found = changes(
                *({} if text is None else some(name)[1] for text, name in zip(texts, (old, new), strict=True))
            )
    except DiagnosticError as problem:
        report(problem)
    if heading:
        write(f"diff --{'git' if found is None else 'tirscript'} {left} {right}\n")
    if found is not None:
        for change in () if quiet else found:
            difference(unified(change, left, right, context))
        return bool(found)
    if quiet:
        return texts[0] != texts[1]
    if any("\0" in (text or "") for text in texts):
        write(f"Binary files {left} and {right} differ\n" if texts[0] != texts[1] else "")
        return texts[0] != texts[1]
    before, after = ((text or "").splitlines(keepends=True) for text in texts)
    names = [name if text is not None else os.devnull for name, text in zip((left, right), texts, strict=True)]
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(before, after, names[0], names[1], n=context)
    ]
    difference("".join(lines))
    return texts[0] != texts[1]


def _blob(name: str) -> str | None:
    """The text of a file that git made; None for /dev/null, which stands for no file."""
    return None if name == os.devnull else read_bytes(split_name(name)[0]).decode("utf-8", "replace")
