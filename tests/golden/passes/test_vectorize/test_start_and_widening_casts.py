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
    for i in T.vectorized(4, 8):
        A[T.cast(i * 2, "int64") + 1] = 1.0


# --- after vectorize_loop ---


@T.prim_func
def f(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    I_1: T.Buffer((16,), "int32"),
    M: T.Buffer((4, 8), "float32"),
    n: T.int32,
):
    A[T.ramp(T.int64(9), T.int64(2), 4)] = T.broadcast(T.float32(1.0), 4)
