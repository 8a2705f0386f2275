from tirscript.script import tir as T


@T.prim_func
def blur(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):
    B = T.alloc_buffer((34,), "int32")
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            B[vi] = A[vi] + 1
    for i_0 in range(1):
        with T.block("C"):
            vi = T.axis.spatial(1, 0)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
    for i_1 in range(1, 31):
        with T.block("C_1"):
            vi = T.axis.spatial((1, 31), i_1)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
    for i_2 in range(31, 32):
        with T.block("C_2"):
            vi = T.axis.spatial((31, 32), 31)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
