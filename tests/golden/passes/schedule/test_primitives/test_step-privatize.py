from tirscript.script import tir as T


@T.prim_func
def counted(A: T.Buffer((30,), "int32"), H: T.Buffer((8,), "int32")):
    H_parts = T.alloc_buffer((3, 8), "int32")
    for i_0 in T.parallel(3):
        H_own = T.alloc_buffer((8,), "int32")
        for i_h0 in range(8):
            with T.block("H_begin"):
                v0 = T.axis.spatial(8, i_h0)
                H_own[v0] = 0
        for i_1 in range(10):
            with T.block("H"):
                vi = T.axis.reduce(30, i_0 * 10 + i_1)
                if A[vi] >= 0:
                    H_own[A[vi] % 8] = H_own[A[vi] % 8] + 1
        for i_h0 in range(8):
            with T.block("H_part"):
                part, v0 = T.axis.remap("SS", [i_0, i_h0])
                H_parts[part, v0] = H_own[v0]
    for i_0, i_h0 in T.grid(3, 8):
        with T.block("H_combine"):
            part, v0 = T.axis.remap("RS", [i_0, i_h0])
            H[v0] = H_parts[part, v0] + H[v0]
