from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    B_global = T.alloc_buffer((5, 32, 4), "int32")
    for ax0, ax1 in T.grid(32, 20):
        with T.block("B_global"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_global[v1 // 4, v0, v1 % 4] = B[v0, v1]
    for i, j_0, k, j_1 in T.grid(30, 5, 32, 4):
        with T.block("C"):
            vi = T.axis.spatial(30, i)
            vj = T.axis.spatial(20, j_0 * 4 + j_1)
            vk = T.axis.reduce(32, k)
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B_global[vj // 4, vk, vj % 4]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
