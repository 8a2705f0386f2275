from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    for i in range(30):
        with T.block("C_o"):
            vi_o = T.axis.spatial(30, i)
            with T.init():
                for j in range(20):
                    with T.block("C_init"):
                        vj = T.axis.spatial(20, j)
                        C[vi_o, vj] = 0
            for j, k in T.grid(20, 32):
                with T.block("C"):
                    vj, vk = T.axis.remap("SR", [j, k])
                    C[vi_o, vj] = C[vi_o, vj] + A[vi_o, vk] * B[vk, vj]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
