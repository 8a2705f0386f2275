from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    for i in range(16):
        k = C[i]
        if i < k:
            B[i] = 1.0
    for i in range(16):
        if i == 3:
            break
        B[i] = 2.0
    for i in range(16):
        if T.likely(i < n):
            A[i] = 2.0
        if i < 7:
            B[i] = 2.0


# --- after loop_partition ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    for i in range(16):
        k = C[i]
        if i < k:
            B[i] = 1.0
    for i in range(16):
        if i == 3:
            break
        B[i] = 2.0
    for i in range(16):
        if T.likely(i < n):
            A[i] = 2.0
        if i < 7:
            B[i] = 2.0
