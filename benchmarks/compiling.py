"""How long it takes from the plain loops of a matrix product to native code that has run once, in fresh processes.

A process makes the code of one product and then that of another. tirscript and TVM have read the loops before; TVM's
own schedule reads them again. Nobody uses a cache. The time of a second run is taken off, so that slow code does not
count as slow compiling. What it takes before that to load the library, in a process that has numpy, stands beside it.
"""

from __future__ import annotations

import subprocess
from statistics import median

from kernels_cases import find
from kernels_main import target
from kernels_peers import Peer, pythons

KERNELS = ("matmul 256", "matmul 512")
# the variants and the peer whose process makes them
VARIANTS = {"tirscript": "tirscript", "numba": "numba", "tvm": "tvm", "tvm scheduled": "tvm"}
OTHERS = ("plain loops", "by hand")
# what a program with a kernel of each peer imports
IMPORTS = {"tirscript": "tirscript; from tirscript.script import tir", "numba": "numba", "tvm": "tvm, tvm.script"}
LOADING = "import numpy, time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def first_builds(rounds: int) -> dict[str, dict[str, float]]:
    """By kernel, the median seconds of each variant; what cannot be had is left out."""
    there = pythons()
    options = {name: {"threads": 1, "tune": 0, **target(find(name))} for name in KERNELS}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in KERNELS}
    for _ in range(rounds):
        for variant, peer in VARIANTS.items():
            if peer not in there:
                continue
            process = Peer(peer, there[peer], 1)
            try:
                for name in KERNELS:
                    skip = [one for one in (*VARIANTS, *OTHERS) if one != variant]
                    made = process.ask("prepare", case=name, options={**options[name], "skip": skip})[variant]
                    if "wrong" not in made:
                        again = process.ask("run", variant=variant)["seconds"]
                        found[name].setdefault(variant, []).append(made["first"] - again)
            finally:
                process.close()
    return {name: {variant: median(times) for variant, times in values.items()} for name, values in found.items()}


def loading(rounds: int) -> dict[str, float]:
    """By peer, the median seconds of importing it in a fresh process."""
    there = pythons()
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for peer, imports in IMPORTS.items():
            if peer in there:
                run = [there[peer], "-c", LOADING.format(imports)]
                done = subprocess.run(run, capture_output=True, text=True, check=True)
                found.setdefault(peer, []).append(float(done.stdout))
    return {peer: median(times) for peer, times in found.items()}
