from tirscript.script import tir as T


@T.prim_func
def total(A: T.Buffer((300,), "float32"), S: T.Buffer((1,), "float32")):
    S_rf = T.alloc_buffer((12, 1), "float32")
    S_rf_1 = T.alloc_buffer((4, 1), "float32")
    for i_1 in T.vectorized(12):
        with T.block("S_rf_init"):
            vi_1 = T.axis.spatial(12, i_1)
            S_rf[vi_1, 0] = 0.0
    for i_0 in range(25):
        for i_1 in T.vectorized(12):
            with T.block("S_rf_update"):
                vi_1, vi_0 = T.axis.remap("SR", [i_1, i_0])
                S_rf[vi_1, 0] = S_rf[vi_1, 0] + A[vi_0 * 12 + vi_1]
    for i_1_1 in T.vectorized(4):
        with T.block("S_rf_1_init"):
            vi_1_1 = T.axis.spatial(4, i_1_1)
            S_rf_1[vi_1_1, 0] = 0.0
    for i_1_0 in range(3):
        for i_1_1 in T.vectorized(4):
            with T.block("S_rf_1_update"):
                vi_1_1, vi_1_0 = T.axis.remap("SR", [i_1_1, i_1_0])
                S_rf_1[vi_1_1, 0] = S_rf_1[vi_1_1, 0] + S_rf[vi_1_0 * 4 + vi_1_1, 0]
    for i_1_1 in range(4):
        with T.block("S"):
            vi_1_1 = T.axis.reduce(4, i_1_1)
            with T.init():
                S[0] = 0.0
            S[0] = S[0] + S_rf_1[vi_1_1, 0]
