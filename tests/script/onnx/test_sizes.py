"""What models compute of shapes and small integers, and the dimensions that they leave open."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import tirscript
from tirscript.ir import DiagnosticError, Module
from tirscript.ir.expr import Var
from tirscript.ir.graph import GraphVar
from tirscript.ir.rewrite import walk
from tirscript.script import parse
from tirscript.script.onnx.importer import LONG

from .test_importer import F, compare, model


@pytest.mark.parametrize(
    ("op", "constants", "attributes"),
    [
        ("Max", [np.array([1, 2]), np.array([2, 1]), np.array([9, 9])], {}),
        ("Min", [np.array([5, 2]), np.array([4]), np.array(3)], {}),
        ("Max", [np.array([5, 2])], {}),
        ("Unsqueeze", [np.array(4), np.array([0, 1])], {}),
        ("ReduceProd", [np.array([4, 5])], {"noop_with_empty_axes": 1}),
        ("Add", [np.int32([2**31 - 1, 3]), np.int32([2])], {}),
        ("Sub", [np.uint8([3, 9]), np.uint8([5])], {}),
        ("Mul", [np.uint64([2**64 - 1, 3]), np.uint64([1])], {}),
        ("Add", [np.array([], "int64"), np.array([], "int64")], {}),
        ("Cast", [np.array([2**40, -1])], {"to": TensorProto.INT32}),
        ("Cast", [np.array([-1, 3])], {"to": TensorProto.UINT64}),
    ],
)
def test_what_is_computed_of_known_integers_is_what_tensors_give(
    op: str, constants: list[Any], attributes: dict[str, Any]
) -> None:
    names = [f"c{at}" for at in range(len(constants))]
    nodes = [helper.make_node(op, names, ["k"], **attributes), helper.make_node("Identity", ["k"], ["y"])]
    compare(model(nodes, {"x": (F, [1])}, ["y"], dict(zip(names, constants, strict=True)), 18), x=np.ones(1, "float32"))


@pytest.mark.parametrize(
    ("first", "second"),
    [("n + 1", "n - 1"), ("x_1", None), ("*", "?"), ("n", "n "), (None, None)],
    ids=["operators", "like one without a name", "no letters", "a space", "no names"],
)
def test_dimensions_of_other_names_are_others(first: Any, second: Any) -> None:
    """However alike the identifiers are that stand for them."""
    given = model([helper.make_node("Neg", ["x"], ["y"])], {"x": (F, [first, second])}, ["y"], {})
    text = compare(given, x=np.ones((3, 2), "float32")).script()
    assert isinstance(parse(text), Module)
    said = tirscript.from_onnx(given, shapes={"x": (np.int64(3), None)})
    assert '(3, "x_1"), "float32")' in said.script()


@pytest.mark.skipif(os.environ.get("TIRSCRIPT_CHECK") == "arguments", reason="the arguments of functions are checked")
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (5, "`shapes` have 5 for the input `x`, which is no list of dimensions"),
        ("ab", "`shapes` have 'ab' for the input `x`, which is no list of dimensions"),
        ((2.5, 3), "`shapes` have 2.5 in that of the input `x`"),
        ((2,), "`shapes` have 1 axis for the input `x`, which has 2"),
    ],
)
def test_shapes_that_the_caller_says_are_shapes(shape: Any, message: str) -> None:
    given = model([helper.make_node("Neg", ["x"], ["y"])], {"x": (F, ["n", 3])}, ["y"], {})
    with pytest.raises(DiagnosticError, match=message):
        tirscript.from_onnx(given, shapes={"x": shape})


def test_the_largest_of_three_sizes() -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Max", ["s", "two", "four"], ["y"])]
    constants = {"two": np.array([2, 2]), "four": np.array([4])}
    given = model(nodes, {"x": (F, ["n", 3])}, ["y"], constants)
    for rows in (1, 9):
        compare(given, x=np.ones((rows, 3), "float32"))


def test_a_constant_of_a_type_that_is_not_known_is_named() -> None:
    import ml_dtypes

    kept = {"odd": np.zeros(2, ml_dtypes.float8_e4m3fnuz)}
    with pytest.raises(DiagnosticError, match="the constant `odd` is of the type float8_e4m3fnuz, which is not supp"):
        tirscript.from_onnx(model([helper.make_node("Neg", ["x"], ["y"])], {"x": (F, [2])}, ["y"], kept))


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_a_range_of_floats_up_to_a_dimension(kind: int) -> None:
    """What torch writes for `torch.arange(x.shape[1], dtype=torch.float32)`."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=1),
        helper.make_node("Squeeze", ["s"], ["n"]),
        helper.make_node("Cast", ["n"], ["limit"], to=kind),
        helper.make_node("Range", ["start", "limit", "step"], ["y"]),
        helper.make_node("Div", ["limit", "two"], ["half"]),
    ]
    real = helper.tensor_dtype_to_np_dtype(kind)
    constants = {"start": np.array(1, real), "step": np.array(2, real), "two": np.array(2, real)}
    given = model(nodes, {"x": (F, [2, "n"])}, ["y", "half"], constants)
    compare(given, x=np.ones((2, 5), "float32"))
    found, half = tirscript.build(tirscript.from_onnx(given))(np.ones((2, 8), "float32"))
    np.testing.assert_array_equal(found, np.array([1, 3, 5, 7], real))
    assert half == 4


@pytest.mark.parametrize("columns", [1, 5])
def test_a_slice_up_to_a_remainder(columns: int) -> None:
    """What torch writes for `x.roll(1, 1)`."""
    nodes = [
        helper.make_node("Shape", ["x"], ["n"], start=1),
        helper.make_node("Mod", ["minus", "n"], ["rest"]),
        helper.make_node("Slice", ["x", "rest", "n", "axis"], ["last"]),
        helper.make_node("Slice", ["x", "none", "rest", "axis"], ["first"]),
        helper.make_node("Concat", ["last", "first"], ["y"], axis=1),
    ]
    constants = {"minus": np.array([-1]), "axis": np.array([1]), "none": np.array([0])}
    x = np.arange(2 * columns, dtype="float32").reshape(2, columns)
    compare(model(nodes, {"x": (F, [2, "n"])}, ["y"], constants), x=x)


@pytest.mark.parametrize("how", ["SAME_UPPER", "SAME_LOWER"])
def test_pads_that_keep_a_size_that_only_the_call_knows(how: str) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad=how)
    weight = np.random.default_rng(3).random((2, 1, 4), "float32")
    given = model([node], {"x": (F, [1, 1, "n"])}, ["y"], {"w": weight})
    for size in (3, 9):
        compare(given, x=np.random.default_rng(4).random((1, 1, size), "float32"))
    node.attribute.append(helper.make_attribute("strides", [2]))
    with pytest.raises(DiagnosticError, match="in a symbolic dimension is not supported, but for strides of 1"):
        tirscript.from_onnx(model([node], {"x": (F, [1, 1, "n"])}, ["y"], {"w": weight}))


RESIZES = [
    ("nearest", "asymmetric"),
    ("linear", "half_pixel"),
    ("linear", "align_corners"),
    ("cubic", "pytorch_half_pixel"),
]


@pytest.mark.parametrize(("mode", "where"), RESIZES)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_images_take_sizes_that_only_the_call_knows(rank: int, mode: str, where: str) -> None:
    """As where networks make one image as large as another, to join their channels."""
    if rank != 2 and mode == "cubic":
        pytest.skip("onnxruntime has it for images of two dimensions alone")
    letters = ["h", "w", "d"][:rank]
    nodes = [
        helper.make_node("Shape", ["like"], ["all"]),
        helper.make_node("Slice", ["all", "two", "last"], ["ends"]),
        helper.make_node("Shape", ["x"], ["own"]),
        helper.make_node("Slice", ["own", "zero", "two"], ["front"]),
        helper.make_node("Concat", ["front", "ends"], ["sizes"], axis=0),
        helper.make_node(
            "Resize", ["x", "", "", "sizes"], ["big"], mode=mode, coordinate_transformation_mode=where,
            nearest_mode="floor",
        ),
        helper.make_node("Concat", ["big", "like"], ["y"], axis=1),
    ]  # fmt: skip
    inputs = {"x": (F, ["n", 2, *letters]), "like": (F, ["n", 3, *[one * 2 for one in letters]])}
    given = model(nodes, inputs, ["y"], {"zero": np.array([0]), "two": np.array([2]), "last": np.array([9])})
    built = tirscript.build(tirscript.from_onnx(given))
    rng = np.random.default_rng(3)
    for small, large in (([3, 4, 2], [7, 5, 3]), ([5, 6, 4], [2, 6, 1])):
        feeds = [rng.random((2, count, *size[:rank]), "float32") for count, size in ((2, small), (3, large))]
        compare(given, x=feeds[0], like=feeds[1])
        np.testing.assert_allclose(built(*feeds), tirscript.interpret(tirscript.from_onnx(given), *feeds), 1e-5, 1e-5)


def test_images_take_sizes_that_are_computed_when_the_model_runs() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["own"]),
        helper.make_node("Cast", ["own"], ["real"], to=F),
        helper.make_node("Mul", ["real", "scales"], ["large"]),
        helper.make_node("Floor", ["large"], ["floor"]),
        helper.make_node("Cast", ["floor"], ["sizes"], to=TensorProto.INT64),
        helper.make_node("Slice", ["sizes", "two", "last"], ["ends"]),
        helper.make_node("Resize", ["x", "", "", "ends"], ["y"], mode="linear", axes=[2, 3]),
    ]
    constants = {"scales": np.float32([1, 1, 1.7, 0.6]), "two": np.array([2]), "last": np.array([4])}
    given = model(nodes, {"x": (F, ["n", 2, "h", "w"])}, ["y"], constants, 18)
    compare(given, x=np.random.default_rng(4).random((1, 2, 5, 6), "float32"))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pads_up_to_a_multiple_of_a_size_that_only_the_call_knows(mode: str) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["own"]),
        helper.make_node("Gather", ["own", "two"], ["length"], axis=0),
        helper.make_node("Mod", ["length", "eight"], ["over"]),
        helper.make_node("Sub", ["eight", "over"], ["under"]),
        helper.make_node("Mod", ["under", "eight"], ["pad"]),
        helper.make_node("Concat", ["zeros", "one", "zeros", "pad"], ["pads"], axis=0),
        helper.make_node("Pad", ["x", "pads", "fill"], ["y"], mode=mode),
    ]
    numbers = {"two": [2], "eight": [8], "zeros": [0, 0], "one": [1]}
    constants = {**{name: np.array(one) for name, one in numbers.items()}, "fill": np.float32(3)}
    given = model(nodes, {"x": (F, ["n", 2, "l"])}, ["y"], constants, 19)
    module, rng = tirscript.from_onnx(given), np.random.default_rng(5)
    built = tirscript.build(module)
    for length in (5, 7, 8, 11):
        x = rng.random((2, 2, length), "float32")
        compare(given, x=x)
        np.testing.assert_array_equal(built(x), tirscript.interpret(module, x))


@pytest.mark.parametrize("fill", [None, np.array(2, "float32")])
def test_pads_that_the_model_is_given(fill: Any) -> None:
    """They have names, which are no numbers below 0."""
    inputs = {"x": (F, ["n", 3]), "p": (TensorProto.INT64, [2])} | ({} if fill is None else {"v": (F, [])})
    node = helper.make_node("Pad", ["x", "p", "" if fill is None else "v", "axes"], ["y"])
    given = model([node], inputs, ["y"], {"axes": np.array([-1])}, 18)
    x = np.ones((2, 3), "float32")
    feeds = {} if fill is None else {"v": fill}
    compare(given, x=x, p=np.array([1, 0]), **feeds)
    with pytest.raises(DiagnosticError):
        tirscript.interpret(tirscript.from_onnx(given), x, np.array([-1, 0]), *feeds.values())


@pytest.mark.parametrize("length", [2, 3, 5])
def test_what_wraps_around_a_size_that_only_the_call_knows(length: int) -> None:
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode="wrap")
    given = model([node], {"x": (F, ["n", "l"])}, ["y"], {"p": np.array([0, 2, 1, 1])}, 19)
    compare(given, x=np.arange(2 * length, dtype="float32").reshape(2, length))


def test_a_dimension_beside_a_slice_of_one_element_stays() -> None:
    """As torch adds rows by their indices: they are expanded to the shape of the first row of what they are added to."""
    nodes = [
        helper.make_node("Slice", ["into", "zero", "one"], ["first"]),
        helper.make_node("Shape", ["first"], ["shape"]),
        helper.make_node("Expand", ["x", "shape"], ["y"]),
    ]
    inputs = {"into": (F, ["rows", 3]), "x": (F, ["some", 3])}
    given = model(nodes, inputs, ["y"], {"zero": np.array([0]), "one": np.array([1])})
    for some in (0, 1, 4):
        compare(given, into=np.zeros((2, 3), "float32"), x=np.ones((some, 3), "float32"))


@pytest.mark.parametrize("part", [2, 3, 4, 5])
@pytest.mark.parametrize(
    ("mode", "where"),
    [*RESIZES, ("linear", "asymmetric"), ("nearest", "half_pixel"), ("nearest", "tf_half_pixel_for_nn")],
)
def test_images_of_sizes_that_only_the_call_knows_become_a_whole_part(mode: str, where: str, part: int) -> None:
    if mode == "cubic":
        where = "half_pixel"
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=mode, coordinate_transformation_mode=where)
    given = model([node], {"x": (F, ["n", 2, "h", "w"])}, ["y"], {"s": np.float32([1, 1, 1 / part, 1 / part])})
    rng = np.random.default_rng(6)
    for rows, columns in ((7, 10), (12, 5), (2 * part - 1, 3 * part)):
        compare(given, x=rng.random((1, 2, rows, columns), "float32"))


@pytest.mark.long
@pytest.mark.parametrize("scales", [(1.7, 0.6), (0.5, 0.37), (2, 0.7)])
@pytest.mark.parametrize(
    ("mode", "where", "more"),
    [
        ("nearest", "asymmetric", {"nearest_mode": "floor"}),
        ("nearest", "half_pixel_symmetric", {}),
        ("linear", "half_pixel", {}),
        ("linear", "align_corners", {}),
        ("linear", "half_pixel", {"antialias": 1}),
        ("cubic", "pytorch_half_pixel", {"exclude_outside": 1}),
        ("cubic", "half_pixel", {}),
        ("cubic", "half_pixel", {"antialias": 1, "exclude_outside": 1, "cubic_coeff_a": -0.5}),
    ],
)
def test_images_are_resized_by_any_scale(mode: str, where: str, more: dict[str, Any], scales: Any) -> None:
    """Of sizes that are known, and of those that only the call knows."""
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=mode, coordinate_transformation_mode=where, **more)
    x = np.random.default_rng(6).random((1, 2, 7, 10), "float32")
    for shape in (["n", 2, "h", "w"], [1, 2, 7, 10]):
        given = model([node], {"x": (F, shape)}, ["y"], {"s": np.float32([1, 1, *scales])}, 19)
        module = compare(given, x=x)
    np.testing.assert_allclose(tirscript.build(module)(x), tirscript.interpret(module, x), 1e-5, 1e-5)


def test_integers_are_not_smoothed() -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", antialias=1)
    given = model([node], {"x": (TensorProto.UINT8, [1, 2, 8, 8])}, ["y"], {"s": np.float32([1, 1, 0.4, 0.4])}, 18)
    with pytest.raises(DiagnosticError, match="`antialias` of integers, or of the nearest elements, is not supported"):
        tirscript.from_onnx(given)


@pytest.mark.parametrize("padding", [0, 1])
def test_sizes_behind_strides_stay_known(padding: int) -> None:
    """What torch writes for the size of a convolution's result: `(n - 1) // 2 + 1` with a division towards zero."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[2], pads=[padding] * 2),
        helper.make_node("Shape", ["x"], ["n"], start=2),
        helper.make_node("Sub", ["n", "less"], ["rest"]),
        helper.make_node("Div", ["rest", "two"], ["half"]),
        helper.make_node("Add", ["half", "one"], ["size"]),
        helper.make_node("Concat", ["front", "size"], ["shape"], axis=0),
        helper.make_node("Reshape", ["c", "shape"], ["y"]),
    ]
    constants = {"less": [3 - 2 * padding], "two": [2], "one": [1], "front": [1, 2, 2]}
    kept = {**{name: np.array(one) for name, one in constants.items()}, "w": np.ones((4, 1, 3), "float32")}
    given = model(nodes, {"x": (F, [1, 1, "n"])}, ["y"], kept, 17)
    text = compare(given, x=np.arange(7, dtype="float32").reshape(1, 1, 7)).script()
    assert "match_cast" not in text and "T.max" not in text and "G.divide" not in text


@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_a_size_less_a_number_is_divided_towards_zero(length: int) -> None:
    """What is not known to be 0 or more stays a size, too."""
    nodes = [
        helper.make_node("Shape", ["x"], ["n"]),
        *[helper.make_node("Sub", ["n", name], [f"less_{name}"]) for name in ("one", "five")],
        *[helper.make_node("Div", [f"less_{name}", "two"], [f"half_{name}"]) for name in ("one", "five")],
        helper.make_node("Concat", ["half_one", "half_five"], ["y"], axis=0),
    ]
    constants = {name: np.array([one]) for name, one in {"one": 1, "five": 5, "two": 2}.items()}
    module = compare(model(nodes, {"x": (F, ["n"])}, ["y"], constants, 17), x=np.ones(length, "float32"))
    assert "G.divide" not in module.script()


def test_sizes_beside_one_that_is_computed_stay_known() -> None:
    """Without the sizes that are known, a slice of one column would be as wide as any."""
    nodes = [
        helper.make_node("ReduceMax", ["count"], ["most"], keepdims=1),
        helper.make_node("Concat", ["two", "most", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("Slice", ["r", "one", "two", "last"], ["column"]),
        helper.make_node("Mul", ["r", "column"], ["y"]),
    ]
    constants = {"two": [2], "rest": [3, 4], "one": [1], "last": [3]}
    kept = {name: np.array(one) for name, one in constants.items()}
    given = model(nodes, {"x": (F, ["n"]), "count": (TensorProto.INT64, ["k"])}, ["y"], kept, 17)
    for count in (1, 3):
        x = np.arange(24 * count, dtype="float32")
        compare(given, x=x, count=np.array([0, count]))


@pytest.mark.parametrize("op", ["Add", "Less", "Where", "Max"])
def test_a_slice_of_one_column_goes_with_all_columns(op: str) -> None:
    """As in `x < lengths[:, :1]` of torch, where the number of columns is not known."""
    nodes = [
        helper.make_node("Slice", ["x", "zero", "one", "one"], ["first"]),
        helper.make_node("Greater", ["x", "first"], ["more"]),
        helper.make_node(op, ["more", "first", "x"] if op == "Where" else ["first", "x"], ["y"]),
    ]
    given = model(nodes, {"x": (F, ["rows", "columns"])}, ["y"], {"zero": np.array([0]), "one": np.array([1])}, 17)
    for columns in (1, 4):
        compare(given, x=np.arange(2 * columns, dtype="float32").reshape(2, columns) - 3)


def test_a_place_that_is_kept_where_sizes_are_products() -> None:
    """`expand(b, -1, n * m)` as exporters write it: a size is -1 nowhere, were it a product of such as may be 0."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["small"], kernel_shape=[1, 1], strides=[2, 2]),
        helper.make_node("Shape", ["small"], ["sizes"]),
        *(helper.make_node("Gather", ["sizes", at], [name]) for name, at in (("rows", "two"), ("columns", "three"))),
        helper.make_node("Mul", ["rows", "columns"], ["places"]),
        helper.make_node("Concat", ["kept", "places"], ["wanted"], axis=0),
        helper.make_node("Equal", ["wanted", "kept"], ["same"]),
        helper.make_node("Where", ["same", "one", "wanted"], ["shape"]),
        helper.make_node("Expand", ["w", "shape"], ["y"]),
    ]
    constants = {"kept": np.array([-1]), "one": np.array([1]), "two": np.array([2]), "three": np.array([3])}
    inputs = {"x": (F, [1, 1, "h", "w"]), "w": (F, [3, 1])}
    made = compare(
        model(nodes, inputs, ["y"], constants), x=np.ones((1, 1, 5, 4), "float32"), w=np.ones((3, 1), "float32")
    )
    assert "match_cast" not in made.script()


def test_a_number_below_0_beside_a_size_is_a_tensor() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["size"]),
        helper.make_node("Concat", ["size", "kept"], ["both"], axis=0),
        helper.make_node("Mul", ["both", "times"], ["y"]),
    ]
    inputs = {"x": (F, ["n"]), "times": (TensorProto.INT64, [1])}
    compare(model(nodes, inputs, ["y"], {"kept": np.array([-1])}), x=np.ones(6, "float32"), times=np.array([3]))


def test_dimensions_that_layers_compute_at_length_get_names() -> None:
    """Each layer has the length of what is before it twice: written out, that of the last has thousands of terms."""
    nodes, last = [], "x"
    for at in range(9):
        parts = [
            helper.make_node("Slice", [last, "first", "most", "first", step], [f"{step}{at}"])
            for step in ("two", "three")
        ]
        nodes += [*parts, helper.make_node("Concat", [f"two{at}", f"three{at}"], [f"y{at}"], axis=0)]
        last = f"y{at}"
    names = {"first": 0, "most": 2**62, "two": 2, "three": 3}
    constants = {name: np.array([value]) for name, value in names.items()}
    given = model(nodes, {"x": (F, ["n"])}, [last], constants)
    for count in (1, 40):
        module = compare(given, x=np.arange(count, dtype="float32"))
    main: Any = module["main"]
    dimensions = [dim for node in walk(main) if type(node) is GraphVar for dim in getattr(node.type, "shape", ())]
    assert max(len(list(walk(dim))) for dim in dimensions) <= 2 * LONG
    assert len({dim for dim in dimensions if type(dim) is Var}) < 12  # what is computed alike has one name


@pytest.mark.parametrize("count_include_pad", [0, 1])
@pytest.mark.parametrize(
    ("kernel", "stride", "pads"),
    [(2, 2, (0, 0)), (2, 3, (0, 0)), (3, 2, (1, 1)), (2, 3, (1, 0)), (2, 3, (0, 1)), (3, 3, (1, 2))],
)
def test_windows_that_begin_behind_a_dimension_of_any_size_are_none(
    kernel: int, stride: int, pads: tuple[int, int], count_include_pad: int
) -> None:
    attrs = {"kernel_shape": [kernel], "strides": [stride], "pads": pads, "count_include_pad": count_include_pad}
    node = helper.make_node("AveragePool", ["x"], ["y"], ceil_mode=1, **attrs)
    given = model([node], {"x": (F, ["b", 2, "n"])}, ["y"], {}, 19)
    for size in (3, 5, 6, 7, 8):
        compare(given, x=np.random.default_rng(size).standard_normal((1, 2, size)).astype("float32"))
