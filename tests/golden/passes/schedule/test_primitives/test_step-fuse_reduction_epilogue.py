from tirscript.script import tir as T


@T.prim_func
def biased(
    A: T.Buffer((12, 10), "int32"), X: T.Buffer((12,), "int32"), D: T.Buffer((12, 1), "int32")
):
    for i, k in T.grid(12, 10):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                D[vi, 0] = X[vi] * 3
            D[vi, 0] = D[vi, 0] + A[vi, vk]
