from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), n: T.int64):
    for i, j in T.grid((n + 3) // 4, T.int64(4)):
        if i * 4 + j < n:
            B[i * 4 + j] = A[i * 4 + j]


# --- after loop_partition ---


@T.prim_func
def main(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), n: T.int64):
    for i, j in T.grid(n // 4, T.int64(4)):
        B[i * 4 + j] = A[i * 4 + j]
    for i in range(n // 4, (n + 3) // 4):
        for j in range(n - i * 4):
            B[i * 4 + j] = A[i * 4 + j]
