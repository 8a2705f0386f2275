"""The part that runs inside an environment with apache-tvm: reads a command a line, answers with seconds a line.

It imports nothing of tirscript; the commands name a number of lines, for which both sides generate the same kernels.
"""

from __future__ import annotations

import gc
import json
import sys
import time

import tvm
import tvm_ffi
from generate import kernels
from tvm.script import from_source


class Side:
    """What was parsed, and what can be measured of it."""

    def __init__(self) -> None:
        self.texts: dict[int, list[str]] = {}
        self.parsed: dict[int, list] = {}

    def parse(self, lines: int) -> None:
        """Every kernel from its text."""
        self.parsed[lines] = [from_source(text) for text in self.texts[lines]]

    def print(self, lines: int) -> None:
        """Every kernel to text."""
        for function in self.parsed[lines]:
            function.script()

    def equal(self, lines: int) -> None:
        """Every kernel compared with another parse of its text."""
        for left, right in zip(self.parsed[lines], self.parsed[-lines], strict=True):
            assert tvm_ffi.structural_equal(left, right)


def main() -> None:
    """Answer commands until the input ends."""
    side = Side()
    print(json.dumps({"version": tvm.__version__}), flush=True)
    for line in sys.stdin:
        what, lines = json.loads(line)
        if lines not in side.texts:
            side.texts[lines] = kernels(lines, "tvm")
        if what == "equal" and -lines not in side.parsed:
            side.parsed[-lines] = [from_source(text) for text in side.texts[lines]]
        gc.collect()
        start = time.perf_counter()
        getattr(side, what)(lines)
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)


main()
