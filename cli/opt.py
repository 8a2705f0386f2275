"""`tirscript opt`: passes applied to the programs of a file."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from tirscript.ir import DiagnosticError, error, structural_equal

from .completion import PASS, PASSES, TARGET
from .files import (
    FILE,
    SEPARATOR,
    Program,
    may_hold_programs,
    pieces,
    read_programs,
    read_text,
    some,
    spare,
    split_name,
    writing,
)
from .output import note, report, source, write
from .print_ import file_text, layout, printing

EPILOG = """\b
Examples:
  tirscript opt kernel.py --passes=default                 the lowering that `build` does
  tirscript opt kernel.py --passes='lower_blocks,unroll_loop{limit=4}' --print-changed
  tirscript opt kernel.py --passes=default --until flatten_buffer --verify-each
  tirscript opt many.py --split --passes=simplify          programs between lines `# -----`
  tirscript print k.py | tirscript opt - --passes=simplify --timing
  tirscript opt model.py --passes=build --target="llvm -mcpu=x86-64-v3" --dump stages
  tirscript opt kernel.py --passes=build --bisect results  which pass makes it compute something else

Programs go to standard output; what --print-..., --diff and --timing tell goes to standard error."""


def read_passes(text: str, target: Any = None) -> Any:
    """The pipeline that a text names; `default` is the lowering of tensor functions, `build` all that `build` does."""
    from tirscript.passes import DEFAULT_LOWERING, Sequential, get_pass
    from tirscript.passes.pipeline_text import entries_of

    parts: list[Any] = []
    for name, options in entries_of(text):
        if name == "build" and not options:
            from tirscript.backend.default_pipeline import default_pipeline

            parts.append(default_pipeline(target))
        else:
            parts.append(DEFAULT_LOWERING if name == "default" and not options else get_pass(name, **options))
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Sequential) else Sequential(parts)


@click.command(name="opt", epilog=EPILOG)
@click.argument("file", type=FILE, metavar="FILE[:NAME]")
@click.option(
    "--passes",
    "-p",
    default="",
    type=PASSES,
    help="`a,b{x=1}`; `default` is the lowering of tensor functions, `build` all that build does.",
)
@click.option("--target", type=TARGET, help="What functions are for that say nothing themselves.")
@click.option("--until", type=PASS, help="Stop after this pass.")
@click.option("--disable", type=PASS, multiple=True, help="Leave this pass out; may be given several times.")
@click.option("--require", type=PASS, multiple=True, help="Run this pass at every level; may be repeated.")
@click.option("--opt-level", type=click.IntRange(0, 3), default=3, show_default=True, help="Leave higher passes out.")
@click.option("--list", "listed", is_flag=True, help="List the passes that would run, a line each, and end.")
@click.option("--print-changed", is_flag=True, help="Print the program after each pass that changes it.")
@click.option("--print-before", type=PASS, multiple=True, help="Print the program before a pass; `all` is each.")
@click.option("--print-after", type=PASS, multiple=True, help="Print the program after a pass; `all` is each.")
@click.option("--diff", "differ", is_flag=True, help="Print what each pass changes, as a diff.")
@click.option("--verify-each", is_flag=True, help="Check the program after each pass.")
@click.option("--roundtrip-each", is_flag=True, help="Print and read the program after each pass, and compare.")
@click.option("--dump", metavar="DIR", help="Write the program before the passes and after each into a folder.")
@click.option(
    "--bisect",
    type=click.Choice(["results", "verify", "roundtrip"]),
    help="Find the pass that breaks this, and print what it changes.",
)
@click.option("--timing", is_flag=True, help="Tell how long each pass took.")
@click.option("--split", is_flag=True, help="Take the programs between lines `# -----` each by itself.")
@printing
@click.pass_context
def command(
    ctx: click.Context, file: str, passes: str, target: str | None, until: str | None, split: bool, **options: Any
) -> None:
    """Apply PASSES to every function and module of FILE and print what they become.

    Without --passes the programs are read, checked and printed. `tirscript passes` lists the passes.
    """
    shape = layout(options)
    spare(file, shape["constants_file"])
    around = read_target(target)
    pipeline = read_passes(passes, around)
    if until is not None:
        pipeline = pipeline.until(until)
    if options["listed"]:
        with _context(options, []) as context:
            write("".join(f"{entry}\n" for entry in pipeline if context.runs(entry)))
        return
    timing, instruments = _instruments(options)
    printed: list[str] = []
    failed = False
    for found in _inputs(file) if split else [lambda: some(file)[1]]:
        try:
            programs = found()
            if programs and options["bisect"] is not None:
                with around or nullcontext():
                    failed |= _bisected(pipeline, programs, options)
            elif programs:
                with around or nullcontext():
                    made = _apply(pipeline, programs, instruments, options)
                printed.append(file_text(made, **shape))
        except DiagnosticError as problem:
            report(problem)
            failed = True
    source(f"\n{SEPARATOR}\n\n".join(printed))
    if timing is not None:
        note(timing.report())
    ctx.exit(1 if failed else 0)


def read_target(text: str | None) -> Any:
    """The target that an option names; None where it is not given."""
    if text is None:
        return None
    from tirscript.ir import Target
    from tirscript.ir.target_kinds import check_target

    try:
        target = Target.parse(text)
    except ValueError as problem:
        hint = "`tirscript targets` lists what there is"
        raise DiagnosticError([error("T402", f"no target: {problem}", hint=hint)]) from None
    check_target(target)
    return target


def _names(names: tuple[str, ...]) -> set[str]:
    from tirscript.passes import get_pass

    return {get_pass(name).name for name in names}


def _inputs(file: str) -> list[Any]:
    """The programs of each piece of a file, as functions that read them, so that one bad piece spoils no other."""
    path, name = split_name(file)
    if name is not None:
        message = "with --split every program of a file is taken"
        raise DiagnosticError([error("T307", message, hint=f"leave `:{name}` out")])
    head, *rest = pieces(read_text(path))
    above = [head] if may_hold_programs(head) or not rest else []  # else imports and comments above the first line
    return [(lambda piece=piece: read_programs(piece, path)) for piece in (*above, *rest) if piece.strip()]


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


def _context(options: dict[str, Any], instruments: list[Any]) -> Any:
    """What the options say of all passes."""
    from tirscript.passes import PassContext

    return PassContext(
        instruments, disabled=options["disable"], required=options["require"], opt_level=options["opt_level"]
    )


def _bisected(pipeline: Any, programs: dict[str, Program], options: dict[str, Any]) -> bool:
    """Print which pass breaks what `--bisect` names, for each program; whether one does."""
    from tirscript.ir.verify import check_well_formed
    from tirscript.passes import bisect
    from tirscript.printer import diff
    from tirscript.script import parse
    from tirscript.testing import assert_same_result

    def roundtrip(program: Any, made: Any) -> bool:
        return structural_equal(parse(made.script(constants="inline")), made)

    checks: dict[str, Any] = {
        "verify": lambda program, made: check_well_formed(made),
        "roundtrip": roundtrip,
        "results": lambda program, made: assert_same_result(program, made, runs=1, native=False),
    }
    check, broken = checks[options["bisect"]], False
    program: Any
    for name, program in programs.items():
        with _context(options, []):
            try:
                found = bisect(pipeline, program, partial(check, program))
            except ValueError as problem:
                message = f"`{name}`: {problem}: {problem.__cause__}"
                raise DiagnosticError([error("T404", message, program.span)]) from None
        if found is None:
            write(f"{name}: holds after every pass\n")
            continue
        broken = True
        write(f"{name}: {found}\n")
        if found.after is not None:
            source(diff(found.before, found.after))
    return broken


def _apply(
    pipeline: Any, programs: dict[str, Program], instruments: list[Any], options: dict[str, Any]
) -> list[Program]:
    from tirscript.passes import DumpEach, Instrument
    from tirscript.printer import diff

    class PrintDiff(Instrument):
        """Tell what each pass changes."""

        def after(self, entry: Any, before: Any, program: Any) -> None:
            text = "" if program is before else diff(before, program)
            note(f"# {entry}: no change" if not text else f"# after {entry}\n{text}")

    watching = [*instruments, PrintDiff()] if options["differ"] else instruments
    made = []
    for name, program in programs.items():
        own = []
        if options["dump"] is not None:
            own.append(DumpEach(Path(options["dump"], *([name] if len(programs) > 1 else []))))
        with writing(options["dump"]):
            try:
                with _context(options, [*watching, *own]):
                    made.append(pipeline(program))
            except FileExistsError:
                message = f"the folder of --dump is to be new or empty, which {options['dump']} is not"
                raise DiagnosticError([error("T307", message)]) from None
    return made
