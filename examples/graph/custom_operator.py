"""An operator of one's own for graphs, in two steps: how it is computed, then use it.

Its entry says what it takes, its type, its meaning in numpy, and its kernel, which is written in the tensor language
once for all shapes and dtypes. From then on it is parsed, printed, verified, interpreted, legalized, fused and built
like those that come with the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tirscript
from tirscript.ir.graph import GraphType, OpCall
from tirscript.ir.graph_ops import GraphOp, Parameter, register
from tirscript.ir.graph_ops.attrs import attr, real
from tirscript.ir.graph_ops.kernel import T, kernel
from tirscript.ir.graph_ops.rules import FLOATS, Types, like, tensor

# -- how it is computed


def hard_shrink_kernel(data: Any, out: Any, *, limit: float) -> None:
    """Read as part of a tensor function, never run as Python: `data` and `out` are buffers of any rank."""
    for (*i,) in T.grid(*data.shape):
        with T.block("shrink"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.Select(T.abs(data[*v]) > T.cast(limit, data.dtype), data[*v], T.cast(0, data.dtype))


def hard_shrink_type(call: OpCall, types: Types) -> GraphType:
    """The type of the argument, which is a tensor of floats."""
    return like(tensor(call, types, 0, FLOATS))


HARD_SHRINK = register(
    GraphOp(
        "example.hard_shrink",
        (Parameter("data"), attr("limit", real, 0.5)),
        hard_shrink_type,
        "The elements beyond a limit; the others are 0.",
        "G.example.hard_shrink(data: (2, 3), limit=0.5)",
        reference=lambda data, limit: np.where(np.abs(data) > limit, data, 0).astype(data.dtype),
        legalize=kernel(hard_shrink_kernel),
        fusion="elementwise",
    )
)

# -- use it

PROGRAM = """
@G.graph_func
def main(x: G.Tensor(("n", 4), "float32"), bias: G.Tensor((4,), "float32")):
    with G.dataflow():
        moved = G.add(x, bias)
        shrunk = G.example.hard_shrink(moved, limit=1.0)
        G.output(shrunk)
    return shrunk
"""


def main() -> None:
    """Run it by its reference, and natively after it became a kernel."""
    graph = tirscript.parse(PROGRAM)
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    bias = np.zeros(4, np.float32)
    expected = tirscript.interpret(graph, x, bias)
    np.testing.assert_array_equal(tirscript.build(graph)(x, bias), expected)
    print(graph)
    print(expected)


if __name__ == "__main__":
    main()
