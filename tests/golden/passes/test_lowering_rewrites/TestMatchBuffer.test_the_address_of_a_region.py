from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8, 16), "float32")):
    for i in range(8):
        B = T.match_buffer(A[i, 4:8], (4,), "float32")
        T.evaluate(T.call_extern("int32", "g", B.data))
        T.evaluate(T.call_extern("int32", "g", T.address_of(B[1])))


# --- after lower_match_buffer ---


@T.prim_func
def f(A: T.Buffer((8, 16), "float32")):
    for i in range(8):
        T.evaluate(T.call_extern("int32", "g", T.address_of(A[i, 4])))
        T.evaluate(T.call_extern("int32", "g", T.address_of(A[i, 5])))
