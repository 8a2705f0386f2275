from tirscript.script import tir as T


@T.prim_func
def cascade(A: T.Buffer((20,), "int32"), D: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((6,), "int32")
    C = T.alloc_buffer((5,), "int32")
    for i_0 in range(4):
        for ax0 in range(6):
            with T.block("B"):
                vi = T.axis.scan(18, i_0 * 4 + ax0)
                T.where(i_0 < 1 or 2 <= ax0)
                B[vi % 6] = A[vi] * 3 + A[vi + 2]
        for ax0 in range(5):
            with T.block("C"):
                vi = T.axis.scan(17, i_0 * 4 + ax0)
                T.where(i_0 < 1 or 1 <= ax0)
                C[vi % 5] = B[vi % 6] - B[(vi + 1) % 6]
        for i_1 in range(4):
            with T.block("D"):
                vi = T.axis.spatial(16, i_0 * 4 + i_1)
                D[vi] = C[vi % 5] * 2 + C[(vi + 1) % 5]
