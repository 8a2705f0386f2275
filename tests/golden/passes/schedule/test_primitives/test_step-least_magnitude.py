from tirscript.script import tir as T


@T.prim_func
def narrow(
    A: T.Buffer((6, 8), "bfloat16"), B: T.Buffer((8, 4), "bfloat16"), D: T.Buffer((6, 4), "float32")
):
    C = T.alloc_buffer((6, 4), "float32")
    B_local = T.alloc_buffer((8, 4), "bfloat16", scope="local")
    B_local_least = T.alloc_buffer((2,), "uint16")
    for ax0, ax1 in T.grid(8, 4):
        with T.block("B_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_local[v0, v1] = B[v0, v1]
    for p0, r0, r1 in T.grid(2, 4, 4):
        with T.block("B_local_least"):
            v0, w0, w1 = T.axis.remap("SRR", [p0, r0, r1])
            with T.init():
                B_local_least[v0] = 65535
            B_local_least[v0] = T.min(
                B_local_least[v0], T.reinterpret("uint16", B_local[v0 * 4 + w0, w1]) * 2 - 1
            )
    for i, j, k in T.grid(6, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(
                B_local[vk, vj], "float32"
            )
    for i, j in T.grid(6, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + 1.0
