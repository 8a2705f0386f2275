from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(8):
        A[i] = 3.0
    B[0] = A[n % 8] + 1.0
    A[n % 16] = 0.0
    B[1] = A[2]


# --- after simplify ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(8):
        A[i] = 3.0
    B[0] = 4.0
    A[n % 16] = 0.0
    B[1] = A[2]
