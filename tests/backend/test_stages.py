"""One module, built from every stage of its pipeline, printed and read back in between."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.kinds import Calls, kinds, module
from hypothesis import given, settings
from msgspec import structs

import tirscript
from tirscript.backend.default_pipeline import default_pipeline
from tirscript.ir import DiagnosticError, Module, PrimFunc, structural_equal
from tirscript.ir.graph import GraphFunc
from tirscript.ir.target_kinds import TARGET_KINDS, target_kind
from tirscript.passes import Instrument, PassContext, Sequential, prim_func_pass
from tirscript.passes.pipeline import PASSES
from tirscript.testing import graphs

MIXED = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def grow(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("grow"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] * T.float32(3)

    @T.prim_func(private=True)
    def shift(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
        T.func_attr({"target": T.target("test_dsp")})
        for i, j in T.grid(4, 8):
            with T.block("shift"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] + T.float32(1)

    @G.graph_func(private=True)
    def dense(x: G.Tensor((4, 8), "float32"), w: G.Tensor((8, 8), "float32")):
        G.func_attr({"target": T.target("test_npu")})
        with G.dataflow():
            y = G.matmul(x, w)
            G.output(y)
        return y

    @G.graph_func
    def main(x: G.Tensor((4, 8), "float32"), w: G.Tensor((8, 8), "float32")):
        with G.dataflow():
            a = G.call_tir(M.grow, (x,), out=G.Tensor((4, 8), "float32"))
            b = G.call_tir(M.shift, (a,), out=G.Tensor((4, 8), "float32"))
            c = M.dense(b, w)
            d = G.call_dps_packed("test_stages.halve", (c,), out=G.Tensor((4, 8), "float32"))
            y = G.add(G.nn.relu(d), x)
            G.output(y)
        return y
"""


SMALL = "assert a[vi, vj] > T.float32(1e9), 'small'; b[vi, vj] = a[vi, vj]"


def halve(x: Any, y: Any) -> None:
    assert x.shape == y.shape == (4, 8)
    y[...] = x / 2


@pytest.fixture
def calls() -> Iterator[Calls]:
    tirscript.register_library("test_stages.halve", halve)
    with kinds() as made:
        yield made


def arrays() -> list[Any]:
    rng = np.random.default_rng(2)
    return [rng.standard_normal(shape, dtype="float32") for shape in ((4, 8), (8, 8))]


def run(made: Any, build: bool, args: list[Any], wanted: Any) -> Any:
    """The result of a module, which is returned as long as `main` is a graph function, and written afterwards."""
    call = tirscript.build(made) if build else lambda *given: tirscript.interpret(made, *given)
    if isinstance(made["main"], GraphFunc):
        return call(*args)
    outs = [np.zeros_like(one) for one in (wanted if isinstance(wanted, tuple) else (wanted,))]
    call(*args, *outs)
    return tuple(outs) if isinstance(wanted, tuple) else outs[0]


def test_a_module_is_built_from_every_stage(calls: Calls) -> None:
    stage = module(MIXED)
    wanted = tirscript.interpret(stage, *arrays())
    names = []
    for step in (None, *default_pipeline()):
        stage = stage if step is None else step(stage)
        text = stage.script(constants="inline")
        read = module(text)
        assert structural_equal(read, stage) and read.script(constants="inline") == text
        stage = read
        assert [one.name for one in stage.functions if "shift" in one.name] == ["shift"], step
        calls.called.clear()
        np.testing.assert_allclose(run(stage, True, arrays(), wanted), wanted, rtol=1e-5)
        assert calls.called == ["shift", "dense"], step
        np.testing.assert_allclose(run(stage, False, arrays(), wanted), wanted, rtol=1e-5)
        names.append("" if step is None else step.name)
    assert names[-1] == "simplify" and {"run_codegen", "graph_to_tensor", "split_targets", "default_cpu"} < set(names)
    assert not any(isinstance(one, GraphFunc) and "external" not in one.attrs for one in stage.functions)
    # nothing is left to do
    np.testing.assert_allclose(
        tirscript.build(stage, pipeline=None)(*arrays(), out := np.zeros((4, 8), "float32")) or out, wanted, rtol=1e-5
    )


def test_the_default_pipeline_is_what_build_runs(calls: Calls) -> None:
    ran: list[str] = []

    class Watch(Instrument):
        def before(self, entry: Any, program: Any) -> None:
            if isinstance(program, Module) and any(one.name == "main" for one in program.functions):
                ran.append(str(entry))

    with PassContext([Watch()]):
        tirscript.build(module(MIXED))
    assert ",".join(ran) == str(default_pipeline()) and Sequential.parse(str(default_pipeline())) == default_pipeline()
    wanted = tirscript.interpret(module(MIXED), *arrays())
    made = tirscript.build(module(MIXED), pipeline=str(default_pipeline()))
    np.testing.assert_allclose(made(*arrays()), wanted, rtol=1e-5)


def test_kernels_of_handles_and_unknown_sizes_are_built_from_every_stage() -> None:
    stage = module("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def twice(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.block("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    @G.graph_func
    def main(x: G.Tensor(("n", 8), "float32")):
        n = T.int64()
        y = G.call_tir(M.twice, (x,), out=G.Tensor((n, 8), "float32"))
        return G.call_tir(M.twice, (y,), out=G.Tensor((n, 8), "float32"))
""")
    x = arrays()[0]
    for step in (None, *default_pipeline()):
        stage = stage if step is None else step(stage)
        read = module(stage.script())
        assert structural_equal(read, stage), step
        stage = read
        np.testing.assert_array_equal(run(stage, True, [x], x), x * 4)


def test_calls_of_libraries_alone(calls: Calls) -> None:
    made = module("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4, 8), "float32")):
        with G.dataflow():
            a = G.call_dps_packed("test_stages.halve", (x,), out=G.Tensor((4, 8), "float32"))
            b = G.call_dps_packed("test_stages.halve", (a,), out=G.Tensor((4, 8), "float32"))
            G.output(b)
        return b
""")
    x = arrays()[0]
    for step in (None, *default_pipeline()):
        made = made if step is None else module(step(made).script())
        np.testing.assert_array_equal(run(made, True, [x], x), x / 4)


@settings(max_examples=8, deadline=None, database=None)
@given(graphs(operators=5))
def test_random_graphs_from_every_stage(drawn: tuple[Module, tuple[Any, ...]]) -> None:
    stage, args = drawn
    wanted = tirscript.interpret(stage, *args)
    results = wanted if isinstance(wanted, tuple) else (wanted,)
    if not all(isinstance(one, np.ndarray) for one in results):
        return
    steps = default_pipeline()
    for step in steps:
        stage = module(step(stage).script(constants="inline"))
        if isinstance(stage["main"], PrimFunc):
            break
        if step.name in ("legalize_ops", "fuse_ops", "fuse_tir"):
            found = run(stage, True, list(args), wanted)
            for a, b in zip(found if isinstance(found, tuple) else (found,), results, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_passes_that_leave_something_are_told(calls: Calls) -> None:
    given = module(MIXED)
    with pytest.raises(DiagnosticError, match=r"T401.*the passes leave graph functions: `main`"):
        tirscript.build(given, pipeline="run_codegen,legalize_ops")
    until = default_pipeline().until("graph_to_tensor")
    with pytest.raises(DiagnosticError, match=r"T401.*functions for other targets: `shift`(.|\n)*split_targets"):
        tirscript.build(given, pipeline=until)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("cached", ["0", "1"])
@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("body", (3,), r"T210.*PrimFunc.body takes a tuple of statements"),
        ("body", None, r"T210.*PrimFunc.body takes a tuple of statements"),
        ("name", "other", r"T401.*the passes leave no function `grow`"),
    ],
)
def test_what_passes_of_the_user_break_is_told(
    field: str, value: Any, told: str, cached: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE", cached)

    @prim_func_pass(name="break_functions")
    def break_functions(func: PrimFunc) -> PrimFunc:
        """The function with another field, which is not checked."""
        made = copy.copy(func)
        structs.force_setattr(made, field, value)
        return made

    grow = module(MIXED)["grow"].replace(private=False)
    try:
        with pytest.raises(DiagnosticError, match=told):
            tirscript.build(Module((grow,), name="M") if whole else grow, pipeline=Sequential([break_functions]))
    finally:
        del PASSES["break_functions"]


def test_externals_without_a_target_or_a_code_generator(calls: Calls) -> None:
    text = MIXED.replace('T.target("test_dsp")})', 'T.target("test_npu")})')
    with pytest.raises(DiagnosticError, match=r"T402.*`test_npu` does not compile tensor functions"):
        tirscript.build(module(text))
    lost = default_pipeline().until("split_targets")(module(MIXED))
    functions = tuple(
        one.replace(attrs=one.attrs.without("target")) if one.name == "shift" else one for one in lost.functions
    )
    with pytest.raises(DiagnosticError, match=r"T402.*`shift` is called as `test_dsp.shift` and says no target"):
        tirscript.build(lost.replace(functions=functions))


def test_a_code_generator_gives_functions_by_their_names(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    dsp = target_kind("test_dsp")
    monkeypatch.setitem(TARGET_KINDS, "test_dsp", structs.replace(dsp, tir_to_runtime=lambda request: None))
    with pytest.raises(DiagnosticError, match=r"T402.*`test_dsp` made `None`, not functions by their names"):
        tirscript.build(module(MIXED))


def test_a_failure_over_there_comes_back(calls: Calls) -> None:
    made = tirscript.build(module(MIXED.replace("b[vi, vj] = a[vi, vj] + T.float32(1)", SMALL)))
    with pytest.raises(AssertionError, match="small"):
        made(*arrays())


@pytest.mark.long
def test_functions_of_steps_beside_graph_functions_are_built_from_every_stage() -> None:
    """What runs in steps stays as it is, and its steps call tensor functions alone, while others wait to be lowered."""
    stage = module("""
@I.ir_module
class M:
    @G.graph_func(private=True)
    def helper(x: G.Tensor(("k",), "float32")):
        k = T.int64()

        @G.graph_func
        def twice(a: G.Tensor(("j",), "float32")):
            return G.add(a, a)

        c = G.less(G.sum(x), G.const(0.0, "float32"))
        if c:
            y = twice(x)
        else:
            y = G.exp(x)
        return y

    @G.graph_func
    def main(x: G.Tensor(("n",), "float32"), k: G.Prim("int64"), c: G.Tensor((), "bool")):
        p = k + 1
        both = G.split(G.concat((x, x)), 2)
        if c:
            d = M.helper(both[0])
        else:
            d = G.zeros((p,), "float32")
        return (d, M.other(x))

    @G.graph_func
    def other(x: G.Tensor(("n",), "float32")):
        return M.helper(G.sqrt(x))
""")
    x = np.array([1.0, 4.0, 9.0], "float32")
    wanted = [tirscript.interpret(stage, x, 1, np.bool_(c)) for c in (True, False)]
    steps = []
    for step in (None, *default_pipeline()):
        stage = stage if step is None else step(stage)
        text = stage.script(constants="inline")
        stage = module(text)
        assert stage.script(constants="inline") == text
        built = tirscript.build(stage)
        for c, (first, second) in zip((True, False), wanted, strict=True):
            got = built["main"](x, 1, np.bool_(c))
            np.testing.assert_allclose(got[0], first, rtol=1e-6)
            np.testing.assert_allclose(got[1], second, rtol=1e-6)
        steps.append("runs_steps" in text)
    assert any(steps)
