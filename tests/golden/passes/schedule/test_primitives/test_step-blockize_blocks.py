from tirscript.script import tir as T


@T.prim_func
def chain(
    A: T.Buffer((16, 12), "int32"), D: T.Buffer((12, 16), "int32"), E: T.Buffer((16,), "int32")
):
    B = T.alloc_buffer((16, 12), "int32")
    C = T.alloc_buffer((16, 12), "int32")
    for i in range(16):
        with T.block("B_o"):
            vi_o = T.axis.spatial(16, i)
            for ax0 in range(12):
                with T.block("B"):
                    vj = T.axis.spatial(12, ax0)
                    B[vi_o, vj] = A[vi_o, vj] * 2
            for j in range(12):
                with T.block("C"):
                    vj = T.axis.spatial(12, j)
                    C[vi_o, vj] = B[vi_o, vj] + vi_o
    for i, j in T.grid(16, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vj, vi] = C[vi, vj] - 1
    for i in range(16):
        E[i] = i
