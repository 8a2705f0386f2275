"""Layer norm over the rows of a matrix, with a weight and a bias a column."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T

ROWS, COLUMNS, EPSILON = 32, 48, 1e-5


@T.prim_func
def layer_norm(
    A: T.Buffer((ROWS, COLUMNS), "float32"),
    weight: T.Buffer((COLUMNS,), "float32"),
    bias: T.Buffer((COLUMNS,), "float32"),
    B: T.Buffer((ROWS, COLUMNS), "float32"),
):
    mean = T.alloc_buffer((ROWS,), "float32")
    square = T.alloc_buffer((ROWS,), "float32")
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("moments"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                mean[vi] = T.float32(0)
                square[vi] = T.float32(0)
            # divided at once: the sums stay small
            mean[vi] += A[vi, vj] / COLUMNS
            square[vi] += A[vi, vj] * A[vi, vj] / COLUMNS
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("normalize"):
            vi, vj = T.axis.remap("SS", [i, j])
            variance = square[vi] - mean[vi] * mean[vi]
            B[vi, vj] = (A[vi, vj] - mean[vi]) * T.rsqrt(variance + EPSILON) * weight[vj] + bias[vj]


def inputs(rng, large=False):
    A = rng.standard_normal((ROWS, COLUMNS), "float32")
    weight, bias = rng.standard_normal((2, COLUMNS), "float32")
    return A, weight, bias, np.zeros((ROWS, COLUMNS), "float32")


def reference(A, weight, bias, B):
    mean = A.mean(axis=1, keepdims=True)
    B[:] = (A - mean) / np.sqrt(A.var(axis=1, keepdims=True) + EPSILON) * weight + bias


if __name__ == "__main__":
    tirscript.testing.try_example(layer_norm, inputs, reference)
