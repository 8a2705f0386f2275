"""Parts of graphs for other targets: neighbours joined, called by name, lowered by kinds of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.kinds import Calls, kinds, module
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import DiagnosticError, Module, Target, structural_equal
from tirscript.ir.graph import GraphFunc
from tirscript.ir.target_kinds import TARGET_KINDS, TargetKind
from tirscript.passes import get_pass
from tirscript.passes.graph import fuse_by_pattern, legalize_ops, merge_composite, run_codegen
from tirscript.passes.graph.patterns import is_op, wildcard

TEXT = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4, 8), "float32"), w: G.Tensor((8, 8), "float32"), v: G.Tensor((8, 8), "float32")):
        with G.dataflow():
            a = G.matmul(x, w)
            b = G.nn.relu(a)
            c = G.matmul(b, v)
            d = G.exp(c)
            e = G.matmul(d, v)
            y = G.add(e, c)
            G.output(y)
        return y
"""
TARGET = Target("test_npu -level=1")


@pytest.fixture
def calls() -> Iterator[Calls]:
    with kinds() as made:
        yield made


def arrays() -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape, dtype="float32") / 4 for shape in ((4, 8), (8, 8), (8, 8))]


def taken(text: str = TEXT, *names: str) -> Module:
    """The module whose operators of these names are composites for the target."""
    sides = {"matmul": 2, "add": 2}
    patterns = {f"test.{name}": is_op(name)(*(wildcard() for _ in range(sides.get(name, 1)))) for name in names}
    return fuse_by_pattern(module(text), patterns, attrs={"target": TARGET})


def agrees(made: Module, wanted: Any) -> None:
    again = tirscript.parse(made.script(constants="inline"))
    assert structural_equal(again, made)
    np.testing.assert_allclose(tirscript.interpret(again, *arrays()), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tirscript.build(again)(*arrays()), wanted, rtol=1e-5, atol=1e-6)


def test_neighbours_join_and_no_way_leads_out_and_back(calls: Calls) -> None:
    wanted = tirscript.interpret(module(TEXT), *arrays())
    made = taken(TEXT, "matmul", "nn.relu")
    agrees(made, wanted)
    merged = merge_composite(made)
    agrees(merged, wanted)
    groups = {one.name: one for one in merged.functions if "target" in one.attrs and "composite" not in one.attrs}
    # a, b and c are one; e needs d, which is computed on the host, and c, which others use too
    assert list(groups) == ["matmul_2_relu_matmul_1"]
    (group,) = groups.values()
    assert isinstance(group, GraphFunc) and group.attrs == {"target": TARGET} and len(group.params) == 3
    assert merge_composite(merged) is merged
    assert merge_composite(module(TEXT))["main"].script() == module(TEXT)["main"].script()


def test_what_it_looks_like(calls: Calls, golden: Any) -> None:
    golden.check(run_codegen(merge_composite(taken(TEXT, "matmul", "nn.relu"))))


def test_groups_for_different_targets_stay_apart(calls: Calls) -> None:
    made = taken(TEXT, "matmul", "nn.relu")
    other = Target("test_npu -level=2")
    functions = tuple(
        one.replace(attrs=type(one.attrs)({**one.attrs, "target": other})) if one.name == "relu" else one
        for one in made.functions
    )
    split = made.replace(functions=functions)
    assert merge_composite(split) is split
    calls.compiled.clear()
    agrees(split, tirscript.interpret(module(TEXT), *arrays()))
    assert {str(target.get("level")) for _, _, target in calls.compiled} == {"1", "2"}


def test_calls_go_by_name_and_the_functions_stay(calls: Calls) -> None:
    wanted = tirscript.interpret(module(TEXT), *arrays())
    made = run_codegen(merge_composite(taken(TEXT, "matmul", "nn.relu")))
    agrees(made, wanted)
    main = made["main"].script()
    assert 'G.call_dps_packed("test_npu.matmul_2_relu_matmul_1", (x, w, v)' in " ".join(main.split()).replace("( ", "(")
    assert 'call_dps_packed("test_npu.matmul"' in main and "G.exp" in main
    assert made["matmul_2_relu_matmul_1"].attrs["external"] == "test_npu.matmul_2_relu_matmul_1"
    assert run_codegen(made) is made
    calls.called.clear()
    tirscript.build(made)(*arrays())
    assert calls.called == ["matmul_2_relu_matmul_1", "matmul"]


def test_what_is_called_by_name_is_left_alone_by_all_that_follows(calls: Calls) -> None:
    made = run_codegen(taken(TEXT, "matmul"))
    outside = {one.name: one for one in made.functions if "external" in one.attrs}
    assert len(outside) == 3
    found = legalize_ops(made)
    for name, one in outside.items():
        assert any(other is one or structural_equal(other.replace(name=name), one) for other in found.functions)
    assert {"exp", "relu", "add"} <= {one.name for one in found.functions}
    assert get_pass("dead_code_elimination")(found) is found


def test_a_public_function_for_a_target_can_still_be_called(calls: Calls) -> None:
    text = TEXT.replace("    def main(", "    def main(", 1).replace(
        "        with G.dataflow():",
        '        G.func_attr({"target": T.target("test_npu")})\n        with G.dataflow():',
        1,
    )
    wanted = tirscript.interpret(module(TEXT), *arrays())
    made = run_codegen(module(text))
    assert [(one.name, one.private) for one in made.functions] == [("main", False), ("main_test_npu", True)]  # type: ignore[union-attr]
    agrees(made, wanted)
    agrees(module(text), wanted)
    assert calls.called and set(calls.called) == {"main_test_npu"}


@pytest.mark.parametrize("attr", ['"codegen": "test_npu"', '"Codegen": "test_npu"', '"target": "test_npu"'])
def test_targets_as_attributes_say_them(calls: Calls, attr: str) -> None:
    text = TEXT.replace("        with G.dataflow():", f"        G.func_attr({{{attr}}})\n        with G.dataflow():", 1)
    made = run_codegen(module(text))
    assert made["main_test_npu"].attrs == {"target": Target("test_npu"), "external": "test_npu.main_test_npu"}


def test_tuples_are_several_results(calls: Calls) -> None:
    text = """
@I.ir_module
class M:
    @G.graph_func(private=True)
    def both(x: G.Tensor(("n", 4), "float32")):
        G.func_attr({"target": T.target("test_npu")})
        with G.dataflow():
            a = G.exp(x)
            b = G.sum(x, axis=[0])
            G.output(a, b)
        return (a, b)

    @G.graph_func
    def main(x: G.Tensor(("m", 4), "float32")):
        with G.dataflow():
            p = M.both(x)
            y = G.add(p[0], p[1])
            G.output(y)
        return y
"""
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    wanted = np.exp(x) + x.sum(axis=0)
    for made in (module(text), run_codegen(module(text))):
        np.testing.assert_allclose(tirscript.interpret(made, x), wanted, rtol=1e-6)
        np.testing.assert_allclose(tirscript.build(made)(x), wanted, rtol=1e-6)
    assert calls.called == ["both", "both"]


def told(run: Any, *args: Any) -> str:
    with pytest.raises(DiagnosticError) as info:
        run(*args)
    return f"{info.value.diagnostics[0].code} {info.value.diagnostics[0].message}"


def test_what_a_target_cannot_take(calls: Calls) -> None:
    marked = TEXT.replace(
        "        with G.dataflow():",
        '        G.func_attr({"target": T.target("test_npu -levle=1")})\n        with G.dataflow():',
        1,
    )
    assert told(run_codegen, module(marked)) == "T404 the target `test_npu` has no option `levle`"
    unknown = marked.replace("test_npu -levle=1", "nowhere")
    assert told(tirscript.build, module(unknown)) == "T402 there is no kind of target `nowhere`"
    shape = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4,), "float32"), n: G.Prim("int64")):
        G.func_attr({"target": T.target("test_npu")})
        return x
"""
    assert told(run_codegen, module(shape)) == "T402 `n` of `main`, which is for `test_npu`, is no tensor"
    assert told(
        run_codegen, module(shape.replace('n: G.Prim("int64")', "").replace("return x", "return (x, (x,))"))
    ) == ("T402 the result of `main`, which is for `test_npu`, is no tensor of a known shape and dtype")
    lone = tirscript.parse("@T.prim_func\ndef f(A: T.Buffer((4,), 'int8')):\n    A[0] = T.int8(1)\n")
    with pytest.raises(DiagnosticError, match=r"T402.*`test_npu` does not compile tensor functions"):
        tirscript.build(lone, target="test_npu")


def test_a_kind_lowers_its_functions_itself(calls: Calls) -> None:
    seen: list[list[str]] = []

    def lower(part: Module, target: Target) -> Module:
        """Every `exp` of this target is twice its argument."""
        seen.append([one.name for one in part.functions])
        text = part.script().replace("G.exp(x)", "G.add(x, x)")
        return module(text)

    TARGET_KINDS["test_own"] = TargetKind("test_own", "Its own.", graph_to_tir=lower, tir_to_runtime=calls.tensors)
    try:
        text = """
@I.ir_module
class M:
    @G.graph_func(private=True)
    def grow(x: G.Tensor((4,), "float32")):
        G.func_attr({"target": T.target("test_own")})
        with G.dataflow():
            y = G.exp(x)
            G.output(y)
        return y

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        with G.dataflow():
            a = M.grow(x)
            b = G.nn.relu(a)
            G.output(b)
        return b
"""
        x = np.array([-1, 0, 1, 2], "float32")
        assert tirscript.build(module(text))(x).tolist() == [0, 0, 2, 4]
        assert seen == [["grow"]] and calls.compiled[0][0] == "tensors" and calls.called == ["grow"]
        TARGET_KINDS["test_own"] = TargetKind("test_own", "Its own.", graph_to_tir=lambda part, target: None)
        assert told(run_codegen, module(text)) == "T402 `graph_to_tir` of `test_own` made NoneType of a module"
        TARGET_KINDS["test_own"] = TargetKind(
            "test_own", "Its own.", graph_to_tir=lambda part, target: part.replace(functions=())
        )
        assert told(run_codegen, module(text)) == "T402 `graph_to_tir` of `test_own` lost the function `grow`"
    finally:
        TARGET_KINDS.pop("test_own")


@settings(max_examples=10, deadline=None, database=None)
@given(st.sets(st.sampled_from(["matmul", "nn.relu", "exp", "add"])))
def test_whatever_is_taken_the_result_is_the_same(names: set[str]) -> None:
    with kinds():
        wanted = tirscript.interpret(module(TEXT), *arrays())
        made = taken(TEXT, *sorted(names))
        for step in (merge_composite, run_codegen):
            made = step(made)
            np.testing.assert_allclose(tirscript.interpret(made, *arrays()), wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(tirscript.build(made)(*arrays()), wanted, rtol=1e-5, atol=1e-6)
