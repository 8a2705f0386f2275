from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    I_1: T.Buffer((16,), "int32"),
    M: T.Buffer((4, 8), "float32"),
    n: T.int32,
):
    for i in T.vectorized(4):
        B[i] = A[I_1[i]] + T.cast(i // 2, "float32")


# --- after vectorize_loop ---


@T.prim_func
def f(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    I_1: T.Buffer((16,), "int32"),
    M: T.Buffer((4, 8), "float32"),
    n: T.int32,
):
    B[0:4] = A[I_1[0:4]] + T.cast(T.ramp(0, 1, 4) // T.broadcast(2, 4), "float32x4")
