from tirscript.script import tir as T


@T.prim_func
def conv2d(
    X: T.Buffer((3, 9, 9), "float32"),
    W: T.Buffer((8, 3, 2, 2), "float32"),
    Y: T.Buffer((8, 8, 8), "float32"),
):
    W_global = T.alloc_buffer((1, 3, 2, 2, 8), "float32")
    Y_local = T.alloc_buffer((1, 8, 8, 8), "float32", scope="local")
    for ax0_0, ax1, ax2, ax3 in T.grid(1, 3, 2, 2):
        for ax0_1_0 in T.unroll(2):
            for ax0_1_1 in T.vectorized(4):
                with T.block("W_global"):
                    v0 = T.axis.spatial(8, ax0_0 * 8 + (ax0_1_0 * 4 + ax0_1_1))
                    v1 = T.axis.spatial(3, ax1)
                    v2 = T.axis.spatial(2, ax2)
                    v3 = T.axis.spatial(2, ax3)
                    W_global[0, v1, v2, v3, v0] = W[v0, v1, v2, v3]
    for f_0, y, x_0 in T.grid(1, 8, 2):
        for x_1 in T.unroll(4):
            for f_1_0 in T.unroll(2):
                for f_1_1 in T.vectorized(4):
                    with T.block("Y_init"):
                        vf = T.axis.spatial(8, f_0 * 8 + (f_1_0 * 4 + f_1_1))
                        vy = T.axis.spatial(8, y)
                        vx = T.axis.spatial(8, x_0 * 4 + x_1)
                        Y_local[0, vy, vx, vf] = 0.0
        for c, u, v in T.grid(3, 2, 2):
            for x_1 in T.unroll(4):
                for f_1_0 in T.unroll(2):
                    for f_1_1 in T.vectorized(4):
                        with T.block("Y_update"):
                            vf = T.axis.spatial(8, f_0 * 8 + (f_1_0 * 4 + f_1_1))
                            vy = T.axis.spatial(8, y)
                            vx = T.axis.spatial(8, x_0 * 4 + x_1)
                            vc = T.axis.reduce(3, c)
                            vu = T.axis.reduce(2, u)
                            vv = T.axis.reduce(2, v)
                            Y_local[0, vy, vx, vf] = T.fma(
                                X[vc, vy + vu, vx + vv],
                                W_global[0, vc, vu, vv, vf],
                                Y_local[0, vy, vx, vf],
                            )
        for ax0 in range(8):
            for ax1 in T.vectorized(4):
                with T.block("Y_local"):
                    v0 = T.axis.spatial(8, f_0 * 8 + ax0)
                    v1 = T.axis.spatial(8, y)
                    v2 = T.axis.spatial(8, x_0 * 4 + ax1)
                    Y[v0, v1, v2] = Y_local[0, v1, v2, v0]
