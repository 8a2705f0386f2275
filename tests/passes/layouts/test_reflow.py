"""Layouts in graphs: where they go, who decides, and what stays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from helpers.layouts import graph

import tirscript
from tirscript import DiagnosticError
from tirscript.ir import Module
from tirscript.passes.graph import legalize_ops
from tirscript.passes.layouts import PadMapping, reflow, split_preprocessing
from tirscript.script import parse


def rows(m: Any, k: Any) -> tuple[Any, ...]:
    return m // 4, k // 4, m % 4, k % 4


def same(before: Module, after: Module, *shapes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    given = [rng.integers(-4, 5, shape).astype("float32") for shape in shapes]
    expected, got = tirscript.interpret(before, *given), tirscript.interpret(after, *given)
    for a, b in zip(*((one if isinstance(one, tuple) else (one,)) for one in (expected, got)), strict=True):
        assert np.array_equal(a, b)


X = 'x: G.Tensor((6, 7), "float32")'
W = 'w: G.Tensor((7, 5), "float32")'
CHAIN = """
a = G.matmul(x, w)
b = G.add(a, G.const(1.0, "float32"))
c = G.nn.relu(b)
"""


def test_a_transpose_and_its_inverse_cancel() -> None:
    before = graph(X, "a = G.permute_dims(x)\nb = G.exp(a)\nc = G.permute_dims(b)", "c")
    done = reflow(before)
    assert done.report.conversions == 0 and done.report.before == 2
    assert "permute_dims" not in done.module.script()
    same(before, done.module, (6, 7))


def test_a_reshape_and_its_inverse_cancel() -> None:
    before = graph(X, "a = G.reshape(x, (2, 3, 7))\nb = G.exp(a)\nc = G.reshape(b, (6, 7))", "c")
    done = reflow(before)
    assert done.report.conversions == 0
    same(before, done.module, (6, 7))


def test_one_conversion_in_and_one_out() -> None:
    before = graph(f"{X}, {W}", CHAIN + "d = G.matmul(c, G.permute_dims(w))", "d")
    done = reflow(before, layouts={"a": {"x1": rows, "out": rows}, "d": {"x1": rows, "out": rows}})
    # x and w are packed, w turned and packed again, and d comes out; 0 + 1 is not 0: a select for the second product
    assert done.report.conversions == 5
    assert (done.report.selects, done.report.branches) == (1, 0)
    same(before, done.module, (6, 7), (7, 5))


@pytest.mark.parametrize(
    ("between", "left"),
    [
        ("b = G.nn.relu(a)", (0, 0)),
        ("b = G.nn.relu(G.add(a, G.const(0.0, 'float32')))", (0, 0)),
        ("b = G.nn.leakyrelu(a)", (1, 0)),
        ("", (0, 1)),
    ],
)
def test_padding_of_products_is_0_or_nan(between: str, left: tuple[int, int]) -> None:
    """inf * 0 is nan: a relu makes 0 of it, and where none does the next product is given 0."""
    module = graph(
        f'{X}, {W}, v: G.Tensor((5, 6), "float32")',
        f"a = G.matmul(x, w)\n{between}\nc = G.matmul({'b' if between else 'a'}, v)",
        "c",
    )
    done = reflow(module, layouts={name: {"x1": rows, "out": rows} for name in "ac"}, decide=lambda one: True)
    assert (done.report.selects, done.report.fills, done.report.branches) == (*left, 0)
    rng = np.random.default_rng(0)
    x, w, v = (rng.standard_normal(shape).astype("float32") for shape in ((6, 7), (7, 5), (5, 6)))
    x[2, 3], x[4, 0] = np.inf, -np.inf
    expected = tirscript.interpret(module, x, w, v)
    assert np.isfinite(expected[0]).all() and not np.isfinite(expected[2]).all()
    assert np.array_equal(tirscript.interpret(done.module, x, w, v), expected, equal_nan=True)


def test_constants_are_packed_and_constants_alike_once() -> None:
    weight = "G.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 'float32')"
    before = graph('x: G.Tensor((5, 2), "float32")', f"a = G.matmul(x, {weight})\nb = G.matmul(x, {weight})", "a, b")
    done = reflow(before, layouts={"a": {"x1": rows, "out": rows}, "b": {"x1": rows, "out": rows}})
    assert done.report.folded == 1 and done.report.conversions == 3
    assert "(1, 1, 4, 4)" in done.module.script() or "[[[[1.0" in done.module.script()
    same(before, done.module, (5, 2))


WEIGHT = "G.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 'float32')"
NAMED = {"a": {"x1": rows, "out": rows}, "b": {"x1": rows, "out": rows}}


def test_constants_with_names_are_packed() -> None:
    before = graph('x: G.Tensor((5, 2), "float32")', f"w = {WEIGHT}\na = G.matmul(x, w)\nb = G.matmul(x, w)", "a, b")
    done = reflow(before, layouts=NAMED)
    assert (done.report.folded, done.report.conversions) == (1, 3)
    assert "w = " not in done.module.script()
    same(before, done.module, (5, 2))


def test_constants_outside_of_the_dataflow_are_packed_and_keep_their_names_where_they_stay() -> None:
    module = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((5, 2), "float32")):
        w = {WEIGHT}
        with G.dataflow():
            a = G.matmul(x, w)
            b = G.matmul(x, w)
            c = G.matmul(x, w)
            v = {WEIGHT}
            d = G.matmul(x, v)
            G.output(a, b, c, d, v)
        return a, b, c, d, v, w
""")
    assert isinstance(module, Module)
    before = legalize_ops(module)
    done = reflow(before, layouts=NAMED)
    assert (done.report.folded, done.report.conversions) == (1, 3)
    text = done.module.script()
    assert "matmul, (x, w)" in text and "matmul, (x, v)" in text
    same(before, done.module, (5, 2))


def test_equal_functions_that_convert_are_made_once() -> None:
    before = graph(
        'x: G.Tensor((6, 7), "float32"), y: G.Tensor((6, 7), "float32")', "a = G.exp(x)\nb = G.sin(y)", "a, b"
    )
    done = reflow(before, layouts={"a": {"out": rows}, "b": {"out": rows}}, decide=lambda one: True)
    names = [one.name for one in done.module.prim_funcs]
    assert done.report.conversions == 4 and sorted(names) == ["crop", "exp_packed", "pack", "sin_packed"]
    same(before, done.module, (6, 7), (6, 7))


def test_consumers_that_want_different_padding_get_it() -> None:
    """A sum wants 0 in the padding, a product 1: one of them is filled anew."""
    before = graph(X, "a = G.exp(x)\nb = G.sum(a, axis=[1])\nc = G.prod(a, axis=[1])", "b, c")
    done = reflow(before, layouts={"a": {"out": rows}}, decide=lambda one: True)
    assert "b_packed" in done.module.script() and "c_packed" in done.module.script()
    assert done.report.selects + done.report.branches == 2
    same(before, done.module, (6, 7))


def test_who_decides() -> None:
    before = graph(f"{X}, {W}", CHAIN, "c")
    asked = {"a": {"x1": rows, "out": rows}}
    by_cost = reflow(before, layouts=asked)
    assert [(one.name, one.packed, one.by) for one in by_cost.decisions] == [
        ("a", True, "caller"),
        ("b", False, "cost"),
        ("c", False, "cost"),
    ]
    seen = []

    def decide(one: Any) -> bool | None:
        seen.append(one.name)
        return True if one.name == "b" else None

    called = reflow(before, layouts=asked, decide=decide)
    assert seen == ["a", "b", "c"]
    assert [(one.name, one.packed, one.by) for one in called.decisions][1] == ("b", True, "callback")
    relu = before.prim_func("relu")
    assert relu is not None
    marked = before.with_function(relu.replace(attrs=type(relu.attrs)({**relu.attrs, "layout": "packed"})))
    annotated = reflow(marked, layouts=asked)
    assert [(one.name, one.packed, one.by) for one in annotated.decisions][2] == ("c", True, "annotation")
    for done in (by_cost, called, annotated):
        same(before, done.module, (6, 7), (7, 5))
        assert str(done).count("\n") == 3 and "bytes packed" in str(done)


@pytest.mark.parametrize(("rows_of_x", "columns", "pays"), [(31, 63, True), (17, 17, False), (32, 64, False)])
def test_products_of_odd_sizes_pay_for_tiles(rows_of_x: int, columns: int, pays: bool) -> None:
    """Lines of no whole vectors are copied each time; but most of these tiles are padding where 17 is one more than 16."""
    module = graph(
        f'x: G.Tensor(({rows_of_x}, {columns}), "float32")',
        f'a = G.matmul(x, G.ones(G.shape([{columns}, {columns}]), "float32"))\nb = G.nn.relu(a)\n'
        f'c = G.matmul(b, G.ones(G.shape([{columns}, {columns}]), "float32"))',
        "c",
    )
    tiles = lambda m, k: (m // 16, k // 16, m % 16, k % 16)
    done = reflow(module, layouts={name: {"x1": tiles, "out": tiles} for name in "ac"})
    by_name = {one.name: one for one in done.decisions}
    assert (by_name["a"].packed_cost < 0) is pays
    assert done.report.branches == 0


def test_a_pad_mapping_may_be_larger_than_its_tiles() -> None:
    wide = PadMapping.of(lambda m, k: (m, k), (6, 7), None, (8, 8))
    before = graph(f"{X}, {W}", CHAIN, "c")
    assert wide is not None
    done = reflow(before, layouts={"a": {"x1": wide}})
    assert "x_packed" in done.module.script()
    same(before, done.module, (6, 7), (7, 5))


def test_nothing_to_do_changes_nothing() -> None:
    before = graph(f"{X}, {W}", CHAIN, "c")
    assert reflow(before).module is before


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"aa": {"x1": rows}}, "no call of a tensor function in a dataflow is bound to `aa`"),
        ({"a": {"x": rows}}, "`matmul`, called for `a`, has no parameter `x`"),
        ({"a": {"x1": lambda m, k: (m // 2, k)}}, "not proved to keep its elements apart"),
        ({"a": {"x1": lambda m: m}}, "the layout of `x1` of `a` takes 1 index, and the parameter has 2 dimensions"),
        (
            {"a": {"x1": lambda m, k: (m / 2, k)}},
            "the layout of `x1` of `a` cannot be made: `/` takes floats, not int64\n",
        ),
        ({"a": {"x1": lambda m, k: 1 // 0}}, "the layout of `x1` of `a` cannot be made: ZeroDivisionError"),
        ({"a": {"x1": PadMapping.of(lambda m, k: (k, m), (3, 3))}}, "is one of another shape"),
    ],
)
def test_mistakes(layouts: Any, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        reflow(graph(f"{X}, {W}", CHAIN, "c"), layouts=layouts)


@pytest.mark.skipif(os.environ.get("TIRSCRIPT_CHECK") == "arguments", reason="the arguments of functions are checked")
def test_layouts_that_are_no_dict() -> None:
    layouts: Any = {"a": lambda m, k: (k, m)}
    with pytest.raises(DiagnosticError, match=r"the layouts of `a` are .*, not a dict"):
        reflow(graph(f"{X}, {W}", CHAIN, "c"), layouts=layouts)


def test_inputs_are_converted_once() -> None:
    before = graph(f"{X}, {W}", CHAIN, "c")
    found = reflow(before, layouts={"a": {"x1": rows, "out": rows}})
    done = found.module
    split = split_preprocessing(done, ["w"])
    assert [param.name for param in split["main"].params] == ["x", "w_packed"]  # type: ignore[union-attr]
    rng = np.random.default_rng(0)
    x, w = rng.integers(-4, 5, (6, 7)).astype("float32"), rng.integers(-4, 5, (7, 5)).astype("float32")
    built = tirscript.build(split)
    packed = built["main_preprocess"](w)
    assert packed.shape == (2, 2, 4, 4)
    assert np.array_equal(built["main"](x, packed), tirscript.interpret(before, x, w))
    both = split_preprocessing(done, ["x", "w"])
    packs = tirscript.build(both)["main_preprocess"](x, w)
    assert isinstance(packs, tuple) and [pack.shape for pack in packs] == [(2, 2, 4, 4)] * 2
    with pytest.raises(TypeError, match=r"takes a sequence of names as `params`, not one name: \['w'\]"):
        split_preprocessing(done, "w")
    with pytest.raises(TypeError, match=r"not a Reflowed; its module is `.module`"):
        split_preprocessing(found, ["w"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not a Reflowed; its module is `.module`"):
        tirscript.build(found)
    with pytest.raises(DiagnosticError, match="has no parameter `ww`"):
        split_preprocessing(done, ["ww"])
    with pytest.raises(DiagnosticError, match="converts none of `x`"):
        split_preprocessing(before, ["x"])
    with pytest.raises(DiagnosticError, match="`mian` is no graph function"):
        split_preprocessing(before, ["x"], function="mian")


def test_branches_of_packed_functions_go_where_padding_makes_them_needless() -> None:
    text = """
from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import tir as T


@I.ir_module
class M:
    @T.prim_func(private=True)
    def pad(A: T.Buffer((14,), "int32"), P: T.Buffer((4, 4), "int32")):
        for i, j in T.grid(4, 4):
            P[i, j] = A[i * 4 + j] if i * 4 + j < 14 else PADDING

    @T.prim_func(private=True)
    def total(P: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
        B[0] = 0
        for i, j in T.grid(4, 4):
            if i * 4 + j < 14:
                B[0] = B[0] + P[i, j]

    @G.graph_func
    def main(x: G.Tensor((14,), "int32")):
        with G.dataflow():
            p = G.call_tir(M.pad, (x,))
            y = G.call_tir(M.total, (p,))
            G.output(y)
        return y
"""
    x = np.arange(14, dtype="int32")
    for padding, straight in (("0", True), ("1", False)):
        before = parse(text.replace("PADDING", padding))
        assert isinstance(before, Module)
        made = reflow(before).module
        assert ("total_straight" in made) == straight
        assert ("if " in made["total_straight" if straight else "total"].script()) == (not straight)
        assert tirscript.interpret(made, x) == tirscript.interpret(before, x) == x.sum()
