from tirscript.script import tir as T


@T.prim_func
def blur(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):
    B = T.alloc_buffer((6,), "int32")
    for i_0, i_1 in T.grid(2, 4):
        for ax0 in range(6):
            with T.block("B"):
                vi = T.axis.scan(34, i_0 * 16 + i_1 * 4 + ax0)
                T.where(i_1 < 1 or 2 <= ax0)
                B[vi % 6] = A[vi] + 1
        for i_2 in range(4):
            with T.block("C"):
                vi = T.axis.spatial(32, i_0 * 16 + i_1 * 4 + i_2)
                C[vi] = B[vi % 6] + B[(vi + 1) % 6] + B[(vi + 2) % 6]
