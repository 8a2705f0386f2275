from tirscript.script import ir as I, tir as T, graph as G


@I.ir_module
class Model:
    @T.prim_func(private=True)
    def middle_packed(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
        T.func_attr(
            {
                "layouts": {
                    "A": (T.index_map(lambda i: (i // 4, i % 4)), (14,)),
                    "B": (T.index_map(lambda i: (i // 4, i % 4)), (14,)),
                }
            }
        )
        for i0, i1 in T.grid(4, 4):
            with T.block("middle"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                B[v0, v1] = A[v0, v1] + 1

    @T.prim_func(private=True)
    def crop(P: T.Buffer((4, 4), "int32"), A: T.Buffer((14,), "int32")):
        for i0 in range(14):
            with T.block("crop"):
                v0 = T.axis.spatial(14, i0)
                A[v0] = P[v0 // 4, v0 % 4]

    @T.prim_func(private=True)
    def grow_pad_A(A: T.Buffer((14,), "int32"), A_packed: T.Buffer((4, 4), "int32")):
        for ax0, ax1 in T.grid(4, 4):
            with T.block("A_pad"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.block_attr({"preproc": "pad"})
                A_packed[v0, v1] = A[v0 * 4 + v1] if v0 * 4 + v1 < 14 else 0

    @T.prim_func(private=True)
    def grow_packed(A_packed: T.Buffer((4, 4), "int32"), B_packed: T.Buffer((4, 4), "int32")):
        T.func_attr(
            {
                "layouts": {
                    "A_packed": (T.index_map(lambda i: (i // 4, i % 4)), (14,)),
                    "B_packed": (T.index_map(lambda i: (i // 4, i % 4)), (14,)),
                }
            }
        )
        for i in range(14):
            with T.block("grow"):
                vi = T.axis.spatial(14, i)
                B_packed[vi // 4, vi % 4] = A_packed[vi // 4, vi % 4] * 2
        for ax0, ax1 in T.grid(4, 4):
            with T.block("B_packed_pad"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.where(ax0 * 4 + ax1 >= 14)
                B_packed[v0, v1] = 0

    @G.graph_func
    def main(x: G.Tensor((14,), "int32")) -> G.Tuple(
        G.Tensor((14,), "int32"), G.Tensor((14,), "int32")
    ):
        with G.dataflow():
            x_packed = G.call_tir(Model.grow_pad_A, (x,), out=G.Tensor((4, 4), "int32"))
            a_packed = G.call_tir(Model.grow_packed, (x_packed,), out=G.Tensor((4, 4), "int32"))
            b_packed = G.call_tir(Model.middle_packed, (a_packed,), out=G.Tensor((4, 4), "int32"))
            c_packed = G.call_tir(Model.grow_packed, (b_packed,), out=G.Tensor((4, 4), "int32"))
            b = G.call_tir(Model.crop, (b_packed,), out=G.Tensor((14,), "int32"))
            c = G.call_tir(Model.crop, (c_packed,), out=G.Tensor((14,), "int32"))
            G.output(b, c)
        return (b, c)
