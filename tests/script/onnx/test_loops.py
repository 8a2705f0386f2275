"""Models with graphs inside nodes: loops whose rounds are known are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import tirscript
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import parse

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
N = helper.make_node


def info(name: str, kind: int = F, shape: Any = None) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def inner(nodes: list[Any], inputs: list[Any], outputs: list[Any], **constants: Any) -> Any:
    kept = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    return helper.make_graph(nodes, "inner", inputs, outputs, kept)


def model(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], opset: int = 21, **constants: Any
) -> onnx.ModelProto:
    made = helper.make_model(inner(nodes, inputs, outputs, **constants), opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 10
    return made


def compare(given: onnx.ModelProto, **feeds: Any) -> tirscript.Module:
    """Ours, by both dialects and native, and onnxruntime give the same."""
    module = tirscript.from_onnx(given)
    assert structural_equal(parse(module.script()), module)
    wanted = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    for found in (tirscript.interpret(module, *feeds.values()), tirscript.build(module)(*feeds.values())):
        for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return module


X = np.arange(6, dtype="float32").reshape(2, 3) / 4
LOOP_INPUTS = [info("i", I, []), info("going", B, []), info("sum", F, [2, 3])]


def counted(rounds: Any, *, until: int | None = None, first: Any = None) -> onnx.ModelProto:
    """y = x, then y = y * y + i in each round; the sums are gathered, and the number of the round."""
    nodes = [
        N("Cast", ["i"], ["number"], to=F),
        N("Mul", ["sum", "sum"], ["square"]),
        N("Add", ["square", "number"], ["next"]),
        N("Add", ["next", "x"], ["kept"]),
        N("Identity", ["going"], ["on"]) if until is None else N("Less", ["i", "until"], ["on"]),
    ]
    outputs = [info("on", B, []), info("next", F, [2, 3]), info("kept", F, [2, 3]), info("number", F, [])]
    body = inner(nodes, LOOP_INPUTS, outputs, until=np.int64(until or 0))
    names = ["limit" if rounds is not None else "", "first" if first is not None else "", "x"]
    constants = {"limit": np.int64(rounds or 0), "first": np.asarray(bool(first))}
    return model(
        [N("Loop", names, ["y", "all", "numbers"], body=body)],
        [info("x", F, [2, 3])],
        [info("y"), info("all"), info("numbers")],
        **constants,
    )


def test_as_many_rounds_as_a_tensor_has_rows() -> None:
    nodes = [N("Shape", ["x"], ["sizes"]), N("Gather", ["sizes", "zero"], ["limit"], axis=0)]
    given = counted(None)
    loop = given.graph.node[0]
    loop.input[0] = "limit"
    made = model([*nodes, loop], list(given.graph.input), list(given.graph.output), zero=np.int64(0))
    assert str(compare(made, x=X)).count("G.multiply") == 2


@pytest.mark.parametrize(
    ("rounds", "until", "first"), [(3, None, None), (1, None, True), (9, 2, True), (None, 1, None)]
)
def test_a_loop_is_written_out(rounds: Any, until: Any, first: Any) -> None:
    compare(counted(rounds, until=until, first=first), x=X)


def test_what_a_round_gives_replaces_what_the_last_one_gave() -> None:
    # `state` is a number that is known in one round, and a tensor in the next; `part` is known, then it is not
    nodes = [
        N("Identity", ["going"], ["on"]),
        N("Add", ["state", "one"], ["more"]),
        N("Identity", ["other"], ["new"]),
        N("Identity", ["more"], ["old"]),
    ]
    inputs = [info("i", I, []), info("going", B, []), info("state", F, []), info("other", F, [])]
    outputs = [info("on", B, []), info("new", F, []), info("old", F, []), info("more", F, [])]
    body = inner(nodes, inputs, outputs, one=np.float32(1))
    given = model(
        [N("Loop", ["limit", "", "start", "x"], ["a", "b", "c"], body=body)],
        [info("x", F, [])],
        [info("a"), info("b"), info("c")],
        limit=np.int64(5),
        start=np.float32(10),
    )
    compare(given, x=np.array(0.5, "float32"))


def test_a_loop_in_a_loop_with_a_branch() -> None:
    deep = inner(
        [N("Identity", ["c2"], ["on2"]), N("Add", ["s2", "x"], ["n2"])],
        [info("j", I, []), info("c2", B, []), info("s2", F, [2, 3])],
        [info("on2", B, []), info("n2", F, [2, 3])],
    )
    even = inner([N("Neg", ["inside"], ["t"])], [], [info("t")])
    odd = inner([N("Loop", ["two", "", "inside"], ["e"], body=deep)], [], [info("e")])
    body = inner(
        [
            N("Identity", ["going"], ["on"]),
            N("Mod", ["i", "two"], ["rest"]),
            N("Equal", ["rest", "zero"], ["is_even"]),
            N("Exp", ["sum"], ["inside"]),
            N("If", ["is_even"], ["next"], then_branch=even, else_branch=odd),
        ],
        LOOP_INPUTS,
        [info("on", B, []), info("next", F, [2, 3])],
    )
    given = model(
        [N("Loop", ["limit", "", "x"], ["y"], body=body)],
        [info("x", F, [2, 3])],
        [info("y")],
        limit=np.int64(3),
        two=np.int64(2),
        zero=np.int64(0),
    )
    compare(given, x=X)


@pytest.mark.parametrize(("axis", "backward", "out_axis", "out_backward"), [(0, 0, 0, 0), (1, 1, 1, 0), (-1, 0, 0, 1)])
def test_a_scan_is_written_out(axis: int, backward: int, out_axis: int, out_backward: int) -> None:
    size = 3 if axis == 0 else 2
    nodes = [N("Mul", ["s", "v"], ["p"]), N("Add", ["p", "v"], ["next"]), N("Neg", ["p"], ["seen"])]
    body = inner(
        nodes, [info("s", F, [size]), info("v", F, [size])], [info("next", F, [size]), info("seen", F, [size])]
    )
    scan = N(
        "Scan",
        ["start", "x"],
        ["y", "all"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[backward],
        scan_output_axes=[out_axis],
        scan_output_directions=[out_backward],
    )
    given = model([scan], [info("x", F, [2, 3])], [info("y"), info("all")], start=np.ones(size, "float32"))
    compare(given, x=X)


def test_nobody_asks_the_last_round_for_more() -> None:
    """A condition that only the model knows does not matter where the limit ends the loop."""
    body = inner(
        [
            N("ReduceMax", ["sum"], ["most"], keepdims=0),
            N("Less", ["most", "bound"], ["on"]),
            N("Neg", ["sum"], ["next"]),
        ],
        LOOP_INPUTS,
        [info("on", B, []), info("next", F, [2, 3])],
    )
    loop = N("Loop", ["limit", "", "x"], ["y"], body=body)
    bound = np.asarray(1, "float32")
    compare(model([loop], [info("x", F, [2, 3])], [info("y")], limit=np.asarray(1, "int64"), bound=bound), x=X)
    given = model([loop], [info("x", F, [2, 3])], [info("y")], limit=np.asarray(2, "int64"), bound=bound)
    module = compare(given, x=X)  # the second round depends on what the first one gives
    assert [one.name for one in module.functions] == ["loop", "main"]


def test_graphs_beside_each_other_may_have_the_same_names() -> None:
    """As the standard has it: what one graph gives is not seen behind its node."""

    def constant(value: float) -> Any:
        return N("Constant", [], ["c"], value=numpy_helper.from_array(np.full(3, value, "float32")))

    kept = inner([N("Identity", ["x"], ["r"])], [], [info("r")])
    sides = [
        inner([constant(2), N("Mul", ["x", "c"], ["r"])], [], [info("r")]),
        inner([N("Mul", ["x", "x"], ["c"]), N("Sub", ["x", "c"], ["r"])], [], [info("r")]),
        inner([constant(7), N("Add", ["x", "c"], ["r"])], [], [info("r")]),
        inner([N("Add", ["x", "w"], ["r"])], [], [info("r")], w=np.float32([3, 4, 5])),
        inner([N("Add", ["x", "w"], ["r"])], [], [info("r")], w=np.float32([9, 8, 7])),
    ]
    nodes = [
        N("If", ["yes"], [f"part{at}"], then_branch=side, else_branch=kept) for at, side in enumerate([*sides, kept])
    ]
    nodes.append(N("Concat", [f"part{at}" for at in range(6)], ["y"], axis=0))
    compare(model(nodes, [info("x", F, [2, 3])], [info("y")], yes=np.array(True)), x=X)

    nodes = []
    for name, before, added in (("a", "x", [1, 2, 3]), ("y", "a", [5, 6, 7])):
        body = inner(
            [N("Identity", ["going"], ["on"]), N("Add", ["sum", "w"], ["next"])],
            LOOP_INPUTS,
            [info("on", B, []), info("next", F, [2, 3])],
            w=np.float32(added),
        )
        nodes.append(N("Loop", ["limit", "", before], [name], body=body))
    compare(model(nodes, [info("x", F, [2, 3])], [info("y")], limit=np.int64(3)), x=X)


def test_names_inside_a_graph_are_not_known_behind_it() -> None:
    side = inner([N("Neg", ["x"], ["n"])], [], [info("n", F, [2, 3])])
    nodes = [N("If", ["yes"], ["a"], then_branch=side, else_branch=side), N("Add", ["a", "n"], ["y"])]
    with pytest.raises(DiagnosticError, match="the model uses `n` before anything gives it"):
        tirscript.from_onnx(model(nodes, [info("x", F, [2, 3])], [info("y")], yes=np.array(True)))


@pytest.mark.parametrize("known", [True, False])
def test_branches_give_as_many_values_as_the_node(known: bool) -> None:
    side = inner([N("Neg", ["x"], ["n"])], [], [info("n", F, [2, 3])])
    node = N("If", ["c"], ["y", "z"], then_branch=side, else_branch=side)
    inputs, constants = [info("x", F, [2, 3])], {"c": np.array(True)} if known else {}
    given = model([node], inputs if known else [*inputs, info("c", B, [])], [info("y")], **constants)
    with pytest.raises(DiagnosticError, match="a branch gives 1 value for 2 outputs"):
        tirscript.from_onnx(given)


def test_loops_that_grow_are_refused() -> None:
    inputs = [info("x", F, [2, 3]), info("limit", I, [])]
    grown = inner(
        [N("Identity", ["going"], ["on"]), N("Concat", ["sum", "sum"], ["next"], axis=0)],
        LOOP_INPUTS,
        [info("on", B, []), info("next", F, None)],
    )
    given = model([N("Loop", ["limit", "", "x"], ["y"], body=grown)], inputs, [info("y")])
    with pytest.raises(DiagnosticError, match=r"`x` is float32 \(2, 3\) at first, and \(4, 3\) behind a round"):
        tirscript.from_onnx(given)


def test_no_rounds_give_what_the_loop_began_with() -> None:
    body = inner(
        [N("Identity", ["going"], ["on"]), N("Neg", ["sum"], ["next"])],
        LOOP_INPUTS,
        [info("on", B, []), info("next", F, [2, 3])],
    )
    given = model(
        [N("Loop", ["limit", "", "x"], ["y"], body=body)], [info("x", F, [2, 3])], [info("y")], limit=np.int64(0)
    )
    compare(given, x=X)


# -- models that are wrong in themselves


def relu(output: str = "y", source: str = "x") -> Any:
    return N("Relu", [source], [output])


@pytest.mark.parametrize(
    ("nodes", "inputs", "outputs", "message"),
    [
        ([relu(), relu()], ["x"], ["y"], "the model gives `y` twice"),
        ([relu("x", "z")], ["x", "z"], ["x"], "the model gives `x` twice"),
        ([relu()], ["x", "x"], ["y"], "the model has two inputs `x`"),
        ([relu()], ["x"], [], "the model has no output"),
        ([N("Softmax", ["x"], ["y"], axis="one")], ["x"], ["y"], "its attribute `axis` is of the kind int, not string"),
        ([N("Transpose", ["x"], ["y"], perm=1.5)], ["x"], ["y"], "its attribute `perm` is of the kind ints, not float"),
        ([N("PRelu", ["x", "x", "x"], ["y"])], ["x"], ["y"], "it has 3 inputs, not at most 2"),
        ([N("PRelu", ["x"], ["y"])], ["x"], ["y"], "it has 1 input, not at least 2"),
        ([N("Add", ["", "x"], ["y"])], ["x"], ["y"], "its input 0 is missing"),
        ([N("Shape", [], ["y"])], ["x"], ["y"], "it has no input"),
        ([N("Relu", ["x"], [])], ["x"], ["x"], "it has no output"),
        ([N("Relu", ["x"], ["y", "z"])], ["x"], ["y"], "it has 2 outputs, not at most 1"),
        ([N("Concat", ["x"], ["y"])], ["x"], ["y"], "its attribute `axis` is missing"),
        ([N("Loop", ["", "x"], ["y"])], ["x"], ["y"], "its attribute `body` is missing"),
        (
            [N("BitShift", ["x", "x"], ["y"], direction=[1])],
            ["x"],
            ["y"],
            "its attribute `direction` is of the kind string, not ints",
        ),
        ([N("MaxPool", ["x"], ["y"], kernel_shape=[2])], ["w"], ["y"], "uses `x` before anything gives it"),
        (
            [N("AveragePool", ["w"], ["y"], kernel_shape=[2], strides=[1, 1])],
            ["w"],
            ["y"],
            "its attribute `strides` has 2 numbers, not 1",
        ),
        ([N("Conv", ["w", "x"], ["y"])], ["w", "x"], ["y"], "its input must have 3 dimensions, not 2"),
        ([N("Conv", ["w", "w", "x"], ["y"])], ["w", "x"], ["y"], "its input must have 1 dimension, not 2"),
        ([N("Conv", ["w", "w"], ["y"], pads=[1])], ["w"], ["y"], "its attribute `pads` has 1 numbers, not 2"),
        ([N("GridSample", ["x", "x"], ["y"], mode="best")], ["x"], ["y"], "sampling by `best` is not supported"),
        (
            [N("GroupNormalization", ["w", "a", "a"], ["y"], num_groups=0)],
            ["w", "a"],
            ["y"],
            r"`y` \(GroupNormalization\): its inputs and attributes do not fit: ZeroDivisionError",
        ),
        (
            [N("QuickGelu", ["x"], ["y"], alpha=[1.5], domain="com.microsoft")],
            ["x"],
            ["y"],
            r"its attribute `alpha` is \[1\.5\], which is no number",
        ),
        ([N("Trilu", ["a"], ["y"])], ["a"], ["y"], "its input must have 2 dimensions or more, not 1"),
        ([N("Slice", ["x", "none", "one"], ["y"])], ["x"], ["y"], "it has 0 starts, 1 ends, 0 axes and 0 steps"),
        ([N("Range", ["none", "one", "one"], ["y"])], ["x"], ["y"], "its input 0 has 0 elements, not 1"),
        ([N("TopK", ["x", "none"], ["y", "z"])], ["x"], ["y"], "its input 1 has 0 elements, not 1"),
        ([N("OneHot", ["one", "one", "one"], ["y"])], ["x"], ["y"], r"its values have the shape \(1,\), not \(2,\)"),
        ([N("SpaceToDepth", ["x"], ["y"], blocksize=2)], ["x"], ["y"], "its input must have 4 dimensions, not 2"),
        ([N("LSTM", ["x", "x", "x"], ["y"], hidden_size=2)], ["x"], ["y"], "its input must have 3 dimensions, not 2"),
        (
            [N("GroupQueryAttention", ["x"] * 7, ["y"], num_heads=1, kv_num_heads=1, domain="com.microsoft")],
            ["x"],
            ["y"],
            "its input must have 3 dimensions, not 2",
        ),
        (
            [N("MultiHeadAttention", ["x", "x", "x"], ["y"], domain="com.microsoft")],
            ["x"],
            ["y"],
            "its attribute `num_heads` is missing",
        ),
    ],
)
def test_wrong_models_are_refused(nodes: list[Any], inputs: list[str], outputs: list[str], message: str) -> None:
    shapes = {"a": [3], "w": [2, 3, 3]}
    values = [info(name, F, shapes.get(name, [2, 3])) for name in inputs]
    # GroupNormalization has a scale for each group before version 21
    given = model(nodes, values, [info(name) for name in outputs], 20, none=np.zeros(0, "int64"), one=np.array([1]))
    with pytest.raises(DiagnosticError, match=message):
        tirscript.from_onnx(given)


@pytest.mark.parametrize(
    ("kind", "attributes", "inputs", "outputs", "message"),
    [
        ("Loop", {}, [], ["on"], "the graph in it has 0 inputs, and a round needs 3"),
        ("Loop", {}, ["number", "going", "sum"], ["on"], "the graph in it has 1 outputs, and a round needs 2"),
        ("Scan", {"num_scan_inputs": 4}, ["sum"], ["on"], "it goes over 4 of its 3 inputs"),
        ("Scan", {"num_scan_inputs": 0}, ["sum"], ["on"], "it goes over 0 of its 3 inputs"),
        ("Scan", {"num_scan_inputs": 1}, ["sum"], ["on"], "the graph in it has 1 inputs, and a round needs 3"),
        ("Scan", {"num_scan_inputs": 1, "scan_input_axes": [0, 1]}, [], [], "`scan_input_axes` has 2 numbers, not 1"),
    ],
)
def test_graphs_in_nodes_that_do_not_fit_are_refused(
    kind: str, attributes: dict[str, Any], inputs: list[str], outputs: list[str], message: str
) -> None:
    body = inner([N("Identity", ["x"], ["on"])], [info(name) for name in inputs], [info(name) for name in outputs])
    first = ["limit", ""] if kind == "Loop" else ["x", "x"]
    node = N(kind, [*first, "x"], ["y"], body=body, **attributes)
    given = model([node], [info("x", F, [2, 3])], [info("y")], limit=np.int64(2))
    with pytest.raises(DiagnosticError, match=message):
        tirscript.from_onnx(given)


@pytest.mark.parametrize("constant", [True, False])
def test_the_condition_of_a_choice_is_one(constant: bool) -> None:
    side = inner([N("Neg", ["x"], ["n"])], [], [info("n", F, [2, 3])])
    node = N("If", ["c"], ["y"], then_branch=side, else_branch=side, name="choice")
    inputs = [info("x", F, [2, 3]), *([] if constant else [info("c", B, [2])])]
    with pytest.raises(DiagnosticError, match="its condition has 2 elements"):
        tirscript.from_onnx(model([node], inputs, [info("y")], **({"c": np.ones(2, bool)} if constant else {})))


def test_the_condition_of_a_choice_is_bool() -> None:
    side = inner([N("Neg", ["x"], ["n"])], [], [info("n", F, [2, 3])])
    node = N("If", ["c"], ["y"], then_branch=side, else_branch=side)
    given = model([node], [info("x", F, [2, 3]), info("c", F, [])], [info("y")])
    with pytest.raises(DiagnosticError, match="its condition is float32, not bool"):
        tirscript.from_onnx(given)


def test_branches_give_tensors_of_other_shapes() -> None:
    """As detectors have them: nothing where there is nothing, and else the places that are kept."""
    nothing = inner(
        [N("Constant", [], ["none"], value=numpy_helper.from_array(np.zeros(0, "int64")))], [], [info("none")]
    )
    kept = [N("NonZero", ["x"], ["places"]), N("Gather", ["places", "last"], ["kept"], axis=0)]
    choice = N("If", ["c"], ["y"], then_branch=nothing, else_branch=inner(kept, [], [info("kept")]))
    nodes = [choice, N("Slice", ["y", "first", "most"], ["few"]), N("Gather", ["w", "few"], ["z"])]
    inputs, weights = [info("x", F, [2, 3]), info("c", B, [])], np.float32([3, 4, 5])
    given = model(nodes, inputs, [info("z")], last=np.int64(1), first=np.array([0]), most=np.array([2]), w=weights)
    module = tirscript.from_onnx(given)
    built = tirscript.build(module)
    x = np.array([[0, 7, 0], [8, 0, 9]], "float32")
    for c, wanted in ((True, []), (False, [4, 3])):
        assert tirscript.interpret(module, x, np.array(c)).tolist() == built(x, np.array(c)).tolist() == wanted


def test_a_file_of_weights_that_is_too_short(tmp_path: Any) -> None:
    given = model([N("Add", ["x", "w"], ["y"])], [info("x", F, [2, 3])], [info("y")], w=X)
    path = tmp_path / "model.onnx"
    onnx.save_model(given, path, save_as_external_data=True, location="weights", size_threshold=0)
    assert tirscript.interpret(tirscript.from_onnx(path), X).tolist() == (X + X).tolist()
    (tmp_path / "weights").write_bytes(b"\0" * 5)
    with pytest.raises(DiagnosticError, match="the model cannot be read"):
        tirscript.from_onnx(path)
    with pytest.raises(DiagnosticError, match=r"the model cannot be read: .*nowhere\.onnx: no such file or directory"):
        tirscript.from_onnx(tmp_path / "nowhere.onnx")


# -- shapes that are known at the call


def test_weights_in_a_file_are_not_found_from_bytes(tmp_path: Any) -> None:
    given = model([N("Add", ["x", "w"], ["y"])], [info("x", F, [2, 3])], [info("y")], w=X)
    onnx.save(given, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    with pytest.raises(DiagnosticError, match=r"the data of `w` cannot be read.*(.|\n)*found by the path of the model"):
        tirscript.from_onnx((tmp_path / "m.onnx").read_bytes())


def test_a_slice_whose_end_is_computed_of_the_shape() -> None:
    nodes = [
        N("Shape", ["x"], ["s"], end=1),
        N("Sub", ["s", "one"], ["end"]),
        N("Slice", ["x", "zero", "end"], ["y"]),
    ]
    given = model(nodes, [info("x", F, ["rows", 3])], [info("y")], one=np.array([1]), zero=np.array([0]))
    for rows in (1, 2, 5):
        compare(given, x=np.arange(3 * rows, dtype="float32").reshape(rows, 3))


@pytest.mark.parametrize(
    ("pads", "mode"),
    [([0, -1, 1, 2], "constant"), ([-1, 1, 0, -2], "edge"), ([1, 2, 0, 3], "wrap"), ([-1, 1, 1, 0], "wrap")],
)
def test_pads_that_cut_or_wrap(pads: list[int], mode: str) -> None:
    given = model([N("Pad", ["x", "pads"], ["y"], mode=mode)], [info("x", F, [2, 3])], [info("y")], pads=np.array(pads))
    compare(given, x=X)


def test_pads_that_cut_more_than_there_is() -> None:
    given = model([N("Pad", ["x", "p"], ["y"])], [info("x", F, [2, 3])], [info("y")], p=np.array([-2, 0, -1, 0]))
    with pytest.raises(DiagnosticError, match="it takes 3 of the 2 elements of axis 0"):
        tirscript.from_onnx(given)
    far = model(
        [N("Pad", ["x", "p"], ["y"], mode="wrap")], [info("x", F, [2, 3])], [info("y")], p=np.array([3, 0, 0, 0])
    )
    with pytest.raises(DiagnosticError, match="by more than there may be"):
        tirscript.from_onnx(far)


def test_images_of_any_number_in_other_sizes() -> None:
    x = np.arange(24, dtype="float32").reshape(2, 2, 2, 3)
    for inputs, constants, attrs in (
        (["x", "", "scales"], {"scales": np.array([1, 1, 2, 3], "float32")}, {"mode": "linear"}),
        (["x", "", "", "sizes"], {"sizes": np.array([5, 4])}, {"mode": "linear", "axes": [2, -1]}),
        (["x", "", "scales"], {"scales": np.array([3, 2], "float32")}, {"mode": "nearest", "axes": [3, 2]}),
    ):
        given = model([N("Resize", inputs, ["y"], **attrs)], [info("x", F, ["n", 2, 2, 3])], [info("y")], **constants)
        compare(given, x=x)
    wrong = model(
        [N("Resize", ["x", "", "", "s"], ["y"])], [info("x", F, [1, 1, 2, 3])], [info("y")], s=np.array([5, 4])
    )
    with pytest.raises(DiagnosticError, match="2 sizes for 4 axes"):
        tirscript.from_onnx(wrong)


@pytest.mark.parametrize("rounds", [0, 1, 3, 50])
def test_rounds_that_are_known_when_the_model_runs(rounds: int) -> None:
    body = inner(
        [
            N("Mul", ["sum", "w"], ["scaled"]),
            N("Tanh", ["scaled"], ["small"]),
            N("Add", ["small", "x"], ["next"]),
            N("ReduceSum", ["next"], ["all"], keepdims=0),
            N("Less", ["all", "bound"], ["on"]),
        ],
        [info("i", I, []), info("going", B, []), info("sum", F, ["n", 3])],
        [info("on", B, []), info("next", F, ["n", 3])],
        bound=np.float32(9),
    )
    inputs = [info("limit", I, []), info("x", F, ["n", 3]), info("w", F, [3])]
    given = model([N("Loop", ["limit", "", "x"], ["y"], body=body)], inputs, [info("y", F, ["n", 3])])
    compare(given, limit=np.asarray(rounds), x=X, w=np.array([0.5, 1, 2], "float32"))


def test_a_condition_that_only_the_rounds_decide() -> None:
    body = inner(
        [
            N("Mod", ["a", "two"], ["rest"]),
            N("Equal", ["rest", "none"], ["even"]),
            N("Div", ["a", "two"], ["half"]),
            N("Mul", ["a", "three"], ["more"]),
            N("Add", ["more", "one"], ["odd"]),
            N("Where", ["even", "half", "odd"], ["next"]),
            N("Add", ["steps", "one"], ["counted"]),
            N("Greater", ["next", "one"], ["on"]),
        ],
        [info("i", I, []), info("going", B, []), info("a", I, []), info("steps", I, [])],
        [info("on", B, []), info("next", I, []), info("counted", I, [])],
        **{name: np.asarray(value) for name, value in {"none": 0, "one": 1, "two": 2, "three": 3}.items()},
    )
    loop = N("Loop", ["", "", "start", "zero"], ["last", "steps"], body=body)
    outputs = [info("last", I, []), info("steps", I, [])]
    compare(model([loop], [info("start", I, [])], outputs, zero=np.asarray(0)), start=np.asarray(27))
