from tirscript.script import tir as T


@T.prim_func
def distances(
    A: T.Buffer((6, 9), "int32"), B: T.Buffer((9, 5), "int32"), C: T.Buffer((6, 5), "int32")
):
    A_pad = T.alloc_buffer((8, 9), "int32")
    B_pad = T.alloc_buffer((9, 8), "int32")
    C_pad = T.alloc_buffer((8, 8), "int32")
    for ax0, ax1 in T.grid(8, 9):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_pad[v0, v1] = A[v0, v1] if v0 < 6 else 0
    for ax0, ax1 in T.grid(9, 8):
        with T.block("B_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_pad[v0, v1] = B[v0, v1] if v1 < 5 else 0
    for i, j, p in T.grid(8, 8, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C_pad[vi, vj] = 0
            C_pad[vi, vj] = C_pad[vi, vj] + T.abs(A_pad[vi, vk] * 2 - B_pad[vk, vj]) * (
                A_pad[vi, vk] * 2
            )
    for ax0, ax1 in T.grid(6, 5):
        with T.block("C_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0, v1] = C_pad[v0, v1]
