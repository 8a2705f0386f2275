from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    for ax0, ax1, ax2 in T.grid(4, 600, 8):
        with T.block("C"):
            v0, v1, v2 = T.axis.remap("RSR", [ax0, ax1, ax2])
            with T.init():
                C[v1 // 20, v1 % 20] = 0
            C[v1 // 20, v1 % 20] = (
                C[v1 // 20, v1 % 20] + A[v1 // 20, v0 * 8 + v2] * B[v0 * 8 + v2, v1 % 20]
            )
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
