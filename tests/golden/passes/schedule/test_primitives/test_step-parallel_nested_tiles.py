from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    A_local = T.alloc_buffer((30, 32), "int32", scope="local")
    for i in T.parallel(30):
        for j in range(20):
            for ax0 in range(32):
                with T.block("A_local"):
                    v0, v1 = T.axis.remap("SS", [i, ax0])
                    A_local[v0, v1] = A[v0, v1]
            for k in range(32):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        C[vi, vj] = 0
                    C[vi, vj] = C[vi, vj] + A_local[vi, vk] * B[vk, vj]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
