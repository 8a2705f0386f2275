from tirscript.script import tir as T


@T.prim_func
def tiled(A: T.Buffer((64,), "int32"), B: T.Buffer((8, 8), "int32"), n: T.int32):
    B_1 = T.decl_buffer((64,), "int32", data=B.data)
    for i in range(64):
        # a row and a column of the tile
        B_1[(i >> 3) * 8 + (i & 7)] = (A[i] << 4) + (n << 2) - A[i] % 6
