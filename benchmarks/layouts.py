"""What moving layouts through a graph is worth: the models of examples/graph/blocked_layouts.py with it and without."""

from __future__ import annotations

import argparse
import time
from typing import Any

import measure
import numpy as np

import tirscript
from tirscript.examples.graph import blocked_layouts as models

CASES = {
    "convolutions, NCHW to NCHW16c, 3 to 24 to 50 channels": (models.network(), models.blocks_of_16),
    "products of 511 x 1023, in tiles of 64": (models.chain(), models.tiles_of_64),
}


def worth(rounds: int) -> dict[str, dict[str, Any]]:
    """Milliseconds of a call with and without, what is left in the graph, and seconds that moving took."""
    results: dict[str, dict[str, Any]] = {}
    for name, (model, layout) in CASES.items():
        start = time.perf_counter()
        kernels, done = models.with_layout(model, layout)
        taken = time.perf_counter() - start
        shape = [int(dim.value) for dim in kernels["main"].params[0].type.shape]
        x = np.random.default_rng(1).standard_normal(shape).astype("float32")
        plain, packed = tirscript.build(kernels), tirscript.build(done.module)
        assert np.allclose(plain(x), packed(x), rtol=1e-3, atol=1e-3)
        times = measure.interleaved(
            {
                "plain": lambda f=plain, x=x: measure.per_call(f, (x,)),
                "packed": lambda f=packed, x=x: measure.per_call(f, (x,)),
            },
            rounds,
        )
        left = done.report
        results[name] = {
            "plain, ms": 1e3 * times["plain"],
            "packed, ms": 1e3 * times["packed"],
            "times faster": times["plain"] / times["packed"],
            "conversions left": left.conversions,
            "constants packed": left.folded,
            "selects left": left.selects,
            "branches left": left.branches,
            "moved in, s": taken,
        }
    return results


def main(args: list[str]) -> None:
    """`python benchmarks layouts`"""
    parser = argparse.ArgumentParser(prog="benchmarks layouts", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each is measured (the median counts)")
    for name, found in worth(parser.parse_args(args).rounds).items():
        print(name)
        for what, value in found.items():
            print(f"  {what:<18} {value if isinstance(value, int) else format(value, ',.2f'):>10}")
