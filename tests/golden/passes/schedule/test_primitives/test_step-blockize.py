from tirscript.script import tir as T


@T.prim_func
def relu_matmul(
    A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")
):
    C = T.alloc_buffer((30, 20), "int32")
    for i_0, j_0, k_0 in T.grid(4, 5, 4):
        with T.block("C_o"):
            vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
            with T.init():
                for i_1, j_1 in T.grid(8, 4):
                    with T.block("C_init"):
                        vi_i, vj_i = T.axis.remap("SS", [i_1, j_1])
                        T.where(vi_o * 8 + i_1 < 30)
                        C[vi_o * 8 + vi_i, vj_o * 4 + vj_i] = 0
            for i_1, j_1, k_1 in T.grid(8, 4, 8):
                with T.block("C"):
                    vi_i, vj_i, vk_i = T.axis.remap("SSR", [i_1, j_1, k_1])
                    T.where(vi_o * 8 + i_1 < 30)
                    C[vi_o * 8 + vi_i, vj_o * 4 + vj_i] = (
                        C[vi_o * 8 + vi_i, vj_o * 4 + vj_i]
                        + A[vi_o * 8 + vi_i, vk_o * 8 + vk_i] * B[vk_o * 8 + vk_i, vj_o * 4 + vj_i]
                    )
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)
