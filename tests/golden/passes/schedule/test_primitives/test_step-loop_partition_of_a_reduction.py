from tirscript.script import tir as T


@T.prim_func
def total(A: T.Buffer((30,), "int32"), S: T.Buffer((1,), "int32")):
    for k_0 in range(22):
        with T.block("S"):
            vk = T.axis.reduce(22, k_0)
            with T.init():
                S[0] = 0
            S[0] = S[0] + A[vk]
    for k_1 in range(22, 30):
        with T.block("S_1"):
            vk = T.axis.reduce((22, 30), k_1)
            S[0] = S[0] + A[vk]
