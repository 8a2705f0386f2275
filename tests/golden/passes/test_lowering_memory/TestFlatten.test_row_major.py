from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j]
        C[i * 8 + j] = B[i, j]


# --- after flatten_buffer ---


@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((32,), "float32")):
    A_1 = T.decl_buffer((32,), "float32", data=A.data)
    B = T.alloc_buffer((32,), "float32")
    for i, j in T.grid(4, 8):
        B[i * 8 + j] = A_1[i * 8 + j]
        C[i * 8 + j] = B[i * 8 + j]
