from tirscript.script import tir as T


@T.prim_func
def widened(
    A: T.Buffer((6, 8), "float16"), B: T.Buffer((8, 5), "float16"), C: T.Buffer((6, 5), "float32")
):
    A_local = T.alloc_buffer((6, 8), "float32", scope="local")
    for ax0, ax1 in T.grid(6, 8):
        with T.block("A_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_local[v0, v1] = T.cast(A[v0, v1], "float32")
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A_local[vi, vk] * T.cast(B[vk, vj], "float32")
