"""`tirscript opt`: passes applied to the programs of a file."""

from __future__ import annotations

import sys
from typing import Any

import click

from tirscript.ir import DiagnosticError, error

from .files import FILE, SEPARATOR, Program, pieces, read_programs, read_text, some, split_name
from .output import note, report, source, write
from .print_ import file_text, layout, printing

EPILOG = """\b
Examples:
  tirscript opt kernel.py --passes=default                 the lowering that `build` does
  tirscript opt kernel.py --passes='lower_blocks,unroll_loop{limit=4}' --print-changed
  tirscript opt kernel.py --passes=default --until flatten_buffer --verify-each
  tirscript opt many.py --split --passes=simplify          programs between lines `# -----`
  tirscript print k.py | tirscript opt - --passes=simplify --timing

Programs go to standard output; what --print-changed, --timing and --list tell goes to standard error."""


def read_passes(text: str) -> Any:
    """The pipeline that a text names; `default` is the lowering of `build`."""
    from tirscript.passes import DEFAULT_LOWERING, Sequential

    if text.strip() == "default":
        return DEFAULT_LOWERING
    return Sequential.parse(text)


@click.command(name="opt", epilog=EPILOG)
@click.argument("file", type=FILE, metavar="FILE[:NAME]")
@click.option(
    "--passes", "-p", default="", metavar="PASSES", help="`a,b{x=1}`, or `default` for the lowering of build."
)
@click.option("--until", metavar="PASS", help="Stop after this pass.")
@click.option("--disable", metavar="PASS", multiple=True, help="Leave this pass out; may be given several times.")
@click.option("--list", "listed", is_flag=True, help="List the passes that would run, a line each, and end.")
@click.option("--print-changed", is_flag=True, help="Print the program after each pass that changes it.")
@click.option("--print-before", metavar="PASS", multiple=True, help="Print the program before a pass; `all` is each.")
@click.option("--print-after", metavar="PASS", multiple=True, help="Print the program after a pass; `all` is each.")
@click.option("--diff", "differ", is_flag=True, help="Print what each pass changes, as a diff.")
@click.option("--verify-each", is_flag=True, help="Check the program after each pass.")
@click.option("--roundtrip-each", is_flag=True, help="Print and read the program after each pass, and compare.")
@click.option("--timing", is_flag=True, help="Tell how long each pass took.")
@click.option("--split", is_flag=True, help="Take the programs between lines `# -----` each by itself.")
@printing
@click.pass_context
def command(ctx: click.Context, file: str, passes: str, until: str | None, split: bool, **options: Any) -> None:
    """Apply PASSES to every function and module of FILE and print what they become.

    Without --passes the programs are read, checked and printed. `tirscript passes` lists the passes.
    """
    shape = layout(options)
    pipeline = read_passes(passes)
    if until is not None:
        pipeline = pipeline.until(until)
    if options["listed"]:
        write("".join(f"{entry}\n" for entry in pipeline if entry.name not in _names(options["disable"])))
        return
    timing, instruments = _instruments(options)
    printed: list[str] = []
    failed = False
    for found in _inputs(file) if split else [lambda: some(file)[1]]:
        try:
            programs = found()
            if programs:
                made = _apply(pipeline, list(programs.values()), instruments, options)
                printed.append(file_text(made, **shape))
        except DiagnosticError as problem:
            report(problem)
            failed = True
    source(f"\n{SEPARATOR}\n\n".join(printed))
    if timing is not None:
        note(timing.report())
    ctx.exit(1 if failed else 0)


def _names(names: tuple[str, ...]) -> set[str]:
    from tirscript.passes import get_pass

    return {get_pass(name).name for name in names}


def _inputs(file: str) -> list[Any]:
    """The programs of each piece of a file, as functions that read them, so that one bad piece spoils no other."""
    path, name = split_name(file)
    if name is not None:
        message = "with --split every program of a file is taken"
        raise DiagnosticError([error("T307", message, hint=f"leave `:{name}` out")])
    return [(lambda piece=piece: read_programs(piece, path)) for piece in pieces(read_text(path)) if piece.strip()]


def _instruments(options: dict[str, Any]) -> tuple[Any, list[Any]]:
    """What watches the passes; the one that measures them by itself."""
    from tirscript.passes import PrintAfter, PrintBefore, PrintChanged, RoundTripEach, Timing, VerifyEach

    timing = Timing() if options["timing"] else None
    made: list[Any] = [] if timing is None else [timing]
    if options["verify_each"]:
        made.append(VerifyEach())
    if options["roundtrip_each"]:
        made.append(RoundTripEach())
    for cls, names in ((PrintBefore, options["print_before"]), (PrintAfter, options["print_after"])):
        if names:
            made.append(cls(*(() if "all" in names else _names(names)), file=sys.stderr))
    if options["print_changed"]:
        made.append(PrintChanged(file=sys.stderr))
    return timing, made


def _apply(pipeline: Any, programs: list[Program], instruments: list[Any], options: dict[str, Any]) -> list[Program]:
    from tirscript.passes import Instrument, PassContext
    from tirscript.printer import diff

    class PrintDiff(Instrument):
        """Tell what each pass changes."""

        def after(self, entry: Any, before: Any, program: Any) -> None:
            text = "" if program is before else diff(before, program)
            note(f"# {entry}: no change" if not text else f"# after {entry}\n{text}")

    watching = [*instruments, PrintDiff()] if options["differ"] else instruments
    with PassContext(instruments=watching, disabled=options["disable"]):
        return [pipeline(program) for program in programs]
