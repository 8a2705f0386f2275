from tirscript.script import tir as T


@T.prim_func
def pool(A: T.Buffer((12, 12), "int8"), C: T.Buffer((8, 8), "int8")):
    B = T.alloc_buffer((6, 10), "int8")
    for i_0, j_0 in T.grid(2, 2):
        for ax0, ax1, ax2, ax3 in T.grid(6, 6, 3, 3):
            with T.block("B"):
                vi = T.axis.scan(10, i_0 * 4 + ax0)
                vj = T.axis.spatial(10, j_0 * 4 + ax1)
                vk = T.axis.reduce(3, ax2)
                vl = T.axis.reduce(3, ax3)
                T.where((i_0 < 1 or 2 <= ax0) and (j_0 < 1 or 2 <= ax1))
                with T.init():
                    B[vi % 6, vj] = -128
                B[vi % 6, vj] = T.max(B[vi % 6, vj], A[vi + vk, vj + vl])
        for i_1, j_1, k, l in T.grid(4, 4, 3, 3):
            with T.block("C"):
                vi = T.axis.spatial(8, i_0 * 4 + i_1)
                vj = T.axis.spatial(8, j_0 * 4 + j_1)
                vk = T.axis.reduce(3, k)
                vl = T.axis.reduce(3, l)
                with T.init():
                    C[vi, vj] = -128
                C[vi, vj] = T.max(C[vi, vj], B[(vi + vk) % 6, vj + vl])
