from tirscript.script import ir as I, tir as T, graph as G


@I.ir_module
class M:
    @G.graph_func(private=True)
    def matmul_2_relu_matmul_1(
        x: G.Tensor((4, 8), "float32"),
        w: G.Tensor((8, 8), "float32"),
        v: G.Tensor((8, 8), "float32"),
    ) -> G.Tensor((4, 8), "float32"):
        G.func_attr(
            {"target": T.target("test_npu -level=1"), "external": "test_npu.matmul_2_relu_matmul_1"}
        )
        with G.dataflow():
            a: G.Tensor((4, 8), "float32") = M.matmul_2(x, w)
            b: G.Tensor((4, 8), "float32") = M.relu(a)
            c: G.Tensor((4, 8), "float32") = M.matmul_1(b, v)
            G.output(c)
        return c

    @G.graph_func(private=True)
    def matmul(d: G.Tensor((4, 8), "float32"), v: G.Tensor((8, 8), "float32")) -> G.Tensor(
        (4, 8), "float32"
    ):
        G.func_attr(
            {
                "composite": "test.matmul",
                "target": T.target("test_npu -level=1"),
                "external": "test_npu.matmul",
            }
        )
        with G.dataflow():
            e: G.Tensor((4, 8), "float32") = G.matmul(d, v)
            G.output(e)
        return e

    @G.graph_func(private=True)
    def matmul_1(b: G.Tensor((4, 8), "float32"), v: G.Tensor((8, 8), "float32")) -> G.Tensor(
        (4, 8), "float32"
    ):
        G.func_attr(
            {
                "composite": "test.matmul",
                "target": T.target("test_npu -level=1"),
                "external": "test_npu.matmul_1",
            }
        )
        with G.dataflow():
            c: G.Tensor((4, 8), "float32") = G.matmul(b, v)
            G.output(c)
        return c

    @G.graph_func(private=True)
    def matmul_2(x: G.Tensor((4, 8), "float32"), w: G.Tensor((8, 8), "float32")) -> G.Tensor(
        (4, 8), "float32"
    ):
        G.func_attr(
            {
                "composite": "test.matmul",
                "target": T.target("test_npu -level=1"),
                "external": "test_npu.matmul_2",
            }
        )
        with G.dataflow():
            a: G.Tensor((4, 8), "float32") = G.matmul(x, w)
            G.output(a)
        return a

    @G.graph_func(private=True)
    def relu(a: G.Tensor((4, 8), "float32")) -> G.Tensor((4, 8), "float32"):
        G.func_attr(
            {
                "composite": "test.nn.relu",
                "target": T.target("test_npu -level=1"),
                "external": "test_npu.relu",
            }
        )
        with G.dataflow():
            b: G.Tensor((4, 8), "float32") = G.nn.relu(a)
            G.output(b)
        return b

    @G.graph_func
    def main(
        x: G.Tensor((4, 8), "float32"),
        w: G.Tensor((8, 8), "float32"),
        v: G.Tensor((8, 8), "float32"),
    ) -> G.Tensor((4, 8), "float32"):
        with G.dataflow():
            c = G.call_dps_packed(
                "test_npu.matmul_2_relu_matmul_1", (x, w, v), out=G.Tensor((4, 8), "float32")
            )
            d: G.Tensor((4, 8), "float32") = G.exp(c)
            e = G.call_dps_packed("test_npu.matmul", (d, v), out=G.Tensor((4, 8), "float32"))
            y: G.Tensor((4, 8), "float32") = G.add(e, c)
            G.output(y)
        return y
