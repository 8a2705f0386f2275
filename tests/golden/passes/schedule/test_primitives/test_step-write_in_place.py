from tirscript.script import tir as T


@T.prim_func
def chain(
    A: T.Buffer((16, 12), "int32"), D: T.Buffer((12, 16), "int32"), E: T.Buffer((16,), "int32")
):
    C = T.alloc_buffer((16, 12), "int32")
    for i, j in T.grid(16, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(16, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C[vi, vj] + vi
    for i, j in T.grid(16, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vj, vi] = C[vi, vj] - 1
    for i in range(16):
        E[i] = i
