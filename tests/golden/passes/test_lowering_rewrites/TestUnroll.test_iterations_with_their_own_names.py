from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in T.unroll(2):
        B = T.alloc_buffer((1,), "int32")
        t = A[i] + i
        B[0] = t
        A[i] = B[0]
    for i in T.unroll(n, n + 2):
        A[i] = 0


# --- after unroll_loop ---


@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    B = T.alloc_buffer((1,), "int32")
    t = A[0]
    B[0] = t
    A[0] = B[0]
    B_1 = T.alloc_buffer((1,), "int32")
    t_1 = A[1] + 1
    B_1[0] = t_1
    A[1] = B_1[0]
    A[n] = 0
    A[n + 1] = 0
