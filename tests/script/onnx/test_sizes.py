"""What models compute of shapes and small integers, and the dimensions that they leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import tirscript
from tirscript.ir import DiagnosticError, Module
from tirscript.script import parse

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


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (5, "`shapes` have 5 for the input `x`, which is no list of dimensions"),
        ("ab", "`shapes` have 'ab' for the input `x`, which is no list of dimensions"),
        ((2.5, 3), "`shapes` have 2.5 in that of the input `x`"),
        ((2,), "`shapes` have 1 axes for the input `x`, which has 2"),
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
