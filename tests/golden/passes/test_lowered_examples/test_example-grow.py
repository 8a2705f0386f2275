from tirscript.script import tir as T

# --- before ---


@T.prim_func
def grow(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("grow"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] * 2


# --- after lowered ---


@T.prim_func
def grow(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = A[i] * 2
