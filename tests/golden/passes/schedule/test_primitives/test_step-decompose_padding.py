from tirscript.script import tir as T


@T.prim_func
def padded(A: T.Buffer((8, 6), "int32"), P: T.Buffer((10, 6), "int32")):
    for i in range(10):
        for j in range(6):
            with T.block("P_pad"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = 7
        for j in range(6):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(i >= 1 and i < 9)
                P[vi, vj] = A[vi - 1, vj]
