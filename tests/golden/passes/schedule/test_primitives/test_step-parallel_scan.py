from tirscript.script import tir as T


@T.prim_func
def running(A: T.Buffer((3, 11), "int32"), B: T.Buffer((3, 11), "int32")):
    for i in range(3):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            carry = T.alloc_buffer((1,), "int32", scope="local")
            total = T.alloc_buffer((2,), "int32")
            before = T.alloc_buffer((2,), "int32")
            carry[0] = 0
            for block in range(1):
                for part in T.parallel(2):
                    sums = T.alloc_buffer((2,), "int32", scope="local")
                    for lane in T.vectorized(2):
                        sums[lane] = A[vi, block * 8 + part * 4 + lane]
                    for k_0 in range(1, 2):
                        for lane in T.vectorized(2):
                            sums[lane] = sums[lane] + A[vi, block * 8 + part * 4 + k_0 * 2 + lane]
                    for lane in T.vectorized(1):
                        sums[lane] = sums[lane] + sums[lane + 1]
                    total[part] = sums[0]
                for part in range(2):
                    before[part] = carry[0]
                    carry[0] = carry[0] + total[part]
                for part in T.parallel(2):
                    own = T.alloc_buffer((1,), "int32", scope="local")
                    own[0] = before[part]
                    piece = T.alloc_buffer((2,), "int32", scope="local")
                    for k_0 in range(2):
                        T.evaluate(
                            T.prefetch(
                                T.address_of(A[vi, T.min(block * 8 + part * 4 + k_0 * 2, 2) + 8]),
                                0,
                                2,
                                1,
                            )
                        )
                        for k_1 in T.vectorized(2):
                            piece[k_1] = A[vi, block * 8 + part * 4 + k_0 * 2 + k_1]
                        piece[0:2] = T.Shuffle([T.broadcast(0, 2), piece[0:2]], [0, 2]) + piece[0:2]
                        for k_2 in T.vectorized(2):
                            B[vi, block * 8 + part * 4 + k_0 * 2 + k_2] = own[0] + piece[k_2]
                        own[0] = own[0] + piece[1]
            piece = T.alloc_buffer((2,), "int32", scope="local")
            for k_0 in range(1):
                for k_1 in T.vectorized(2):
                    piece[k_1] = A[vi, 8 + k_0 * 2 + k_1]
                piece[0:2] = T.Shuffle([T.broadcast(0, 2), piece[0:2]], [0, 2]) + piece[0:2]
                for k_2 in T.vectorized(2):
                    B[vi, 8 + k_0 * 2 + k_2] = carry[0] + piece[k_2]
                carry[0] = carry[0] + piece[1]
            for k_3 in range(2, 3):
                carry[0] = carry[0] + A[vi, 8 + k_3]
                B[vi, 8 + k_3] = carry[0]
