from tirscript.script import tir as T


@T.prim_func
def matmul(
    A: T.Buffer((10, 9), "float32"), B: T.Buffer((9, 8), "float32"), D: T.Buffer((10, 8), "float32")
):
    C = T.alloc_buffer((10, 8), "float32", scope="local")
    for j_0, i_0 in T.grid(1, 2):
        for i_1 in T.unroll(5):
            for j_1_0 in T.unroll(2):
                for j_1_1 in T.vectorized(4):
                    with T.block("C_init"):
                        vi = T.axis.spatial(10, i_0 * 5 + i_1)
                        vj = T.axis.spatial(8, j_0 * 8 + (j_1_0 * 4 + j_1_1))
                        C[vi, vj] = 0.0
        for k in range(9):
            for i_1 in T.unroll(5):
                for j_1_0 in T.unroll(2):
                    for j_1_1 in T.vectorized(4):
                        with T.block("C_update"):
                            vi = T.axis.spatial(10, i_0 * 5 + i_1)
                            vj = T.axis.spatial(8, j_0 * 8 + (j_1_0 * 4 + j_1_1))
                            vk = T.axis.reduce(9, k)
                            C[vi, vj] = T.fma(A[vi, vk], B[vk, vj], C[vi, vj])
        for ax0 in range(5):
            for ax1_0 in T.unroll(2):
                for ax1_1 in T.vectorized(4):
                    with T.block("D"):
                        vi = T.axis.spatial(10, i_0 * 5 + ax0)
                        vj = T.axis.spatial(8, j_0 * 8 + (ax1_0 * 4 + ax1_1))
                        D[vi, vj] = T.max(C[vi, vj], 0.0)
