from tirscript.script import tir as T


@T.prim_func
def distances(
    A: T.Buffer((6, 9), "int32"), B: T.Buffer((9, 5), "int32"), C: T.Buffer((6, 5), "int32")
):
    C_part = T.alloc_buffer((6, 9), "int32")
    for ax0, ax1 in T.grid(6, 9):
        with T.block("C_part"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C_part[v0, v1] = A[v0, v1] * 2
    for i, j, p in T.grid(6, 5, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.abs(C_part[vi, vk] - B[vk, vj]) * C_part[vi, vk]
