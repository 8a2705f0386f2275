from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    X[0] = T.Reduce(
        T.comm_reducer(lambda i0, v0, i1, v1: (i0 if v0 >= v1 else i1, T.max(v0, v1)), [-1, -99]),
        lambda k: [k, X[k]],
        [16],
    )


# --- after lower_reduce ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    reduced: T.int32 = -1
    reduced_1: T.int32 = -99
    for k in range(16):
        v1 = X[k]
        combined = reduced if reduced_1 >= v1 else k
        combined_1 = T.max(reduced_1, v1)
        reduced = combined
        reduced_1 = combined_1
    X[0] = reduced
