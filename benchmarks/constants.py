"""What programs with large constants cost: taking the data in, printing, files, text with all the data."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import measure
import numpy as np

from tirscript.ir import Module, structural_equal
from tirscript.script import parse

MEGABYTES = 256
INLINE = (8, 16, 32)  # megabytes as base64 in the text
FUNCTIONS = 16


def module(megabytes: int) -> Module:
    """A module whose functions hold `megabytes` of constants together."""
    size = megabytes * (1 << 20) // FUNCTIONS
    rng = np.random.default_rng(0)
    arrays = {f"w{at}": rng.integers(0, 256, size, dtype=np.uint8) for at in range(FUNCTIONS)}
    lines = ["from tirscript.script import ir as I, tir as T", "@I.ir_module", "class M:"]
    for at in range(FUNCTIONS):
        lines += [
            "    @T.prim_func",
            f'    def f{at}(B: T.Buffer((4,), "uint8")):',
            f'        W = T.allocate_const(w{at}, "uint8", ({size},))',
            "        for i in range(4):",
            "            B[i] = W[i]",
        ]
    found = parse("\n".join(lines), names=arrays)
    assert isinstance(found, Module)
    return found


def costs(rounds: int) -> dict[str, Any]:
    """Seconds of each step on 256 MB, milliseconds a megabyte of inline text, and the memory they took at most."""
    found: dict[str, Any] = {}
    made: list[Module] = []
    found["taken in and hashed, s"] = measure.seconds(lambda: made.append(module(MEGABYTES)))
    program = made[0]
    found["printed elided, ms"] = 1e3 * median(measure.seconds(program.script) for _ in range(max(rounds, 5)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.safetensors"
        texts: list[str] = []
        write = lambda: texts.append(program.script(constants="file", constants_file=path))  # noqa: E731
        found["written to a file, s"] = median(measure.seconds(write) for _ in range(rounds))
        read: list[Any] = []
        found["read and checked, s"] = median(
            measure.seconds(lambda: read.append(parse(texts[0], folder=folder))) for _ in range(rounds)
        )
        assert all(structural_equal(program, one) for one in read)
    found["memory beside the data, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - MEGABYTES
    for megabytes in INLINE:
        small = module(megabytes)
        texts = []
        taken = measure.seconds(lambda small=small, texts=texts: texts.append(small.script(constants="inline")))  # type: ignore[misc]
        found[f"inline, {megabytes} MB printed, ms/MB"] = 1e3 * taken / megabytes
        taken = measure.seconds(lambda texts=texts: parse(texts[0]))  # type: ignore[misc]
        found[f"inline, {megabytes} MB parsed, ms/MB"] = 1e3 * taken / megabytes
    return found


def building(gigabytes: float = 1.0) -> dict[str, Any]:
    """What building a model takes beside its constants, in a process of its own: the most memory at any time beside
    theirs and that of the imports, in MB, the seconds of building, and the bytes that were hashed meanwhile."""
    environment = {**os.environ, "TIRSCRIPT_CACHE": "0"}
    script = Path(__file__).with_name("constants_memory.py")
    command = [sys.executable, str(script), str(int(gigabytes * (1 << 30)))]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(zip(("beside, MB", "build, s", "hashed again, MB"), map(float, found.stdout.split()), strict=True))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    for name, value in costs(parser.parse_args().rounds).items():
        sys.stdout.write(f"  {name:34}{value:10,.2f}\n")
    for name, value in building().items():
        sys.stdout.write(f"  {f'1 GB built: {name}':34}{value:10,.2f}\n")


if __name__ == "__main__":
    main()
