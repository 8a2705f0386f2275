from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    # ragged tiles
    for i, j in T.grid(4, 4):
        if i * 4 + j < 14:  # the last tile is not full
            B[i * 4 + j] = A[i * 4 + j]
    for i in range(16):
        A[i] = B[i - 2] if i >= 2 and i < 14 else 0.0
    for i in range(18):
        with T.block("moved"):
            vi = T.axis.spatial(16, i - 1)
            T.where(i >= 1 and i < 17)
            B[vi] = A[vi]


# --- after loop_partition ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    # ragged tiles
    for i, j in T.grid(3, 4):
        # the last tile is not full
        B[i * 4 + j] = A[i * 4 + j]
    for i in range(3, 4):
        for j in range(2):
            # the last tile is not full
            B[i * 4 + j] = A[i * 4 + j]
    for i in range(2):
        A[i] = 0.0
    for i in range(2, 14):
        A[i] = B[i - 2]
    for i in range(14, 16):
        A[i] = 0.0
    for i in range(1, 17):
        with T.block("moved"):
            vi = T.axis.spatial(16, i - 1)
            B[vi] = A[vi]
