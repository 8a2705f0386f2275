"""A softmax of four stages: the exponentials made where they are summed, rows on threads, columns in vectors."""

import numpy as np

import tirscript.testing
from tirscript import Schedule
from tirscript.script import tir as T


def softmax(m, n):
    """Every row: minus its greatest element, exponential, divided by the sum."""

    @T.prim_func
    def main(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")):
        greatest = T.alloc_buffer((m,), "float32")
        power = T.alloc_buffer((m, n), "float32")
        total = T.alloc_buffer((m,), "float32")
        for i, j in T.grid(m, n):
            with T.block("greatest"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    greatest[vi] = T.min_value("float32")
                greatest[vi] = T.max(greatest[vi], A[vi, vj])
        for i, j in T.grid(m, n):
            with T.block("power"):
                vi, vj = T.axis.remap("SS", [i, j])
                power[vi, vj] = T.exp(A[vi, vj] - greatest[vi])
        for i, j in T.grid(m, n):
            with T.block("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] += power[vi, vj]
        for i, j in T.grid(m, n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = power[vi, vj] / total[vi]

    return main


def schedule(m, n, lanes=16):
    """All stages of a row stay together, so that the row is in the cache; sums are taken lane by lane."""
    sch = Schedule(softmax(m, n))
    row = sch.get_loops("B")[0]
    for block in ("total", "power", "greatest"):
        sch.compute_at(block, row)
    for block in ("greatest", "total"):
        outer, inner = sch.split(sch.get_loops(block)[-1], factors=[None, lanes])
        sch.reorder(inner, outer)
        lanewise = sch.rfactor(inner)
        outer_loop, lane_loop = sch.get_loops(lanewise)[-1], sch.get_loops(lanewise)[-2]
        sch.reorder(outer_loop, lane_loop)
        sch.decompose_reduction(lanewise, outer_loop)
        for part in (f"{block}_rf_init", f"{block}_rf_update"):
            sch.vectorize(sch.get_loops(part)[-1])
    sch.vectorize(sch.split(sch.get_loops("B")[-1], factors=[None, lanes])[1])
    sch.parallel(row)
    return sch


scheduled_softmax = schedule(6, 50).func


def inputs(rng, large=False):
    return rng.standard_normal((6, 50), "float32"), np.zeros((6, 50), "float32")


def reference(A, B):
    power = np.exp(A - A.max(axis=1, keepdims=True))
    B[:] = power / power.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    softmax(6, 50).show()
    print(schedule(6, 50).trace)
    tirscript.testing.try_example(scheduled_softmax, inputs, reference)
