"""The memory that building a model takes beside its constants; run by `constants.py` in a process of its own.

Prints the most memory beside the constants and the imports in MB, the seconds of building, and the MB hashed twice.
"""

from __future__ import annotations

import hashlib
import importlib
import resource
import sys
import time
from typing import Any

import numpy as np

import tirscript
from tirscript.ir import ConstantTensor

LAYERS = 16
ROWS = 4096


class Counting:
    """sha256 that counts the bytes it takes."""

    taken = 0

    def __init__(self, data: bytes = b"") -> None:
        self.made = hashlib.sha256(data)

    def update(self, data: Any) -> None:
        """Take more bytes."""
        Counting.taken += memoryview(data).nbytes
        self.made.update(data)

    def hexdigest(self) -> str:
        """The digest as text."""
        return self.made.hexdigest()


def peak() -> float:
    """The most memory that the process had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def text(rows: int) -> str:
    """A model of matrix products."""
    steps = [f"y = G.add(y, G.matmul(x, G.const(w[{at}])))" for at in range(1, LAYERS)]
    lines = ["y = G.matmul(x, G.const(w[0]))", *steps, "G.output(y)"]
    head = f'@G.graph_func\ndef main(x: G.Tensor((4, {rows}), "float32")):\n    with G.dataflow():\n'
    return head + "".join(f"        {line}\n" for line in lines) + "    return y\n"


def main(size: int) -> None:
    """Build a model with `size` bytes of weights."""
    module = importlib.import_module(ConstantTensor.__module__)
    module.hashlib = Counting  # type: ignore[attr-defined]
    Counting.sha256 = Counting  # type: ignore[attr-defined]
    tirscript.build(tirscript.parse("@T.prim_func\ndef f(A: T.Buffer((1,), 'int32')):\n    A[0] = 1\n"))
    weights = [np.full((ROWS, size // 4 // LAYERS // ROWS), at, "float32") for at in range(LAYERS)]
    held = sum(one.nbytes for one in weights)
    before = peak()
    program = tirscript.parse(text(ROWS), names={"w": weights})
    del weights
    start = time.perf_counter()
    call = tirscript.build(program)
    taken = time.perf_counter() - start
    call(np.ones((4, ROWS), "float32"))
    program.script()
    sys.stdout.write(f"{peak() - before} {taken} {(Counting.taken - held) / (1 << 20)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
