from tirscript.script import tir as T


@T.prim_func
def chain(
    A: T.Buffer((16, 12), "int32"), D: T.Buffer((12, 16), "int32"), E: T.Buffer((16,), "int32")
):
    B = T.alloc_buffer((16, 12), "int32")
    C = T.alloc_buffer((16, 12), "int32")
    for i_0, i_1, i_2, j in T.grid(2, 4, 2, 12):
        with T.block("B"):
            vi = T.axis.spatial(16, i_0 * 8 + i_1 * 2 + i_2)
            vj = T.axis.spatial(12, j)
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(16, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + vi
    for i, j in T.grid(16, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vj, vi] = C[vi, vj] - 1
    for i in range(16):
        E[i] = i
