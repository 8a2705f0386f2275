from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i in range(4):
        for j in range(8):
            B[i, j] = A[i, j]
        for j in range(8):
            C[i, j] = B[i, 7 - j]


# --- after plan_buffer_allocation ---


@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i in range(4):
        B = T.alloc_buffer((4, 8), "float32")
        for j in range(8):
            B[i, j] = A[i, j]
        for j in range(8):
            C[i, j] = B[i, 7 - j]
