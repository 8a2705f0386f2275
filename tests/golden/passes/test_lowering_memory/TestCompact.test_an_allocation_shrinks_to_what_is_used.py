from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(2):
        B = T.alloc_buffer((8, 8), "float32")
        for j, k in T.grid(4, 8):
            B[i * 4 + j, k] = A[i * 4 + j, k]
        for j, k in T.grid(4, 8):
            C[i * 4 + j, k] = B[i * 4 + 3 - j, k]


# --- after compact_buffer_allocation ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(2):
        B = T.alloc_buffer((4, 8), "float32")
        for j, k in T.grid(4, 8):
            B[j, k] = A[i * 4 + j, k]
        for j, k in T.grid(4, 8):
            C[i * 4 + j, k] = B[3 - j, k]
