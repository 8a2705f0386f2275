from tirscript.script import tir as T


@T.prim_func
def blur(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):
    B = T.alloc_buffer((34,), "int32")
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            B[vi] = A[vi] + 1
    for i in T.vectorized(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
