from tirscript.script import tir as T


@T.prim_func
def softmax(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32")):
    most = T.alloc_buffer((6,), "float32")
    total = T.alloc_buffer((6,), "float32")
    B_set = T.alloc_buffer((6, 40), "float32")
    most_rf = T.alloc_buffer((8, 6), "float32")
    most_rf_1 = T.alloc_buffer((4, 6), "float32")
    total_rf = T.alloc_buffer((8, 6), "float32")
    total_rf_1 = T.alloc_buffer((4, 6), "float32")
    for i in range(6):
        for j_1 in T.vectorized(8):
            with T.block("most_rf_init"):
                vj_1, vi = T.axis.remap("SS", [j_1, i])
                most_rf[vj_1, vi] = T.float32("-inf")
        for j_0 in range(5):
            for j_1 in T.vectorized(8):
                with T.block("most_rf_update"):
                    vj_1, vi, vj_0 = T.axis.remap("SSR", [j_1, i, j_0])
                    most_rf[vj_1, vi] = T.max(most_rf[vj_1, vi], A[vi, vj_0 * 8 + vj_1])
        for j_1_1 in T.vectorized(4):
            with T.block("most_rf_1_init"):
                vj_1_1, vi = T.axis.remap("SS", [j_1_1, i])
                most_rf_1[vj_1_1, vi] = T.float32("-inf")
        for j_1_0 in range(2):
            for j_1_1 in T.vectorized(4):
                with T.block("most_rf_1_update"):
                    vj_1_1, vi, vj_1_0 = T.axis.remap("SSR", [j_1_1, i, j_1_0])
                    most_rf_1[vj_1_1, vi] = T.max(
                        most_rf_1[vj_1_1, vi], most_rf[vj_1_0 * 4 + vj_1_1, vi]
                    )
        for j_1_1 in range(4):
            with T.block("most"):
                vj_1_1, vi = T.axis.remap("RS", [j_1_1, i])
                with T.init():
                    most[vi] = -3.4028235e38
                most[vi] = T.max(most[vi], most_rf_1[vj_1_1, vi])
        for j_0 in range(10):
            for j_1 in T.vectorized(4):
                with T.block("B"):
                    vi = T.axis.spatial(6, i)
                    vj = T.axis.spatial(40, j_0 * 4 + j_1)
                    B_set[vi, vj] = T.exp(A[vi, vj] - most[vi])
        for j_1 in T.vectorized(8):
            with T.block("total_rf_init"):
                vj_1, vi = T.axis.remap("SS", [j_1, i])
                total_rf[vj_1, vi] = 0.0
        for j_0 in range(5):
            for j_1 in T.vectorized(8):
                with T.block("total_rf_update"):
                    vj_1, vi, vj_0 = T.axis.remap("SSR", [j_1, i, j_0])
                    total_rf[vj_1, vi] = total_rf[vj_1, vi] + B_set[vi, vj_0 * 8 + vj_1]
        for j_1_1 in T.vectorized(4):
            with T.block("total_rf_1_init"):
                vj_1_1, vi = T.axis.remap("SS", [j_1_1, i])
                total_rf_1[vj_1_1, vi] = 0.0
        for j_1_0 in range(2):
            for j_1_1 in T.vectorized(4):
                with T.block("total_rf_1_update"):
                    vj_1_1, vi, vj_1_0 = T.axis.remap("SSR", [j_1_1, i, j_1_0])
                    total_rf_1[vj_1_1, vi] = (
                        total_rf_1[vj_1_1, vi] + total_rf[vj_1_0 * 4 + vj_1_1, vi]
                    )
        for j_1_1 in range(4):
            with T.block("total"):
                vj_1_1, vi = T.axis.remap("RS", [j_1_1, i])
                with T.init():
                    total[vi] = 0.0
                total[vi] = total[vi] + total_rf_1[vj_1_1, vi]
        for j_0 in range(10):
            for j_1 in T.vectorized(4):
                with T.block("B_1"):
                    vi = T.axis.spatial(6, i)
                    vj = T.axis.spatial(40, j_0 * 4 + j_1)
                    B[vi, vj] = B_set[vi, vj] / total[vi]
