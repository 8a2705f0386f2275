"""The quick tests before typeguard's: they accept nothing that it refuses, and what they accept never gets there."""

from __future__ import annotations

import collections
import enum
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypedDict, TypeVar

import pytest
import typeguard
from helpers import quick_checks

from tirscript.ir import Const, Expr, PrimFunc, Var, const, dtype
from tirscript.ir.check import fits
from tirscript.printer.names import spelled


class Pair(NamedTuple):
    left: int
    right: str | None


class Color(enum.Enum):
    RED = 1


class Sized(Protocol):
    def __len__(self) -> int: ...


class Options(TypedDict):
    name: str


typeguard_ = quick_checks._typeguard
T = TypeVar("T")
E = TypeVar("E", bound=Expr)
S = TypeVar("S", int, str)

VAR, ONE = Var("x", dtype("int32")), const(1)
VALUES: tuple[Any, ...] = (
    *(None, True, 3, 2.5, 1j, "a", b"a", bytearray(b"a"), Color.RED, int, Pair, len, VAR, ONE),
    *((), (1,), (1, "a"), ("a", 1), (1, 2, 3), (VAR, ONE), (VAR, 1), Pair(1, "a"), Pair("a", 1), Pair(1, 2)),  # type: ignore[arg-type]
    *([], [1], ["a"], [None], [VAR], [(1, "a")], [("a", 1)], set(), {1}, {"a"}, frozenset(), frozenset({1})),
    *({}, {"a": 1}, {1: "a"}, {VAR: (1, 2)}, {VAR: (1, "a")}, {"name": "a"}, MappingProxyType({"a": 1})),
    *(MappingProxyType({1: 1}), collections.OrderedDict(a=1), iter([1]), range(3)),
)
ANNOTATIONS: tuple[Any, ...] = (
    *(
        Any,
        object,
        None,
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        list,
        tuple,
        dict,
        set,
        type,
        Color,
        Pair,
        Sized,
        Options,
    ),
    *(Var, Expr, Const, PrimFunc, T, E, S, int | None, str | Expr, int | Any, list[int] | None, Pair | None),
    *(tuple[int, ...], tuple[int, str], tuple[()], tuple[Expr, ...], tuple[Any, ...], tuple[int | str, ...]),
    *(list[int], list[tuple[int, str]], list[E], Sequence[int], Sequence[str], set[int], frozenset[int], type[int]),
    *(dict[str, int], dict[str, Any], Mapping[str, int], Mapping[Var, tuple[int, int]], Iterable[int], Iterator[str]),
    *(Literal["a", 3], Callable[[Any], Any], Callable[..., Any] | None, tuple[Pair, ...], type),
)


def accepts(test: Any, value: Any) -> bool:
    return test is None or (isinstance(value, test) if type(test) is tuple else test(value))


def verdict(check: Any, value: Any, annotation: Any) -> str:
    try:
        check(value, annotation, typeguard.TypeCheckMemo(globals(), {}))
    except typeguard.TypeCheckError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("annotation", ANNOTATIONS, ids=str)
def test_the_verdict_is_typeguards(annotation: Any) -> None:
    test = quick_checks.quick(annotation)
    for value in VALUES:
        wanted = verdict(typeguard_, value, annotation)
        assert not (accepts(test, value) and wanted), value
        assert verdict(quick_checks.check, value, annotation) == wanted, value


def test_both_verdicts_are_common() -> None:
    found = [verdict(quick_checks.check, *both) == "" for both in itertools.product(VALUES, ANNOTATIONS)]
    assert min(found.count(True), found.count(False)) > 400


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        *((3, int), (3, float), (None, int | None), (VAR, Expr), (VAR, E), ((1, 2), tuple[int, ...]), ([], list[Expr])),
        *(
            (Pair(1, None), Pair),
            ({VAR: (1, 2)}, Mapping[Var, tuple[int, int]]),
            ({1}, set[int]),
            ([VAR], Sequence[Expr]),
        ),
        *(((1, "a"), tuple[int, str]), ((), tuple[Expr, ...] | None), ([(1, "a")], list[tuple[int, str]])),
    ],
    ids=str,
)
def test_what_is_common_needs_no_typeguard(value: Any, annotation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("typeguard was asked")

    monkeypatch.setattr(quick_checks, "_typeguard", refuse)
    memo = typeguard.TypeCheckMemo(globals(), {})
    quick_checks.check(value, annotation, memo)
    with pytest.raises(AssertionError, match="typeguard was asked"):
        quick_checks.check(NotImplemented, annotation, memo)


def test_annotations_without_a_hash_are_typeguards() -> None:
    memo = typeguard.TypeCheckMemo({}, {})
    for value in (3, lambda: 3):
        quick_checks.check(value, Annotated[object, []], memo)
        with pytest.raises(typeguard.TypeCheckError, match="is not an instance of str"):
            quick_checks.check(value, Annotated[str, []], memo)


def test_who_asks_for_all_items_gets_all() -> None:
    every = typeguard.TypeCheckConfiguration(collection_check_strategy=typeguard.CollectionCheckStrategy.ALL_ITEMS)
    for value, annotation in (([1, "a"], list[int]), ((1, "a"), tuple[int, ...]), ({"a": 1, "b": ""}, dict[str, int])):
        quick_checks.check(value, annotation, typeguard.TypeCheckMemo({}, {}))
        with pytest.raises(typeguard.TypeCheckError, match="is not an instance of int"):
            quick_checks.check(value, annotation, typeguard.TypeCheckMemo({}, {}, config=every))
        assert fits(value, annotation) is not None and fits(value, type(value)) is None


def test_a_function_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(quick_checks, "_functions", set())
    monkeypatch.setattr(quick_checks, "_typeguard", lambda *args: asked.append(args[0]) or typeguard_(*args))
    for _ in range(3):
        for function in (lambda x: x, lambda x, y: x, lambda x, y=1: x, lambda x, *, y: x, lambda x, *, y=1: x):
            wanted = verdict(typeguard_, function, Callable[[int], int])
            assert verdict(quick_checks.check, function, Callable[[int], int]) == wanted
            assert verdict(quick_checks.check, function, Callable[[int, int], int]) == verdict(
                typeguard_, function, Callable[[int, int], int]
            )
    accepted = 3 + 2
    assert len(asked) == accepted + 3 * (10 - accepted)


@pytest.mark.skipif(
    os.environ["TIRSCRIPT_CHECK"] != "arguments", reason="functions are checked under TIRSCRIPT_CHECK=arguments"
)
def test_functions_are_checked_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(typeguard.TypeCheckError, match=r'argument "hint" \(int\) is not an instance of str'):
        spelled(3)  # type: ignore[arg-type]
    asked = []
    monkeypatch.setattr(quick_checks, "_typeguard", lambda *args: asked.append(args[:2]))
    assert spelled("a") == "a" and not asked
    with pytest.raises(TypeError):  # of the function itself
        spelled(3)  # type: ignore[arg-type]
    assert asked[0] == (3, str)
