"""The verifier on reductions, shuffles and index maps that no text makes."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.script import function, one_mistake

from tirscript.ir import (
    Attrs,
    CommReducer,
    IndexMap,
    Range,
    Reduce,
    Shuffle,
    Var,
    const,
    differences,
    refresh,
    structural_equal,
    structural_hash,
    substitute,
    verify,
)
from tirscript.script import parse

REDUCE = "A[0] = T.Reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), lambda k: [A[k]], [16])"


def reduce(**fields: Any) -> list[str]:
    good = function(REDUCE)
    (store,) = good.body
    body = (store.replace(value=store.value.replace(**fields)),)
    return [found.code for found in verify(good.replace(body=body))]


def combiner(**fields: Any) -> list[str]:
    return reduce(combiner=function(REDUCE).body[0].value.combiner.replace(**fields))


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, []),
        ({"value_index": 1}, ["T210", "T204"]),
        ({"domains": ()}, ["T210"]),
        ({"domains": (Range(const(0, "int64"), const(4, "int64")),)}, ["T204"]),
        ({"domains": (Range(const(0)),)}, ["T210"]),
        ({"init": (const(1),)}, ["T204"]),
        ({"init": (const(1.0), const(1.0))}, ["T210"]),
        ({"condition": const(1)}, ["T102"]),
        ({"source": (const(1.0), const(1.0))}, ["T210"]),
    ],
)
def test_reductions(fields: dict[str, Any], wanted: list[str]) -> None:
    assert reduce(**fields) == wanted


def test_axes_are_integers_and_end_with_the_reduction() -> None:
    good = function(REDUCE)
    (store,) = good.body
    axis = store.value.axes[0]
    real = Var("k", const(1.0).dtype)
    assert "T204" in [found.code for found in verify(good.replace(body=(substitute(store, {axis: real}),)))]
    leak = good.replace(body=(store, store.replace(value=const(1.0), indices=(axis,))))
    assert [found.code for found in verify(leak)] == ["T201"]
    twice = good.replace(body=(store, store))
    assert {found.code for found in verify(twice)} == {"T202"}
    assert verify(good.replace(body=(store, refresh(store)))) == []


def test_combiners() -> None:
    x = Var("x", const(1.0).dtype)
    assert combiner(results=(const(1),)) == ["T204"]
    assert "T210" in combiner(results=())
    assert "T210" in combiner(lhs=(x, Var("z", x.dtype)))
    assert "T204" in combiner(identity=(const(0),))


def test_shuffles() -> None:
    made = function("A[0] = T.Shuffle([A[1]], [0])")
    (store,) = made.body
    load = store.value.vectors[0]

    def found(value: Shuffle) -> list[str]:
        return [each.code for each in verify(made.replace(body=(store.replace(value=value),)))]

    assert found(Shuffle((load,), (0,))) == []
    assert found(Shuffle((load,), (1,))) == ["T113"]
    assert found(Shuffle((load,), (-1,))) == ["T113"]
    assert found(Shuffle((load, const(1)), (0,))) == ["T204"]
    assert "T210" in found(Shuffle((load,), ()))


def test_index_maps() -> None:
    i = Var("i", const(1, "int64").dtype)
    good = function("A[0] = 1.0")

    def found(value: IndexMap) -> list[str]:
        return [each.code for each in verify(good.replace(attrs=Attrs({"m": value})))]

    assert found(IndexMap((i,), (i,))) == []
    assert found(IndexMap((i,), (const(1.0),))) == ["T112"]
    assert found(IndexMap((), (i,))) == ["T206"]
    assert found(IndexMap((i,), (i,), IndexMap((), (const(1),)))) == ["T210"]


def test_what_two_tuples_define_is_all_mapped() -> None:
    text = "A[0] = T.Reduce(T.comm_reducer(lambda {0}, {1}: {2}, [T.float32(0)]), [A[1]])"
    one, two = function(text.format("x", "y", "x - y")), function(text.format("a", "b", "a - b"))
    other = function(text.format("x", "y", "y - x"))
    assert structural_equal(one, two) and structural_hash(one) == structural_hash(two)
    assert not structural_equal(one, other) and differences(one, other) and not differences(one, two)
    assert type(one.body[0].value) is Reduce and type(one.body[0].value.combiner) is CommReducer


@pytest.mark.parametrize(
    "body",
    [
        "A[0] = T.float32(n // 0)",
        "A[0] = T.float32(T.truncmod(n, T.int32(0)))",
        "A[n % 0] = 1.0",
        "for i in range(n):\n    A[i] = T.float32(T.Select(i > 3, i // (0 * 2), 0))",
        "if n // 0 > 2 and n > 100:\n    A[0] = 1.0",
        "for i in range(n // 0):\n    A[0] = 1.0",
    ],
)
def test_a_division_by_zero_that_is_certain_is_told(body: str) -> None:
    """It compiled to code that gave any number."""
    found = one_mistake(body)
    assert found.code == "T304" and found.message.endswith("divides by 0") and found.hint


@pytest.mark.parametrize(
    "body",
    [
        "if n > 100:\n    A[0] = T.float32(n // 0)",
        "A[0] = T.float32(T.if_then_else(n > 100, n // 0, 3))",
        "if n > 100 and n // 0 > 2:\n    A[0] = 1.0",
        "for i in range(0):\n    A[0] = T.float32(n // 0)",
        "while n > 100:\n    A[0] = T.float32(n % 0)",
        "if n < 100:\n    return\nA[0] = T.float32(n % 0)",
        "A[0] = A[1] // 0.0",
    ],
)
def test_one_that_may_not_be_computed_is_not(body: str) -> None:
    """Passes leave such code where they write out loops."""
    made = function(body)
    assert structural_equal(parse(made.script()), made)
