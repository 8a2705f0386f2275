"""Which function is for which target, and how one calls over to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.kinds import Calls, function, kinds, module

import tirscript
from tirscript.ir import DiagnosticError, Module, Target, structural_equal
from tirscript.passes import PassContext, Sequential, get_pass, module_pass, prim_func_pass
from tirscript.passes.pipeline import PASSES
from tirscript.passes.targets import own_target, target_of

DSP = Target("test_dsp")
TEXT = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
        M.grow(A, B)
        M.step(B, C)

    @T.prim_func
    def grow(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        T.func_attr({"target": "dsp"})
        for i in range(8):
            B[i] = A[i] * 3
        M.shared(B)
        M.own(B)

    @T.prim_func
    def step(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = A[i] - 1
        M.shared(B)

    @T.prim_func(private=True)
    def shared(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = A[i] * 2

    @T.prim_func(private=True)
    def own(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = A[i] + 7
"""
COMPOSITE = Target.composite(host="llvm", dsp="test_dsp", other="test_dsp -level=2")


@pytest.fixture
def calls() -> Iterator[Calls]:
    with kinds() as made:
        yield made


def placed(text: str = TEXT, passes: str = "bind_targets,split_targets") -> Module:
    with COMPOSITE:
        made = Sequential.parse(passes)(module(text))
    assert structural_equal(tirscript.parse(made.script()), made)
    return made


def results(run: Any) -> list[list[int]]:
    arrays = [np.arange(8, dtype="int32") + at for at in range(3)]
    run(*arrays)
    return [array.tolist() for array in arrays]


def told(run: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(DiagnosticError) as info:
        run(*args, **options)
    (found,) = info.value.diagnostics
    assert found.span is not None
    return f"{found.code} {found.message} | {found.hint}"


def test_functions_that_only_one_target_calls_are_for_it_and_others_are_copied() -> None:
    made = placed(passes="bind_targets")
    targets = {one.name: one.attrs.get("target") for one in made.functions}
    assert targets == {"main": None, "grow": DSP, "step": None, "shared": None, "shared_test_dsp": DSP, "own": DSP}
    assert "shared_test_dsp(B)" in made["grow"].script()
    assert "shared(B)" in made["step"].script() and "shared_test_dsp" not in made["step"].script()
    assert results(lambda *args: tirscript.interpret(made, *args)) == results(
        lambda *args: tirscript.interpret(module(TEXT), *args)
    )
    inlined = get_pass("inline_private_functions")(made)
    assert "shared" not in inlined and {"own", "shared_test_dsp"} <= {one.name for one in inlined.functions}
    with COMPOSITE:
        assert get_pass("bind_targets")(made) is made


def test_what_it_looks_like(golden: Any) -> None:
    golden.check(placed())


def test_a_module_without_targets_is_left_alone() -> None:
    plain = module(TEXT.replace('        T.func_attr({"target": "dsp"})\n', ""))
    assert get_pass("bind_targets")(plain) is plain and get_pass("split_targets")(plain) is plain


def test_calls_of_another_target_go_by_name(calls: Calls) -> None:
    made = placed()
    external = {one.name: one.attrs.get("external") for one in made.functions}
    assert external == {
        "main": None,
        "grow": "test_dsp.grow",
        "step": None,
        "shared": None,
        "shared_test_dsp": "test_dsp.shared_test_dsp",
        "own": "test_dsp.own",
    }
    assert 'T.call_packed("test_dsp.grow", A.data, B.data)' in made["main"].script()
    assert "call_packed" not in made["grow"].script() + made["step"].script()
    with COMPOSITE:
        assert get_pass("split_targets")(made) is made
    wanted = results(lambda *args: tirscript.interpret(module(TEXT), *args))
    assert results(lambda *args: tirscript.interpret(made, *args)) == wanted
    assert results(tirscript.build(made)) == wanted and calls.called == ["grow"]
    assert [(what, sorted(names)) for what, names, _ in calls.compiled] == [
        ("tensors", ["grow", "own", "shared_test_dsp"])
    ]


def test_functions_for_one_kind_with_other_options_are_apart(calls: Calls) -> None:
    text = TEXT.replace(
        "        for i in range(8):\n            B[i] = A[i] - 1",
        '        T.func_attr({"target": "other"})\n        for i in range(8):\n            B[i] = A[i] - 1',
    )
    made = placed(text)
    assert [one.name for one in made.functions if one.attrs.get("target") == Target("test_dsp -level=2")] == [
        "step",
        "shared_test_dsp",
    ]
    wanted = results(lambda *args: tirscript.interpret(module(TEXT), *args))
    assert results(tirscript.build(made)) == wanted and sorted(calls.called) == ["grow", "step"]
    assert [target for _, _, target in calls.compiled] == [DSP, Target("test_dsp -level=2")]


def test_options_of_processors_do_not_split() -> None:
    text = TEXT.replace('"dsp"', 'T.target("llvm -mcpu=x86-64")')
    made = module(text)
    assert get_pass("split_targets")(made) is made


def test_what_cannot_be_called_over_there() -> None:
    part = TEXT.replace("M.grow(A, B)", "M.grow(A[0:8], B)")
    assert told(placed, part).startswith("T402 a part of `A` is passed to `grow`, which is for another target | pass")
    back = TEXT.replace("        M.own(B)", "        M.step(B, B)").replace("def own", "def unused")
    assert told(placed, back, passes="split_targets").startswith(
        "T402 `grow` is for `test_dsp` and calls `shared`, which is for the host | give `shared` the same target"
    )
    value = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        A[0] = M.one(A)

    @T.prim_func
    def one(A: T.Buffer((8,), "float32")) -> T.float32:
        T.func_attr({"target": "dsp"})
        return A[1]
"""
    assert told(placed, value).startswith("T402 `one` returns float32, which is for another target | let it write")


def test_passes_read_the_function_then_the_module_then_what_is_around() -> None:
    seen: dict[str, Any] = {}

    @prim_func_pass(name="test_look")
    def look(func: Any) -> Any:
        """Becomes itself."""
        seen[func.name] = target_of(func)
        return func

    try:
        text = TEXT.replace(
            "@I.ir_module\nclass M:",
            '@I.ir_module\nclass M:\n    I.module_attrs({"target": T.target("llvm -mcpu=x")})\n',
        )
        look(module(TEXT.replace('"dsp"', '"test_dsp"')))
        assert seen == {"main": None, "grow": DSP, "step": None, "shared": None, "own": None}
        with Target("llvm -num-cores=3") as around:
            look(module(TEXT.replace('"dsp"', '"test_dsp"')))
            assert seen["grow"] == DSP and seen["main"] is around
            look(function(module(TEXT), "step"))
            assert seen["step"] is around
            look(module(text))
            assert seen["main"] == Target("llvm -mcpu=x") and seen["grow"].kind == "dsp"
        with COMPOSITE:
            look(module(TEXT))
            assert seen["main"] == Target("llvm") and seen["grow"] == DSP
            assert target_of(function(module(TEXT), "grow")) == DSP
        assert target_of(function(module(text), "main"), module(text)) == Target("llvm -mcpu=x")
    finally:
        PASSES.pop("test_look")


@pytest.mark.parametrize("said", ['"host"', 'T.target("llvm -num-cores=1")'])
def test_a_module_with_a_target_of_its_own_in_a_composite(calls: Calls, said: str) -> None:
    """Its functions may name the others of the composite, and once they are bound nothing names any."""
    text = TEXT.replace("@I.ir_module\nclass M:", f'@I.ir_module\nclass M:\n    I.module_attrs({{"target": {said}}})\n')
    whole = module(text)
    with COMPOSITE:
        bound = get_pass("bind_targets")(whole)
    again = tirscript.parse(bound.script())
    assert isinstance(again, Module) and isinstance(own_target(again), Target)
    assert again["grow"].attrs["target"] == DSP
    for made in (tirscript.build(whole, target=COMPOSITE), tirscript.build(again)):
        A, B, C = np.arange(8, dtype="int32"), np.zeros(8, "int32"), np.zeros(8, "int32")
        made(A, B, C)
        assert (B == A * 6 + 7).all() and (C == (B - 1) * 2).all()


def test_names_of_targets_and_what_is_none() -> None:
    grow = function(module(TEXT), "grow")
    assert own_target(grow, COMPOSITE) == DSP and own_target(grow) == Target("dsp")
    codegen = grow.replace(attrs=type(grow.attrs)({"Codegen": "test_npu"}))
    assert own_target(codegen) == Target("test_npu")
    wrong = grow.replace(attrs=type(grow.attrs)({"target": "dpp"}))
    assert told(own_target, wrong, COMPOSITE) == "T402 the composite target has no target `dpp` | did you mean `dsp`?"
    broken = grow.replace(attrs=type(grow.attrs)({"target": 3}))
    assert told(own_target, broken).startswith("T402 no target: ")


def test_other_passes_leave_functions_of_other_targets_alone(calls: Calls) -> None:
    made = placed()
    lowered = Sequential.parse("inline_private_functions,simplify,default_cpu")(made)
    for name in ("grow", "own", "shared_test_dsp"):
        assert lowered[name] is made[name]
    assert "shared" not in lowered and "shared" in made
    with PassContext(verify=True):
        assert results(tirscript.build(made)) == results(tirscript.build(lowered))


def test_a_name_that_a_pass_takes_is_given_up_by_the_function_outside(calls: Calls) -> None:
    made = placed()

    @module_pass(name="test_take")
    def take(given: Module) -> Module:
        """`shared` becomes `own`."""
        assert "own" not in given and "grow" not in given
        one = given["shared"].replace(name="own")
        rest = tuple(f.replace(body=()) if f.name == "step" else f for f in given.functions if f.name != "shared")
        return given.replace(functions=(*rest, one))

    PASSES.pop("test_take")
    found = take(made)
    assert [one.name for one in found.functions] == ["grow", "shared_test_dsp", "own_1", "main", "step", "own"]
    assert "own_1(B)" in found["grow"].script()
