from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    A[0] = T.undef("float32")
    for i in range(16):
        B[i] = T.Select(i < 4, A[i], T.undef("float32"))
    A[1] = T.undef("float32") * 0.0
    A[2] = T.undef("float32") + 1.0


# --- after remove_undef ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        B[i] = A[i]
    A[1] = 0.0
