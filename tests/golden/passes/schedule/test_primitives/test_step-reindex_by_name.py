from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    B_reindex = T.alloc_buffer((20, 32), "int32")
    for ax0, ax1 in T.grid(20, 32):
        with T.block("B_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_reindex[v0, v1] = B[v1, v0]
    for i, j, k in T.grid(30, 20, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B_reindex[vj, vk]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
