"""What only the whole program shows: indices out of bounds, blocks, scopes."""

from tirscript.script import tir as T


@T.prim_func
def bounds(A: T.Buffer((16,), "float32")):
    A[16] = 1.0
    # ^^ error: [T113] index 16 is outside of dimension 0 of `A`, which has 16 elements
    A[-1] = A[20]
    # ^^ error: [T113]
    #         ^^ error: [T113]


@T.prim_func
def views(A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("b"):
        P = T.match_buffer(A[12:20], (8,), "float32", offset_factor=1)
        #                       ^^ error: [T113] index 19 is outside of dimension 0 of `A`, which has 16 elements
        Q = T.match_buffer(B[4, 0:4], (4,), "float32", offset_factor=1)
        #                    ^ error: [T113] index 4 is outside of dimension 0 of `B`
        P[0] = Q[0]


@T.prim_func
def blocks(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("b"):
            v = T.axis.spatial(8, i)  # error: [T203]
            A[v] = 1.0


@T.prim_func
def scopes(A: T.Buffer((16,), "float32")):
    for i in range(16):
        x = A[i]
    A[0] = x  # error: [T011] outside of the scope
