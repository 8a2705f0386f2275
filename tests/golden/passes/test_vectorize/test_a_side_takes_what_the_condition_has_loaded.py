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
    for i in T.vectorized(8):
        most: T.float32 = 0.0
        if A[I_1[i]] > most and A[2 * i] > 0.0:
            most = A[I_1[i]]
        elif A[I_1[i]] < 0.0:
            most = -A[I_1[i]]
        B[i] = most


# --- after vectorize_loop ---


@T.prim_func
def f(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    I_1: T.Buffer((16,), "int32"),
    M: T.Buffer((4, 8), "float32"),
    n: T.int32,
):
    most: T.float32x8 = T.broadcast(T.float32(0.0), 8)
    value = I_1[0:8]
    value_1 = A[value]
    mask = value_1 > most and A.vload([T.ramp(0, 2, 8)], predicate=value_1 > most) > T.broadcast(
        T.float32(0.0), 8
    )
    most = T.Select(mask, value_1, most)
    most = T.Select(not mask and value_1 < T.broadcast(T.float32(0.0), 8), -value_1, most)
    B[0:8] = most
