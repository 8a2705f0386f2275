from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8, 16), "float32")):
    for i in range(2):
        with T.block("A"):
            vi = T.axis.spatial(2, i)
            s0 = T.int32()
            s1 = T.int32()
            e = T.int32()
            B = T.match_buffer(
                A[vi * 4 : vi * 4 + 4, 8:16], (4, 8), "float32", strides=(s0, s1), elem_offset=e
            )
            T.evaluate(T.call_extern("int32", "gemm", B.data, e, s0))


# --- after lower_match_buffer ---


@T.prim_func
def f(A: T.Buffer((8, 16), "float32")):
    for i in range(2):
        with T.block("A"):
            vi = T.axis.spatial(2, i)
            s0: T.let[T.int32] = 16
            e = vi * 64 + 8
            T.evaluate(T.call_extern("int32", "gemm", A.data, e, s0))
