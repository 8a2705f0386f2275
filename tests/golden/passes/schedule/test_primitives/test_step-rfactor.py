from tirscript.script import tir as T


@T.prim_func
def total(A: T.Buffer((30,), "int32"), S: T.Buffer((1,), "int32")):
    S_rf = T.alloc_buffer((4, 1), "int32")
    for k_0, k_1 in T.grid(4, 8):
        with T.block("S_rf"):
            vk_0, vk_1 = T.axis.remap("SR", [k_0, k_1])
            with T.init():
                S_rf[vk_0, 0] = 0
            S_rf[vk_0, 0] = S_rf[vk_0, 0] + (A[vk_0 * 8 + vk_1] if vk_0 * 8 + vk_1 < 30 else 0)
    for k_0 in range(4):
        with T.block("S"):
            vk_0 = T.axis.reduce(4, k_0)
            with T.init():
                S[0] = 0
            S[0] = S[0] + S_rf[vk_0, 0]
