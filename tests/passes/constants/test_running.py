"""Constants that native code computes while a program is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.script import HEADER

import tirscript
from tirscript.ir import Module, PrimFunc, walk
from tirscript.ir.constant import constants_of
from tirscript.ir.graph import GraphConst
from tirscript.passes.constants import fold_constant
from tirscript.passes.constants.running import results_of, steps
from tirscript.passes.graph import fold_graph_constant
from tirscript.script import parse

LONG = (
    HEADER
    + """@T.prim_func
def f(B: T.Buffer((300, 300), "int32")):
    K = T.allocate_const(k, "int32", (300,))
    L = T.alloc_buffer((300, 300), "int32")
    for i, j in T.grid(300, 300):
        L[i, j] = K[i] * 2 - K[299 - j]
    for i, j in T.grid(300, 300):
        B[i, j] = L[i, j]
"""
)
K = np.arange(300, dtype=np.int32) ** 2


def read(text: str, **names: Any) -> Any:
    return parse(text, names={"k": K, **names})


def test_long_loops_are_run_as_native_code() -> None:
    made = fold_constant(read(LONG), steps=1000)
    assert [stmt.buffer.name for stmt in constants_of(made)] == ["K", "L"]
    wanted = K[:, None] * 2 - K[::-1]
    assert np.array_equal(constants_of(made)[1].data.array, wanted)
    out = np.zeros((300, 300), np.int32)
    tirscript.build(made)(out)
    assert np.array_equal(out, wanted)
    again = fold_constant(
        read(
            LONG.replace(
                'L = T.alloc_buffer((300, 300), "int32")', 'L = T.alloc_buffer((300, 300), "int32", scope="shared")'
            )
        ),
        steps=1000,
    )
    assert np.array_equal(constants_of(again)[1].data.array, wanted)


@pytest.mark.parametrize(
    ("was", "now", "options"),
    [
        ("", "", {"limit": 359_999}),
        (
            "for i, j in T.grid(300, 300):\n        L",
            "for i, j in T.grid(300, 299):\n        L",
            {},
        ),  # a column is left
        ("K[299 - j]", "T.exp(K[299 - j].astype('float32')).astype('int32')", {}),
        ("K[299 - j]", "B[i, j]", {}),
        ("K[299 - j]", "K[300 - j]", {}),
    ],
)
def test_what_native_code_does_not_fold(was: str, now: str, options: dict[str, int]) -> None:
    func = read(LONG.replace(was, now) if was else LONG)
    assert fold_constant(func, steps=1000, **options) is func


CALLED = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def outer(a: T.Buffer(("n",), "float32"), b: T.Buffer(("m",), "float32"), c: T.Buffer(("n", "m"), "float32")):
        for i in range(n):
            for j in range(m):
                c[i, j] = a[i] * b[j]

    @G.graph_func
    def main(x: G.Tensor((3, 2), "float32")):
        with G.dataflow():
            w = G.call_tir(M.outer, (G.const([1.0, 2.0, 3.0]), G.const([4.0, 5.0])), out=G.Tensor((3, 2), "float32"))
            t = G.add(w, w)
            y = G.add(x, t)
            G.output(y)
        return y
"""


def constants(module: Module) -> list[Any]:
    return [node.data.array.tolist() for node in walk(module) if type(node) is GraphConst]


def test_calls_of_tensor_functions_fold() -> None:
    made = fold_graph_constant(read(CALLED))
    assert constants(made) == [(np.outer([1, 2, 3], [4, 5]) * 2).tolist()]
    assert "call_tir" not in made["main"].script()
    x = np.ones((3, 2), "float32")
    assert np.array_equal(tirscript.build(made)(x), tirscript.interpret(read(CALLED), x))


def test_several_results() -> None:
    text = CALLED.replace(
        'c: T.Buffer(("n", "m"), "float32")', 'c: T.Buffer(("n", "m"), "float32"), d: T.Buffer((1,), "int32")'
    )
    text = text.replace("        for i in range(n):", "        d[0] = 7\n        for i in range(n):")
    text = text.replace('out=G.Tensor((3, 2), "float32")', 'out=[G.Tensor((3, 2), "float32"), G.Tensor((1,), "int32")]')
    text = text.replace("G.add(w, w)", "G.add(w[0], G.astype(w[1], 'float32'))")
    made = fold_graph_constant(read(text))
    assert constants(made) == [(np.outer([1, 2, 3], [4, 5]) + 7).tolist()]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("c[i, j] = a[i] * b[j]", "c[i, j] = a[i + 1] * b[j]"),  # fails
        ("c[i, j] = a[i] * b[j]", 'T.evaluate(T.call_extern("int32", "abs", 1))'),
        ("for j in range(m):", "for j in range(m * 1000000000):"),
        ("for i in range(n):", "while a[0] > 0.0:\n            i: T.let[T.int32] = 0"),
        ("for i in range(n):", "V = T.decl_buffer((9999,), data=a.data)\n        for i in range(n):"),
        ("for i in range(n):", "V = T.alloc_buffer((1 << 40,))\n        for i in range(n):"),
        ("for i in range(n):", "assert n == 4, 'no'\n        for i in range(n):"),
        ("G.const([4.0, 5.0])", 'G.constant("sha256:' + "0" * 64 + '", (2,), "float32")'),
    ],
)
def test_calls_that_stay(was: str, now: str) -> None:
    given = read(CALLED.replace(was, now))
    assert given != read(CALLED) and "call_tir" in fold_graph_constant(given)["main"].script()


def test_results_over_the_limit_stay() -> None:
    assert "call_tir" in fold_graph_constant(read(CALLED), limit=23)["main"].script()
    assert "call_tir" not in fold_graph_constant(read(CALLED), limit=24)["main"].script()


def test_steps_are_counted() -> None:
    func = read(LONG)
    assert isinstance(func, PrimFunc)
    assert steps(func.body) == 2 + 2 * (1 + 300 * (1 + 300))
    assert (
        steps(
            read(
                "@T.prim_func\ndef f(n: T.int32, B: T.Buffer((4,), 'int32')):\n    for i in range(n):\n        B[0] = i\n"
            ).body
        )
        is None
    )
    assert results_of(func, 1 << 20) is not None


def test_instruments_see_no_pass_of_what_is_run() -> None:
    from tirscript.passes import PassContext
    from tirscript.passes.pipeline import Instrument

    seen = []

    class Watch(Instrument):
        def before(self, entry: Any, program: Any) -> None:
            seen.append(entry.name)

    with PassContext(instruments=[Watch()]):
        fold_graph_constant(read(CALLED))
    assert seen == ["fold_graph_constant"]
