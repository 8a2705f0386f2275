"""A 3x3 convolution by Winograd's F(2x2, 3x3): 16 products for four outputs instead of 36.

Lavin and Gray, "Fast algorithms for convolutional neural networks" (https://arxiv.org/abs/1509.09308). The matrices of
the transforms are constants. Once the small loops are unrolled, the elements are numbers in the code, products with
zero are gone, and nothing reads the matrices any more.
"""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T

C, K = 8, 16  # channels in and out
Y, X = 7, 6  # tiles of 2x2 outputs


@T.prim_func
def winograd(
    image: T.Buffer((C, Y * 2 + 2, X * 2 + 2), "float32"),
    weight: T.Buffer((K, C, 3, 3), "float32"),
    out: T.Buffer((K, Y * 2, X * 2), "float32"),
):
    g = T.allocate_const([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], "float32", (4, 3))
    b = T.allocate_const([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], "float32", (4, 4))
    a = T.allocate_const([[1, 1, 1, 0], [0, 1, -1, -1]], "float32", (2, 4))
    filters = T.alloc_buffer((4, 4, K, C), "float32")
    tiles = T.alloc_buffer((4, 4, C, Y * X), "float32")
    products = T.alloc_buffer((4, 4, K, Y * X), "float32")
    for k, c in T.grid(K, C):
        with T.block("filter"):  # g w g^T
            vk, vc = T.axis.remap("SS", [k, c])
            rows = T.alloc_buffer((4, 3), "float32")
            for i in T.unroll(4):
                for j in T.unroll(3):
                    rows[i, j] = 0.0
                    for l in T.unroll(3):
                        if g[i, l] != 0.0:
                            rows[i, j] += g[i, l] * weight[vk, vc, l, j]
            for i in T.unroll(4):
                for j in T.unroll(4):
                    filters[i, j, vk, vc] = 0.0
                    for l in T.unroll(3):
                        if g[j, l] != 0.0:
                            filters[i, j, vk, vc] += rows[i, l] * g[j, l]
    for c, y, x in T.grid(C, Y, X):
        with T.block("tile"):  # b d b^T
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            lines = T.alloc_buffer((4, 4), "float32")
            for i in T.unroll(4):
                for j in T.unroll(4):
                    lines[i, j] = 0.0
                    for l in T.unroll(4):
                        if b[i, l] != 0.0:
                            lines[i, j] += b[i, l] * image[vc, vy * 2 + l, vx * 2 + j]
            for i in T.unroll(4):
                for j in T.unroll(4):
                    tiles[i, j, vc, vy * X + vx] = 0.0
                    for l in T.unroll(4):
                        if b[j, l] != 0.0:
                            tiles[i, j, vc, vy * X + vx] += lines[i, l] * b[j, l]
    for i, j, k, p, c in T.grid(4, 4, K, Y * X, C):
        with T.block("multiply"):
            vi, vj, vk, vp, vc = T.axis.remap("SSSSR", [i, j, k, p, c])
            with T.init():
                products[vi, vj, vk, vp] = 0.0
            products[vi, vj, vk, vp] += filters[vi, vj, vk, vc] * tiles[vi, vj, vc, vp]
    for k, y, x in T.grid(K, Y, X):
        with T.block("inverse"):  # a m a^T
            vk, vy, vx = T.axis.remap("SSS", [k, y, x])
            sums = T.alloc_buffer((2, 4), "float32")
            for i in T.unroll(2):
                for j in T.unroll(4):
                    sums[i, j] = 0.0
                    for l in T.unroll(4):
                        if a[i, l] != 0.0:
                            sums[i, j] += a[i, l] * products[l, j, vk, vy * X + vx]
            for i in T.unroll(2):
                for j in T.unroll(2):
                    out[vk, vy * 2 + i, vx * 2 + j] = 0.0
                    for l in T.unroll(4):
                        if a[j, l] != 0.0:
                            out[vk, vy * 2 + i, vx * 2 + j] += sums[i, l] * a[j, l]


def inputs(rng, large=False):
    image = rng.standard_normal((C, Y * 2 + 2, X * 2 + 2), "float32")
    weight = rng.standard_normal((K, C, 3, 3), "float32")
    return image, weight, np.zeros((K, Y * 2, X * 2), "float32")


def reference(image, weight, out):
    """The convolution itself."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    np.einsum("cyxij,kcij->kyx", windows, weight, out=out, optimize=True)


if __name__ == "__main__":
    tirscript.testing.try_example(winograd, inputs, reference)
