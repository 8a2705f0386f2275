"""Calls of operators: arguments bound, attributes in one form, and what is said of those that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tirscript.ir import DiagnosticError, Var, const, dtype
from tirscript.ir.graph import GraphConst, GraphVar, OpCall, PrimType, ShapeExpr, TensorType, TupleExpr, TupleType
from tirscript.ir.graph_ops import GRAPH_OPS, GraphOp, Parameter, dims, register
from tirscript.ir.graph_ops.infer import type_of

N = Var("n", dtype("int64"))
M = Var("m", dtype("int64"))


def tensor(*shape: Any, kind: str | None = "float32") -> GraphVar:
    return GraphVar("x", TensorType(dims.shape(shape), None if kind is None else dtype(kind)))


def call(name: str, *args: Any, **attrs: Any) -> OpCall:
    return GRAPH_OPS[name](*args, **attrs)


def shape_of(made: OpCall) -> str:
    kind = type_of(made)
    assert isinstance(kind, TensorType) and kind.shape is not None
    return dims.text(kind.shape)


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("sum", [{"axis": 1}, {"axis": [1]}, {"axis": (1,)}, {"axis": np.int64(1)}]),
        ("nn.max_pool2d", [{"pool_size": 2, "padding": 1}, {"pool_size": [2, 2], "padding": (1, 1, 1, 1)}]),
        ("astype", [{"dtype": "float16"}, {"dtype": dtype("float16")}, {"dtype": np.float16}]),
        ("nn.softplus", [{"beta": 2}, {"beta": 2.0}]),
    ],
)
def test_attributes_are_kept_in_one_form(name: str, ways: list[dict[str, Any]]) -> None:
    x = tensor(1, 2, 4, 4)
    made = [call(name, x, **way) for way in ways]
    assert all(one == made[0] for one in made)


def test_the_layout_of_the_result_is_that_of_the_data() -> None:
    made = call("nn.conv2d", tensor(1, 4, 4, 3), tensor(3, 3, 3, 8), data_layout="NHWC", kernel_layout="HWIO")
    assert made.attrs["out_layout"] == "NHWC"
    assert shape_of(made) == "(1, 2, 2, 8)"


def test_a_dimension_that_is_known_not_to_be_1_stays() -> None:
    """As in TVM and PyTorch; one that is symbolic is taken for 1, and checked when the program runs."""
    assert shape_of(call("squeeze", tensor(2, 3, 1), axis=[0, 2])) == "(2, 3)"
    assert shape_of(call("squeeze", tensor(2, N, 1), axis=[0, 1])) == "(2, 1)"


def test_arguments_come_by_place_or_name() -> None:
    x = tensor(2, 3)
    assert call("sum", x, 1, True) == call("sum", x, keepdims=True, axis=1) == call("sum", x=x, axis=[1], keepdims=True)


def test_numbers_become_constants_of_the_other_dtype() -> None:
    made = call("add", tensor(2, kind="float16"), 1)
    assert isinstance(made.args[1], GraphConst)
    assert made.args[1].data.dtype is dtype("float16")
    assert call("add", 2.5, tensor(2)).args[0].data.array.item() == 2.5  # type: ignore[attr-defined]


def test_sequences_become_shapes_and_tuples() -> None:
    made = call("broadcast_to", tensor(3), (2, N, 3))
    assert isinstance(made.args[1], ShapeExpr) and shape_of(made) == "(2, n, 3)"
    assert isinstance(call("concat", [tensor(2), tensor(3)]).args[0], TupleExpr)


def test_bounds_of_a_range() -> None:
    assert shape_of(call("arange", 4)) == "(4,)"
    assert call("arange", 4) == call("arange", 0, 4, 1, dtype="int64")
    assert call("arange", 0, 1.5).attrs["dtype"] is dtype("float32")
    assert shape_of(call("arange", N)) == "(n,)"
    assert shape_of(call("eye", 3)) == "(3, 3)"


def test_one_dimension_of_a_reshape_is_left_to_the_others() -> None:
    assert shape_of(call("reshape", tensor(2, 6), (3, -1))) == "(3, 4)"
    assert shape_of(call("reshape", tensor(N, 4, 2), (-1, 8))) == "(n, 8)"
    for given, wanted, found in (
        ((N, 4), (N, -1, 2), "(n, 2, 2)"),
        ((N, M, 512), (N, M, -1, 64), "(n, m, 8, 64)"),
        ((N, M, 512), (-1, 512), "(n * m, 512)"),
        ((N, M, 512), (-1, 64), "(n * m * 8, 64)"),
        ((N, M), (M, -1), "(m, n)"),
        ((dims.mul(N, M),), (M, 2, -1), "(m, 2, n // 2)"),
        ((N, 4), (-1, 6), "(n * 2 // 3, 6)"),
        ((N, 4), (-1, M), "(n * 4 // m, m)"),
        ((N, N), (dims.mul(N, 2), -1), "(n * 2, n // 2)"),
        ((0, N), (N, -1), "(n, 0)"),
    ):
        assert shape_of(call("reshape", tensor(*given), wanted)) == found
    assert (
        shape_of(call("reshape", tensor(N, 4, 2), -1))
        == shape_of(call("reshape", tensor(N, 4, 2), (-1,)))
        == "(n * 8,)"
    )


def test_an_int_of_an_operator_is_known_before_the_program_runs() -> None:
    with pytest.raises(DiagnosticError, match="this is an int, not a value of the program") as caught:
        call("nn.pad", tensor(N), pad_width=(0, N))
    assert caught.value.diagnostics[0].hint == "it is a number that is known before the program runs"


@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (lambda: call("add", tensor(2)), "T101", "needs `x2`"),
        (lambda: call("exp", tensor(2), tensor(2)), "T101", "takes 1 argument, not 2"),
        (lambda: call("sum", tensor(2), axs=1), "T032", "takes no argument `axs`"),
        (lambda: call("sum", tensor(2), axis="1"), "T032", "`axis` of `G.sum`: this is an int, not `'1'`"),
        (lambda: call("sum", tensor(2), keepdims=2), "T032", "this is True or False"),
        (lambda: call("nn.conv2d", tensor(1), tensor(1), strides=(1, 2, 3)), "T032", "this is one int or 2, not 3"),
        (lambda: call("nn.conv2d", tensor(1), tensor(1), padding=(1, 2, 3)), "T032", "padding is 1 or 2 or 4 ints"),
        (lambda: call("take", tensor(2), tensor(2), mode="safe"), "T032", "one of 'fast', 'clip', 'wrap', 'nan'"),
        (lambda: call("astype", tensor(2), "float31"), "T109", "'float31' is not an element type"),
        (lambda: call("add", tensor(2, kind="int32"), 1.5), "T103", "1.5 is no int32"),
        (lambda: call("add", tensor(2), "x"), "T032", "this is a tensor, not a Python str"),
        (lambda: call("broadcast_to", tensor(2), (2, 1.5)), "T032", "a dimension is an integer"),
        (lambda: call("reshape", tensor(2, 3), (-1, 4)), "T207", "the 6 elements of (2, 3) do not fill"),
        (lambda: call("reshape", tensor(2, 3), (-1, -1)), "T032", "more than one dimension is -1"),
        (lambda: call("sum", tensor(2), 1, axis=1), "T032", "is given `axis` twice"),
        (lambda: call("concat", tensor(2), tensor(2)), "T032", "the tensors of `G.concat` are one argument"),
        (lambda: call("stack", tensor(2), tensor(2), tensor(2)), "T032", "the tensors of `G.stack` are one argument"),
    ],
)
def test_mistakes_in_calls(make: Any, code: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        make()
    (found,) = caught.value.diagnostics
    assert found.code == code and said in found.message


@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (lambda: call("add", tensor(2, 3), tensor(4)), "T207", "(2, 3) and (4,) do not broadcast: 3 and 4"),
        (lambda: call("add", tensor(2), tensor(2, kind="int32")), "T107", "`x1` is of float32 and `x2` of int32"),
        (lambda: call("exp", tensor(2, kind="int32")), "T105", "`x` is a tensor of floats, not of int32"),
        (lambda: call("exp", TupleExpr((tensor(2),))), "T104", "`x` is a tensor, not a tuple"),
        (lambda: call("matmul", tensor(2, 3), tensor(4, 5)), "T207", "`x1` is 3, and `x2` is summed over 4"),
        (lambda: call("matmul", tensor(2, 2, 3), tensor(3, 3, 5)), "T207", "the batches of"),
        (lambda: call("matmul", tensor(), tensor(3)), "T207", "`x1` is a scalar"),
        (lambda: call("sum", tensor(2, 3), axis=2), "T207", "`axis` is 2, but the tensor has 2 dimensions"),
        (lambda: call("sum", tensor(2, 3), axis=[0, -2]), "T207", "names an axis twice"),
        (lambda: call("reshape", tensor(4, 3), (5, 2)), "T207", "(4, 3) has 12 elements, and (5, 2) has 10"),
        (lambda: call("squeeze", tensor(N * 2, 3), axis=0), "T207", "dimension 0 of `x` is not 1"),
        (lambda: call("concat", (tensor(2, 3), tensor(2, 4)), axis=0), "T207", "dimension 1 of the tensors differs"),
        (lambda: call("concat", (tensor(2, 3), tensor(2))), "T207", "the tensors have 1 and 2 dimensions"),
        (lambda: call("concat", ()), "T104", "is an empty tuple"),
        (lambda: call("nn.conv2d", tensor(1, 3, 4, 4), tensor(2, 4, 3, 3)), "T207", "3 and 4"),
        (lambda: call("nn.conv2d", tensor(1, 3, 2, 2), tensor(2, 3, 3, 3)), "T207", "a window of 3 does not fit"),
        (lambda: call("nn.conv2d", tensor(1, 3, 2, 2), tensor(2, 3, 1, 1), data_layout="NCWW"), "T032", "'NCWW'"),
        (
            lambda: call("nn.layer_norm", tensor(2, 3), tensor(2), tensor(2), axes=[-1]),
            "T207",
            "that of `gamma` differ",
        ),
        (lambda: call("take", tensor(2, 3), tensor(2, kind="int64")), "T207", "`axis` is None"),
        (lambda: call("take", tensor(2, 3), tensor(2), axis=0), "T105", "`indices` is a tensor of integers"),
        (lambda: call("where", tensor(2), tensor(2), tensor(2)), "T105", "`condition` is a tensor of bools"),
        (lambda: call("strided_slice", tensor(4), (0,), (0, 1), (2,)), "T207", "the tuples differ in length"),
        (lambda: call("strided_slice", tensor(4), (0,), (0,), (2,), (0,)), "T032", "the stride of axis 0 is 0"),
        (lambda: call("nn.pad", tensor(2, 3), [0, 1]), "T207", "has 2 numbers for 2 dimensions"),
        (
            lambda: call("einsum", (tensor(2, 3), tensor(4, 5)), "ij,jk"),
            "T207",
            "the dimensions of `j` differ: 3 and 4",
        ),
        (lambda: call("einsum", (tensor(2, 3),), "ij,jk"), "T032", "names 2 operands, and 1 are given"),
        (lambda: call("nn.attention", *[tensor(1, 2, 3, 4)] * 2, tensor(1, 3, 3, 4)), "T207", "lengths of `key` and"),
        (lambda: call("gather_nd", tensor(2, 3), tensor(4, 3, kind="int64")), "T207", "holds 3 indices"),
        (lambda: call("broadcast_to", tensor(3), (2, 4)), "T207", "3 is neither 1 nor 4"),
    ],
)
def test_types_that_do_not_fit(make: Any, code: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        type_of(make())
    (found,) = caught.value.diagnostics
    assert found.code == code and said in found.message, found.message


def test_what_is_not_known_is_no_mistake() -> None:
    unknown = GraphVar("u", TensorType())
    for name, args, attrs in (
        ("add", (unknown, tensor(2)), {}),
        ("matmul", (unknown, unknown), {}),
        ("sum", (unknown,), {"axis": 3}),
        ("concat", ((unknown, tensor(2, 3)),), {}),
        ("nn.conv2d", (unknown, unknown), {}),
        ("reshape", (unknown, (2, 3)), {}),
    ):
        kind = type_of(call(name, *args, **attrs))
        assert isinstance(kind, TensorType)
    assert shape_of(call("reshape", unknown, (2, 3))) == "(2, 3)"


def test_symbolic_dimensions() -> None:
    m = Var("m", dtype("int64"))
    assert shape_of(call("concat", (tensor(N, 4), tensor(m, 4)))) == "(n + m, 4)"
    assert shape_of(call("matmul", tensor(3, N), tensor(N, m))) == "(3, m)"
    assert shape_of(call("flatten", tensor(N, 4, 2))) == "(n * 8,)"
    kind = type_of(call("add", tensor(N, 4), tensor(m, 4)))
    assert isinstance(kind, TensorType) and kind.shape is None and kind.ndim == 2
    halves = type_of(call("split", tensor(N, 6), 2, axis=1))
    assert isinstance(halves, TupleType) and [dims.text(one.shape) for one in halves.fields] == ["(n, 3)"] * 2  # type: ignore[attr-defined]
    for where in (1, []):  # as for apache-tvm
        assert shape_of(call("split", tensor(N, 6), where, axis=1)) == "(n, 6)"


def test_a_scalar_is_a_tensor_without_dimensions() -> None:
    scalar = GraphVar("s", PrimType(dtype("float32"), const(2.0, "float32")))
    assert shape_of(call("multiply", tensor(2, 3), scalar)) == "(2, 3)"


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="defined twice"):
        register(GraphOp("add", (Parameter("x"),), lambda call, types: types[0], "Again."))


@pytest.mark.parametrize(
    ("name", "args", "code", "words"),
    [
        ("add", (tensor(3), None), "T101", "`G.add` needs `x2`, which is None"),
        ("full_like", (tensor(3), None), "T101", "`G.full_like` needs `fill_value`, which is None"),
        ("eye", (3, 4, None), "T101", "`G.eye` needs `k`, which is None"),
        ("eye", (1 << 70,), "T103", "does not fit int64"),
        ("one_hot", (tensor(3, kind="int64"), 1, 0, 1 << 70), "T103", "does not fit int64"),
        ("eye", (2.5,), "T105", "`n` is a dimension, an integer, not float64"),
        ("hamming_window", (float("inf"),), "T105", "`window_size` is a dimension, an integer, not float64"),
        ("hamming_window", (4, 1.5), "T105", "`periodic` is a bool, not float64"),
        ("hamming_window", (4, True, True), "T105", "`alpha` is a number, not bool"),
        ("eye", (3, 4, 1.5), "T105", "`k` is the number of a diagonal, an integer, not float64"),
        ("eye_like", (tensor(3, 3), True), "T105", "`k` is the number of a diagonal, an integer, not bool"),
        ("triu", (tensor(3, 3), 0.5), "T105", "`k` is the number of a diagonal, an integer, not float64"),
        ("arange", (True,), "T105", "`end` is a number, not bool"),
        ("arange", (tensor(3),), "T104", "`end` is a number, not a tensor (3,)"),
        ("strided_slice", (tensor(4), [0.5], [0], [2]), "T105", "each of `axes` is an integer, not float64"),
        ("strided_slice", (tensor(4), [0], [0], [True]), "T105", "each of `end` is an integer, not bool"),
        ("slice_scatter", (tensor(4), tensor(2), 0, 2.0), "T105", "`end` is an integer, not float64"),
        ("arange", (float("nan"),), "T032", "from 0 to nan by 1"),
        ("arange", (0, 1e300), "T032", "there is no number of elements"),
        ("arange", (1 << 62, -(1 << 62), -1), "T032", "there is no number of elements"),
        ("call_dps_packed", (TupleExpr(()), TupleExpr(()), tensor(3).type), "T032", "this is a function of the module"),
    ],
)
def test_what_is_no_argument_is_told(name: str, args: tuple[Any, ...], code: str, words: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        type_of(call(name, *args))
    found = caught.value.diagnostics[0]
    assert found.code == code
    assert words in found.message


@pytest.mark.parametrize(
    ("name", "args", "hint"),
    [
        ("tril", (tensor(3, 3), "float32"), 'cast it: `T.cast(x, "int64")`'),
        ("strided_slice", (tensor(4), [0], ["float32"], [2]), 'cast it: `T.cast(x, "int64")`'),
        ("hamming_window", (4, "float32"), None),
        ("hamming_window", (4, True, "bool"), None),
        ("tril", (tensor(3, 3), 0.5), None),
    ],
)
def test_a_scalar_is_cast_as_scalars_are(name: str, args: tuple[Any, ...], hint: str | None) -> None:
    """`x.astype(...)` makes a tensor of it, which is none either; and only an integer is what a cast can give."""

    def given(arg: Any) -> Any:
        if isinstance(arg, list):
            return [given(one) for one in arg]
        return GraphVar("s", PrimType(dtype(arg))) if isinstance(arg, str) else arg

    with pytest.raises(DiagnosticError) as caught:
        type_of(call(name, *map(given, args)))
    found = caught.value.diagnostics[0]
    assert (found.code, found.hint) == ("T105", hint)


@pytest.mark.parametrize(
    "make",
    [
        lambda: call("repeat", tensor(4), (1 << 62) + 1, axis=0),  # it wrapped around to 4 elements
        lambda: call("tile", tensor(4, 4), ((1 << 62) + 1, 1)),
        lambda: call("nn.pad", tensor(4), pad_width=((1 << 63) - 1, 0)),
        lambda: call("nn.conv1d_transpose", tensor(1, 3, 4), tensor(3, 2, 3), strides=(1 << 63) - 1),
        lambda: call("flatten", tensor(1 << 32, 1 << 32, 2)),
    ],
)
def test_sizes_beyond_int64_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(DiagnosticError, match=r"T103.* does not fit int64"):
        type_of(make())


def test_a_split_has_so_many_parts() -> None:
    """Each is a tensor by itself; 2**32 of them were counted out."""
    with pytest.raises(DiagnosticError, match=r"T004.*makes 4,294,967,296 parts"):
        type_of(call("split", tensor(4, 2), 1 << 32))
