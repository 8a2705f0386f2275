from tirscript.script import tir as T


@T.prim_func
def transpose(A: T.Buffer((64, 128), "float32"), B: T.Buffer((128, 64), "float32")):
    for i_0, j_0, i_1 in T.grid(2, 16, 16):
        with T.block("B_o"):
            vi_o = T.axis.spatial(32, i_0 * 16 + i_1)
            vj_o = T.axis.spatial(16, j_0)
            A_offset = T.int32()
            A_1 = T.match_buffer(
                A[vj_o * 4 : vj_o * 4 + 4, vi_o * 4 : vi_o * 4 + 4],
                (4, 4),
                "float32",
                strides=(128, 1),
                elem_offset=A_offset,
            )
            B_offset = T.int32()
            B_1 = T.match_buffer(
                B[vi_o * 4 : vi_o * 4 + 4, vj_o * 4 : vj_o * 4 + 4],
                (4, 4),
                "float32",
                strides=(64, 1),
                elem_offset=B_offset,
            )
            lines = T.alloc_buffer((4, 4), "float32", scope="local")
            r0_0 = A_1[0, 0:4]
            r1_0 = A_1[1, 0:4]
            r2_0 = A_1[2, 0:4]
            r3_0 = A_1[3, 0:4]
            r0_1 = T.Shuffle([r0_0, r2_0], [0, 1, 4, 5])
            r2_1 = T.Shuffle([r0_0, r2_0], [2, 3, 6, 7])
            r1_1 = T.Shuffle([r1_0, r3_0], [0, 1, 4, 5])
            r3_1 = T.Shuffle([r1_0, r3_0], [2, 3, 6, 7])
            r0_2 = T.Shuffle([r0_1, r1_1], [0, 4, 2, 6])
            r1_2 = T.Shuffle([r0_1, r1_1], [1, 5, 3, 7])
            r2_2 = T.Shuffle([r2_1, r3_1], [0, 4, 2, 6])
            r3_2 = T.Shuffle([r2_1, r3_1], [1, 5, 3, 7])
            lines[0, 0:4] = r0_2
            lines[1, 0:4] = r1_2
            lines[2, 0:4] = r2_2
            lines[3, 0:4] = r3_2
            for i in range(4):
                B_1[i, 0:4] = lines[i, 0:4]
