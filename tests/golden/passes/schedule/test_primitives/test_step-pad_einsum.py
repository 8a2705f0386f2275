from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    A_pad = T.alloc_buffer((32, 35), "int32")
    B_pad = T.alloc_buffer((35, 20), "int32")
    C_pad = T.alloc_buffer((32, 20), "int32")
    for ax0, ax1 in T.grid(32, 35):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_pad[v0, v1] = A[v0, v1] if v0 < 30 and v1 < 32 else 0
    for ax0, ax1 in T.grid(35, 20):
        with T.block("B_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_pad[v0, v1] = B[v0, v1] if v0 < 32 else 0
    for i, j, k in T.grid(32, 20, 35):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_pad[vi, vj] = 0
            C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
    for ax0, ax1 in T.grid(30, 20):
        with T.block("C_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0, v1] = C_pad[v0, v1]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
