"""What passes make of graphs is well formed and comes back from its own text, here where it once was not."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module, structural_equal, verify
from tirscript.passes import get_pass
from tirscript.script import parse

TUPLE = """
@I.ir_module
class M:
    @G.graph_func
    def main(t: G.Tuple(G.Tensor((3, 4), "float32"), G.Tensor((3, 5), "float32"))) -> G.Tensor((3, 9), "float32"):
        y = G.concat(t, axis=1)
        return y
"""
STORAGE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] * 2.0

    @G.graph_func(private=True, pure=False)
    def storages() -> G.Tuple(G.Object):
        storage: G.Object = G.memory.alloc_storage(G.shape([16]), 0, G.str("global"), G.dtype("float32"))
        return (storage,)

    @G.graph_func(pure=False)
    def main(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
        storage: G.Object = G.memory.alloc_storage(G.shape([16]), 0, G.str("global"), G.dtype("float32"))
        y: G.Tensor((4,), "float32") = G.memory.alloc_tensor(storage, 0, G.shape([4]), G.dtype("float32"))
        M.twice(x, y)
        return y
"""
CLOSURE = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((2, 3), "float32"), y: G.Tensor((2, 3), "float32")) -> G.Tensor((2, 3), "float32"):
        @G.graph_func
        def outer(c: G.Tensor((2, 3), "float32")) -> G.Callable((G.Tensor((2, 3), "float32"),), G.Tensor((2, 3), "float32"), True):
            @G.graph_func
            def inner(z: G.Tensor((2, 3), "float32")) -> G.Tensor((2, 3), "float32"):
                s = G.add(z, c)
                return s

            return inner

        adds = outer(x)
        r = adds(y)
        return r
"""
NARROW = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((2, 3, 8), "float32"), w: G.Tensor((4, 3, 3), "float32")) -> G.Tensor((2, 4, 6), "float16"):
        y = G.nn.conv1d(x, w, out_dtype="float16")
        return y
"""
SHARED = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def add(x: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("add"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] + c[vi]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
        y = G.call_tir(M.add, (x, x), out=G.Tensor((4,), "float32"))
        z = G.call_tir(M.add, (y, G.const([1, 2, 3, 4], "float32")), out=G.Tensor((4,), "float32"))
        w = G.call_tir(M.add, (z, G.const([4, 3, 2, 1], "float32")), out=G.Tensor((4,), "float32"))
        return w
"""


@pytest.mark.parametrize(
    "name, text",
    [
        ("legalize_ops", TUPLE),
        ("forget_memory", STORAGE),
        ("lambda_lift", CLOSURE),
        ("to_mixed_precision", NARROW),
        ("sink_constants", SHARED),
    ],
)
def test_results_verify_and_come_back(name: str, text: str) -> None:
    before = parse(text)
    made = get_pass(name)(before)
    assert isinstance(made, Module) and not structural_equal(made, before)
    assert not verify(made)
    again = parse(made.script())
    assert structural_equal(made, again) and again.script() == made.script()


def test_a_tuple_is_joined() -> None:
    given = (np.ones((3, 4), "float32"), np.zeros((3, 5), "float32"))
    wanted = np.concatenate(given, 1).tolist()
    module = get_pass("legalize_ops")(parse(TUPLE))
    for one in (parse(TUPLE), module):
        assert np.asarray(tirscript.interpret(one, given)).tolist() == wanted
        assert np.asarray(tirscript.build(one)(given)).tolist() == wanted


def test_storage_that_is_a_result_stays() -> None:
    made = get_pass("forget_memory")(parse(STORAGE))
    text = made.script()
    assert text.count("alloc_storage") == 1 and "alloc_tensor" not in text
    x = np.arange(4, dtype="float32")
    assert np.asarray(tirscript.interpret(made, x)).tolist() == [0, 2, 4, 6]


def test_a_wanted_result_of_half_precision_is_no_float32() -> None:
    made = get_pass("to_mixed_precision")(parse(NARROW))
    rng = np.random.default_rng(0)
    x, w = rng.uniform(-1, 1, (2, 3, 8)).astype("float32"), rng.uniform(-1, 1, (4, 3, 3)).astype("float32")
    found = np.asarray(tirscript.build(made)(x, w))
    assert found.dtype == np.float16
    assert np.allclose(found, np.asarray(tirscript.interpret(parse(NARROW), x, w)), atol=2e-2)
