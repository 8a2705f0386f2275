"""Text in TVM's dialect is held to the same rules; its own spellings are no mistakes."""

from tvm.script import tirx as T


@T.prim_func
def main(A: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        with T.sblock("b"):
            v = T.axis.spatial(16, i)
            A[v] = T.exq(A[v])  # error: [T031]
            A[v, v] = T.float32(1)
            # error: [T111] `A` has 1 dimension, but 2 indices stand here
    A[0] = undefined
    #      ^ error: [T010] `undefined`
