"""A pass of one's own over graphs: two convolutions of one input become one, and the stock fuser takes what follows.

The pass is a function from graph function to graph function. It goes between any two others: here it runs before
`legalize_ops`, and `fuse_ops` then makes one kernel of the slices of its result, their sum and the relu.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

import tirscript
from tirscript.ir import Module, constant
from tirscript.ir.graph import Dataflow, GraphBind, GraphConst, GraphExpr, GraphFunc, GraphVar, OpCall, ShapeExpr
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.rewrite import rewrite
from tirscript.passes import Sequential, graph_func_pass

CONV, SLICE = "nn.conv2d", GRAPH_OPS["strided_slice"]


def channels(value: GraphExpr, first: int, last: int) -> GraphExpr:
    """Some channels of an image."""
    return SLICE(value, *(ShapeExpr(dims.shape((number,))) for number in (1, first, last, 1)))


@graph_func_pass()
def fuse_convolutions(func: GraphFunc) -> GraphFunc:
    """`a = conv2d(x, v); b = conv2d(x, w)` becomes `both = conv2d(x, [v, w])` and slices of it."""

    def block(stmt: Dataflow) -> Dataflow:
        binds = [bind for bind in stmt.body if type(bind) is GraphBind]
        calls = [(bind, bind.value) for bind in binds if type(bind.value) is OpCall and bind.value.op.name == CONV]
        for (one, value), (other, second) in combinations(calls, 2):
            (x, v), (y, w) = value.args, second.args
            if x is not y or type(v) is not GraphConst or type(w) is not GraphConst or value.attrs != second.attrs:
                continue
            if v.data.shape[1:] != w.data.shape[1:] or value.attrs["groups"] != 1:
                continue
            weight = GraphConst(constant(np.concatenate((v.data.array, w.data.array))))
            wide = value.replace(args=(x, weight))
            both, split, end = GraphVar("both", type_of(wide)), v.data.shape[0], weight.data.shape[0]
            first = [GraphBind(both, wide), one.replace(value=channels(both, 0, split))]
            made = {id(one): first, id(other): [other.replace(value=channels(both, split, end))]}
            return block(stmt.replace(body=tuple(new for old in stmt.body for new in made.get(id(old), [old]))))
        return stmt

    return rewrite(func, {Dataflow: block})


PROGRAM = """
@I.ir_module
class Model:
    @G.graph_func
    def main(x: G.Tensor(("n", 3, 8, 8), "float32")):
        with G.dataflow():
            a = G.nn.conv2d(x, G.const(left, "float32"), padding=[1, 1, 1, 1])
            b = G.nn.conv2d(x, G.const(right, "float32"), padding=[1, 1, 1, 1])
            c = G.nn.relu(G.add(a, b))
            G.output(c)
        return c
"""


def main() -> None:
    """Run the model as it is, and natively with the pass."""
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((4, 3, 3, 3)).astype("float32") for _ in range(2))
    model = tirscript.parse(PROGRAM, names={"left": left, "right": right})
    assert isinstance(model, Module)
    x = rng.standard_normal((2, 3, 8, 8)).astype("float32")
    expected = tirscript.interpret(model, x)

    fused = fuse_convolutions(model)
    assert fused["main"].script().count("nn.conv2d") == 1
    np.testing.assert_allclose(tirscript.interpret(fused, x), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tirscript.build(fused)(x), expected, rtol=1e-4, atol=1e-4)

    kernels = Sequential.parse("fuse_convolutions,legalize_ops,dead_code_elimination,fuse_ops,fuse_tir")(model)
    print(fused["main"])
    print("kernels:", ", ".join(one.name for one in kernels.functions if one.name != "main"))


if __name__ == "__main__":
    main()
