"""The examples natively, beside their numpy references and, for some, the same loops under numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from loops import LOOPS
from measure import interleaved, seconds

import tirscript
from tirscript.testing import copies, examples


def run_times(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds a call of each example on its large inputs."""
    found: dict[str, dict[str, float]] = {}
    for example in examples():
        given = list(example.inputs(np.random.default_rng(0), large=True))
        candidates: dict[str, Callable[..., Any]] = {
            "tirscript": tirscript.build(example.kernel),
            "numpy": example.reference,
        }
        if example.name in LOOPS:
            candidates["numba"] = LOOPS[example.name]
        for function in candidates.values():
            function(*copies(given))  # numba compiles at the first call
        runs = {name: _run(function, given) for name, function in candidates.items()}
        found[example.name] = interleaved(runs, rounds)
    return found


def _run(function: Callable[..., Any], given: list[Any]) -> Callable[[], float]:
    calls = max(1, min(200, 200_000 // max(1, sum(getattr(item, "nbytes", 0) for item in given))))

    def run() -> float:
        prepared = [copies(given) for _ in range(calls)]

        def all_calls() -> None:
            for arguments in prepared:
                function(*arguments)

        return seconds(all_calls) / calls

    return run
