from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    A[0] = (
        T.Reduce(
            T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), lambda k: [A[k]], [4], init=[A[9]]
        )
        + 1.0
    )


# --- after lower_reduce ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    reduced: T.float32
    reduced = A[9]
    for k in range(4):
        reduced = reduced + A[k]
    A[0] = reduced + 1.0
