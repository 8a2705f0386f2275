from tirscript.script import tir as T


@T.prim_func
def counted(A: T.Buffer((30,), "int32"), H: T.Buffer((8,), "int32")):
    H_parts = T.alloc_buffer((4, 8), "int32")
    for i_0 in range(4):
        H_own = T.alloc_buffer((8,), "int32")
        H_own_1 = T.alloc_buffer((8,), "int32")
        for i_h0 in range(8):
            with T.block("H_begin"):
                v0 = T.axis.spatial(8, i_h0)
                H_own[v0] = 0
        for i_h0 in range(8):
            with T.block("H_begin_1"):
                v0 = T.axis.spatial(8, i_h0)
                H_own_1[v0] = 0
        for i_1_turn in range(3):
            with T.block("H"):
                vi = T.axis.reduce(30, i_0 * 7 + T.min(i_0, 2) + i_1_turn * 2)
                if A[vi] >= 0:
                    H_own[A[vi] % 8] = H_own[A[vi] % 8] + 1
            with T.block("H_1"):
                vi = T.axis.reduce(30, i_0 * 7 + T.min(i_0, 2) + (i_1_turn * 2 + 1))
                if A[vi] >= 0:
                    H_own_1[A[vi] % 8] = H_own_1[A[vi] % 8] + 1
        for i_1_rest in range(1):
            with T.block("H_2"):
                vi = T.axis.reduce(30, i_0 * 7 + T.min(i_0, 2) + (6 + i_1_rest))
                if A[vi] >= 0:
                    H_own[A[vi] % 8] = H_own[A[vi] % 8] + 1
        if i_0 < 2:
            with T.block("H_3"):
                vi = T.axis.reduce(30, i_0 * 7 + T.min(i_0, 2) + 7)
                if A[vi] >= 0:
                    H_own[A[vi] % 8] = H_own[A[vi] % 8] + 1
        for i_h0 in range(8):
            with T.block("H_part"):
                part, v0 = T.axis.remap("SS", [i_0, i_h0])
                H_parts[part, v0] = H_own[v0] + H_own_1[v0]
    for i_0, i_h0 in T.grid(4, 8):
        with T.block("H_combine"):
            part, v0 = T.axis.remap("RS", [i_0, i_h0])
            H[v0] = H_parts[part, v0] + H[v0]
