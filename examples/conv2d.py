"""A 3x3 convolution of images in NCHW, padded by one on each side."""

import numpy as np

import tirscript.testing
from tirscript.script import tir as T

N, C, H, W, K = 1, 4, 14, 14, 8


@T.prim_func
def conv2d(
    image: T.Buffer((N, C, H, W), "float32"),
    weight: T.Buffer((K, C, 3, 3), "float32"),
    out: T.Buffer((N, K, H, W), "float32"),
):
    padded = T.alloc_buffer((N, C, H + 2, W + 2), "float32")
    for n, c, y, x in T.grid(N, C, H + 2, W + 2):
        with T.block("pad"):
            vn, vc, vy, vx = T.axis.remap("SSSS", [n, c, y, x])
            padded[vn, vc, vy, vx] = T.if_then_else(
                1 <= vy and vy <= H and 1 <= vx and vx <= W, image[vn, vc, vy - 1, vx - 1], T.float32(0)
            )
    for n, k, y, x, c, dy, dx in T.grid(N, K, H, W, C, 3, 3):
        with T.block("conv"):
            vn, vk, vy, vx, vc, vdy, vdx = T.axis.remap("SSSSRRR", [n, k, y, x, c, dy, dx])
            with T.init():
                out[vn, vk, vy, vx] = T.float32(0)
            out[vn, vk, vy, vx] += padded[vn, vc, vy + vdy, vx + vdx] * weight[vk, vc, vdy, vdx]


def inputs(rng, large=False):
    image = rng.random((N, C, H, W), "float32")
    weight = rng.random((K, C, 3, 3), "float32")
    return image, weight, np.zeros((N, K, H, W), "float32")


def reference(image, weight, out):
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    np.einsum("ncyxij,kcij->nkyx", windows, weight, out=out, optimize=True)


if __name__ == "__main__":
    tirscript.testing.try_example(conv2d, inputs, reference)
