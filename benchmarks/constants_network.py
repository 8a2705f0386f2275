"""A quantized convolutional network whose weights are kept compressed: bytes, time, and equal results."""

from __future__ import annotations

import sys
from typing import Any

import measure
import numpy as np

import tirscript
from tirscript.ir import Module
from tirscript.passes.constants import compress_constants, compress_slices, compression_table, slice_constants
from tirscript.script import parse

TILE = 16  # channels of a slice
# name, channels in, channels out, width of the filter, what the weights are
LAYERS = (
    ("pruned", 32, 64, 3, lambda rng, shape: rng.integers(-127, 127, shape) * (rng.random(shape) < 0.1)),
    ("four_bits", 64, 64, 3, lambda rng, shape: rng.integers(-8, 8, shape)),
    ("ternary", 64, 72, 1, lambda rng, shape: rng.choice(np.array([-1, 0, 1]), shape)),
    ("dense", 72, 40, 1, lambda rng, shape: rng.integers(-128, 127, shape)),
)
WIDTH = 14  # of the images, without the border that each filter takes


def network() -> tuple[Module, tuple[Any, ...]]:
    """The module and the arguments of a call: int8 images, int32 sums, scaled back to int8 between the layers."""
    rng = np.random.default_rng(7)
    weights = {}
    size = WIDTH + sum(width - 1 for *_, width, _ in LAYERS)
    lines = ["@I.ir_module", "class Network:", "    @T.prim_func"]
    lines.append(
        f'    def main(x: T.Buffer(({LAYERS[0][1]}, {size}, {size}), "int8"), '
        f'y: T.Buffer(({LAYERS[-1][2]}, {WIDTH}, {WIDTH}), "int8")):'
    )
    images = rng.integers(-128, 127, (LAYERS[0][1], size, size)).astype(np.int8)
    before, body = "x", []
    for name, inputs, outputs, width, draw in LAYERS:
        size -= width - 1
        weights[name] = draw(rng, (outputs, inputs, width, width)).astype(np.int8)
        after = "y" if name == LAYERS[-1][0] else f"{name}_out"
        lines.append(f'        {name}_w = T.allocate_const({name}, "int8", ({outputs}, {inputs}, {width}, {width}))')
        if after != "y":
            lines.append(f'        {after} = T.alloc_buffer(({outputs}, {size}, {size}), "int8")')
        body += f"""
        for t in range({-(-outputs // TILE)}):
            for c, i, j in T.grid(T.min({TILE}, {outputs} - t * {TILE}), {size}, {size}):
                {name}_sum = 0
                for k, a, b in T.grid({inputs}, {width}, {width}):
                    weight: T.let = {name}_w[t * {TILE} + c, k, a, b].astype("int32")
                    {name}_sum += weight * {before}[k, i + a, j + b].astype("int32")
                {after}[t * {TILE} + c, i, j] = T.max(T.min({name}_sum >> 7, 127), -128).astype("int8")
""".strip("\n").split("\n")
        before = after
    found = parse("\n".join(lines + body), names=weights)
    assert isinstance(found, Module)
    return found, (images, np.zeros((LAYERS[-1][2], WIDTH, WIDTH), np.int8))


def costs(rounds: int) -> str:
    """Tables of the bytes, and the time of a call beside that of the plain network; results are compared."""
    plain, (images, out) = network()
    sliced = slice_constants(plain, unroll=8)
    ways = {
        "plain": plain,
        "whole": compress_constants(plain),
        "slices, loops written out": compress_constants(sliced),
        "slices, in their loops": compress_slices(plain),
    }
    built = {name: tirscript.build(program) for name, program in ways.items()}
    built["plain"](images, out)
    wanted = out.copy()
    assert wanted.any()
    for name, call in built.items():
        out[...] = 0
        call(images, out)
        assert np.array_equal(out, wanted), name
    runs = {name: lambda call=call: measure.per_call(call, (images, out)) for name, call in built.items()}
    times = measure.interleaved(runs, rounds)
    text = []
    for name, program in ways.items():
        text.append(f"{name}: {times[name] * 1e3:.2f} ms a call, {times[name] / times['plain']:.2f} of the plain one")
        if name != "plain":
            text.append(compression_table(program) + "\n")
    return "\n".join(text)


def main() -> None:
    """Measure and print."""
    sys.stdout.write(costs(7) + "\n")


if __name__ == "__main__":
    main()
