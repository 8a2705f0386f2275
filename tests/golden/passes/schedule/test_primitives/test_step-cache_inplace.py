from tirscript.script import tir as T


@T.prim_func
def doubled(A: T.Buffer((8, 4), "int32")):
    A_local = T.alloc_buffer((8, 4), "int32", scope="local")
    for ax0, ax1 in T.grid(8, 4):
        with T.block("A_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_local[v0, v1] = A[v0, v1]
    for i, j in T.grid(6, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A_local[vi, vj] = A_local[vi, vj] * 2
    for ax0, ax1 in T.grid(8, 4):
        with T.block("A_back"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A[v0, v1] = A_local[v0, v1]
