from tirscript.script import tir as T


@T.prim_func
def add(A: T.Buffer((40,), "int32"), B: T.Buffer((32,), "int32")):
    for i0 in range(4):
        with T.block("B_o"):
            vi_o = T.axis.spatial(4, i0)
            X_offset = T.int32()
            X = T.match_buffer(
                A[vi_o * 8 + 5 : vi_o * 8 + 13], (8,), "int32", strides=(1,), elem_offset=X_offset
            )
            Y_offset = T.int32()
            Y = T.match_buffer(
                B[vi_o * 8 : vi_o * 8 + 8], (8,), "int32", strides=(1,), elem_offset=Y_offset
            )
            Y[0:8] = X[0:8] + T.broadcast(1, 8)
