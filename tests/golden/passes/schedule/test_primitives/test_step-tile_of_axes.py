from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    for i_0, j_0, k, i_1, j_1 in T.grid(4, 4, 32, 8, 5):
        with T.block("C"):
            vi = T.axis.spatial(30, i_0 * 8 + i_1)
            vj = T.axis.spatial(20, j_0 * 5 + j_1)
            vk = T.axis.reduce(32, k)
            T.where(i_0 * 8 + i_1 < 30)
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
