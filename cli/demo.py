"""`tirscript demo`: every example from its source to native code and back."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

import click

from tirscript.ir import PrimFunc, structural_equal, suggest, walk
from tirscript.ir.words import counted
from tirscript.testing import Example, copies, examples, largest_error, tolerance

from .completion import EXAMPLE
from .output import coloured, duration

SHOWN = "crop"  # the kernel that is printed, transformed, diffed and printed again


class Report(NamedTuple):
    """What was found of one example. Errors are relative to the largest element; times are seconds."""

    name: str
    lines: int
    nodes: int
    round_trip: bool
    verified: bool
    interpreter_error: float
    native_error: float
    between: float
    allowed: float
    native_time: float
    numpy_time: float

    @property
    def passed(self) -> bool:
        """Whether all that is claimed holds."""
        errors = (self.interpreter_error, self.native_error, self.between)
        return self.round_trip and self.verified and all(error <= self.allowed for error in errors)


def round_trip(kernel: PrimFunc) -> bool:
    """Whether the printed text parses to the same program and prints as the same text."""
    from tirscript.script import parse

    text = kernel.script()
    again = parse(text)
    return structural_equal(kernel, again) and again.script() == text


def verified(kernel: PrimFunc) -> bool:
    """Whether the verifier has nothing to say."""
    from tirscript.ir.verify import verify

    return not verify(kernel)


def times(functions: Sequence[Callable[..., Any]], arguments: Sequence[Any], rounds: int) -> list[float]:
    """The median time of a call of each function; the runs alternate, each on a fresh copy of the arguments."""
    size = sum(getattr(item, "nbytes", 0) for item in arguments)
    calls = max(1, min(100, 100_000 // max(1, size)))
    measured: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, results in zip(functions, measured, strict=True):
            prepared = [copies(arguments) for _ in range(calls)]
            start = time.perf_counter()
            for one in prepared:
                function(*one)
            results.append((time.perf_counter() - start) / calls)
    return [median(results) for results in measured]


def examine(example: Example, rounds: int) -> Report:
    """Take one example through all steps."""
    import numpy as np

    import tirscript

    kernel = example.kernel
    given = example.inputs(np.random.default_rng(0))
    interpreted, native, expected = copies(given), copies(given), copies(given)
    function = tirscript.build(kernel)
    tirscript.interpret(kernel, *interpreted)
    function(*native)
    example.reference(*expected)
    large = example.inputs(np.random.default_rng(1), large=True)
    native_time, numpy_time = times([function, example.reference], large, rounds)
    return Report(
        example.name,
        len(kernel.script().splitlines()),
        sum(1 for _ in walk(kernel)),
        round_trip(kernel),
        verified(kernel),
        largest_error(interpreted, expected),
        largest_error(native, expected),
        largest_error(native, interpreted),
        tolerance(given),
        native_time,
        numpy_time,
    )


def table(reports: Sequence[Report]) -> None:
    """Print what was found: a table in a terminal, plain columns in a pipe."""
    head = ("kernel", "parsed", "round trip", "verified", "interpreter", "native", "native", "numpy", "numpy/native")
    below = ("", "lines, nodes", "", "", "= numpy", "= interpreter", "time", "time", "")
    rows = [
        (
            report.name,
            f"{report.lines}, {report.nodes}",
            "exact" if report.round_trip else "DIFFERS",
            "yes" if report.verified else "NO",
            _agreement(report.interpreter_error, report.allowed),
            _agreement(max(report.native_error, report.between), report.allowed),
            duration(report.native_time),
            duration(report.numpy_time),
            f"{report.numpy_time / report.native_time:.2f}",
        )
        for report in reports
    ]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        shown = Table(*(f"{top}\n{under}" for top, under in zip(head, below, strict=True)))
        for report, row in zip(reports, rows, strict=True):
            shown.add_row(*row, style=None if report.passed else "red")
        Console(color_system="auto" if coloured(sys.stdout) else None).print(shown)
        return
    widths = [max(map(len, column)) for column in zip(head, below, *rows, strict=True)]
    for row in (head, below, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _agreement(error: float, allowed: float) -> str:
    if error > allowed:
        return f"DIFFERS {error:.1e}"
    return "exact" if error == 0 else f"within {error:.0e}"


def transform(kernel: PrimFunc) -> bool:
    """Print a kernel, lower it, show the difference, print the result; whether that survives a round trip too."""
    from tirscript.passes import DEFAULT_LOWERING
    from tirscript.printer import diff

    print(f"\n{kernel.name} as it was written:\n")
    kernel.show()
    lowered = DEFAULT_LOWERING(kernel)
    print("\nWhat lowering changes:\n")
    print(diff(kernel, lowered))
    print("\nThe lowered program is a program like any other:\n")
    lowered.show()
    exact = round_trip(lowered)
    print(f"\nRead again, it is {'the same program' if exact else 'NOT THE SAME PROGRAM'}.")
    return exact


EPILOG = """\b
Examples:
  tirscript demo                      all examples, with the time of each beside numpy
  tirscript demo matmul softmax       these two
  tirscript demo --quick

Exit status: 0 where every step holds, 1 where one does not."""


@click.command(name="demo", epilog=EPILOG)
@click.option("--quick", is_flag=True, help="Measure times in 3 rounds instead of 15.")
@click.argument("names", nargs=-1, type=EXAMPLE)
def command(quick: bool, names: tuple[str, ...]) -> None:
    """Take the examples (all, or those of NAMES) from source to native code and back."""
    known = {example.name: example for example in examples()}
    for name in names:
        if name not in known:
            near = suggest(name, known)
            others = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
            raise click.BadParameter(f"there is no example {name!r}; {others}")
    chosen = [known[name] for name in names or known]
    reports = [examine(example, 3 if quick else 15) for example in chosen]
    table(reports)
    shown = known[SHOWN] if SHOWN in {example.name for example in chosen} else chosen[0]
    good = transform(shown.kernel)
    failed = [report.name for report in reports if not report.passed]
    if failed or not good:
        raise click.ClickException(f"failed: {', '.join(failed) or 'the round trip of the lowered kernel'}")
    count = counted(len(reports), "kernel")
    print(f"\n{count}: parsed, round trip exact, verified, interpreter = native = numpy.")
