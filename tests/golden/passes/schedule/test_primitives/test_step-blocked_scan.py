from tirscript.script import tir as T


@T.prim_func
def running(A: T.Buffer((3, 11), "int32"), B: T.Buffer((3, 11), "int32")):
    for i in range(3):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            carry = T.alloc_buffer((1,), "int32", scope="local")
            carry[0] = 0
            piece = T.alloc_buffer((4,), "int32", scope="local")
            for k_0 in range(2):
                for k_1 in T.vectorized(4):
                    piece[k_1] = A[vi, k_0 * 4 + k_1]
                piece[0:4] = T.Shuffle([T.broadcast(0, 4), piece[0:4]], [0, 4, 5, 6]) + piece[0:4]
                piece[0:4] = T.Shuffle([T.broadcast(0, 4), piece[0:4]], [0, 1, 4, 5]) + piece[0:4]
                for k_2 in T.vectorized(4):
                    B[vi, k_0 * 4 + k_2] = carry[0] + piece[k_2]
                carry[0] = carry[0] + piece[3]
            for k_3 in range(8, 11):
                carry[0] = carry[0] + A[vi, k_3]
                B[vi, k_3] = carry[0]
