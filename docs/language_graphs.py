"""Graph functions: the examples of docs/language.md."""

from __future__ import annotations

from language_example import Example


def graph(*lines: str, params: str = 'x: G.Tensor((4, "n"), "float32")', options: str = "") -> str:
    """The text of a graph function with this body."""
    return f"@G.graph_func{options}\ndef f({params}):\n" + "".join(f"    {line}\n" for line in lines)


KERNEL = """\
@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(x: T.Buffer(("n",), "float32"), y: T.Buffer(("n",), "float32")):
        for i in range(n):
            y[i] = x[i] * 2.0

    @G.graph_func
    def main(x: G.Tensor((8,), "float32")):
        return {}

    @G.graph_func(private=True)
    def other(x: G.Tensor(("k",), "float32")):
        return G.exp(x)
"""

SECTIONS: dict[str, tuple[Example, ...]] = {
    "Graph functions": (
        Example("operators, and Python's on tensors; calls in calls get names", graph("return G.exp(x) * 2.0 + x")),
        Example(
            "parameters of every type",
            graph(
                "return x",
                params='x: G.Tensor(("n", 4), "float32"), y: G.Tensor(ndim=2), z: G.Tensor(dtype="int8"), '
                's: G.Shape(("n",)), k: G.Prim("int64"), t: G.Tuple(G.Tensor, G.Object), '
                "c: G.Callable((G.Tensor,), G.Tensor)",
            ),
        ),
        Example(
            "a dataflow: its outputs alone are known behind it",
            graph("with G.dataflow():", "    y = G.exp(x)", "    z = G.sqrt(y)", "    G.output(z)", "return z"),
        ),
        Example(
            "`G.match_cast`, checked at run time; it defines the symbols that are new",
            graph(
                "m = T.int64()",
                'y = G.match_cast(x, G.Tensor((m, 4), "float32"))',
                "return G.reshape(y, (m * 4,))",
                params="x: G.Tensor(ndim=2)",
            ),
        ),
        Example(
            "tuples, their fields and names for all of them",
            graph("t = (x, G.exp(x))", "a, b = t", "return (b, t[0])"),
        ),
        Example(
            "`if`, whose branches end with the same name",
            graph(
                "if c:",
                "    y = G.exp(x)",
                "elif d:",
                "    y = x",
                "else:",
                "    y = G.sqrt(x)",
                "return y",
                params='x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool"), d: G.Prim("bool")',
            ),
        ),
        Example(
            "scalars, which dimensions may use",
            graph("m = n * 2", 'return G.zeros((m, n), "float32")', params='n: G.Prim("int64")'),
        ),
        Example(
            "constants and values of other kinds",
            graph('return (G.const([1, 2], "int8"), G.shape([n, 4]), G.prim_value(3), G.str("s"), G.dtype("int8"))'),
        ),
        Example(
            "a loop and a branch that are known while parsing",
            graph("for i in range(2):", "    x = G.exp(x) if i else G.sqrt(x)", "return x"),
        ),
        Example(
            "`G.call_tir`, whose results follow from the function's buffers",
            KERNEL.format("G.call_tir(M.scale, (x,))"),
        ),
        Example("a call of another graph function", KERNEL.format("M.other(x)")),
        Example(
            "`G.call_dps_packed` and `G.call_pure_packed`: functions of a library",
            graph(
                'y = G.call_dps_packed("lib.f", (x,), out=G.Tensor((4,), "float32"))',
                'return G.call_pure_packed("lib.g", y, 3, ty_args=G.Tensor((4,), "float32"))',
            ),
        ),
        Example(
            "calls for their effect",
            graph('G.print(x, format="{}")', 'G.call_packed("log", x)', "return x", options="(pure=False)"),
        ),
        Example(
            "a function in a function, which sees the names around it",
            graph(
                "@G.graph_func",
                'def g(y: G.Tensor(("k",), "float32")):',
                "    return (y, x)",
                'return g(G.zeros((3,), "float32"))',
            ),
        ),
        Example(
            "a macro, written out where it is called; the call is what it returns",
            "@G.macro\ndef scaled(x, by):\n    y = x * by\n    return G.nn.relu(y)\n\n"
            + graph("return scaled(x, 2.0) + scaled(x, 3.0)"),
        ),
        Example(
            "devices of a module, which tensors name",
            """\
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")], "other": [I.dummy_global_info()]})

    @G.graph_func
    def main(x: G.Tensor((4,), "float32", vdevice="llvm:0:global")):
        return x
""",
        ),
        Example("attributes", graph('G.func_attr({"key": [1, 2]})', "return x", options="(private=True)")),
        Example(
            "an operator of TVM's that has no meaning here is kept",
            graph("return G.ccl.allreduce(x, op_type='sum')"),
        ),
        Example(
            "TVM's spelling",
            """\
@R.function
def f(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
    with R.dataflow():
        lv: R.Tensor((4,), dtype="float32") = R.add(x, R.const(1.0, "float32"))
        gv = R.call_dps_packed("lib.f", (lv,), out_ty=R.Tensor((4,), dtype="float32"))
        R.output(gv)
    return gv
""",
        ),
    ),
}
