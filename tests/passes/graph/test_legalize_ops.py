"""legalize_ops: calls of operators become calls of kernels, and mean what they did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirscript import interpret, parse
from tirscript.ir import DiagnosticError, Module, PrimFunc, structural_equal
from tirscript.ir.graph import OpCall
from tirscript.ir.rewrite import walk
from tirscript.passes import get_pass

MODEL = """
@I.ir_module
class Model:
    @G.graph_func
    def helper(x: G.Tensor(("n", 3), "float32")):
        return G.multiply(x, G.const(2.0, "float32"))

    @G.graph_func
    def main(x: G.Tensor(("n", 3), "float32"), y: G.Tensor((3,), "float32"), i: G.Tensor((2,), "int64")):
        n = T.int64()
        cls = Model
        with G.dataflow():
            a = G.add(G.exp(x), y)
            b = G.add(cls.helper(a), y)
            parts = G.split(b, 3, axis=1)
            half = G.strided_slice(x, (0,), (0,), (n // 2,), assume_inbound=True)
            ones = G.full((n + 1, 2), G.const(1.0, "float32"))
            rows = G.take(b, i, axis=0)
            best = G.topk(b, k=1, axis=0)
            soft = G.nn.softmax(rows)
            where = G.nonzero(x)
            G.output(parts, half, ones, best, soft, where)
        return (parts, half, ones, best, soft, where)
"""


def operators(module: Module) -> list[str]:
    return [node.op.name for node in walk(module) if isinstance(node, OpCall)]


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.fixture
def model() -> Module:
    found = parse(MODEL)
    assert isinstance(found, Module)
    return found


def arguments() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return rng.random((5, 3), np.float32), rng.random(3, np.float32), np.array([4, 1])


def test_results_stay(model: Module) -> None:
    assert_same(interpret(get_pass("legalize_ops")(model), *arguments()), interpret(model, *arguments()))


def test_what_has_no_kernel_stays(model: Module) -> None:
    made = get_pass("legalize_ops")(model)
    assert set(operators(made)) == {"call_tir", "nonzero"}


def test_equal_kernels_are_one_function(model: Module) -> None:
    made = get_pass("legalize_ops")(model)
    names = [function.name for function in made.functions if isinstance(function, PrimFunc)]
    assert names == ["multiply", "exp", "add", "split", "strided_slice", "full", "take", "topk", "softmax"]
    assert all(function.private for function in made.prim_funcs)


def test_kernels_of_zeros_of_either_sign_are_two_functions() -> None:
    module = parse(
        """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((1,), "float32")):
        return G.nn.pad(x, [0, 1], "constant", 0.0), G.nn.pad(x, [0, 1], "constant", -0.0)
"""
    )
    above, below = interpret(get_pass("legalize_ops")(module), np.ones(1, np.float32))
    assert (np.signbit(above[1]), np.signbit(below[1])) == (False, True)


def test_it_prints_and_is_read_again(model: Module) -> None:
    made = get_pass("legalize_ops")(model)
    text = made.script()
    assert structural_equal(parse(text), made)
    assert 'G.call_tir(Model.full, (), out=G.Tensor((n + 1, 2), "float32"), tir_vars=(n,))' in text


def test_some_are_chosen(model: Module) -> None:
    assert operators(get_pass("legalize_ops", only="exp topk")(model)).count("call_tir") == 2
    skipped = operators(get_pass("legalize_ops", skip="nn.softmax take")(model))
    assert "nn.softmax" in skipped and "take" in skipped and "add" not in skipped


def test_an_unknown_name(model: Module) -> None:
    with pytest.raises(DiagnosticError, match=r"did you mean `nn\.softmax`"):
        get_pass("legalize_ops", skip="nn.softmaxx")(model)


def test_names_of_the_module_are_not_taken() -> None:
    module = parse(
        """
@I.ir_module
class M:
    @T.prim_func
    def exp(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        cls = M
        y = G.call_tir(cls.exp, (x,), out=G.Tensor((4,), "float32"))
        return G.exp(y)
"""
    )
    made = get_pass("legalize_ops")(module)
    assert {function.name for function in made.functions} == {"exp", "exp_1", "main"}
    x = np.ones(4, np.float32)
    np.testing.assert_allclose(interpret(made, x), np.exp(x), rtol=1e-6)


def test_a_program_without_operators_stays_itself(model: Module) -> None:
    once = get_pass("legalize_ops")(model)
    assert get_pass("legalize_ops")(once) is once
