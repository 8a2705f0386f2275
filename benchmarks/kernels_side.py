"""One peer in a process of its own: prepares a kernel on command, checks it, and measures one run a command.

    python kernels_side.py torch

reads a JSON object a line: {"do": "prepare", "case": NAME, "options": {...}} makes and checks all variants of the case,
{"do": "run", "variant": NAME} answers the seconds of a call, {"do": "limits"} what the machine can do at most.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import kernels_cases

LEAST = 0.03  # seconds that one measurement takes at least
SLOW = 1.0  # seconds of a run after which a variant is not measured again: one run counts


class Side:
    """The kernels of one peer."""

    def __init__(self, peer: str) -> None:
        self.peer = import_module(f"kernels_{peer}")
        self.runs: dict[str, Callable[[], Any]] = {}

    def prepare(self, case: str, options: dict[str, Any]) -> dict[str, Any]:
        """Make every variant, run it once and compare what it gives; the seconds until then, or what went wrong."""
        self.runs = {}
        gc.collect()
        chosen = kernels_cases.find(case)
        arguments = chosen.arguments()
        answer: dict[str, Any] = {}
        for name, make in self.peer.prepare(chosen, arguments, options).items():
            if name not in options.get("skip", ()):
                answer[name] = self.first(name, make, chosen, arguments)
        return answer

    def first(self, name: str, make: Any, case: kernels_cases.Case, arguments: list[Any]) -> dict[str, Any]:
        """Make one variant and look at its results."""
        start = time.perf_counter()
        try:
            run = make()
            made = time.perf_counter()
            results = run()
        except Exception as problem:  # of a peer: it has no number then, and the reason is told
            lines = [line for line in str(problem).splitlines() if line.strip()] or [""]
            return {"wrong": f"{type(problem).__name__}: {lines[-1][:200]}"}
        taken = time.perf_counter() - start
        wrong = case.wrong(arguments, results)
        if wrong is not None:
            return {"wrong": wrong}
        self.runs[name] = run
        once = start + taken - made
        if once >= SLOW:  # compiled by its first call, or slow
            again = time.perf_counter()
            run()
            once = time.perf_counter() - again
        return {"first": taken, "seconds": [once]}

    def run(self, variant: str) -> dict[str, Any]:
        """The seconds of one call, over as many as take LEAST."""
        return {"seconds": seconds(self.runs[variant])}

    def limits(self, threads: int) -> dict[str, Any]:
        """What this machine can do at most."""
        from kernels_limits import limits

        return limits(threads)


def _no_arguments(f: Any, n: int) -> None:
    for _ in range(n):
        f()


def _two(f: Any, n: int, a: Any, b: Any) -> None:
    for _ in range(n):
        f(a, b)


def _many(f: Any, n: int, *arguments: Any) -> None:
    for _ in range(n):
        f(*arguments)


_CALLS: dict[int, Callable[..., None]] = {0: _no_arguments, 2: _two}  # so that short calls are measured alone


def seconds(run: Any) -> float:
    """The time of a call: of the function itself where the runner tells it."""
    function, arguments = getattr(run, "direct", (run, ()))
    calls = _CALLS.get(len(arguments), _many)
    count = 1
    while True:
        start = time.perf_counter()
        calls(function, count, *arguments)
        taken = time.perf_counter() - start
        if taken >= LEAST:
            return taken / count
        count = max(count + 1, int(count * min(10.0, 1.3 * LEAST / max(taken, 1e-9))))


def main() -> None:
    """Answer commands until the input ends."""
    side = Side(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr  # what a peer prints is no answer
    print(json.dumps({"version": side.peer.VERSION}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        do = command.pop("do")
        print(json.dumps(getattr(side, do)(**command)), file=answers, flush=True)


if __name__ == "__main__":
    main()
