from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    C_local = T.alloc_buffer((30, 20), "int32", scope="local")
    for i, j in T.grid(30, 20):
        for k in range(32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C_local[vi, vj] = 0
                C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * B[vk, vj]
        with T.block("C_local"):
            v0, v1 = T.axis.remap("SS", [i, j])
            C[v0, v1] = C_local[v0, v1]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
