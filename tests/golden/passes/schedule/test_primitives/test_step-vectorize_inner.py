from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    for i, j, k in T.grid(30, 20, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j_0 in T.grid(30, 4):
        for j_1 in T.vectorized(5):
            with T.block("D"):
                vi = T.axis.spatial(30, i)
                vj = T.axis.spatial(20, j_0 * 5 + j_1)
                D[vi, vj] = T.max(C[vi, vj], 0)
