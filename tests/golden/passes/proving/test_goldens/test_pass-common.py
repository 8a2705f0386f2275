from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    B[n % 4] = A[n % 4 + 4] + T.cast(n % 4, "float32")
    for i in range(4):
        if i * 2 + 1 < n:
            B[i * 2 + 1] = A[i * 2 + 1]


# --- after common_subexpression ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    cse = n % 4
    B[cse] = A[cse + 4] + T.cast(cse, "float32")
    for i in range(4):
        cse_1 = i * 2 + 1
        if cse_1 < n:
            B[cse_1] = A[cse_1]
