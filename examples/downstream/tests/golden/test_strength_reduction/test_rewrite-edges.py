from tirscript.script import tir as T

# --- before ---


@T.prim_func
def edges(A: T.Buffer((8,), "int64"), C: T.Buffer((8,), "uint8"), F: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] * 4294967296 + A[i] // 1
        C[i] = C[i] * 128 + C[i] % 128
        F[i] = F[i] * 2.0


# --- after strength_reduction ---


@T.prim_func
def edges(A: T.Buffer((8,), "int64"), C: T.Buffer((8,), "uint8"), F: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = (A[i] << 32) + (A[i] >> 0)
        C[i] = (C[i] << 7) + (C[i] & 127)
        F[i] = F[i] * 2.0
