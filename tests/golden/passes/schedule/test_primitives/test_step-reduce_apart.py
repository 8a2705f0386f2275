from tirscript.script import tir as T


@T.prim_func
def added(
    A: T.Buffer((6, "k"), "int32"), B: T.Buffer(("k", 5), "int32"), C: T.Buffer((6, 5), "int32")
):
    C_own = T.alloc_buffer((6, 5), "int32")
    for i, j in T.grid(6, 5):
        for p in range(k):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, p])
                with T.init():
                    C_own[vi, vj] = C[vi, vj]
                C_own[vi, vj] = C_own[vi, vj] + A[vi, vk] * B[vk, vj]
    for ax0, ax1 in T.grid(6, 5):
        with T.block("C_own"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0, v1] = C_own[v0, v1] if k > 0 else C[v0, v1]
