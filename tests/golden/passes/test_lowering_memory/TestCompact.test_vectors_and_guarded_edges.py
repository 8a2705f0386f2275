from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((64,), "float32")
    D = T.alloc_buffer((16,), "float32")
    B[8:16] = T.broadcast(T.float32(1.0), 8)
    for i in range(16):
        D[i] = 0.0
        if i >= 4:
            D[i - 4] = B[12]
            C[i] = D[i - 4]


# --- after compact_buffer_allocation ---


@T.prim_func
def f(C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    D = T.alloc_buffer((16,), "float32")
    B[0:8] = T.broadcast(T.float32(1.0), 8)
    for i in range(16):
        D[i] = 0.0
        if i >= 4:
            D[i - 4] = B[4]
            C[i] = D[i - 4]
