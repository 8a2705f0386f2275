from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    A[0] = T.Reduce(
        T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]),
        lambda k: [A[k] * 2.0],
        [(1, 16)],
        condition=lambda k: k < n,
    )


# --- after lower_reduce ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    reduced: T.float32 = 0.0
    for k in range(1, 16):
        if k < n:
            reduced = reduced + A[k] * 2.0
    A[0] = reduced
