"""Graphs for the tests of layouts."""

from __future__ import annotations

from tirscript.ir import Module
from tirscript.passes.graph import legalize_ops
from tirscript.script import parse


def graph(params: str, body: str, results: str) -> Module:
    """A module of one dataflow, whose operators are kernels."""
    lines = "\n            ".join(line.strip() for line in body.strip().splitlines())
    made = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main({params}):
        with G.dataflow():
            {lines}
            G.output({results})
        return {results}
""")
    assert isinstance(made, Module)
    return legalize_ops(made)
