"""Calls that give several tensors, and blocks and loops with several stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.layouts import graph

import tirscript
from tirscript.ir import Module, PrimFunc
from tirscript.passes.layouts import reflow, value_layouts
from tirscript.passes.layouts.stages import staged
from tirscript.script import parse


def same(before: Module, after: Module, *shapes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    given = [rng.integers(-4, 5, shape).astype("float32") for shape in shapes]
    expected = tirscript.interpret(before, *given)
    for got in (tirscript.interpret(after, *given), tirscript.build(after)(*given)):
        for a, b in zip(*((one if isinstance(one, tuple) else (one,)) for one in (expected, got)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


X = 'x: G.Tensor((6, 10), "float32")'


def columns(m: Any, k: Any) -> tuple[Any, ...]:
    return m, k // 4, k % 4


def always(one: Any) -> bool:
    return True


SPLIT = """
a = G.nn.relu(x)
s = G.split(a, 2, axis=0)
e = s[0]
f = s[1]
g = G.add(e, f)
"""


def test_a_layout_goes_through_a_split() -> None:
    before = graph(X, SPLIT, "g")
    done = reflow(before, layouts={"a": {"data": columns}}, decide=always)
    assert [one.name for one in done.decisions] == ["a", "s", "g"] and all(one.packed for one in done.decisions)
    assert (done.report.conversions, done.report.selects, done.report.branches) == (2, 0, 0)
    found = {one.name: str(mapping) for one, mapping in value_layouts(done.module["main"], done.module).items()}
    assert found["e_packed"] == "(i0, i1) -> (i0, i1 // 4, i1 % 4) in (3, 3, 4), pad 0.0" == found["f_packed"]
    assert "s_packed" not in found
    same(before, done.module, (6, 10))


def test_a_layout_goes_back_through_a_split() -> None:
    before = graph(X, SPLIT, "g")
    done = reflow(before, layouts={"g": {"x1": columns}}, decide=always)
    assert [one.name for one in done.decisions if one.packed] == ["a", "s", "g"]
    same(before, done.module, (6, 10))


def test_a_split_is_asked_by_its_name_and_may_stay() -> None:
    before = graph(X, SPLIT, "g")
    asked = reflow(before, layouts={"s": {"x": columns}})
    assert [(one.name, one.packed, one.by) for one in asked.decisions if one.name == "s"] == [("s", True, "caller")]
    same(before, asked.module, (6, 10))
    kept = reflow(before, layouts={"s": {"x": columns}}, decide=lambda one: one.name != "s")
    assert [one.name for one in kept.decisions if not one.packed] == ["s"]
    same(before, kept.module, (6, 10))


def test_pieces_of_a_packed_axis() -> None:
    """Pieces of 5 columns begin within tiles of 4."""
    before = graph(X, SPLIT.replace("axis=0", "axis=1"), "g")
    done = reflow(before, layouts={"a": {"data": columns}, "g": {"x1": columns}}, decide=always)
    assert all(one.packed for one in done.decisions)
    same(before, done.module, (6, 10))


@pytest.mark.parametrize(
    ("items", "results"),
    [
        ("e = s[1]\ng = G.nn.relu(e)", "g"),  # the first is not used
        ("e = s[0]\nf = s[0]\nh = s[1]\ng = G.add(f, h)", "e, g"),  # one of them twice
        ("e = s[0]\ng = G.nn.relu(e)", "s, g"),  # the tuple itself is given back
        ("t = s\ne = t[0]\ng = G.nn.relu(e)", "g"),  # and has another name
    ],
)
def test_uses_of_the_tuple(items: str, results: str) -> None:
    before = graph(X, f"a = G.exp(x)\ns = G.split(a, 2, axis=0)\n{items}", results)
    for decide in (always, lambda one: one.name != "s"):
        done = reflow(before, layouts={"a": {"x": columns}, "g": {}}, decide=decide)
        expected = tirscript.interpret(before, x := np.arange(60, dtype="float32").reshape(6, 10) / 9)
        got = tirscript.interpret(done.module, x)
        assert str(expected) == str(got)


def test_the_tuple_itself_is_told_to_be_in_the_way() -> None:
    before = graph(X, "s = G.split(x, 2, axis=0)\ne = s[0]\ng = G.exp(e)", "s, g")
    done = reflow(before, layouts={"s": {"x": columns}})
    assert "s = split: plain (the tuple that it gives is used itself, not only the tensors in it)" in str(done)
    same(before, done.module, (6, 10))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("e", "it is item 0 of `s`: ask at that call"),
        ("late", "what stands outside of dataflows stays as it is"),
        ("ss", "did you mean `s`?"),
    ],
)
def test_a_layout_is_asked_at_calls(name: str, hint: str) -> None:
    before = graph(X, SPLIT, "g")
    text = before.script().replace("        return g", "        late = g\n        return late")
    with pytest.raises(
        tirscript.DiagnosticError, match=f"no call of a tensor function in a dataflow is bound to `{name}`"
    ) as caught:
        reflow(parse(text), layouts={name: {"x": columns}})
    assert hint in str(caught.value)


def test_padding_is_asked_of_each_tensor() -> None:
    """A sum wants 0 behind the first, a product 1 behind the second."""
    body = "s = G.split(x, 2, axis=0)\ne = s[0]\nf = s[1]\ng = G.sum(e, axis=[1])\nh = G.prod(f, axis=[1])"
    before = graph(X, body, "g, h")
    done = reflow(before, layouts={"s": {"x": columns}}, decide=always)
    assert all(one.packed for one in done.decisions) and len(done.decisions) == 3
    same(before, done.module, (6, 10))


KERNEL = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32"), C: T.Buffer((14,), "float32")):
{body}

    @G.graph_func
    def main(x: G.Tensor((14,), "float32")):
        cls = M
        with G.dataflow():
            t = G.call_tir(cls.f, (x,), out=[G.Tensor((14,), "float32"), G.Tensor((14,), "float32")])
            y = t[0]
            z = t[1]
            G.output(y, z)
        return y, z
"""


def kernel(body: str) -> Module:
    lines = "\n".join(" " * 8 + line for line in body.strip().splitlines())
    made = parse(KERNEL.format(body=lines))
    assert isinstance(made, Module)
    return made


BLOCK = """
for i in range(14):
    with T.block("both"):
        vi = T.axis.spatial(14, i)
        B[vi] = A[vi] + 1.0
        C[vi] = {value}
"""


def stages(module: Module) -> list[str] | None:
    func = module["f"]
    assert type(func) is PrimFunc
    found = staged(func)
    return None if found is None else [one.name for one in found.stages]


@pytest.mark.parametrize(("value", "left"), [("A[vi] * 2.0", 3), ("B[vi] * 2.0", 3), ("A[13 - vi]", 2)])
def test_a_block_of_several_stores(value: str, left: int) -> None:
    before = kernel(BLOCK.format(value=value))
    assert stages(before) == ["both_B", "both_C"]
    done = reflow(before, layouts={"t": {"A": lambda i: (i // 4, i % 4)}})
    assert done.decisions[0].packed and done.report.conversions == left
    same(before, done.module, (14,))


def test_loops_around_several_blocks() -> None:
    before = kernel("""
for i in range(14):
    with T.block("one"):
        vi = T.axis.spatial(14, i)
        B[vi] = A[vi] + 1.0
    with T.block("two"):
        vi = T.axis.spatial(14, i)
        C[vi] = B[vi] * A[vi]
""")
    assert stages(before) == ["one", "two"]
    done = reflow(before, layouts={"t": {"A": lambda i: (i // 4, i % 4)}})
    assert done.decisions[0].packed
    same(before, done.module, (14,))


def test_two_sums_at_once() -> None:
    module = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((5, 14), "float32"), B: T.Buffer((5,), "float32"), C: T.Buffer((5,), "float32")):
        for i, k in T.grid(5, 14):
            with T.block("sums"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                    C[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
                C[vi] = C[vi] + A[vi, vk] * A[vi, vk]

    @G.graph_func
    def main(x: G.Tensor((5, 14), "float32")):
        cls = M
        with G.dataflow():
            t = G.call_tir(cls.f, (x,), out=[G.Tensor((5,), "float32"), G.Tensor((5,), "float32")])
            y = t[0]
            z = t[1]
            G.output(y, z)
        return y, z
""")
    assert isinstance(module, Module)
    done = reflow(module, layouts={"t": {"A": columns}})
    assert done.decisions[0].packed
    assert (done.report.conversions, done.report.selects, done.report.branches) == (1, 0, 0)
    same(module, done.module, (5, 14))


@pytest.mark.parametrize(
    "body",
    [
        BLOCK.format(value="B[13 - vi]"),  # what is not stored yet, or is
        BLOCK.format(value="2.0").replace("A[vi] + 1.0", "C[13 - vi]"),
        BLOCK.format(value="2.0").replace("C[vi]", "B[13 - vi]"),  # who stores last
        """
for i, k in T.grid(14, 3):
    with T.block("sum"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0.0
            C[vi] = 0.0
        B[vi] = B[vi] + A[vi]
        C[vi] = C[vi] + B[vi]
""",  # sums so far
    ],
)
def test_stores_that_need_their_order_stay_together(body: str) -> None:
    """Taken apart they would compute something else."""
    assert stages(kernel(body)) is None
