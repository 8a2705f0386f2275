from tirscript.script import tir as T


@T.prim_func
def pool(A: T.Buffer((12, 12), "int8"), C: T.Buffer((8, 8), "int8")):
    B = T.alloc_buffer((10, 4), "int8")
    for j_0 in range(4):
        for ax0, ax1, ax2, ax3 in T.grid(10, 4, 3, 3):
            with T.block("B"):
                vi = T.axis.spatial(10, ax0)
                vj = T.axis.scan(10, j_0 * 2 + ax1)
                vk = T.axis.reduce(3, ax2)
                vl = T.axis.reduce(3, ax3)
                T.where(j_0 < 1 or 2 <= ax1)
                with T.init():
                    B[vi, vj % 4] = -128
                B[vi, vj % 4] = T.max(B[vi, vj % 4], A[vi + vk, vj + vl])
        for i, j_1, k, l in T.grid(8, 2, 3, 3):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(8, j_0 * 2 + j_1)
                vk = T.axis.reduce(3, k)
                vl = T.axis.reduce(3, l)
                with T.init():
                    C[vi, vj] = -128
                C[vi, vj] = T.max(C[vi, vj], B[vi + vk, (vj + vl) % 4])
