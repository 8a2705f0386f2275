from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("A"):
            v = T.axis.spatial(4, i)
            T.where(i < 4)
            A[(v * 2 + 1) // 2] = T.min(v, 5)


# --- after simplify ---


@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("A"):
            v = T.axis.spatial(4, i)
            A[v] = v
