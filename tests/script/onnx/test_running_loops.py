"""Loops and scans whose number of rounds is known only when the model runs, against onnxruntime."""

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


def graph(nodes: list[Any], inputs: list[Any], outputs: list[str], **constants: Any) -> Any:
    kept = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    kinds = {"on": B, "places": I}
    return helper.make_graph(nodes, "graph", inputs, [info(name, kinds.get(name, F)) for name in outputs], kept)


def model(nodes: list[Any], inputs: list[Any], outputs: list[str], **constants: Any) -> onnx.ModelProto:
    made = helper.make_model(graph(nodes, inputs, outputs, **constants))
    made.opset_import[0].version = 21
    made.ir_version = 10
    return made


class Compared:
    """A model as ours and onnxruntime's. Its text stands for it, too."""

    def __init__(self, given: onnx.ModelProto) -> None:
        self.module = tirscript.from_onnx(given)
        for dialect in ("tirscript", "tvm"):
            assert structural_equal(parse(self.module.script(dialect=dialect)), self.module)
        self.built = tirscript.build(self.module)
        self.session = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])

    def run(self, *, interpreted: bool = True, **feeds: Any) -> None:
        wanted = self.session.run(None, feeds)
        ways = [self.built(*feeds.values())]
        if interpreted:
            ways.append(tirscript.interpret(self.module, *feeds.values()))
        for found in ways:
            for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
                assert one.dtype == other.dtype
                if not other.size:  # onnxruntime gives nothing the shape (0,) where it does not know another
                    other = other.reshape(one.shape)
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def rows(count: int, width: int = 3) -> Any:
    return np.linspace(-1, 1, count * width, dtype="float32").reshape(count, width)


SCANNED = [N("Mul", ["s", "v"], ["p"]), N("Add", ["p", "v"], ["next"]), N("Neg", ["p"], ["seen"])]


@pytest.mark.parametrize(("axis", "backward", "out_axis", "out_backward"), [(0, 0, 0, 0), (1, 1, 1, 0), (-1, 0, 0, 1)])
def test_a_scan_over_as_many_elements_as_there_are(axis: int, backward: int, out_axis: int, out_backward: int) -> None:
    scan = N(
        "Scan",
        ["start", "x"],
        ["y", "all"],
        body=graph(SCANNED, [info("s", F, [3]), info("v", F, [3])], ["next", "seen"]),
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[backward],
        scan_output_axes=[out_axis],
        scan_output_directions=[out_backward],
    )
    shape = ["rows", 3] if axis == 0 else [3, "rows"]
    both = Compared(model([scan], [info("x", F, shape)], ["y", "all"], start=np.ones(3, "float32")))
    for count in (1, 2, 3, 8, 21):
        both.run(x=np.ascontiguousarray(rows(count) if axis == 0 else rows(count).T))


def test_a_scan_that_carries_nothing() -> None:
    """As the distances between all rows are exported: each row of one against all of another."""
    nodes = [
        N("Sub", ["w", "v"], ["apart"]),
        N("ReduceSumSquare", ["apart", "last"], ["sums"], keepdims=0),
        N("Sqrt", ["sums"], ["seen"]),
    ]
    body = graph(nodes, [info("v", F, [3])], ["seen"], last=np.array([1]))
    scan = N("Scan", ["x"], ["far"], body=body, num_scan_inputs=1)
    best = N("TopK", ["far", "two"], ["least", "places"], largest=0)
    inputs = [info("x", F, ["n", 3]), info("w", F, ["m", 3])]
    both = Compared(model([scan, best], inputs, ["least", "places"], two=np.array([2])))
    for count in (1, 5):
        both.run(x=rows(count) + np.float32(0.3), w=rows(7))
    both.run(interpreted=False, x=rows(3000), w=rows(7))


def test_a_scan_over_several_tensors_checks_that_they_are_as_long() -> None:
    nodes = [N("Mul", ["a", "b"], ["p"]), N("Add", ["s", "p"], ["next"]), N("Identity", ["next"], ["seen"])]
    body = graph(nodes, [info("s", F, []), info("a", F, []), info("b", F, [])], ["next", "seen"])
    scan = N("Scan", ["start", "x", "w"], ["y", "all"], body=body, num_scan_inputs=2)
    inputs = [info("x", F, ["n"]), info("w", F, ["m"])]
    both = Compared(model([scan], inputs, ["y", "all"], start=np.float32(1)))
    both.run(x=rows(2)[0], w=rows(2)[1])
    with pytest.raises(AssertionError, match="expected `n`"):
        both.built(rows(2)[0], rows(4).reshape(-1))
    inputs = [info("x", F, ["n"]), info("w", F, [4])]
    Compared(model([scan], inputs, ["y", "all"], start=np.float32(1))).run(
        x=np.ones(4, "float32"), w=np.ones(4, "float32")
    )
    inputs = [info("x", F, [3]), info("w", F, [4])]
    with pytest.raises(DiagnosticError, match=r"it goes over \(3,\) and \(4,\) elements"):
        tirscript.from_onnx(model([scan], inputs, ["y", "all"], start=np.float32(1)))


def counted(limit: str, first: str = "", until: float | None = None) -> list[Any]:
    """y = x, then y = y / 2 + i in each round; both are gathered, and the number of the round."""
    nodes = [
        N("Cast", ["i"], ["number"], to=F),
        N("Mul", ["sum", "half"], ["less"]),
        N("Add", ["less", "number"], ["next"]),
        N("Add", ["next", "x"], ["kept"]),
    ]
    if until is None:
        nodes.append(N("Identity", ["going"], ["on"]))
    else:
        nodes += [N("ReduceMax", ["next"], ["most"], keepdims=0), N("Less", ["most", "until"], ["on"])]
    inputs = [info("i", I, []), info("going", B, []), info("sum", F, None)]
    body = graph(nodes, inputs, ["on", "next", "kept", "number"], half=np.float32(0.5), until=np.float32(until or 0))
    return [N("Loop", [limit, first, "x"], ["y", "all", "numbers"], body=body)]


RESULTS = ["y", "all", "numbers"]
LIMIT = info("limit", I, [])


def test_a_loop_gathers_in_as_many_rounds_as_it_is_told() -> None:
    both = Compared(model(counted("limit"), [LIMIT, info("x", F, ["n", 3])], RESULTS))
    for limit in (0, 1, 2, 5, 16, -3):
        both.run(limit=np.array(limit), x=rows(2))
    both.run(interpreted=False, limit=np.array(2500), x=rows(2))


def test_a_loop_gathers_as_many_parts_as_a_tensor_has_rows() -> None:
    nodes = [N("Shape", ["x"], ["sizes"], end=1), N("Squeeze", ["sizes"], ["limit"])]
    both = Compared(model([*nodes, *counted("limit")], [info("x", F, ["n", 3])], RESULTS))
    for count in (1, 2, 7):
        both.run(x=rows(count))


@pytest.mark.parametrize("limited", [True, False])
def test_a_loop_gathers_until_a_round_ends_it(limited: bool) -> None:
    inputs = [*([LIMIT] if limited else []), info("first", B, []), info("x", F, ["n", 3])]
    both = Compared(model(counted("limit" if limited else "", "first", 4.5), inputs, RESULTS))
    for first in (True, False):
        for limit in (0, 1, 4, 100) if limited else (1,):
            feeds: dict[str, Any] = {"limit": np.array(limit)} if limited else {}
            both.run(**feeds, first=np.array(first), x=rows(2))


@pytest.mark.parametrize("rounds", [0, 600])
def test_a_loop_of_no_rounds_or_of_many(rounds: int) -> None:
    both = Compared(model(counted("limit"), [info("x", F, [2, 3])], RESULTS, limit=np.int64(rounds)))
    both.run(interpreted=rounds == 0, x=rows(2))


def test_more_rounds_than_calls_may_be_deep() -> None:
    nodes = [N("Add", ["a", "one"], ["next"]), N("Less", ["next", "x"], ["on"])]
    body = graph(nodes, [info("i", I, []), info("going", B, []), info("a", F, [])], ["on", "next"], one=np.float32(1))
    loop = N("Loop", ["", "", "zero"], ["y"], body=body)
    both = Compared(model([loop], [info("x", F, [])], ["y"], zero=np.float32(0)))
    both.run(interpreted=False, x=np.array(50_000, "float32"))


def test_a_scan_in_a_loop() -> None:
    """The inner rounds gather in each of the outer ones, whose number is known when the model runs."""
    scanned = graph(SCANNED, [info("s", F, [3]), info("v", F, [3])], ["next", "seen"])
    scan = N("Scan", ["start", "sum"], ["last", "seen_all"], body=scanned, num_scan_inputs=1)
    nodes = [N("Identity", ["going"], ["on"]), scan, N("Add", ["seen_all", "last"], ["more"])]
    inputs = [info("i", I, []), info("going", B, []), info("sum", F, ["n", 3])]
    body = graph(nodes, inputs, ["on", "more", "last"], start=np.ones(3, "float32"))
    loop = N("Loop", ["limit", "", "x"], ["y", "lasts"], body=body)
    both = Compared(model([loop], [LIMIT, info("x", F, ["n", 3])], ["y", "lasts"]))
    for limit, count in ((0, 2), (1, 1), (3, 4)):
        both.run(limit=np.array(limit), x=rows(count))


def test_a_dimension_that_no_tensor_in_the_rounds_has() -> None:
    """The rounds compute with a size of what is around them."""
    nodes = [
        N("Shape", ["x"], ["sizes"], end=1),
        N("Cast", ["sizes"], ["size"], to=F),
        N("Add", ["s", "size"], ["next"]),
        N("Identity", ["going"], ["on"]),
    ]
    body = graph(nodes, [info("i", I, []), info("going", B, []), info("s", F, [1])], ["on", "next", "next"])
    loop = N("Loop", ["limit", "", "start"], ["y", "all"], body=body)
    inputs = [LIMIT, info("x", F, ["n", 3])]
    both = Compared(model([loop], inputs, ["y", "all"], start=np.ones(1, "float32")))
    both.run(limit=np.array(3), x=rows(5))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("until", [False, True])
def test_a_tensor_that_grows(axis: int, until: bool) -> None:
    """As a scripted loop has it that concatenates what it has with what a round gives."""
    nodes = [
        N("Cast", ["i"], ["number"], to=F),
        N("Add", ["x", "number"], ["piece"]),
        N("Concat", ["had", "piece"], ["has"], axis=axis),
        N("ReduceMax", ["piece"], ["most"], keepdims=0),
        N("Less", ["most", "until"], ["on"]) if until else N("Identity", ["going"], ["on"]),
        N("Add", ["s", "most"], ["next"]),
    ]
    inputs = [info("i", I, []), info("going", B, []), info("had", F, None), info("s", F, [])]
    body = graph(nodes, inputs, ["on", "has", "next", "most"], until=np.float32(4.5))
    loop = N("Loop", ["limit", "", "x", "zero"], ["y", "last", "all"], body=body)
    both = Compared(model([loop], [LIMIT, info("x", F, ["n", 3])], ["y", "last", "all"], zero=np.float32(0)))
    for limit in (0, 1, 2, 9):
        both.run(limit=np.array(limit), x=rows(2))


@pytest.mark.parametrize("step", [None, N("Cast", ["had"], ["same"], to=F), N("Identity", ["had"], ["same"])])
def test_a_tensor_that_grows_from_nothing(step: Any) -> None:
    nodes = [
        N("Gather", ["x", "i"], ["line"]),
        N("Unsqueeze", ["line", "axis"], ["piece"]),
        *([] if step is None else [step]),
        N("Concat", ["had" if step is None else "same", "piece"], ["has"], axis=0),
        N("Identity", ["going"], ["on"]),
    ]
    inputs = [info("i", I, []), info("going", B, []), info("had", F, None)]
    body = graph(nodes, inputs, ["on", "has"], axis=np.array([0]))
    around = [N("Shape", ["x"], ["sizes"], end=1), N("Squeeze", ["sizes"], ["limit"])]
    loop = N("Loop", ["limit", "", "nothing"], ["y"], body=body)
    nothing = np.zeros((0, 3), "float32")
    both = Compared(model([*around, loop], [info("x", F, ["n", 3])], ["y"], nothing=nothing))
    for count in (1, 2, 5):
        both.run(x=rows(count))


def listing(*behind: Any) -> list[Any]:
    """A loop that makes a list longer in each round, and nodes behind it."""
    nodes = [
        N("Cast", ["i"], ["number"], to=F),
        N("Add", ["x", "number"], ["piece"]),
        N("SequenceInsert", ["had", "piece"], ["has"]),
        N("Identity", ["going"], ["on"]),
    ]
    sequence = helper.make_tensor_sequence_value_info
    inputs = [info("i", I, []), info("going", B, []), sequence("had", F, None)]
    body = helper.make_graph(nodes, "body", inputs, [info("on", B, []), sequence("has", F, None)])
    return [N("SequenceEmpty", [], ["none"]), N("Loop", ["limit", "", "none"], ["list"], body=body), *behind]


@pytest.mark.parametrize(("axis", "new"), [(0, 0), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1)])
def test_a_list_that_grows(axis: int, new: int) -> None:
    nodes = listing(
        N("ConcatFromSequence", ["list"], ["y"], axis=axis, new_axis=new),
        N("SequenceLength", ["list"], ["places"]),
        N("SequenceAt", ["list", "last"], ["z"]),
        N("SequenceAt", ["list", "at"], ["w"]),
    )
    inputs = [LIMIT, info("at", I, []), info("x", F, ["n", 3])]
    both = Compared(model(nodes, inputs, ["y", "places", "z", "w"], last=np.array(-1)))
    for limit, at in ((1, 0), (2, -2), (5, 3)):
        both.run(limit=np.array(limit), at=np.array(at), x=rows(2))


def test_lists_that_are_not_read() -> None:
    inputs = [LIMIT, info("x", F, ["n", 3])]
    with pytest.raises(DiagnosticError, match="`list` is a sequence whose length is known only when the model runs"):
        tirscript.from_onnx(model(listing(), inputs, ["list"]))
    with pytest.raises(DiagnosticError, match="`list` is no sequence of a known length"):
        tirscript.from_onnx(model(listing(N("SequenceErase", ["list"], ["y"])), inputs, ["y"]))
    nodes = listing()
    nodes[0] = N("SequenceConstruct", ["x"], ["none"])
    with pytest.raises(DiagnosticError, match="`none` grows in it, and is no empty sequence before"):
        tirscript.from_onnx(model(nodes, inputs, ["list"]))


def test_pieces_whose_shape_each_round_computes_are_refused() -> None:
    nodes = [N("Identity", ["going"], ["on"]), N("NonZero", ["sum"], ["places"])]
    body = graph(nodes, [info("i", I, []), info("going", B, []), info("sum", F, [2, 3])], ["on", "sum", "places"])
    loop = N("Loop", ["limit", "", "x"], ["y", "all"], body=body)
    with pytest.raises(DiagnosticError, match="it gathers tensors whose shape each round computes"):
        tirscript.from_onnx(model([loop], [LIMIT, info("x", F, [2, 3])], ["y", "all"]))
