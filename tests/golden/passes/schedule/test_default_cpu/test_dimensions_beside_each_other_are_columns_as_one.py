from tirscript.script import tir as T


@T.prim_func
def pointwise(
    X: T.Buffer((6, 5, 7), "int32"), W: T.Buffer((9, 6), "int32"), Y: T.Buffer((9, 5, 7), "int32")
):
    X_global_pad = T.alloc_buffer((6, 36), "int32")
    Y_global_pad = T.alloc_buffer((9, 36), "int32", scope="local")
    for ax1_0 in range(3):
        for ax0 in range(6):
            for ax1_0_1 in T.unroll(3):
                for ax1_1 in T.vectorized(4):
                    with T.block("X_global_pad"):
                        v0 = T.axis.spatial(6, ax0)
                        v1 = T.axis.spatial(36, ax1_0 * 12 + (ax1_0_1 * 4 + ax1_1))
                        X_global_pad[v0, v1] = X[v0, v1 // 7, v1 % 7] if v1 < 35 else 0
        for ax0_0 in range(3):
            for ax0_1 in T.unroll(3):
                for ax1_1_0 in T.unroll(3):
                    for ax1_1_1 in T.vectorized(4):
                        with T.block("Y_init"):
                            v0 = T.axis.spatial(9, ax0_0 * 3 + ax0_1)
                            v1 = T.axis.spatial(36, ax1_0 * 12 + (ax1_1_0 * 4 + ax1_1_1))
                            Y_global_pad[v0, v1] = 0
            for ax2 in range(6):
                for ax0_1 in T.unroll(3):
                    for ax1_1_0 in T.unroll(3):
                        for ax1_1_1 in T.vectorized(4):
                            with T.block("Y_update"):
                                v0 = T.axis.spatial(9, ax0_0 * 3 + ax0_1)
                                v1 = T.axis.spatial(36, ax1_0 * 12 + (ax1_1_0 * 4 + ax1_1_1))
                                v2 = T.axis.reduce(6, ax2)
                                Y_global_pad[v0, v1] = (
                                    Y_global_pad[v0, v1] + X_global_pad[v2, v1] * W[v0, v2]
                                )
            for ax0 in range(3):
                for ax1_0_1 in T.unroll(3):
                    for ax1_1 in T.vectorized(4):
                        with T.block("Y_global"):
                            v0 = T.axis.spatial(9, ax0_0 * 3 + ax0)
                            v1 = T.axis.spatial(35, ax1_0 * 12 + (ax1_0_1 * 4 + ax1_1))
                            T.where(ax1_0 * 12 + (ax1_0_1 * 4 + ax1_1) < 35)
                            Y[v0, v1 // 7, v1 % 7] = Y_global_pad[v0, v1]
