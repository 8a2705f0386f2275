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
        s: T.float32 = A[i]
        for k in range(3):
            s = s + A[k]
        B[i] = s


# --- after vectorize_loop ---


@T.prim_func
def f(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    I_1: T.Buffer((16,), "int32"),
    M: T.Buffer((4, 8), "float32"),
    n: T.int32,
):
    s: T.float32x4 = A[0:4]
    for k in range(3):
        s = s + T.broadcast(A[k], 4)
    B[0:4] = s
