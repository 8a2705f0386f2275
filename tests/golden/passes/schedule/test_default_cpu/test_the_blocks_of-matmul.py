from tirscript.script import tir as T


@T.prim_func
def matmul(
    A: T.Buffer((10, 9), "float32"), B: T.Buffer((9, 8), "float32"), D: T.Buffer((10, 8), "float32")
):
    C = T.alloc_buffer((10, 8), "float32")
    for i, j, k in T.grid(10, 8, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(10, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)
