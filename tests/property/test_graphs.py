"""Random graphs: as text they come back, each pass keeps their result, and native code gives it too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Const, Expr, Module, PrimFunc, differences, walk
from tirscript.ir.graph import GraphFunc, TensorType
from tirscript.ir.verify import verify
from tirscript.passes import Sequential
from tirscript.passes.graph import GRAPH_LOWERING, bind_symbolic_vars, fuse_by_pattern, to_mixed_precision
from tirscript.passes.graph.patterns import is_op, wildcard
from tirscript.script import parse
from tirscript.testing import graphs

CASES = settings().max_examples
FEW = settings(max_examples=max(1, CASES * 2 // 5))
PATTERNS = (
    is_op("nn.relu")(wildcard()),
    is_op("add")(is_op("multiply")(wildcard(), wildcard()), wildcard()),
    is_op("matmul")(wildcard(), wildcard()) | is_op("abs")(wildcard()),
    is_op("clip")(is_op("nn.relu")(wildcard())),
)
# what may stand anywhere before kernels are fused, any number of times
ANYWHERE = (
    *("decompose_for_inference", "fold_graph_constant", "dead_code_elimination", "legalize_ops", "annotate_pattern"),
    *(
        "canonicalize_bindings",
        "common_graph_subexpression",
        "legalize_ops{only=add}",
        "legalize_ops{skip=nn.relu}",
        "lambda_lift",
        "rewrite_reshape",
        "convert_layout",
        "inline_graph_functions",
        "convert_layout{kernel_layout=OHWI,out_layout=NCHW}",
        "pattern",
    ),
)
REST = (
    *("legalize_ops", "fuse_ops", "fuse_tir", "rewrite_reshape", "dead_code_elimination", "lambda_lift"),
    *("graph_to_tensor", "inline_private_functions"),
)


def leaves(value: Any) -> list[Any]:
    """The arrays of a result."""
    return [leaf for field in value for leaf in leaves(field)] if isinstance(value, (tuple, list)) else [value]


def assert_close(found: Any, expected: Any) -> None:
    """The arrays of two results are the same up to rounding; types and shapes are the same."""
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=2e-3)
        else:
            np.testing.assert_array_equal(one, other)


def result(module: Module, inputs: Sequence[Any], expected: Any) -> Any:
    """What `main` gives, which writes its results when it is a tensor function."""
    if not isinstance(module["main"], PrimFunc):
        return tirscript.interpret(module, *inputs)
    outs = [np.zeros(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves(expected)]
    tirscript.interpret(module, *leaves(tuple(inputs)), *outs)
    return outs


def assert_program(module: Module) -> None:
    """It is well formed, and comes back from its text."""
    assert [str(found) for found in verify(module)] == []
    text = module.script()
    again = parse(text)
    assert [str(found) for found in differences(module, again)] == []
    assert again.script() == text


def assert_kept(module: Module, inputs: Sequence[Any], steps: Sequence[str], choose: Any = None) -> None:
    """Every pass leaves a program that gives what the first one does."""
    expected = tirscript.interpret(module, *inputs)
    for step in steps:
        before = module
        if step == "pattern":
            module = fuse_by_pattern(module, {"my.pattern": choose(st.sampled_from(PATTERNS))})
        else:
            module = Sequential.parse(step)(module)
        if module is not before:
            note(f"after {step}:\n{module.script()}")
            assert_program(module)
            assert_close(result(module, inputs, expected), expected)


@FEW
@given(graphs())
def test_graphs_are_well_formed_and_come_back_from_their_text(drawn: tuple[Module, list[Any]]) -> None:
    note(drawn[0].script())
    assert_program(drawn[0])


@pytest.mark.long
@FEW
@given(graphs())
def test_each_pass_of_the_lowering_keeps_the_result(drawn: tuple[Module, list[Any]]) -> None:
    module, inputs = drawn
    note(module.script())
    assert_kept(module, inputs, [entry.name for entry in GRAPH_LOWERING])


@pytest.mark.long
@FEW
@given(graphs(), st.lists(st.sampled_from(ANYWHERE), max_size=6), st.data())
def test_passes_in_other_orders_keep_the_result(drawn: tuple[Module, list[Any]], first: list[str], data: Any) -> None:
    module, inputs = drawn
    note(module.script())
    last = data.draw(st.permutations(("write_in_place", "static_memory_plan", "share_functions")))
    assert_kept(module, inputs, [*first, *REST, *last], data.draw)


@FEW
@given(graphs(), st.sampled_from(("float16", "bfloat16")))
def test_narrow_floats_leave_a_program_of_the_same_types(drawn: tuple[Module, list[Any]], narrow: str) -> None:
    module, inputs = drawn
    made = to_mixed_precision(module, dtype=narrow)
    note(made.script())
    assert_program(made)
    expected, found = tirscript.interpret(module, *inputs), tirscript.interpret(made, *inputs)
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        assert (np.asarray(one).dtype, np.shape(one)) == (np.asarray(other).dtype, np.shape(other))


@FEW
@given(graphs(operators=8))
def test_numbers_for_symbolic_dimensions_keep_the_result(drawn: tuple[Module, list[Any]]) -> None:
    module, inputs = drawn
    main = module["main"]
    assert isinstance(main, GraphFunc)
    sizes: dict[Expr, int] = {}
    for param, given_array in zip(main.params, inputs, strict=True):
        if isinstance(param.type, TensorType):
            sizes.update(zip(param.type.shape or (), given_array.shape, strict=True))
    bound = bind_symbolic_vars(module, {var.name: sizes[var] for var in main.symbols if var in sizes})
    note(bound.script())
    assert_program(bound)
    now = bound["main"]
    assert isinstance(now, GraphFunc)
    tensors = [param.type for param in now.params if isinstance(param.type, TensorType)]
    assert all(type(dim) is Const for kind in tensors for dim in kind.shape or ())
    assert_close(tirscript.interpret(bound, *inputs), tirscript.interpret(module, *inputs))


@FEW
@given(graphs())
def test_native_code_gives_what_the_interpreter_gives(drawn: tuple[Module, list[Any]]) -> None:
    module, inputs = drawn
    note(module.script())
    assert_close(tirscript.build(module)(*inputs), tirscript.interpret(module, *inputs))


def test_a_difference_would_be_seen() -> None:
    one = np.array([1], np.float32)
    assert_close((one, (np.array(2),)), [one + 0.0001, np.array(2)])
    for other in (one + 0.1, one.astype(np.float64), one.reshape(1, 1)):
        with pytest.raises(AssertionError):
            assert_close(one, other)


def test_graphs_hold_what_they_promise() -> None:
    """Each kind of operator, function and statement occurs among some hundred of them."""
    seen: set[str] = set()

    @settings(max_examples=300, database=None, suppress_health_check=(), deadline=None)
    @given(graphs())
    def look(drawn: tuple[Module, list[Any]]) -> None:
        for node in walk(drawn[0]):
            seen.add(getattr(getattr(node, "op", None), "name", type(node).__name__))

    wanted = {"GraphIf", "MatchCast", "FunctionCall", "TupleItem", "GraphConst", "call_tir", "nn.conv2d", "matmul"}
    wanted |= {"nn.softmax", "nn.layer_norm", "nn.max_pool2d", "where", "concat", "split", "permute_dims", "sum"}
    wanted |= {"GraphFunc", "CallableType", "PrimType", "ShapeType", "call_tir_inplace", "call_dps_packed"}
    for number in range(5):  # the rarest of them is not in every 300
        seed(number)(look)()
        if wanted <= seen:
            break
    assert wanted <= seen
