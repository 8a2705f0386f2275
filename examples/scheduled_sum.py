"""A sum in two steps: rfactor gives each lane a partial sum of its own, which vectors hold."""

import numpy as np

import tirscript.testing
from tirscript import Schedule
from tirscript.script import tir as T


def total(n):
    """The sum of n numbers, one after the other."""

    @T.prim_func
    def main(A: T.Buffer((n,), "float32"), S: T.Buffer((1,), "float32")):
        for k in range(n):
            with T.block("S"):
                vk = T.axis.reduce(n, k)
                with T.init():
                    S[0] = T.float32(0)
                S[0] += A[vk]

    return main


def schedule(n, lanes=64):
    """The steps; a sum of floats is rounded in another order then."""
    sch = Schedule(total(n))
    rows, lane = sch.split("k", factors=[None, lanes])
    partial = sch.rfactor(lane)
    rows, lane = sch.get_loops(partial)
    sch.decompose_reduction(partial, rows)
    for part in ("S_rf_init", "S_rf_update"):
        sch.vectorize(sch.get_loops(part)[-1])
    return sch


scheduled_sum = schedule(1000).func


def inputs(rng, large=False):
    return rng.random(1000, "float32"), np.zeros(1, "float32")


def reference(A, S):
    S[0] = A.sum()


if __name__ == "__main__":
    total(1000).show()
    print(schedule(1000).trace)
    tirscript.testing.try_example(scheduled_sum, inputs, reference)
