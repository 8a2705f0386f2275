"""Values for parameters and dimensions, and what follows from constants."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import ConstantTensor, DiagnosticError, Module, walk
from tirscript.ir.graph import GraphConst, GraphFunc, TensorType
from tirscript.passes.graph import bind_params, bind_symbolic_vars, fold_graph_constant
from tirscript.script import parse

TEXT = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", "k"), "float32"), w: G.Tensor(("m", "k"), "float32")):
        with G.dataflow():
            t = G.permute_dims(w)
            a = G.matmul(x, t)
            b = G.add(a, G.multiply(G.const(2.0), G.const(0.5)))
            G.output(b)
        return b
"""
W = np.arange(6, dtype="float32").reshape(2, 3)
X = np.arange(12, dtype="float32").reshape(4, 3)


def module() -> Module:
    found = parse(TEXT)
    assert isinstance(found, Module)
    return found


def main(given: Module) -> GraphFunc:
    found = given["main"]
    assert isinstance(found, GraphFunc)
    return found


def test_a_bound_parameter_decides_dimensions_everywhere() -> None:
    made = bind_params(module(), {"w": W})
    (x,) = main(made).params
    assert isinstance(x.type, TensorType) and x.type.shape is not None
    assert [dim.script().strip() for dim in x.type.shape] == ["n", "T.int64(3)"]
    assert "G.Tensor((n, 2)" in made.script() and "m" not in [var.name for var in main(made).symbols]
    assert parse(made.script(), constants=tirscript.ConstantStore(made)).script() == made.script()


def test_dimensions_get_numbers() -> None:
    made = bind_symbolic_vars(module(), {"n": 4, "k": 3})
    assert [var.name for var in main(made).symbols] == ["m"]
    assert 'a: G.Tensor((4, m), "float32")' in made.script()


def test_operators_on_constants_are_folded() -> None:
    bound = bind_symbolic_vars(bind_params(module(), {"w": W}), {"n": 4})
    made = fold_graph_constant(bound)
    text = made.script()
    assert "permute_dims" not in text and "multiply" not in text and text.count("G.matmul") == 1
    assert main(made).result == main(bound).result
    data = [node.data.array.tolist() for node in walk(main(made)) if type(node) is GraphConst]
    assert data == [W.T.tolist(), 1.0]
    large = fold_graph_constant(bound, limit=8)
    assert "permute_dims" in large.script() and "multiply" not in large.script()
    assert fold_graph_constant(module()).script().count("G.permute_dims") == 1


def test_unresolved_constants_are_left_alone() -> None:
    given = bind_params(module(), {"w": ConstantTensor("sha256:" + "0" * 64, (2, 3), "float32")})
    assert "permute_dims" in fold_graph_constant(given).script()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ww": W}, "did you mean `w`"),
        ({"w": W.astype("float64")}, "is of float32, and the array of float64"),
        ({"w": W[0]}, "has 2 dimensions, and the array 1"),
        ({"w": W, "x": X[:, :2]}, "dimension 1 of `x` is 3, and that of the array 2"),
    ],
)
def test_wrong_values_are_refused(params: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        bind_params(module(), params)


def test_wrong_names_are_refused() -> None:
    for sizes, words in [({"q": 4}, "its dimensions: n, k, m"), ({"n": -1}, "no dimension is negative")]:
        with pytest.raises(DiagnosticError, match=words):
            bind_symbolic_vars(module(), sizes)
    with pytest.raises(DiagnosticError, match="`mian` is not in the module"):
        bind_params(module(), {"w": W}, function="mian")
