from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        T.static_assert(i < 16, "in range")
        assert i >= 0, "goes away"
        assert n > i, "stays"
        B[i] = A[i]
    T.static_assert(n // 4 * 4 <= n)


# --- after check_constraints ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        assert n > i, "stays"
        B[i] = A[i]
