from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((4, 8), "float32", strides=(1, 4)), B: T.Buffer((4, 8), "float32")):
    x: T.float32 = 0.0
    for i in range(4):
        x = x + A[i, 0]
        B[i, 0:8] = A[i, 0:8] + T.broadcast(x, 8)


# --- after flatten_buffer ---


@T.prim_func
def f(A: T.Buffer((4, 8), "float32", strides=(1, 4)), B: T.Buffer((4, 8), "float32")):
    A_1 = T.decl_buffer((32,), "float32", data=A.data)
    B_1 = T.decl_buffer((32,), "float32", data=B.data)
    x: T.float32 = 0.0
    for i in range(4):
        x = x + A_1[i]
        B_1[i * 8 : i * 8 + 8] = A_1[T.ramp(i, 4, 8)] + T.broadcast(x, 8)
