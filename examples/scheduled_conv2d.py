"""A convolution scheduled by hand: the padding in place, filters packed by vectors of channels, a register tile."""

import numpy as np

import tirscript.testing
from tirscript import Schedule
from tirscript.script import tir as T


def conv2d(channels, filters, size):
    """A 3 by 3 convolution of an image with a border of zeros: channels, rows, columns."""

    @T.prim_func
    def main(
        X: T.Buffer((channels, size, size), "float32"),
        W: T.Buffer((filters, channels, 3, 3), "float32"),
        Y: T.Buffer((filters, size, size), "float32"),
    ):
        P = T.alloc_buffer((channels, size + 2, size + 2), "float32")
        for c, y, x in T.grid(channels, size + 2, size + 2):
            with T.block("P"):
                vc, vy, vx = T.axis.remap("SSS", [c, y, x])
                P[vc, vy, vx] = T.if_then_else(
                    0 < vy and vy <= size and 0 < vx and vx <= size, X[vc, vy - 1, vx - 1], T.float32(0)
                )
        for f, y, x, c, dy, dx in T.grid(filters, size, size, channels, 3, 3):
            with T.block("Y"):
                vf, vy, vx, vc, vdy, vdx = T.axis.remap("SSSRRR", [f, y, x, c, dy, dx])
                with T.init():
                    Y[vf, vy, vx] = T.float32(0)
                Y[vf, vy, vx] += P[vc, vy + vdy, vx + vdx] * W[vf, vc, vdy, vdx]

    return main


def schedule(channels, filters, size, lanes=16, columns=7):
    """A tile of `columns` pixels and `lanes` filters stays in registers while the channels run."""
    sch = Schedule(conv2d(channels, filters, size))
    packed = sch.cache_read("Y", "W", "global")
    sch.transform_layout(packed, ("write", 0), lambda f, c, dy, dx: (f // lanes, c, dy, dx, f % lanes))
    f, y, x, c, dy, dx = sch.get_loops("Y")
    f0, f1 = sch.split(f, factors=[None, lanes])
    x0, x1 = sch.split(x, factors=[None, columns])
    sch.reorder(f0, y, x0, c, dy, dx, x1, f1)
    tile = sch.cache_write("Y", 0, "local")
    sch.reverse_compute_at(tile, x0)
    # the tile lies as the vectors do: filters innermost
    sch.transform_layout("Y", ("write", 0), lambda f, y, x: (f // lanes, y, x, f % lanes))
    sch.decompose_reduction("Y", c)
    for block in ("Y_init", "Y_update"):
        sch.vectorize(sch.get_loops(block)[-1])
    sch.unroll(x1)
    sch.parallel(f0)
    return sch


scheduled_conv2d = schedule(3, 16, 7).func


def inputs(rng, large=False):
    return (
        rng.random((3, 7, 7), "float32"),
        rng.random((16, 3, 3, 3), "float32"),
        np.zeros((16, 7, 7), "float32"),
    )


def reference(X, W, Y):
    P = np.pad(X, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(P, (3, 3), axis=(1, 2))
    np.einsum("cyxuv,fcuv->fyx", windows, W, out=Y)


if __name__ == "__main__":
    conv2d(3, 16, 7).show()
    print(schedule(3, 16, 7).trace)
    tirscript.testing.try_example(scheduled_conv2d, inputs, reference)
