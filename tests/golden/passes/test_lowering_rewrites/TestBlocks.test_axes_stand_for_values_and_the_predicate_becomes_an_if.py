from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            v = T.axis.spatial(14, i * 4 + j)
            T.where(i * 4 + j < 14)
            T.reads(A[v])
            T.writes(B[v])
            # the copy
            B[v] = A[v]


# --- after lower_blocks ---


@T.prim_func
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i, j in T.grid(4, 4):
        if i * 4 + j < 14:
            # the copy
            B[i * 4 + j] = A[i * 4 + j]
