"""Reading, printing and comparing programs, beside apache-tvm on the same programs in its dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from generate import kernels
from measure import interleaved, seconds
from tvm_process import Tvm

from tirscript.ir import structural_equal
from tirscript.script import parse

LINES = 4000


class Texts:
    """The kernels of a number of lines; `count` is how many lines they have in truth."""

    def __init__(self, lines: int) -> None:
        self.texts = kernels(lines)
        self.count = sum(text.count("\n") for text in self.texts)

    def parsed(self) -> list[Any]:
        """All kernels, read."""
        return [parse(text) for text in self.texts]

    def parse(self) -> float:
        """Seconds to read all."""
        return seconds(self.parsed)

    def print(self) -> float:
        """Seconds to print all; the programs are new, nothing of them was printed before."""
        functions = self.parsed()
        return seconds(lambda: [function.script() for function in functions])

    def equal(self) -> float:
        """Seconds to compare each with another reading of its text."""
        left, right = self.parsed(), self.parsed()
        return seconds(lambda: [structural_equal(a, b) for a, b in zip(left, right, strict=True)])


def against_tvm(tvm: Tvm | None, rounds: int) -> dict[str, dict[str, float]]:
    """Lines a second of parse and print, microseconds a program of equality, and apache-tvm's where it is there."""
    ours = Texts(LINES)
    found: dict[str, dict[str, float]] = {}
    for what, run in (("parse", ours.parse), ("print", ours.print), ("equal", ours.equal)):
        runs: dict[str, Callable[[], float]] = {"tirscript": run}
        if tvm is not None:
            runs["tvm"] = lambda what=what: tvm.measure(what, LINES)  # type: ignore[misc]
        times = interleaved(runs, rounds)
        scale = (lambda t: t / len(ours.texts) * 1e6) if what == "equal" else (lambda t: ours.count / t)
        found[what] = {name: scale(time) for name, time in times.items()}
        if tvm is not None:
            found[what]["times faster"] = times["tvm"] / times["tirscript"]
    return found


def growth(rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds a line to parse and print files of 1,000, 4,000 and 16,000 lines."""
    sizes = {lines: Texts(lines) for lines in (1000, 4000, 16000)}
    found: dict[str, dict[str, float]] = {}
    for what in ("parse", "print"):
        runs = {str(lines): getattr(texts, what) for lines, texts in sizes.items()}
        times = interleaved(runs, rounds)
        found[what] = {name: times[name] / sizes[int(name)].count * 1e6 for name in runs}
    return found


def round_trips(programs: int = 1000) -> float:
    """Seconds in which so many small programs are parsed, printed, parsed again and compared."""
    texts = kernels(programs * 25)[:programs]
    assert len(texts) == programs

    def run() -> None:
        for text in texts:
            first = parse(text)
            assert structural_equal(first, parse(first.script()))

    return seconds(run)
