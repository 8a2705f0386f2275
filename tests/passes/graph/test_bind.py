"""Values for parameters and dimensions, and what follows from constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tirscript
from tirscript.ir import ConstantTensor, DiagnosticError, Module, structural_equal, walk
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


def test_a_result_that_no_memory_holds_is_not_computed() -> None:
    text = """
@G.graph_func
def main(x: G.Tensor((1,), "float32")):
    with G.dataflow():
        large = G.broadcast_to(G.const([[1.0]], "float64"), (1048576, 1048576))
        y = G.sum(large)
        G.output(y)
    return y
"""
    made = fold_graph_constant(Module((parse(text),)))
    assert "G.broadcast_to" in made.script()


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


# -- parameters of tensor functions, files, models

KERNEL = """
@T.prim_func
def f(x: T.Buffer((4, "n"), "float32"), w: T.Buffer(("n",), "float32"), h: T.handle, y: T.Buffer((4, "n"), "float32")):
    b = T.match_buffer(h, (n + 1,), "float32")
    for i in range(4):
        for j in range(n):
            y[i, j] = x[i, j] * w[j] + b[j + 1]
"""


def test_parameters_of_tensor_functions() -> None:
    func = parse(KERNEL)
    x, w, b = X, np.arange(3, dtype="float32"), np.arange(4, dtype="float32")
    made = bind_params(func, {"w": w, "b": b})
    assert [param.name for param in made.params] == ["x", "y"] and not made.symbols
    assert parse(made.script()).script() == made.script()
    for run in (tirscript.build(made), lambda *args: tirscript.interpret(made, *args)):
        y = np.zeros_like(X)
        run(x, y)
        assert np.array_equal(y, x * w + b[1:])
    by_handle = bind_params(func, {"w": w, "h": b})
    assert structural_equal(by_handle, made)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"y": X}, "`y` is written, and cannot be a constant"),
        ({"w": X}, "`w` has 1 dimension, and the data 2"),
        ({"w": X[0].astype("float64")}, "`w` is of float32, and the data of float64"),
        ({"w": X[0], "b": X[0]}, "dimension 0 of `b` is 4, and that of the data 3"),
        ({"b": X[0]}, "dimension 0 of `b` is not known from the data"),
        ({"v": X[0]}, "has no parameter `v`"),
    ],
)
def test_data_that_no_tensor_function_takes(params: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        bind_params(parse(KERNEL), params)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ('n: T.int32, w: T.Buffer(("n",), "float32"), y: T.Buffer((4,), "float32")', "a size that another parameter"),
        ('w: T.Buffer((4,), "float32", strides=(2,)), y: T.Buffer((4,), "float32")', "has strides or an offset"),
        ('w: T.Buffer((4,), "float32x2"), y: T.Buffer((4,), "float32x2")', "is of the vector dtype"),
        ('w: T.float32, y: T.Buffer((4,), "float32")', "is no tensor"),
    ],
)
def test_parameters_that_are_no_constants(params: str, words: str) -> None:
    value = "w" if "w: T.float32" in params else "w[0]"
    func = parse(f"@T.prim_func\ndef f({params}):\n    y[0] = {value}\n")
    with pytest.raises(DiagnosticError, match=words):
        bind_params(func, {"w": np.zeros(4, "float32")})


def test_weights_of_a_file(tmp_path: Path) -> None:
    text = TEXT.replace("w:", "fc_weight:").replace("(w)", "(fc_weight)")
    path = tmp_path / "w.safetensors"
    tirscript.save_tensors(path, {"fc.weight": W})
    (kept,) = tirscript.load_tensors(path).items()
    assert kept[0] == "fc.weight" and np.array_equal(kept[1].array, W)
    made = bind_params(parse(text), path)
    assert structural_equal(made, bind_params(module(), {"w": W}))
    tirscript.save_tensors(path, {"fc.weight": W, "head.bias": W})
    with pytest.raises(DiagnosticError, match=r"has no parameter `head\.bias`"):
        bind_params(parse(text), path)
    assert structural_equal(bind_params(parse(text), path, strict=False), made)
    with pytest.raises(DiagnosticError, match="`fc_weight` is given two constants"):
        bind_params(parse(text), {"fc.weight": W, "fc_weight": W + 1})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DiagnosticError, match="is damaged"):
        bind_params(parse(text), path)


def test_names_of_tensors_in_files(tmp_path: Path) -> None:
    for name in ("__metadata__", "sha256:" + "0" * 64):
        with pytest.raises(DiagnosticError, match="cannot be called"):
            tirscript.save_tensors(tmp_path / "w.safetensors", {name: W})
    assert not list(tmp_path.iterdir())


REPEATED_KERNEL = """
@T.prim_func
def main(a: T.Buffer(("n * 2",), "float32"), w: T.Buffer(("n",), "float32"), y: T.Buffer(("n * 2",), "float32")):
    for i in range(n * 2):
        y[i] = a[i] + w[i % n]
"""
REPEATED_GRAPH = """
@I.ir_module
class M:
    @G.graph_func
    def main(a: G.Tensor(("n * 2",), "float32"), w: G.Tensor(("n",), "float32")):
        return G.add(a, G.concat((w, w), axis=0))
"""


@pytest.mark.parametrize("text", [REPEATED_KERNEL, REPEATED_GRAPH])
@pytest.mark.parametrize("names", ["aw", "wa"])
def test_sizes_are_those_that_all_data_decides(text: str, names: str) -> None:
    data = {"a": np.ones(6, "float32"), "w": np.arange(3, dtype="float32")}
    bound = bind_params(parse(text), {name: data[name] for name in names})
    if text is REPEATED_KERNEL:
        found = np.zeros(6, "float32")
        tirscript.build(bound)(found)
    else:
        found = tirscript.build(bound)()
    assert found.tolist() == [1, 2, 3, 1, 2, 3]
    data["w"] = np.ones(4, "float32")
    with pytest.raises(DiagnosticError, match=r"dimension 0 of `a` is 8, and that of the (data|array) 6"):
        bind_params(parse(text), {name: data[name] for name in names})


def test_dimensions_that_are_computed_become_numbers() -> None:
    module = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", "n * 2"), "float32"), s: G.Shape(["m", "m + n"])) -> G.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        m = T.int64()
        y = G.reshape(x, (n * n * 2,))
        z = G.zeros((n * 2 + m + m,), "float32")
        return G.concat([y, z])
""")
    assert isinstance(module, Module)
    text = bind_symbolic_vars(module, {"n": 3})["main"].script()
    assert 'x: G.Tensor((3, 6), "float32"), s: G.Shape(["m", "m + 3"])' in text
    assert "G.reshape(x, (18,))" in text and "3 * " not in text


@pytest.mark.parametrize(
    "value", ["c", "x + c", "x"], ids=["nothing stays", "the use stays", "a statement before stays"]
)
def test_comments_at_what_is_folded_stay(value: str) -> None:
    """They went with the bindings of constants."""
    first = "    y = x * x  # first\n" if value == "x" else ""
    text = f"""
@G.graph_func
def main(x: G.Tensor((2,), "float32")):
{first}    # the weights
    a = G.const([1.0, 2.0])  # two of them
    with G.dataflow():  # a part
        # doubled
        b = a + a  # twice
        G.output(b)
    # moved
    c = b * G.const(3.0)
    # the result
    return {value}
"""
    made = fold_graph_constant(Module((parse(text),)))
    printed = made.script()
    lines = ("# the weights", "# two of them", "# doubled", "# twice", "# a part", "# moved", "# the result")
    assert all(printed.count(line) == 1 for line in lines), printed
    assert parse(printed).script() == printed


def test_scalars_are_folded_as_of_their_dtypes() -> None:
    """The references of tensors were given Python's own numbers."""
    made = fold_graph_constant(
        Module(
            (
                parse("""
@G.graph_func
def main(x: G.Tensor((2,), "float32")):
    return G.multiply(x, G.std(T.float32(1.5))), G.nn.selu(T.float32(1.5)), G.size(T.int64(3))
"""),
            )
        )
    )
    x = np.ones(2, "float32")
    for one, other in zip(tirscript.interpret(made, x), tirscript.build(made)["main"](x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_shape_of_a_constant_scalar_is_a_shape() -> None:
    """It became an empty tuple, of which a built function has no result."""
    func = parse("""
@G.graph_func
def main(x: G.Tensor(("n",), "float32")):
    return G.shape_of(G.const(1.0)), G.shape_of(G.const([1.0, 2.0])), x
""")
    x = np.ones(3, "float32")
    assert tirscript.build(func)(x)[:2] == tirscript.interpret(func, x)[:2] == ((), (2,))


def test_scalars_have_no_kernel_that_reads_elements() -> None:
    """The kernel was read, and its own lines were called wrong."""
    func = parse('@G.graph_func\ndef main(x: G.Tensor(("n",), "int8")):\n    return G.nn.dropout(n * 2)\n')
    with pytest.raises(DiagnosticError, match=r"T401.*`G.nn.dropout` is no kernel"):
        tirscript.build(func)
