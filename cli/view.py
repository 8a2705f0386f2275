"""`tirscript view`: a page that shows what every pass does."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from .completion import PASSES
from .files import FILE, STDIN, has_graphs, name_of, named, read_programs, read_text, save, spare, split_name
from .opt import read_passes

EPILOG = """\b
Examples:
  tirscript view kernel.py                          writes kernel.html
  tirscript view kernel.py:matmul -o page.html --open
  tirscript view kernel.py --passes='lower_blocks,simplify' --no-native"""


@click.command(name="view", epilog=EPILOG)
@click.argument("file", type=FILE, metavar="FILE[:NAME]")
@click.option(
    "--passes",
    "-p",
    default="build",
    show_default=True,
    type=PASSES,
    help="`a,b{x=1}`; `build` is all that build does, `default` the lowering without a schedule.",
)
@click.option(
    "--output", "-o", type=click.Path(), help="The page to write, `-` for standard output.  [default: FILE.html]"
)
@click.option("--native/--no-native", "compiled", default=True, help="Show LLVM IR and assembly.  [default: native]")
@click.option("--open", "opened", is_flag=True, help="Open the page in a browser.")
def command(file: str, passes: str, output: str | None, compiled: bool, opened: bool) -> None:
    """Write a page that shows what each pass does to FILE[:NAME], down to assembly.

    The page is one HTML file that needs no network: the passes at the side, the program before and after each of them
    beside each other, graph functions as drawings, what is known of every variable, all uses of a name, and for each
    line where it came from and what became of it. What is large is unpacked when it is looked at.
    """
    from .viewer import page

    spare(file, output)
    path, name = split_name(file)
    source = read_text(path)
    found = named(read_programs(source, path), name, path)
    pipeline = read_passes(passes)
    if passes.strip() == "default" and any(map(has_graphs, found.values())):
        from tirscript.passes import Sequential
        from tirscript.passes.graph import GRAPH_LOWERING

        pipeline = Sequential([GRAPH_LOWERING, pipeline])
    target = output or ("view.html" if path == STDIN else f"{Path(path).stem}.html")
    if target == STDIN and opened:
        raise click.UsageError("--open needs a file to open; leave `-o -` away")
    progress = _progress if sys.stderr.isatty() else None
    text = page(name_of(path), source, found, pipeline, compiled=compiled, progress=progress)
    if target == STDIN:
        sys.stdout.write(text)
        return
    save(target, text)
    if progress is not None:
        progress("")
    print(f"{target}: {len(text.encode()) / 1e6:.1f} MB", file=sys.stderr)
    if opened:
        click.launch(target)


_last = 0.0


def _progress(what: str) -> None:
    """What is being done, on one line of a terminal; not more often than it can be read."""
    global _last
    now = time.monotonic()
    if not what or now - _last > 0.1:
        _last = now
        sys.stderr.write(f"\r\x1b[K{what[:78]}")
        sys.stderr.flush()
