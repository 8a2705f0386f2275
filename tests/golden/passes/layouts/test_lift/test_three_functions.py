from tirscript.script import ir as I, tir as T, graph as G

# --- before ---


@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
        P = T.alloc_buffer((4, 4), "int32")
        Q = T.alloc_buffer((4, 4), "int32")
        for i, j in T.grid(4, 4):
            with T.block("pad"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"preproc": "pad"})
                P[vi, vj] = A[vi * 4 + vj] if vi * 4 + vj < 14 else 0
        for i, j in T.grid(4, 4):
            with T.block("work"):
                vi, vj = T.axis.remap("SS", [i, j])
                Q[vi, vj] = P[vi, vj] * 3
        for i in range(14):
            with T.block("crop"):
                vi = T.axis.spatial(14, i)
                T.block_attr({"postproc": ("crop", 0)})
                B[vi] = Q[vi // 4, vi % 4]

    @G.graph_func
    def main(x: G.Tensor((14,), "int32")) -> G.Tensor((14,), "int32"):
        with G.dataflow():
            y = G.call_tir(M.f, (x,), out=G.Tensor((14,), "int32"))
            z = G.call_tir(M.f, (y,), out=G.Tensor((14,), "int32"))
            G.output(z)
        return z


# --- after lift_layout_blocks ---


@I.ir_module
class M:
    @T.prim_func(private=True)
    def f_pad_A(A: T.Buffer((14,), "int32"), P: T.Buffer((4, 4), "int32")):
        for i, j in T.grid(4, 4):
            with T.block("pad"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"preproc": "pad"})
                P[vi, vj] = A[vi * 4 + vj] if vi * 4 + vj < 14 else 0

    @T.prim_func(private=True)
    def f_packed(P: T.Buffer((4, 4), "int32"), Q: T.Buffer((4, 4), "int32")):
        T.func_attr(
            {
                "layouts": {
                    "P": (T.index_map(lambda i: (i // 4, i % 4)), (14,)),
                    "Q": (T.index_map(lambda i: (i // 4, i % 4)), (14,)),
                }
            }
        )
        for i, j in T.grid(4, 4):
            with T.block("work"):
                vi, vj = T.axis.remap("SS", [i, j])
                Q[vi, vj] = P[vi, vj] * 3

    @T.prim_func(private=True)
    def f_crop_B(Q: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
        for ax0, ax1 in T.grid(4, 4):
            T.assume(not ax0 * 4 + ax1 >= 14 or Q[ax0, ax1] == 0)
        for i in range(14):
            with T.block("crop"):
                vi = T.axis.spatial(14, i)
                T.block_attr({"postproc": ("crop", 0)})
                B[vi] = Q[vi // 4, vi % 4]

    @G.graph_func
    def main(x: G.Tensor((14,), "int32")) -> G.Tensor((14,), "int32"):
        with G.dataflow():
            y_pad = G.call_tir(M.f_pad_A, (x,), out=G.Tensor((4, 4), "int32"))
            y_packed = G.call_tir(M.f_packed, (y_pad,), out=G.Tensor((4, 4), "int32"))
            y = G.call_tir(M.f_crop_B, (y_packed,), out=G.Tensor((14,), "int32"))
            z_pad = G.call_tir(M.f_pad_A, (y,), out=G.Tensor((4, 4), "int32"))
            z_packed = G.call_tir(M.f_packed, (z_pad,), out=G.Tensor((4, 4), "int32"))
            z = G.call_tir(M.f_crop_B, (z_packed,), out=G.Tensor((14,), "int32"))
            G.output(z)
        return z
