"""`python benchmarks`: all measurements in one run, as tables with ratios, and as JSON in benchmarks/results."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import calls
import compiling
import constants
import elementary
import kernels
import kernels_main
import layouts
import models
import proofs
import schedules
import startup
import text
import threads
import tvm_process

RESULTS = Path(__file__).resolve().parent / "results"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a title, in columns."""
    print(f"\n{title}")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = (
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join(cells).rstrip())


def show_text(found: dict[str, dict[str, float]], version: str) -> None:
    """Parse, print and equality beside apache-tvm."""
    units = {"parse": "lines/s", "print": "lines/s", "equal": "us/program"}
    rows = [
        (
            f"{what}, {units[what]}",
            f"{values['tirscript']:,.0f}",
            f"{values['tvm']:,.0f}" if "tvm" in values else "-",
            f"{values['times faster']:.2f}" if "tvm" in values else "-",
        )
        for what, values in found.items()
    ]
    table(f"{text.LINES:,} lines of kernels", ("", "tirscript", version, "times faster"), rows)


def show_growth(found: dict[str, dict[str, float]]) -> None:
    """Microseconds a line by the size of the file."""
    rows = [(f"{what}, us/line", *(f"{value:.1f}" for value in values.values())) for what, values in found.items()]
    table("Growth with the number of lines", ("", *(f"{int(n):,}" for n in found["parse"])), rows)


def show_kernels(found: dict[str, dict[str, float]]) -> None:
    """Times of the examples."""
    rows = []
    for name, times in found.items():
        ours, numpy, numba = times["tirscript"], times["numpy"], times.get("numba")
        row = [name, f"{ours * 1e6:,.1f}", f"{numpy * 1e6:,.1f}", f"{numpy / ours:.2f}"]
        row += [f"{numba * 1e6:,.1f}", f"{numba / ours:.2f}"] if numba is not None else ["-", "-"]
        rows.append(row)
    table("Kernels, us a call", ("", "tirscript", "numpy", "numpy/tirscript", "numba", "numba/tirscript"), rows)


def show_proofs(rounds: int) -> dict[str, Any]:
    """What the analyzer proves of random conditions, and how simplifying grows."""
    shares = proofs.shares()
    rows = [
        (name, f"{value:.1%}" if name.startswith("share") else f"{value:,.0f}" if value > 99 else f"{value:,.4g}")
        for name, value in shares.items()
    ]
    table("Random conditions of up to 4 variables, tried on all their values", ("", ""), rows)
    grown = proofs.growth(rounds)
    growth = [(name, *(f"{value:.0f}" for value in values.values())) for name, values in grown.items()]
    table("Simplifying, us a term, by the number of terms", ("", *(f"{n:,}" for n in proofs.SIZES)), growth)
    return {"shares": shares, "growth": grown}


def show_schedules(rounds: int) -> dict[str, Any]:
    """The scheduled examples beside the unscheduled ones and numpy, and the cost of a step."""
    found = schedules.kernels(rounds)
    rows = [
        (
            name,
            *(f"{times[what] * 1e6:,.0f}" for what in ("unscheduled", "scheduled", "numpy")),
            f"{times['unscheduled'] / times['scheduled']:.1f}",
            f"{times['numpy'] / times['scheduled']:.2f}",
        )
        for name, times in found.items()
    ]
    head = ("", "unscheduled", "scheduled", "numpy", "times faster", "numpy/scheduled")
    table("Schedules by hand, us a call", head, rows)
    grown = schedules.growth(rounds)
    for what, values in grown.items():
        row = ("one split, us", *(f"{value * 1e6:,.0f}" for value in values.values()))
        table(f"A step by the number of {what}", ("", *(f"{n:,}" for n in values)), [row])
    return {"kernels": found, "growth": grown}


def show_compiling(rounds: int) -> dict[str, Any]:
    """Importing a library, the first build of a process and the next one, in ms."""
    found = compiling.first_builds(max(3, rounds))
    loading = compiling.loading(max(3, rounds))
    columns = {"import": {name: loading[peer] for name, peer in compiling.VARIANTS.items() if peer in loading}, **found}
    head = ("", "import", *(f"{'first' if at == 0 else 'then'} {name}" for at, name in enumerate(found)))
    rows = [
        (variant, *(f"{times[variant] * 1e3:,.0f}" if variant in times else "-" for times in columns.values()))
        for variant in compiling.VARIANTS
    ]
    table("From loops to code that has run, without a cache, in a fresh process, ms", head, rows)
    return columns


def show_startup(rounds: int) -> dict[str, Any]:
    """The first steps of a process, in ms."""
    taken, loaded = startup.import_time(rounds)
    print(f"\nimport tirscript: {taken * 1e3:.0f} ms; of numpy and LLVM it loads {', '.join(loaded) or 'nothing'}")
    found = startup.cached_builds(rounds)
    rows = [(step, *(f"{times[step] * 1e3:.1f}" for times in found.values())) for step in startup.STEPS]
    table("A fresh process with numpy, whose kernel is in the cache, ms", ("", *found), rows)
    return {"import": {"seconds": taken, "loaded": loaded}, "cached": found}


def main() -> None:
    """Measure, print, and write the results."""
    if sys.argv[1:2] == ["math"]:
        elementary.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["threads"]:
        threads.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["layouts"]:
        layouts.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["models"]:
        models.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["kernels"]:
        kernels_main.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("all", "compile", "kernels", "layouts", "math", "models", "proofs", "schedules", "startup", "threads"),
        default="all",
        help="what to measure",
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each thing is measured (the median counts)")
    given = parser.parse_args()
    rounds = given.rounds
    if given.what == "proofs":
        show_proofs(rounds)
        return
    if given.what == "schedules":
        show_schedules(rounds)
        return
    if given.what == "startup":
        show_startup(rounds)
        return
    if given.what == "compile":
        show_compiling(rounds)
        return
    results: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine(), "rounds": rounds}

    tvm = tvm_process.start()
    version = f"apache-tvm {tvm.version}" if tvm is not None else "apache-tvm (not there)"
    results["text"] = text.against_tvm(tvm, rounds)
    if tvm is not None:
        tvm.close()
    show_text(results["text"], version)

    results["growth"] = text.growth(rounds)
    show_growth(results["growth"])

    results["round_trips"] = text.round_trips()
    print(f"\n1,000 programs parsed, printed, parsed again and compared: {results['round_trips']:.1f} s")

    results["startup"] = show_startup(rounds)

    results["compile"] = show_compiling(rounds)

    results["kernels"] = kernels.run_times(max(rounds, 7))
    show_kernels(results["kernels"])

    results["calls"] = calls.overheads(max(rounds, 5))
    table(
        "A call with two arrays of 16 floats, ns",
        ("", "ns"),
        [(n, f"{t * 1e9:,.0f}") for n, t in results["calls"].items()],
    )

    results["proofs"] = show_proofs(rounds)
    results["schedules"] = show_schedules(rounds)

    results["constants"] = constants.costs(rounds)
    rows = [(name, f"{value:,.2f}") for name, value in results["constants"].items()]
    table(f"{constants.MEGABYTES} MB of constants", ("", ""), rows)

    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / time.strftime("%Y-%m-%d-%H%M%S.json")
    file.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nwritten to {file.relative_to(RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
