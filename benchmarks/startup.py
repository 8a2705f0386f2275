"""How long the first steps of a fresh process take: `import tirscript`, a kernel, its code from the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median

CODE = """
import sys, time
start = time.perf_counter()
import tirscript
from tirscript.script import tir
taken = time.perf_counter() - start
print(taken, *sorted({"numpy", "llvmlite", "libcst", "typeguard", "ml_dtypes"} & set(sys.modules)))
"""
BUILD = '''
import sys, time
import numpy
clock = time.perf_counter
times = [clock()]
import tirscript
from tirscript.script import tir
times.append(clock())
program = tirscript.parse("""
from tirscript.script import tir as T

@T.prim_func
def add(A: T.Buffer((DIM,), "float32"), B: T.Buffer((DIM,), "float32")):
    for i in range(EXTENT):
        B[i] = A[i] + T.float32(1)
""".replace("DIM", sys.argv[1]).replace("EXTENT", sys.argv[2]))
times.append(clock())
import llvmlite.binding
times.append(clock())
for _ in range(2):
    tirscript.build(program)
    times.append(clock())
print(*(after - before for before, after in zip(times, times[1:])))
'''
STEPS = ("import tirscript", "read a kernel", "import llvmlite", "its first build", "its second build")
# of one vector after the other, and by the threads of the pool
KERNELS = {"serial": ("64", "64"), "parallel": ('"n"', "n")}


def import_time(rounds: int) -> tuple[float, list[str]]:
    """The median time in seconds, and the heavy modules that were loaded by it."""
    times, loaded = [], []
    for _ in range(max(5, rounds)):
        done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        taken, *loaded = done.stdout.split()
        times.append(float(taken))
    return median(times), loaded


def cached_builds(rounds: int) -> dict[str, dict[str, float]]:
    """By the kind of kernel, the median seconds of each of STEPS, in fresh processes that find its code in the cache.

    numpy is loaded before. The kinds alternate.
    """
    found: dict[str, list[list[float]]] = {name: [] for name in KERNELS}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TIRSCRIPT_CACHE_DIR": folder}
        for _ in range(max(5, rounds) + 1):
            for name, sizes in KERNELS.items():
                command = [sys.executable, "-c", BUILD, *sizes]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                found[name].append([float(word) for word in done.stdout.split()])
    # the first process of each compiled
    return {
        name: dict(zip(STEPS, map(median, zip(*times[1:], strict=True)), strict=True)) for name, times in found.items()
    }
