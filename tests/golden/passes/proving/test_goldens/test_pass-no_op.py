from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    unused = n * 2
    S = T.alloc_buffer((16,), "float32")
    for i in range(16):
        S[i] = A[i]
        B[i] = 0.0
        B[i] = A[i] + 1.0
        B[i] = B[i]
    for i in range(16):
        pass
    if n > 3:
        T.evaluate(0)
    for i in range(4):
        A[i] = 2.0
    A[2] = 2.0


# --- after remove_no_op ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        B[i] = A[i] + 1.0
    for i in range(4):
        A[i] = 2.0
