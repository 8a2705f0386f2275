"""Modules of one graph function beside a kernel that writes its argument, and the passes until kernels are fused."""

from __future__ import annotations

from tirscript.ir import Module
from tirscript.passes import Sequential
from tirscript.passes.graph import GRAPH_LOWERING
from tirscript.script import parse

TO_FUSED = Sequential(GRAPH_LOWERING.passes[: [one.name for one in GRAPH_LOWERING].index("rewrite_reshape")])


def module(body: str, value: str, params: str = 'x: G.Tensor(("n", 8), "float32")') -> Module:
    lines = "".join(f"        {line}\n" for line in body.strip().split("\n"))
    found = parse(f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def grow(A: T.Buffer(("n", 8), "float32")):
        for i, j in T.grid(n, 8):
            A[i, j] = A[i, j] + 1.0

    @G.graph_func(pure=False)
    def main({params}):
{lines}        return {value}
""")
    assert isinstance(found, Module)
    return found
