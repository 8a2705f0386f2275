from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    while T.Reduce(T.comm_reducer(lambda x, y: x + y, [0]), lambda k: [X[k]], [16]) < n:
        X[0] = X[0] + 1


# --- after lower_reduce ---


@T.prim_func
def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):
    while True:
        reduced: T.int32 = 0
        for k in range(16):
            reduced = reduced + X[k]
        if not reduced < n:
            break
        X[0] = X[0] + 1
