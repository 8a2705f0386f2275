from tirscript.script import tir as T


@T.prim_func
def columns(A: T.Buffer((40, 32), "float32"), S: T.Buffer((32,), "float32")):
    for j, i in T.grid(32, 40):
        with T.block("S"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                S[vj] = 0.0
            S[vj] = S[vj] + A[vi, vj]
