from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i in range(2):
        B = T.match_buffer(A[i * 4 : i * 4 + 4, 0:8], (4, 8), "float32")
        C = T.match_buffer(B[1:3, 2:6], (2, 4), "float32")
        for j in range(2):
            C[j, 3] = 0.0


# --- after lower_match_buffer ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(2, 2):
        A[i * 4 + 1 + j, 5] = 0.0
