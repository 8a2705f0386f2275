"""Padded axes that are reduced: counts, identities and order stay those of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.layouts import graph

import tirscript
from tirscript.ir import Module
from tirscript.passes.layouts import Reflowed, reflow, value_layouts


def tiles(m: Any, k: Any) -> tuple[Any, ...]:
    return m // 4, k // 8, m % 4, k % 8


def channels(n: Any, c: Any, h: Any, w: Any) -> tuple[Any, ...]:
    return n, c // 4, h, w, c % 4


def squares(n: Any, c: Any, h: Any, w: Any) -> tuple[Any, ...]:
    return n, c, h // 4, w // 4, h % 4, w % 4


def packed(before: Module, layouts: Any, x: np.ndarray[Any, Any]) -> tuple[Reflowed, Any]:
    """The graph with every kernel packed, and what it gives: the same bits as before, natively up to rounding."""
    done = reflow(before, layouts=layouts, decide=lambda one: True)
    assert done.decisions and all(one.packed for one in done.decisions)
    expected, got = tirscript.interpret(before, x), tirscript.interpret(done.module, x)
    assert np.array_equal(expected, got, equal_nan=True)
    np.testing.assert_allclose(tirscript.build(done.module)(x), expected, rtol=1e-5, atol=1e-6)
    return done, got


X = 'x: G.Tensor((6, 13), "float32")'
# everything is far from 0, so that a padding of 0 that takes part is seen in a mean, a largest and a least
FAR = np.random.default_rng(0).uniform(50, 60, (6, 13)).astype("float32")


def test_layer_norm_counts_its_elements() -> None:
    scale, shift = ", ".join(["1.0"] * 13), ", ".join(["0.5"] * 13)
    body = f"""
a = G.nn.relu(x)
b = G.nn.layer_norm(a, G.const([{scale}], "float32"), G.const([{shift}], "float32"), axes=[-1])
"""
    done, got = packed(graph(X, body, "b"), {"a": {"data": tiles}}, FAR)
    wide = FAR.astype("float64")
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) + 0.5
    np.testing.assert_allclose(got, expected, atol=1e-3)
    assert done.report.conversions == 2 and done.report.folded == 2


def test_a_mean_divides_by_its_elements() -> None:
    done, got = packed(graph(X, "a = G.nn.relu(x)\nb = G.mean(a, axis=[1])", "b"), {"a": {"data": tiles}}, FAR)
    np.testing.assert_allclose(got, FAR.mean(1), rtol=1e-6)
    # relu keeps the 0 that the sum wants
    assert (done.report.selects, done.report.branches) == (0, 0)


@pytest.mark.parametrize("given", [FAR, -FAR], ids=["above", "below"])
def test_softmax_sees_no_padding(given: np.ndarray[Any, Any]) -> None:
    """A largest of 0 among numbers below -50 would make all exponentials too small to count."""
    _, got = packed(graph(X, "a = G.negative(x)\nb = G.nn.softmax(a, axis=-1)", "b"), {"a": {"x": tiles}}, given)
    np.testing.assert_allclose(got.sum(1), 1, rtol=1e-5)
    wide = np.exp(-given.astype("float64") - (-given).max(1, keepdims=True))
    np.testing.assert_allclose(got, wide / wide.sum(1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize(("name", "identity"), [("max", "-inf"), ("min", "inf")])
def test_the_largest_and_the_least_want_their_identity(name: str, identity: str) -> None:
    """It stands in the padding, or a condition keeps the padding out."""
    before = graph(X, f"a = G.negative(x)\nb = G.{name}(a, axis=[1])", "b")
    for given in (FAR, -FAR):
        done, got = packed(before, {"a": {"x": tiles}}, given)
        assert np.array_equal(got, getattr(np, name)(-given, axis=1))
        found = {one.name: mapping for one, mapping in value_layouts(done.module["main"], done.module).items()}
        value = found["a_packed"].pad_value
        assert done.report.branches == 1 or (value is not None and str(value.value) == identity)


@pytest.mark.parametrize("kind", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize(("layout", "left"), [(channels, 2), (squares, 1)])
def test_pooling_has_its_own_padding(kind: str, padding: int, layout: Any, left: int) -> None:
    """What a window reads beyond the image is the pooling's matter, whatever the layout stores there."""
    body = f"""
a = G.negative(x)
b = G.nn.{kind}(a, pool_size=[3, 3], strides=[2, 2], padding=[{padding}, {padding}])
c = G.negative(b)
"""
    before = graph('x: G.Tensor((1, 6, 7, 7), "float32")', body, "c")
    given = np.random.default_rng(1).uniform(50, 60, (1, 6, 7, 7)).astype("float32")
    done = reflow(before, layouts={"a": {"x": layout}}, decide=lambda one: True)
    expected = tirscript.interpret(before, given)
    assert np.array_equal(expected, tirscript.interpret(done.module, given))
    assert done.report.conversions == left
    if kind == "max_pool2d":
        assert expected.min() >= 50


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_where_it_is(special: float) -> None:
    """`inf * 0` is nan: one such element must reach its own row and no other."""
    rows = ", ".join(["[1.0, 2.0]"] + ["[0.0, 3.0]"] * 12)
    body = f'a = G.nn.relu(x)\nb = G.matmul(a, G.const([{rows}], "float32"))'
    given = FAR.copy()
    given[2, 3] = special
    packed(graph(X, body, "b"), {"a": {"data": tiles}}, given)
    packed(graph(X, "a = G.negative(x)\nb = G.nn.softmax(a, axis=-1)", "b"), {"a": {"x": tiles}}, given)
