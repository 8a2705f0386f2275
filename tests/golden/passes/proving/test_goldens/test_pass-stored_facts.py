from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        A[i] = 1.0
    T.static_assert(A[n % 16] == 1.0)
    A[3] = 2.0
    T.static_assert(A[4] == 1.0)
    assert A[n % 16] == 1.0, "A[3] may be meant, so this stays"
    if n == 3:
        B[0] = 5.0
    assert n != 3 or B[0] == 5.0, "goes away"


# --- after check_constraints ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        A[i] = 1.0
    A[3] = 2.0
    assert A[n % 16] == 1.0, "A[3] may be meant, so this stays"
    if n == 3:
        B[0] = 5.0
