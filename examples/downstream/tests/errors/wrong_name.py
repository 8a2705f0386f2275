"""What the parser refuses is expected in the same way."""

from tirscript.script import tir as T


@T.prim_func
def f(A: T.Buffer((64,), "int32")):
    for i in range(64):
        A[i] = B[i] + 1
        #      ^ error: [T010] `B`
        A[i] = T.mod(A[i], 3)  # error: [T031] `T.mod` is not a function of T
