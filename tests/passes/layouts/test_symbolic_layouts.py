"""Layouts of tensors whose sizes are known when the program runs, in the dimension that is padded and beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module
from tirscript.passes.graph import legalize_ops
from tirscript.passes.layouts import lift_layout_blocks, reflow, split_preprocessing
from tirscript.passes.schedule import Schedule
from tirscript.script import parse

MLP = """
@I.ir_module
class Mlp:
    @G.graph_func
    def main(x: G.Tensor(("n", 13), "float32"), w: G.Tensor((13, 7), "float32"), b: G.Tensor((7,), "float32"),
             v: G.Tensor((7, 5), "float32")):
        n = T.int64()
        with G.dataflow():
            product = G.matmul(x, w)
            biased = G.add(product, b)
            positive = G.nn.relu(biased)
            last = G.matmul(positive, v)
            G.output(last)
        return last
"""
TWICE = """
@I.ir_module
class Twice:
    @G.graph_func
    def main(x: G.Tensor(("n", 5), "float32")):
        n = T.int64()
        with G.dataflow():
            both = G.concat((x, x), axis=0)
            grown = G.exp(both)
            share = G.nn.softmax(grown, axis=0)
            total = G.sum(grown, axis=[0])
            G.output(share, total)
        return share, total
"""
Layout = Callable[[Any, Any], tuple[Any, ...]]


def program(text: str) -> Module:
    made = parse(text)
    assert isinstance(made, Module)
    return made


def columns(n: Any, c: Any) -> tuple[Any, ...]:
    return n, c // 4, c % 4


def rows(n: Any, c: Any) -> tuple[Any, ...]:
    return n // 4, c, n % 4


def tiles(n: Any, c: Any) -> tuple[Any, ...]:
    return n // 4, c // 4, n % 4, c % 4


def moved(n: Any, c: Any) -> tuple[Any, ...]:
    return c, (n + 3) // 4, (n + 3) % 4


def flat(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def agree(before: Module, after: Module, shapes: Callable[[int], list[tuple[int, ...]]], native: bool) -> None:
    rng = np.random.default_rng(0)
    built = tirscript.build(after) if native else None
    for n in (1, 3, 4, 9):
        given = [rng.standard_normal(shape).astype("float32") for shape in shapes(n)]
        expected = flat(tirscript.interpret(before, *given))
        assert all(map(np.array_equal, expected, flat(tirscript.interpret(after, *given))))
        assert built is None or all(np.allclose(a, b, atol=1e-5) for a, b in zip(expected, flat(built(*given))))


@pytest.mark.parametrize(
    ("layout", "shape", "passed"),
    [
        (columns, "(n, 2, 4)", False),
        (rows, "((n + 3) // 4, 7, 4)", True),
        (tiles, "((n + 3) // 4, 2, 4, 4)", True),
        (moved, "(7, (n + 2) // 4 + 1, 4)", True),
    ],
)
def test_one_conversion_in_and_one_out(layout: Layout, shape: str, passed: bool) -> None:
    module = legalize_ops(program(MLP))
    ask = {name: {"x1": layout, "out": layout} for name in ("product", "last")}
    done = reflow(module, layouts=ask, decide=lambda one: True)
    text = done.module.script()
    # the variable is passed where no shape has it alone
    assert f'out=G.Tensor({shape}, "float32")' in text and ("tir_vars=(n,)" in text) is passed
    left = done.report
    # the bias stands in rows of padding too, and the last product wants 0 in columns
    assert (left.selects, left.branches, left.fills) == (layout is tiles, 0, 0)
    packs = [line for line in text.splitlines() if "G.call_tir" in line and ("pack" in line or "crop" in line)]
    assert sum("crop" in line for line in packs) == 1
    agree(module, done.module, lambda n: [(n, 13), (13, 7), (7,), (7, 5)], layout is tiles)


@pytest.mark.parametrize("layout", [columns, tiles, moved])
def test_sums_over_the_symbolic_axis(layout: Layout) -> None:
    module = legalize_ops(program(TWICE))
    ask = {name: {param: layout} for name, param in (("grown", "x"), ("share", "data"), ("total", "x"))}
    done = reflow(module, layouts=ask, decide=lambda one: True)
    assert [one.packed for one in done.decisions] == [True] * 4
    assert ("n * 2" in done.module.script()) and done.report.conversions > 0
    agree(module, done.module, lambda n: [(n, 5)], layout is moved)


def test_the_cost_decides_for_a_nominal_size() -> None:
    module = legalize_ops(program(MLP))
    ask = {name: {"x1": columns, "out": columns} for name in ("product", "last")}
    by_name = {one.name: one for one in reflow(module, layouts=ask).decisions}
    assert by_name["biased"].packed and by_name["positive"].packed
    # 128 rows of 7 floats there and back, and the same in 8
    assert by_name["biased"].plain_cost - by_name["biased"].packed_cost > 128 * (7 + 8) * 4
    plain = {one.name: one.packed for one in reflow(module, layouts=ask, decide=lambda one: False).decisions}
    assert not any(plain.values())


def test_a_second_reflow_finds_what_the_first_made() -> None:
    module = legalize_ops(program(MLP))
    once = reflow(module, layouts={"product": {"x1": tiles, "out": tiles}}, decide=lambda one: True)
    again = reflow(once.module)
    agree(module, again.module, lambda n: [(n, 13), (13, 7), (7,), (7, 5)], False)
    assert again.report.conversions == once.report.conversions


GROW = """
@I.ir_module
class Model:
    @T.prim_func(private=True)
    def grow(A: T.Buffer(("n", 6), "float32"), B: T.Buffer(("n", 6), "float32")):
        for i, j in T.grid(n, 6):
            with T.block("grow"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @G.graph_func
    def main(x: G.Tensor(("m", 6), "float32")):
        m = T.int64()
        with G.dataflow():
            a = G.call_tir(Model.grow, (x,), out=G.Tensor((m, 6), "float32"))
            c = G.call_tir(Model.grow, (a,), out=G.Tensor((m, 6), "float32"))
            G.output(c)
        return c
"""


@pytest.mark.parametrize("layout", [columns, rows, tiles])
def test_functions_are_lifted_in_the_sizes_of_the_graph(layout: Layout) -> None:
    sch = Schedule(program(GROW))
    sch.work_on("grow")
    for buffer in "AB":
        sch.transform_layout("grow", buffer, layout, pad_value=0, keep_interface=True)
    lifted = lift_layout_blocks(sch.mod)
    assert ("tir_vars=(m,)" in lifted["main"].script()) is (layout is not columns)
    done = reflow(lifted)
    assert (done.report.conversions, done.report.before) == (2, 4)
    for made in (lifted, done.module):
        agree(sch.mod, made, lambda n: [(n, 6)], layout is tiles)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (["w"], ["x", "w_packed"]),
        (["x"], ["x_packed", "w"]),
        (["w", "x", "w"], ["x", "x_packed", "w_packed"]),  # `n` is the size of a plain one
    ],
)
def test_preprocessing_leaves_what_tells_a_size(given: list[str], left: list[str]) -> None:
    before = legalize_ops(
        program(
            """
@I.ir_module
class Product:
    @G.graph_func
    def main(x: G.Tensor(("n",), "int32"), w: G.Tensor(("n",), "int32")):
        with G.dataflow():
            y = G.multiply(x, w)
            G.output(y)
        return y
"""
        )
    )
    tiles = lambda i: (i // 4, i % 4)
    split = split_preprocessing(reflow(before, layouts={"y": {"x1": tiles}}, decide=lambda one: True).module, given)
    parse(split.script())
    assert [param.name for param in split["main"].params] == left
    arrays = {"x": np.arange(5, dtype="int32"), "w": np.arange(5, dtype="int32") + 2}
    taken = [arrays[param.name] for param in split["main_preprocess"].params]
    built = tirscript.build(split)
    runs: tuple[Callable[..., Any], ...] = (
        lambda name, *args: tirscript.interpret(split, *args, entry=name),
        lambda name, *args: built[name](*args),
    )
    for run in runs:
        made = run("main_preprocess", *taken)
        packed = list(made) if isinstance(made, tuple) else [made]
        args = [arrays[name] if name in arrays else packed.pop(0) for name in left]
        assert (run("main", *args) == arrays["x"] * arrays["w"]).all()
