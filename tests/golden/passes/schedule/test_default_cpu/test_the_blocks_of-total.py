from tirscript.script import tir as T


@T.prim_func
def total(A: T.Buffer((300,), "float32"), S: T.Buffer((1,), "float32")):
    for i in range(300):
        with T.block("S"):
            vi = T.axis.reduce(300, i)
            with T.init():
                S[0] = 0.0
            S[0] = S[0] + A[vi]
