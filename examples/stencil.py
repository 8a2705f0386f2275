"""Heat along a rod: smooth until nothing moves by more than the tolerance, or the steps are used up."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T


@T.prim_func
def stencil(rod: T.Buffer(("n",), "float64"), tolerance: T.float64, limit: T.int32, steps: T.Buffer((1,), "int32")):
    next = T.alloc_buffer((n,), "float64")
    step = 0
    change: T.float64 = tolerance + 1.0
    while change > tolerance and step < limit:
        # the ends are held
        for i in range(1, n - 1):
            next[i] = (rod[i - 1] + 2.0 * rod[i] + rod[i + 1]) / 4.0
        change = T.float64(0)
        for i in range(1, n - 1):
            change = T.max(change, T.abs(next[i] - rod[i]))
            rod[i] = next[i]
        step += 1
    steps[0] = step


def inputs(rng, large=False):
    n, limit = (10_000, 100) if large else (40, 30)
    return rng.random(n) * 100, 0.5, limit, np.zeros(1, "int32")


def reference(rod, tolerance, limit, steps):
    step, change = 0, tolerance + 1
    while change > tolerance and step < limit:
        new = (rod[:-2] + 2.0 * rod[1:-1] + rod[2:]) / 4.0
        change = np.abs(new - rod[1:-1]).max()
        rod[1:-1] = new
        step += 1
    steps[0] = step


if __name__ == "__main__":
    tirscript.testing.try_example(stencil, inputs, reference)
