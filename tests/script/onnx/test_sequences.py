"""Sequences of tensors whose lengths are known while the model is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper

import tirscript
from tirscript.ir import DiagnosticError

from .test_loops import B, F, I, N, compare, info, inner, model

X = np.arange(21, dtype="float32").reshape(7, 3)


def ints(*values: int) -> Any:
    return np.array(values, "int64")


@pytest.mark.parametrize(
    ("constants", "attrs", "new"),
    [
        ({"parts": np.array(3)}, {}, 0),
        ({"parts": ints(2, 5)}, {}, 0),
        ({"parts": ints(1, 0, 2)}, {"axis": -1}, 0),
        ({}, {"keepdims": 0}, 1),
        ({}, {"axis": 1}, 0),
    ],
    ids=["equal parts", "given parts", "an empty part", "elements", "columns"],
)
def test_a_tensor_is_split_and_put_together(constants: dict[str, Any], attrs: dict[str, Any], new: int) -> None:
    nodes = [
        N("SplitToSequence", ["x", *constants], ["s"], **attrs),
        N("SequenceLength", ["s"], ["n"]),
        N("SequenceAt", ["s", "last"], ["z"]),
        N("SequenceErase", ["s", "last"], ["rest"]),
        N("SequenceInsert", ["rest", "z", "first"], ["turned"]),
        N("ConcatFromSequence", ["turned"], ["y"], axis=0 if new else attrs.get("axis", 0), new_axis=new),
    ]
    outputs = [info("y"), info("z"), info("n", I)]
    given = model(nodes, [info("x", F, [7, 3])], outputs, 17, last=np.array(-1), first=np.array(0), **constants)
    compare(given, x=X)


@pytest.mark.parametrize("place", [7, -7, 3, None], ids=["behind the last", "first", "between", "no place"])
def test_places_of_what_is_inserted(place: int | None) -> None:
    constants = {} if place is None else {"place": np.array(place)}
    nodes = [
        N("SplitToSequence", ["x"], ["s"], keepdims=0),
        N("SequenceInsert", ["s", "w", *constants], ["more"]),
        N("ConcatFromSequence", ["more"], ["y"], axis=0, new_axis=1),
    ]
    given = model(nodes, [info("x", F, [7, 3]), info("w", F, [3])], [info("y")], 17, **constants)
    compare(given, x=X, w=-np.ones(3, "float32"))


def test_without_a_place_the_last_is_erased() -> None:
    nodes = [
        N("SplitToSequence", ["x"], ["s"], keepdims=0),
        N("SequenceErase", ["s"], ["rest"]),
        N("ConcatFromSequence", ["rest"], ["y"], axis=0, new_axis=1),
    ]
    given = model(nodes, [info("x", F, [7, 3])], [info("y")], 17)
    compare(given, x=X)


def test_a_list_grows_in_a_loop() -> None:
    """What a scripted `ys.append(...)` in a loop becomes, and `torch.stack(ys)` behind it."""
    body = inner(
        [N("Mul", ["h", "x"], ["next"]), N("SequenceInsert", ["ys", "next"], ["more"])],
        [info("i", I, []), info("going", B, []), info("h"), helper.make_tensor_sequence_value_info("ys", F, None)],
        [info("going", B), info("next"), helper.make_tensor_sequence_value_info("more", F, None)],
    )
    nodes = [
        N("SequenceEmpty", [], ["none"], dtype=F),
        N("Loop", ["rounds", "", "x", "none"], ["h", "ys"], body=body),
        N("ConcatFromSequence", ["ys"], ["y"], axis=1, new_axis=1),
    ]
    given = model(nodes, [info("x", F, ["n", 3])], [info("y"), info("h")], 17, rounds=np.array(3))
    compare(given, x=X / 9)


def test_sizes_in_a_sequence_stay_known() -> None:
    nodes = [
        N("Shape", ["x"], ["s"]),
        N("Gather", ["s", "zero"], ["n"]),
        N("SequenceConstruct", ["n", "three", "one"], ["sizes"]),
        N("ConcatFromSequence", ["sizes"], ["shape"], axis=0, new_axis=1),
        N("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = {"zero": np.array(0), "three": np.array(3), "one": np.array(1)}
    given = model(nodes, [info("x", F, ["n", 3])], [info("y")], 17, **constants)
    assert '("n", 3, 1)' in compare(given, x=X).script()


def test_each_tensor_of_a_sequence_is_mapped_and_given() -> None:
    body = inner([N("Exp", ["e"], ["f"])], [info("e")], [info("f")])
    nodes = [N("SequenceConstruct", ["x", "w"], ["s"]), N("SequenceMap", ["s"], ["y"], body=body)]
    outputs = [helper.make_tensor_sequence_value_info("y", F, None)]
    given = model(nodes, [info("x", F, [7, 3]), info("w", F, ["k"])], outputs, 17)
    feeds = {"x": X / 9, "w": np.ones(2, "float32")}
    (wanted,) = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    found = tirscript.build(tirscript.from_onnx(given))(*feeds.values())
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, 1e-6)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([N("SequenceAt", ["s", "i"], ["y"])], "the place in the sequence is not known before the model runs"),
        ([N("SequenceAt", ["s", "nine"], ["y"])], "place 9 is none of a sequence of 7"),
        ([N("SequenceAt", ["s", "seven"], ["y"])], "place 7 is none of a sequence of 7"),
        ([N("SequenceInsert", ["s", "x", "nine"], ["y"])], "place 9 is none of a sequence of 7"),
        ([N("Exp", ["s"], ["y"])], "`s` is a sequence of tensors, which is not supported here"),
        ([N("SequenceLength", ["x"], ["y"])], "`x` is no sequence of a known length"),
    ],
)
def test_what_of_sequences_is_not_supported(nodes: list[Any], words: str) -> None:
    inputs = [info("x", F, [7, 3]), info("i", I, [])]
    given = model(
        [N("SplitToSequence", ["x"], ["s"]), *nodes], inputs, [info("y")], 17, seven=np.array(7), nine=np.array(9)
    )
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(given)


def test_a_sequence_has_so_many_parts() -> None:
    """2**40 of them were counted out."""
    nodes = [N("SplitToSequence", ["x", "one"], ["s"]), N("SequenceLength", ["s"], ["y"])]
    given = model(nodes, [info("x", F, [1 << 40])], [info("y")], 17, one=np.array(1))
    with pytest.raises(DiagnosticError, match=r"it splits 1,099,511,627,776 into parts of 1"):
        tirscript.from_onnx(given)


# -- what may be missing


@pytest.mark.parametrize("there", [True, False])
def test_a_tensor_that_may_be_missing(there: bool) -> None:
    nodes = [
        N(
            "Optional",
            ["x"] if there else [],
            ["o"],
            **({} if there else {"type": helper.make_tensor_type_proto(F, [])}),
        ),
        N("OptionalHasElement", ["o"], ["has"]),
        N(
            "If",
            ["has"],
            ["y"],
            then_branch=inner([N("OptionalGetElement", ["o"], ["a"])], [], [info("a")]),
            else_branch=inner([N("Neg", ["x"], ["b"])], [], [info("b")]),
        ),
    ]
    module = tirscript.from_onnx(model(nodes, [info("x", F, [7, 3])], [info("y"), info("has", B)], 18))
    y, has = tirscript.interpret(module, X)
    assert bool(has) is there and y.tolist() == (X if there else -X).tolist()


@pytest.mark.parametrize(("values", "wanted"), [({}, X * 2), ({"o": None}, -X), ({"o": X * 3}, X * 3)])
def test_an_input_that_may_be_missing(values: dict[str, Any], wanted: Any) -> None:
    """It is given, unless the caller says that it is not, or what it is."""
    nodes = [
        N("OptionalHasElement", ["o"], ["has"]),
        N(
            "If",
            ["has"],
            ["y"],
            then_branch=inner([N("OptionalGetElement", ["o"], ["a"])], [], [info("a")]),
            else_branch=inner([N("Neg", ["x"], ["b"])], [], [info("b")]),
        ),
    ]
    optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(F, [7, 3]))
    inputs = [info("x", F, [7, 3]), helper.make_value_info("o", optional)]
    made = model(nodes, inputs, [info("y")], 18)
    module = tirscript.from_onnx(made, values=values)
    found = tirscript.interpret(module, X) if values else tirscript.interpret(module, X, X * 2)
    assert found.tolist() == wanted.tolist()
    with pytest.raises(DiagnosticError, match="`values` have None for the input `x`, which is not optional"):
        tirscript.from_onnx(made, values={"x": None})


def test_what_is_missing_is_not_read() -> None:
    nothing = N("Optional", [], ["o"], type=helper.make_tensor_type_proto(F, []))
    for node, words in (
        (N("OptionalGetElement", ["o"], ["y"]), "it gets what is not there"),
        (N("Neg", ["o"], ["y"]), "`o` is nothing"),
    ):
        with pytest.raises(DiagnosticError, match=words):
            tirscript.from_onnx(model([nothing, node], [info("x", F, [7, 3])], [info("y")], 18))
