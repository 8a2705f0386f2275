"""`tirscript build`: compiled code, and what can be seen of it."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from tirscript.ir import Module, PrimFunc

from .completion import PASSES, TARGET
from .files import FILE, Program, some, spare, writing
from .opt import read_passes, read_target
from .output import duration, machine, source, write

EPILOG = """\b
Examples:
  tirscript build kernel.py                       compile times and entry points
  tirscript build kernel.py:matmul --emit asm     machine code as text; `llvm` and `ir` are the stages before
  tirscript build kernel.py -o libk.so --header k.h                   a library for C programs
  tirscript build kernel.py -o k.o --target aarch64/generic           an object file for another processor
  tirscript build kernel.py -o k.c --target c                         C source"""


@click.command(name="build", epilog=EPILOG)
@click.argument("file", type=FILE, metavar="FILE[:NAME]")
@click.option(
    "--emit",
    type=click.Choice(["ir", "llvm", "asm", "source"]),
    help="Print the lowered program, LLVM IR, assembly, or the C source of the target `c`.",
)
@click.option("--output", "-o", metavar="PATH", help="Write a library, object or source, by the suffix of PATH.")
@click.option("--header", metavar="PATH", help="With -o: write the header that C programs include.")
@click.option("--prefix", metavar="WORD", help="With -o: what the library's own names in C begin with.")
@click.option(
    "--target", type=TARGET, default="llvm", show_default=True, help="What to compile for; `llvm` is this machine."
)
@click.option("--passes", "-p", default="default", show_default=True, type=PASSES, help="How to lower.")
@click.option("--opt-level", "-O", type=click.IntRange(0, 3), default=3, show_default=True, help="How hard LLVM tries.")
@click.option("--debug", is_flag=True, help="Add checks as --bounds-check does, and schedule nothing.")
@click.option("--bounds-check", is_flag=True, help="Add checks of indices, axes, divisors and assumptions.")
@click.option("--json", "as_json", is_flag=True, help="Times and entry points as JSON.")
def command(
    file: str,
    emit: str | None,
    output: str | None,
    header: str | None,
    prefix: str | None,
    target: str,
    passes: str,
    opt_level: int,
    debug: bool,
    bounds_check: bool,
    as_json: bool,
) -> None:
    """Compile every function and module of FILE; print how long it took and what can be called, or write a library."""
    from tirscript.backend.build import BuiltModule, build

    if (emit is not None) + (output is not None) + as_json > 1:
        raise click.UsageError("--emit, -o and --json say what comes out: one of them is given")
    if output is None and (header is not None or prefix is not None):
        raise click.UsageError("--header and --prefix go with -o")
    spare(file, output, header)
    around = read_target(target)
    started = time.perf_counter()
    _, programs = some(file)
    read = time.perf_counter() - started
    pipeline = "default" if passes.strip() == "default" else read_passes(passes, around)
    options: dict[str, Any] = {"opt_level": opt_level, "debug": debug, "bounds_check": bounds_check, "target": target}
    if output is not None:
        _export(programs, output, header, prefix, {**options, "pipeline": pipeline})
        return
    reports: list[dict[str, Any]] = []
    for name, program in programs.items():
        from tirscript.passes import PassContext, Timing

        timing = Timing()
        started = time.perf_counter()
        with PassContext(instruments=[timing]):
            built = build(program, pipeline=pipeline, **options)
        total = time.perf_counter() - started
        lowering = sum(seconds for _, seconds in timing.seconds)
        functions = list(built) if isinstance(built, BuiltModule) else [built]
        if emit == "ir":
            source(_lowered(program, built, pipeline, options).script())
        elif emit is not None and functions:
            _emit(emit, functions[0])  # the functions of a module are compiled together, so one has the text of all
        if emit is not None:
            continue
        reports.append(
            {
                "name": name,
                "seconds": {"lowering": lowering, "code": total - lowering, "total": total},
                "entry_points": [_entry(function) for function in functions],
            }
        )
    if emit is not None:
        return
    if as_json:
        machine({"read_seconds": read, "programs": reports})
        return
    for report in reports:
        seconds = report["seconds"]
        write(
            f"{report['name']}: {duration(seconds['total'])} "
            f"(lowering {duration(seconds['lowering'])}, code {duration(seconds['code'])})\n"
        )
        for entry in report["entry_points"]:
            write(f"    {entry['name']}{entry['signature']}\n")


def _export(
    programs: dict[str, Program], output: str, header: str | None, prefix: str | None, options: dict[str, Any]
) -> None:
    """Write the programs as one library."""
    from tirscript.backend.build import build
    from tirscript.backend.llvm.files import ahead_of_time

    modules = [program for program in programs.values() if isinstance(program, Module)]
    if modules and len(programs) > 1:
        names = ", ".join(programs)
        raise click.UsageError(f"a library is made of one module: pick one of {names} by FILE:NAME")
    functions = tuple(program for program in programs.values() if not isinstance(program, Module))
    module = modules[0] if modules else Module(functions, name="library")
    for file in (output, header):
        with writing(file):  # before the work whose result would be lost
            os.stat(os.path.dirname(file or "") or ".")
    with ahead_of_time():
        built = build(module, **options)
    with writing(output, header):
        path = built.export(output, header=header, prefix=prefix)
    write(f"{path}: {', '.join(function.func.name for function in built)}\n")


def _entry(function: Any) -> dict[str, Any]:
    """What can be called: its name, and its parameters as Python shows them."""
    import inspect

    signature = inspect.signature(function)
    return {
        "name": function.func.name,
        "signature": str(signature),
        "parameters": [{"name": one.name, "type": str(one.annotation)} for one in signature.parameters.values()],
    }


def _lowered(program: Program, built: Any, pipeline: Any, options: dict[str, Any]) -> Any:
    """The program that the code is made of."""
    if isinstance(program, PrimFunc):
        return built.lowered
    from tirscript.backend.build import lowered_module

    return lowered_module(program, pipeline=pipeline, target=options["target"], debug=options["debug"])


def _emit(what: str, function: Any) -> None:
    text = _TEXTS[what](function)
    source(text if text.endswith("\n") else f"{text}\n", _LANGUAGES[what])


_TEXTS = {
    "llvm": lambda function: function.llvm_ir(),
    "asm": lambda function: function.assembly(),
    "source": lambda function: function.source(),
}
_LANGUAGES = {"llvm": "llvm", "asm": "gas", "source": "c"}
