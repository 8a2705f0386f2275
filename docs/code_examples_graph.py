"""The examples of the diagnostics of graph functions, for code_examples.py."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """One code: a paragraph about it, and what gives it."""

    about: str
    text: str = ""
    call: str = ""


def model(*lines: str, written: str = "y") -> str:
    """The text of a module whose graph function has this body, which gives `gv`."""
    body = "".join(f"        {line}\n" for line in lines)
    return (
        "@I.ir_module\nclass M:\n    @T.prim_func(private=True)\n"
        '    def scale(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):\n'
        f"        for i in range(4):\n            {written}[i] = x[i] * 2.0\n\n"
        '    @G.graph_func\n    def main(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):\n'
        f"        cls = M\n{body}        return gv\n"
    )


GRAPH: dict[str, Example] = {
    "T214": Example(
        "A tensor function that a graph calls writes its results, which stand behind the arguments, and leaves the "
        "arguments alone: other steps of the graph still use them. Let it write a result of its own, or say by "
        "`G.call_tir_inplace` which argument it may write, and pass that argument once.",
        model('gv = G.call_tir(cls.scale, (x,), out=G.Tensor((4,), "float32"))', written="x"),
    ),
    "T215": Example(
        "Graph functions are inlined, planned and lowered whole, so none of them calls itself, directly or through "
        "others. Write the repetition out, `for _ in range(3):` does so while the program is read, or put the loop "
        "into a tensor function.",
        model("gv = cls.main(x)"),
    ),
    "T216": Example(
        "Steps of a function that is not declared otherwise do nothing but give their value, so "
        "that passes may move, repeat and drop them. Put what prints or calls the outside world behind the dataflow, "
        "in a function with `@G.graph_func(pure=False)`; a library function without effects is called by "
        "`G.call_pure_packed`.",
        model('gv = G.call_packed("library.log", x, ty_args=G.Tensor((4,), "float32"))'),
    ),
    "T217": Example(
        "A dataflow keeps a variable for what stands behind it, and nothing there uses it: it is computed and stored "
        "for nothing, or another name was meant. Leave it out of `G.output`. The program is legal.",
        model(
            "with G.dataflow():", "    gv = G.add(x, x)", "    unused = G.multiply(x, x)", "    G.output(gv, unused)"
        ),
        "for warning in warnings(M):\n    print(warning)\n",
    ),
}
