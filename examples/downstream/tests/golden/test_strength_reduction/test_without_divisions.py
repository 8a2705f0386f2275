from tirscript.script import tir as T


@T.prim_func
def tiled(A: T.Buffer((64,), "int32"), B: T.Buffer((8, 8), "int32"), n: T.int32):
    for i in range(64):
        # a row and a column of the tile
        B[i // 8, i % 8] = (A[i] << 4) + (n << 2) - A[i] % 6
