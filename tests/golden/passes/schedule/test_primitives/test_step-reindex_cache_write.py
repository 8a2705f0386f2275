from tirscript.script import tir as T


@T.prim_func
def chain(
    A: T.Buffer((16, 12), "int32"), D: T.Buffer((12, 16), "int32"), E: T.Buffer((16,), "int32")
):
    B = T.alloc_buffer((16, 12), "int32")
    C = T.alloc_buffer((16, 12), "int32")
    D_local = T.alloc_buffer((17, 12), "int32", scope="local")
    for i, j in T.grid(16, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(16, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + vi
    for i, j in T.grid(16, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D_local[vi + 1, vj] = C[vi, vj] - 1
    for ax0, ax1 in T.grid(16, 12):
        with T.block("D_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            D[v1, v0] = D_local[v0 + 1, v1]
    for i in range(16):
        E[i] = i
