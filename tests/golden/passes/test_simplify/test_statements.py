from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        if i < 8:
            A[i] = 0
        else:
            A[i] = 1
        if i > 8:
            A[i] = 2
    for i in range(3, 4):
        A[i] = i
    for i in range(n, n):
        A[i] = i
    for i in T.parallel(n, n + 1):
        A[i] = i
    for i in range(A[0], A[0] + 1):
        A[i] = i
    assert n == n, "never"
    for i in range(4):
        if n > 0:
            T.evaluate(0)
    for i in range(4):
        if A[i] > 0:
            break


# --- after simplify ---


@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        A[i] = 0
    A[3] = 3
    A[n] = n
    i = A[0]
    A[i] = i
    for i_1 in range(4):
        if n > 0:
            T.evaluate(0)
    for i_1 in range(4):
        if A[i_1] > 0:
            break
