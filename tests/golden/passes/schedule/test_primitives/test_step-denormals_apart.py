from tirscript.script import tir as T


@T.prim_func
def narrow(
    A: T.Buffer((6, 8), "bfloat16"), B: T.Buffer((8, 4), "bfloat16"), D: T.Buffer((6, 4), "float32")
):
    C = T.alloc_buffer((6, 4), "float32")
    A_global = T.alloc_buffer((6, 8), "bfloat16")
    B_global = T.alloc_buffer((8, 4), "bfloat16")
    A_global_least = T.alloc_buffer((2,), "uint16")
    B_global_least = T.alloc_buffer((2,), "uint16")
    C_1 = T.alloc_buffer((6, 4), "float32")
    for ax0, ax1 in T.grid(8, 4):
        with T.block("B_global"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_global[v0, v1] = B[v0, v1]
    for p1, r0, r1 in T.grid(2, 8, 2):
        with T.block("B_global_least"):
            w0, v1, w1 = T.axis.remap("RSR", [r0, p1, r1])
            with T.init():
                B_global_least[v1] = 65535
            B_global_least[v1] = T.min(
                B_global_least[v1], T.reinterpret("uint16", B_global[w0, v1 * 2 + w1]) * 2 - 1
            )
    for i_0 in range(2):
        for ax0, ax1 in T.grid(3, 8):
            with T.block("A_global"):
                v0 = T.axis.spatial(6, i_0 * 3 + ax0)
                v1 = T.axis.spatial(8, ax1)
                A_global[v0, v1] = A[v0, v1]
        for p0, r0, r1 in T.grid(1, 3, 8):
            with T.block("A_global_least"):
                v0 = T.axis.spatial(2, i_0 + p0)
                w0 = T.axis.reduce(3, r0)
                w1 = T.axis.reduce(8, r1)
                with T.init():
                    A_global_least[v0] = 65535
                A_global_least[v0] = T.min(
                    A_global_least[v0], T.reinterpret("uint16", A_global[v0 * 3 + w0, w1]) * 2 - 1
                )
        for j_0 in range(2):
            if (
                T.cast(A_global_least[i_0], "int32") + 1 >> 8 >= 1
                and T.cast(B_global_least[j_0], "int32") + 1 >> 8 >= 1
                and (T.cast(A_global_least[i_0], "int32") + 1 >> 8)
                + (T.cast(B_global_least[j_0], "int32") + 1 >> 8)
                >= 142
            ):
                for k, i_1, j_1 in T.grid(8, 3, 2):
                    with T.block("C"):
                        vi = T.axis.spatial(6, i_0 * 3 + i_1)
                        vj = T.axis.spatial(4, j_0 * 2 + j_1)
                        vk = T.axis.reduce(8, k)
                        with T.init():
                            C[vi, vj] = 0.0
                        C[vi, vj] = C[vi, vj] + T.cast(A_global[vi, vk], "float32") * T.cast(
                            B_global[vk, vj], "float32"
                        )
                for ax0, ax1 in T.grid(3, 2):
                    with T.block("D"):
                        vi = T.axis.spatial(6, i_0 * 3 + ax0)
                        vj = T.axis.spatial(4, j_0 * 2 + ax1)
                        D[vi, vj] = C[vi, vj] + 1.0
            else:
                for k, i_1, j_1 in T.grid(8, 3, 2):
                    with T.block("C_1"):
                        vi = T.axis.spatial(6, i_0 * 3 + i_1)
                        vj = T.axis.spatial(4, j_0 * 2 + j_1)
                        vk = T.axis.reduce(8, k)
                        with T.init():
                            C_1[vi, vj] = 0.0
                        C_1[vi, vj] = C_1[vi, vj] + T.cast(A_global[vi, vk], "float32") * T.cast(
                            B_global[vk, vj], "float32"
                        )
                for ax0, ax1 in T.grid(3, 2):
                    with T.block("D_1"):
                        vi = T.axis.spatial(6, i_0 * 3 + ax0)
                        vj = T.axis.spatial(4, j_0 * 2 + ax1)
                        D[vi, vj] = C_1[vi, vj] + 1.0
