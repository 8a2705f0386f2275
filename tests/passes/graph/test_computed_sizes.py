"""Dimensions that scalars of the graph give, computed in it: at every stage of the pipeline the program is one, and its
native result is the interpreter's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, Module, structural_equal
from tirscript.ir.graph import GraphFunc

X = np.arange(6, dtype="float32").reshape(2, 3)

BODIES: dict[str, str] = {
    "m = n * 2 + 1": "(G.full((m, n), G.const(3.0, 'float32')), G.exp(x))",
    "m = n * 2\nk = m + 1\nz = G.zeros((k, m), 'float32')": "(G.matmul(z, G.ones((m, k), 'float32')), G.reshape(x, (b, a)))",
    "m = n + 3\ny = G.broadcast_to(G.sum(x), (m,))": "(y * 2.0, G.prim_value(m), G.shape([m, n]))",
    "if n > 1:\n    m = n * 2\n    y = x + G.sum(G.ones((m, n), 'float32'))\nelse:\n    y = x": "y",
    "with G.dataflow():\n    m = n // 2 + 1\n    y = G.ones((m, n), 'float32')\n    G.output(y, m)": "(y * 2.0, m)",
    "m = n * n": "G.shape_of(x)",
}


def program(body: str, result: str) -> Module:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    found = tirscript.parse(
        "@G.graph_func\ndef main(n: G.Prim('int64'), x: G.Tensor(('a', 'b'), 'float32')):\n"
        f"{lines}    return {result}\n"
    )
    assert isinstance(found, GraphFunc)
    return Module((found,), "M")


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("body", BODIES)
def test_computed_sizes_keep_their_scalars(body: str) -> None:
    module = program(body, BODIES[body])
    wanted = leaves(tirscript.interpret(module, 3, X))
    for one in tirscript.default_pipeline().passes:
        module = one(module)
        again = tirscript.parse(module.script())
        assert structural_equal(module, again)
    found = leaves(tirscript.build(program(body, BODIES[body]))(3, X))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_scalar_that_nothing_names_goes() -> None:
    made = tirscript.passes.get_pass("dead_code_elimination")(program("m = n * n\ny = G.exp(x)", "x"))
    assert "m:" not in made.script() and "exp" not in made.script()


def test_an_output_says_no_scalar_of_the_dataflow_alone() -> None:
    with pytest.raises(DiagnosticError) as caught:
        program("with G.dataflow():\n    m = n * n\n    y = G.zeros((m, 2), 'float32')\n    G.output(y)", "y")
    (found,) = caught.value.diagnostics
    assert (found.code, found.span and found.span.text) == ("T011", "y")
    assert "the type of `y` names `m`" in found.message and found.hint == "make it an output too: `G.output(..., m)`"
