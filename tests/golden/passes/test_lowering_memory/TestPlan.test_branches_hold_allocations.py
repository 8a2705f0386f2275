from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(C: T.Buffer((8,), "int32"), n: T.int32):
    B = T.alloc_buffer((8,), "int32")
    if n > 0:
        C[0] = n
        B[0] = n
        C[1] = B[0]


# --- after plan_buffer_allocation ---


@T.prim_func
def f(C: T.Buffer((8,), "int32"), n: T.int32):
    if n > 0:
        C[0] = n
        B = T.alloc_buffer((8,), "int32")
        B[0] = n
        C[1] = B[0]
