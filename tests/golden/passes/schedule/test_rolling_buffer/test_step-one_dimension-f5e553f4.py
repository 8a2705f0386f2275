from tirscript.script import tir as T


@T.prim_func
def blur(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for i_0 in range(4):
        for ax0 in range(10):
            with T.block("B"):
                vi = T.axis.scan(34, i_0 * 8 + ax0)
                T.where(i_0 < 1 or 2 <= ax0)
                B[vi % 10] = A[vi] + 1
        for i_1 in range(8):
            with T.block("C"):
                vi = T.axis.spatial(32, i_0 * 8 + i_1)
                C[vi] = B[vi % 10] + B[(vi + 1) % 10] + B[(vi + 2) % 10]
