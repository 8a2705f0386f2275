from tirscript.script import tir as T


@T.prim_func
def any_matmul(a: T.handle, B: T.Buffer(("k", 20), "int32"), C: T.Buffer(("m", 20), "int32")):
    A = T.match_buffer(a, (m, k), "int32")
    A_pad = T.alloc_buffer((T.ceildiv(m, 4) * 4, k), "int32")
    C_pad = T.alloc_buffer((T.ceildiv(m, 4) * 4, 20), "int32")
    C_pad_1 = T.alloc_buffer((T.ceildiv(m, 4) * 4, 20), "int32")
    for ax0, ax1 in T.grid(T.ceildiv(m, 4) * 4, k):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_pad[v0, v1] = A[v0, v1] if v0 < m else 0
    for i_0 in range(T.ceildiv(T.ceildiv(m, 4) * 4, 4)):
        if i_0 * 4 + 1 < m:
            for p in range(k):
                for j in range(20):
                    for i_1 in range(T.int64(4)):
                        with T.block("C"):
                            vi = T.axis.spatial(T.ceildiv(m, 4) * 4, i_0 * 4 + i_1)
                            vj = T.axis.spatial(20, j)
                            vk = T.axis.reduce(k, p)
                            with T.init():
                                C_pad[vi, vj] = 0
                            C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B[vk, vj]
            for ax0 in range(T.int64(4)):
                for ax1 in range(20):
                    with T.block("C_pad"):
                        v0 = T.axis.spatial(m, i_0 * 4 + ax0)
                        v1 = T.axis.spatial(20, ax1)
                        T.where(i_0 * 4 + ax0 < m)
                        C[v0, v1] = C_pad[v0, v1]
        else:
            for p in range(k):
                for j in range(20):
                    for i_1 in range(T.int64(1)):
                        with T.block("C_1"):
                            vi = T.axis.spatial(T.ceildiv(m, 4) * 4, i_0 * 4 + i_1)
                            vj = T.axis.spatial(20, j)
                            vk = T.axis.reduce(k, p)
                            with T.init():
                                C_pad_1[vi, vj] = 0
                            C_pad_1[vi, vj] = C_pad_1[vi, vj] + A_pad[vi, vk] * B[vk, vj]
            for ax0 in range(T.int64(1)):
                for ax1 in range(20):
                    with T.block("C_pad_1"):
                        v0 = T.axis.spatial(m, i_0 * 4 + ax0)
                        v1 = T.axis.spatial(20, ax1)
                        T.where(i_0 * 4 + ax0 < m)
                        C[v0, v1] = C_pad_1[v0, v1]
