from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        if i < n:
            B[i] = A[i]


# --- after reduce_loop_extents ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(T.min(16, n)):
        B[i] = A[i]
