from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(P: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("P"):
            w = T.axis.opaque(4, i)
            v = T.axis.opaque(4, P[i])
            P[w] = 3
            P[v] = w


# --- after lower_blocks ---


@T.prim_func
def f(P: T.Buffer((4,), "int32")):
    for i in range(4):
        v = P[i]
        P[i] = 3
        P[v] = i
