from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 4), "float32")
    for i in range(n):
        A[i, 1] = 1.0


# --- after flatten_buffer ---


@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 4), "float32")
    A_1 = T.decl_buffer((T.cast(n, "int64") * 4,), "float32", data=A.data)
    for i in range(n):
        A_1[T.cast(i, "int64") * 4 + 1] = 1.0
