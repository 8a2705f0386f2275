from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        x = n * 4
        if n > 4 and i < 9:
            A[i] = A[i] + T.cast(x, "float32")
    for i in range(16):
        B[i] = 0.0
        if n > 7:
            B[i] = A[i]
        else:
            B[i] = 1.0


# --- after hoist_expression ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    x = n * 4
    if n > 4:
        for i in range(16):
            if i < 9:
                A[i] = A[i] + T.cast(x, "float32")
    if n > 7:
        for i in range(16):
            B[i] = 0.0
            B[i] = A[i]
    else:
        for i in range(16):
            B[i] = 0.0
            B[i] = 1.0
