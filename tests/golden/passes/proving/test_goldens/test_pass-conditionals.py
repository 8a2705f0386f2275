from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    if n < 4:
        A[0] = 1.0
    # beside the second
    if n < 4:
        B[0] = 2.0
    if n >= 4:
        A[0] = 0.0
    if n < 9:
        A[1] = 1.0
    else:
        A[1] = 1.0
    if A[0] == 1.0:
        A[0] = 3.0
    if A[0] == 1.0:
        A[2] = 3.0


# --- after merge_conditionals ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    if n < 4:
        A[0] = 1.0
        # beside the second
        B[0] = 2.0
    else:
        A[0] = 0.0
    A[1] = 1.0
    if A[0] == 1.0:
        A[0] = 3.0
    if A[0] == 1.0:
        A[2] = 3.0
