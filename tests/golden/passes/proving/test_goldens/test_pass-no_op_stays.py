from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    x = 7 // n
    B[0] = 0.0
    B[1] = B[0]
    B[0] = 1.0
    for i in range(16):
        A[i] = 2.0
    if n > 3:
        A[2] = 1.0
    A[2] = 2.0


# --- after remove_no_op ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    x = 7 // n
    B[0] = 0.0
    B[1] = B[0]
    B[0] = 1.0
    for i in range(16):
        A[i] = 2.0
    if n > 3:
        A[2] = 1.0
    A[2] = 2.0
