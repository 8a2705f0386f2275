"""`If`: a branch that is known while the model is read, and one that is chosen when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tirscript
from tirscript.ir import DiagnosticError, Module
from tirscript.script import parse

from .test_importer import F, compare, model


def _branches(condition: str) -> Any:
    sides = [
        helper.make_graph([helper.make_node(op, ["x", "w"], [op])], op, [], [helper.make_tensor_value_info(op, F, [2])])
        for op in ("Add", "Mul")
    ]
    return helper.make_node("If", [condition], ["y"], name="choice", then_branch=sides[0], else_branch=sides[1])


@pytest.mark.parametrize("chosen", [True, False])
def test_a_branch_whose_condition_is_known_is_taken(chosen: bool) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Equal", ["s", "two"], ["c"]),
        _branches("c"),
    ]
    constants = {"two": np.array([2 if chosen else 3]), "w": np.array([3, 4], "float32")}
    module = tirscript.from_onnx(model(nodes, {"x": (F, [2])}, ["y"], constants))
    x = np.array([5, 6], "float32")
    np.testing.assert_array_equal(tirscript.interpret(module, x), x + [3, 4] if chosen else x * [3, 4])


def _both(then: list[Any], other: list[Any], outputs: list[str], **attrs: Any) -> Any:
    """An `If` of the input `c`, each branch of which gives its last nodes' outputs."""
    sides = [
        helper.make_graph(
            nodes, "side", [], [onnx.ValueInfoProto(name=node.output[0]) for node in nodes[-len(outputs) :]]
        )
        for nodes in (then, other)
    ]
    return helper.make_node("If", ["c"], outputs, name="choice", then_branch=sides[0], else_branch=sides[1], **attrs)


@pytest.mark.parametrize("shape", [[], [1]])
def test_a_branch_is_chosen_when_the_model_runs(shape: list[Any]) -> None:
    given = model(
        [_branches("c"), helper.make_node("Add", ["y", "w"], ["z"])],
        {"x": (F, [2]), "c": (TensorProto.BOOL, shape)},
        ["z"],
        {"w": np.array([3, 4], "float32")},
    )
    x = np.array([5, 6], "float32")
    for chosen in (True, False):
        module = compare(given, x=x, c=np.full(shape, chosen))
        wanted = (x + [3, 4] if chosen else x * [3, 4]) + [3, 4]
        assert tirscript.build(module)(x, np.full(shape, chosen)).tolist() == wanted.tolist()
    module = tirscript.from_onnx(given, values={"c": np.full(shape, True)})
    assert tirscript.interpret(module, x).tolist() == [11, 14]
    kept = tirscript.from_onnx(given, keep_params=True)
    assert tirscript.interpret(kept, x, np.full(shape, False), np.array([3, 4], "float32")).tolist() == [18, 28]


def test_branches_with_several_results_and_branches_inside() -> None:
    """What both use of a weight is theirs; what is known in one is not known behind it."""
    inner = _both([helper.make_node("Neg", ["a"], ["n"])], [helper.make_node("Identity", ["a"], ["i"])], ["d"])
    inner.input[0] = "e"
    then = [helper.make_node("Mul", ["x", "w"], ["a"]), inner, helper.make_node("Add", ["d", "w"], ["b"])]
    inputs = {"x": (F, ["n", 2]), "c": (TensorProto.BOOL, []), "e": (TensorProto.BOOL, [])}
    weights = {"w": np.full((1, 2), 3, "float32")}

    def made(last: Any) -> Any:
        nodes = [
            helper.make_node("Sqrt", ["x"], ["root"]),
            _both(then, [helper.make_node("Exp", ["x"], ["f"]), last], ["y", "z"]),
            helper.make_node("Sub", ["y", "root"], ["u"]),
            helper.make_node("Mul", ["z", "w"], ["v"]),
        ]
        return model(nodes, inputs, ["u", "v"], weights)

    given = made(helper.make_node("Add", ["x", "w"], ["g"]))
    x = np.random.default_rng(0).random((3, 2), "float32")
    module = tirscript.from_onnx(given)
    built = tirscript.build(module)
    for flags in ((True, True), (True, False), (False, True)):
        c, e = map(np.array, flags)
        compare(given, x=x, c=c, e=e)
        for one, other in zip(built(x, c, e), tirscript.interpret(module, x, c, e), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
    text = module.script()
    again = parse(text, constants=tirscript.ConstantStore(module))
    assert isinstance(again, Module) and again.script() == text
    # one line for both of the others: `z` is as long as that of the branch which is taken
    module = compare(made(helper.make_node("Identity", ["w"], ["g"])), x=x, c=np.array(False), e=c)
    assert tirscript.build(module)(x, np.array(False), e)[1].tolist() == [[9, 9]]


def test_branches_of_other_shapes_and_types() -> None:
    """Shapes may differ where nothing asks for them; types are refused, with a way out."""
    x = np.array([5, 6], "float32")
    sides = [helper.make_node("Concat", ["x", "x"], ["a"], axis=0)], [helper.make_node("Neg", ["x"], ["b"])]
    inputs = {"x": (F, [2]), "c": (TensorProto.BOOL, [])}
    for chosen in (True, False):
        compare(model([_both(*sides, ["y"])], inputs, ["y"], {}), x=x, c=np.array(chosen))
    cast = [helper.make_node("Cast", ["x"], ["k"], to=TensorProto.INT64)]
    with pytest.raises(DiagnosticError, match="its branches give float32 and int64 for `y`") as caught:
        tirscript.from_onnx(model([_both(sides[0], cast, ["y"])], inputs, ["y"], {}))
    assert "`choice`" in str(caught.value) and "values={'c': ...}" in str(caught.value)
