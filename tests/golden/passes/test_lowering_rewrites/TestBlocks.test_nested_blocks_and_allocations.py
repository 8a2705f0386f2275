from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        with T.block("outer"):
            vi = T.axis.spatial(4, i)
            C = T.alloc_buffer((4,), "float32")
            for j in range(4):
                with T.block("C"):
                    vj = T.axis.spatial(4, j)
                    C[vj] = T.cast(vi + vj, "float32")
            for j in range(4):
                with T.block("B"):
                    wi = T.axis.spatial(4, vi)
                    wj = T.axis.spatial(4, j)
                    B[wi, wj] = C[wj]


# --- after lower_blocks ---


@T.prim_func
def f(B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        C = T.alloc_buffer((4,), "float32")
        for j in range(4):
            C[j] = T.cast(i + j, "float32")
        for j in range(4):
            B[i, j] = C[j]
