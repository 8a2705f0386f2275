from tirscript.script import tir as T


@T.prim_func
def grow(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    A_packed = T.alloc_buffer((4, 4), "int32")
    B_packed = T.alloc_buffer((4, 4), "int32")
    for ax0, ax1 in T.grid(4, 4):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.block_attr({"preproc": "pad"})
            A_packed[v0, v1] = A[v0 * 4 + v1] if v0 * 4 + v1 < 14 else 0
    for i in range(14):
        with T.block("grow"):
            vi = T.axis.spatial(14, i)
            B_packed[vi // 4, vi % 4] = A_packed[vi // 4, vi % 4] * 2
    for ax0, ax1 in T.grid(4, 4):
        with T.block("B_packed_pad"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.where(ax0 * 4 + ax1 >= 14)
            B_packed[v0, v1] = 0
    for ax0 in range(14):
        with T.block("B_crop"):
            v0 = T.axis.spatial(14, ax0)
            T.block_attr({"postproc": ("crop", 0)})
            B[v0] = B_packed[v0 // 4, v0 % 4]
