from tirscript.script import tir as T


@T.prim_func
def padded(A: T.Buffer((8, 6), "int32"), P: T.Buffer((10, 6), "int32")):
    for i_0, i_1, j in T.grid(3, 4, 6):
        with T.block("P_pad"):
            vi = T.axis.spatial(10, i_0 * 4 + i_1)
            vj = T.axis.spatial(6, j)
            T.where(i_0 * 4 + i_1 < 10)
            P[vi, vj] = 7
    for i_0, i_1, j in T.grid(3, 4, 6):
        with T.block("P"):
            vi = T.axis.spatial(10, i_0 * 4 + i_1)
            vj = T.axis.spatial(6, j)
            T.where(i_0 * 4 + i_1 < 10 and (i_0 * 4 + i_1 >= 1 and i_0 * 4 + i_1 < 9))
            P[vi, vj] = A[vi - 1, vj]
