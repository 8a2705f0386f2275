from tirscript.script import tir as T


@T.prim_func
def transpose(A: T.Buffer((64, 128), "float32"), B: T.Buffer((128, 64), "float32")):
    for i_0, j_0, i_1 in T.grid(2, 16, 64):
        for j_1 in T.vectorized(4):
            with T.block("B"):
                vi = T.axis.spatial(128, i_0 * 64 + i_1)
                vj = T.axis.spatial(64, j_0 * 4 + j_1)
                B[vi, vj] = A[vj, vi]
