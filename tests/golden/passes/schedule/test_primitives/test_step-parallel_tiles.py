from tirscript.script import tir as T


@T.prim_func
def blur(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):
    for i_0 in T.parallel(4):
        B = T.alloc_buffer((34,), "int32")
        for ax0 in range(10):
            with T.block("B"):
                vi = T.axis.spatial(34, i_0 * 8 + ax0)
                B[vi] = A[vi] + 1
        for i_1 in range(8):
            with T.block("C"):
                vi = T.axis.spatial(32, i_0 * 8 + i_1)
                C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
