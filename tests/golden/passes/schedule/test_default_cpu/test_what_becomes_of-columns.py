from tirscript.script import tir as T


@T.prim_func
def columns(A: T.Buffer((40, 32), "float32"), S: T.Buffer((32,), "float32")):
    S_local = T.alloc_buffer((32,), "float32", scope="local")
    for j_0 in range(2):
        for j_1_0 in T.unroll(4):
            for j_1_1 in T.vectorized(4):
                with T.block("S_init"):
                    vj = T.axis.spatial(32, j_0 * 16 + (j_1_0 * 4 + j_1_1))
                    S_local[vj] = 0.0
        for i in range(40):
            for j_1_0 in T.unroll(4):
                for j_1_1 in T.vectorized(4):
                    with T.block("S_update"):
                        vj = T.axis.spatial(32, j_0 * 16 + (j_1_0 * 4 + j_1_1))
                        vi = T.axis.reduce(40, i)
                        S_local[vj] = S_local[vj] + A[vi, vj]
        for ax0_0 in T.unroll(4):
            for ax0_1 in T.vectorized(4):
                with T.block("S_local"):
                    v0 = T.axis.spatial(32, j_0 * 16 + (ax0_0 * 4 + ax0_1))
                    S[v0] = S_local[v0]
