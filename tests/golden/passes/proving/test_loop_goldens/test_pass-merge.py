from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    # doubled
    for i in range(16):
        B[i] = A[i] * 2.0
    # and one more
    for j in range(16):
        B[j] = B[j] + 1.0
    for k in range(16):
        A[k] = B[15 - k]
    for i, j in T.grid(4, 4):
        A[i * 4 + j] = 1.0
    for i, j in T.grid(4, 4):
        B[i * 4 + j] = A[i * 4 + j]
    for i in T.parallel(15):
        A[i] = 1.0
    for i in T.parallel(15):
        B[i] = A[i + 1]


# --- after merge_adjacent_loops ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    # doubled
    for i in range(16):
        B[i] = A[i] * 2.0
        # and one more
        B[i] = B[i] + 1.0
    for k in range(16):
        A[k] = B[15 - k]
    for i, j in T.grid(4, 4):
        A[i * 4 + j] = 1.0
        B[i * 4 + j] = A[i * 4 + j]
    for i in T.parallel(15):
        A[i] = 1.0
    for i in T.parallel(15):
        B[i] = A[i + 1]
