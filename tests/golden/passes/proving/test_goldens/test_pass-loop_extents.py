from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        if i >= 2 and i < 14 and n > i:
            B[i] = A[i]
    for i in range(16):
        if 3 * i < 20:
            B[i] = A[i]
    for io, ii in T.grid(4, 4):
        with T.block("B"):
            vi = T.axis.spatial(14, io * 4 + ii)
            T.where(io * 4 + ii < 14 and ii < 3)
            B[vi] = A[vi]


# --- after reduce_loop_extents ---


@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(2, 14):
        if n > i:
            B[i] = A[i]
    for i in range(7):
        B[i] = A[i]
    for io, ii in T.grid(4, 3):
        with T.block("B"):
            vi = T.axis.spatial(14, io * 4 + ii)
            T.where(io * 4 + ii < 14)
            B[vi] = A[vi]
