from tirscript.script import tir as T


@T.prim_func
def total(A: T.Buffer((30,), "int32"), S: T.Buffer((1,), "int32")):
    for k in range(30):
        with T.block("S_o"):
            vk_o = T.axis.reduce(30, k)
            with T.init():
                with T.block("S_init"):
                    S[0] = 0
            with T.block("S"):
                S[0] = S[0] + A[vk_o]
