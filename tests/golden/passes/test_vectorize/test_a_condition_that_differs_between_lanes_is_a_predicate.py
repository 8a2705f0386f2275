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
        if i < n:
            B[i] = A[i + 1]
        else:
            B[i] = 0.0


# --- after vectorize_loop ---


@T.prim_func
def f(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    I_1: T.Buffer((16,), "int32"),
    M: T.Buffer((4, 8), "float32"),
    n: T.int32,
):
    B.vstore(
        [T.ramp(0, 1, 4)],
        A.vload([T.ramp(1, 1, 4)], predicate=T.ramp(0, 1, 4) < T.broadcast(n, 4)),
        predicate=T.ramp(0, 1, 4) < T.broadcast(n, 4),
    )
    B.vstore(
        [T.ramp(0, 1, 4)],
        T.broadcast(T.float32(0.0), 4),
        predicate=not T.ramp(0, 1, 4) < T.broadcast(n, 4),
    )
