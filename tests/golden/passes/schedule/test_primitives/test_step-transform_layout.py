from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((4, 20, 8), "int32")
    for i, j, k in T.grid(30, 20, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi // 8, vj, vi % 8] = 0
            C[vi // 8, vj, vi % 8] = C[vi // 8, vj, vi % 8] + A[vi, vk] * B[vk, vj]
    for ax0, ax1, ax2 in T.grid(4, 20, 8):
        with T.block("C_pad"):
            v0, v1, v2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            T.where(ax0 * 8 + ax2 >= 30)
            C[v0, v1, v2] = 0
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi // 8, vj, vi % 8], 0)
