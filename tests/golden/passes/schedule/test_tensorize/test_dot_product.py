from tirscript.script import tir as T


@T.prim_func
def dot(
    A: T.Buffer((3, 24), "uint8"), B: T.Buffer((32, 24), "int8"), C: T.Buffer((3, 32), "int32")
):
    for i_0, j_0 in T.grid(3, 2):
        for i_1, j_1 in T.grid(1, 16):
            with T.block("C_init"):
                vi = T.axis.spatial(3, i_0 + i_1)
                vj = T.axis.spatial(32, j_0 * 16 + j_1)
                C[vi, vj] = 0
        for k_0, i_1 in T.grid(6, 1):
            with T.block("C_update_o"):
                vi_o = T.axis.spatial(3, i_0 + i_1)
                vj_o = T.axis.spatial(2, j_0)
                vk_o = T.axis.reduce(6, k_0)
                A_offset = T.int32()
                A_1 = T.match_buffer(
                    A[vi_o, vk_o * 4 : vk_o * 4 + 4],
                    (4,),
                    "uint8",
                    strides=(1,),
                    elem_offset=A_offset,
                )
                B_offset = T.int32()
                B_1 = T.match_buffer(
                    B[vj_o * 16 : vj_o * 16 + 16, vk_o * 4 : vk_o * 4 + 4],
                    (16, 4),
                    "int8",
                    strides=(24, 1),
                    elem_offset=B_offset,
                )
                C_offset = T.int32()
                C_1 = T.match_buffer(
                    C[vi_o, vj_o * 16 : vj_o * 16 + 16],
                    (16,),
                    "int32",
                    strides=(1,),
                    elem_offset=C_offset,
                )
                for i in T.vectorized(16):
                    C_1[i] = C_1[i] + (
                        T.cast(A_1[0], "int32") * T.cast(B_1[i, 0], "int32")
                        + T.cast(A_1[1], "int32") * T.cast(B_1[i, 1], "int32")
                        + T.cast(A_1[2], "int32") * T.cast(B_1[i, 2], "int32")
                        + T.cast(A_1[3], "int32") * T.cast(B_1[i, 3], "int32")
                    )
