from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i in range(2):
        B = T.match_buffer(A[i * 4 : i * 4 + 4, 3], (4,), "float32")
        C = T.match_buffer(A[0:8, 0:8], (8, 8), "float32")
        for j in range(4):
            B[j] = C[j, j]


# --- after lower_match_buffer ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(2, 4):
        A[i * 4 + j, 3] = A[j, j]
