from tirscript.script import tir as T


@T.prim_func
def any_matmul(a: T.handle, B: T.Buffer(("k", 20), "int32"), C: T.Buffer(("m", 20), "int32")):
    A = T.match_buffer(a, (m, k), "int32")
    A_pad = T.alloc_buffer((T.ceildiv(m, 8) * 8, T.ceildiv(k, 5) * 5), "int32")
    B_pad = T.alloc_buffer((T.ceildiv(k, 5) * 5, 20), "int32")
    C_pad = T.alloc_buffer((T.ceildiv(m, 8) * 8, 20), "int32")
    for ax0, ax1 in T.grid(T.ceildiv(m, 8) * 8, T.ceildiv(k, 5) * 5):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_pad[v0, v1] = A[v0, v1] if v0 < m and v1 < k else 0
    for ax0 in range(T.ceildiv(k, 5) * 5):
        for ax1 in range(20):
            with T.block("B_pad"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B_pad[v0, v1] = B[v0, v1] if v0 < k else 0
    for i in range(T.ceildiv(m, 8) * 8):
        for j in range(20):
            for p in range(T.ceildiv(k, 5) * 5):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, p])
                    with T.init():
                        C_pad[vi, vj] = 0
                    C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
    for ax0 in range(m):
        for ax1 in range(20):
            with T.block("C_pad"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                C[v0, v1] = C_pad[v0, v1]
