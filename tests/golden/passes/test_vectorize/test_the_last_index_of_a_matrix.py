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
    for i in range(4):
        for j in T.vectorized(8):
            M[i, j] = 0.0


# --- after vectorize_loop ---


@T.prim_func
def f(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    I_1: T.Buffer((16,), "int32"),
    M: T.Buffer((4, 8), "float32"),
    n: T.int32,
):
    for i in range(4):
        M[i, 0:8] = T.broadcast(T.float32(0.0), 8)
