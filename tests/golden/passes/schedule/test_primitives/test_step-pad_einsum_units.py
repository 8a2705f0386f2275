from tirscript.script import tir as T


@T.prim_func
def single(
    A: T.Buffer((1, 6, 9), "int32"), B: T.Buffer((9, 5), "int32"), C: T.Buffer((1, 6, 5), "int32")
):
    A_pad = T.alloc_buffer((1, 8, 9), "int32")
    C_pad = T.alloc_buffer((1, 8, 5), "int32")
    for ax0, ax1, ax2 in T.grid(1, 8, 9):
        with T.block("A_pad"):
            v0, v1, v2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            A_pad[v0, v1, v2] = A[v0, v1, v2] if v1 < 6 else 0
    for i, j, p in T.grid(8, 5, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C_pad[0, vi, vj] = 0
            C_pad[0, vi, vj] = C_pad[0, vi, vj] + A_pad[0, vi, vk] * B[vk, vj]
    for ax0, ax1, ax2 in T.grid(1, 6, 5):
        with T.block("C_pad"):
            v0, v1, v2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            C[v0, v1, v2] = C_pad[v0, v1, v2]
