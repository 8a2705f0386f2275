"""Timing: runs of several candidates alternate, and the median counts."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any


def seconds(run: Callable[[], Any]) -> float:
    """The time of one run; rubbish is collected before."""
    gc.collect()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def interleaved(runs: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of `rounds` measurements of each candidate; each is a function that measures itself."""
    results: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            results[name].append(run())
    return {name: median(values) for name, values in results.items()}


def per_call(function: Callable[..., Any], arguments: Sequence[Any], least: float = 0.02) -> float:
    """The time of one call, over as many as take `least` seconds."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        taken = time.perf_counter() - start
        if taken >= least:
            return taken / calls
        calls *= 2 if taken > least / 10 else 10
