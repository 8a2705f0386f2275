from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16, 4, 4), "float32"), B: T.Buffer((16,), "float32")):
    for i, io, ii in T.grid(16, 4, 4):
        T.assume(4 * io + ii < 14 or A[i, io, ii] == 0.0)
    B[0] = A[0, 0, 0]


# --- after remove_assume ---


@T.prim_func
def main(A: T.Buffer((16, 4, 4), "float32"), B: T.Buffer((16,), "float32")):
    B[0] = A[0, 0, 0]
