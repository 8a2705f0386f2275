"""How long `import tirscript` takes in a fresh process, and what it loads."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

CODE = """
import sys, time
start = time.perf_counter()
import tirscript
from tirscript.script import tir
taken = time.perf_counter() - start
print(taken, *sorted({"numpy", "llvmlite", "libcst", "typeguard", "ml_dtypes"} & set(sys.modules)))
"""


def import_time(rounds: int) -> tuple[float, list[str]]:
    """The median time in seconds, and the heavy modules that were loaded by it."""
    times, loaded = [], []
    for _ in range(max(5, rounds)):
        done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        taken, *loaded = done.stdout.split()
        times.append(float(taken))
    return median(times), loaded
