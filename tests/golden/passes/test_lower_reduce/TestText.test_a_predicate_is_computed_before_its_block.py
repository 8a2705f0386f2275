from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    for i in range(16):
        with T.block("b"):
            v = T.axis.spatial(16, i)
            T.where(
                T.Reduce(T.comm_reducer(lambda x, y: x + y, [0]), lambda k: [X[k] + v], [4]) > 3
            )
            A[v] = 1.0


# --- after lower_reduce ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    for i in range(16):
        reduced: T.int32 = 0
        for k in range(4):
            reduced = reduced + (X[k] + i)
        with T.block("b"):
            v = T.axis.spatial(16, i)
            T.where(reduced > 3)
            A[v] = 1.0
