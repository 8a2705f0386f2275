"""Which accesses are seen not to meet in two iterations of a loop, without a relation of isl."""

from __future__ import annotations

import itertools
import math

import pytest
from helpers.nests import HEADER
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.ir.arith.presburger import Dependences
from tirscript.ir.arith.presburger.separation import separate
from tirscript.script import parse

NAMES = "hijk"
Index = tuple[tuple[int, ...], int]  # the factors of the loops, and a constant


def apart(extents: tuple[int, ...], level: int, *indices: Index) -> bool:
    """What is seen of stores to these elements in loops of these extents."""
    texts = ["+".join([*(f"{f} * {n}" for f, n in zip(factors, NAMES)), str(c)]) for factors, c in indices]
    loops = "".join(
        f"{'    ' * (at + 1)}for {name} in range({extent}):\n" for at, (name, extent) in enumerate(zip(NAMES, extents))
    )
    body = "".join(f"{'    ' * (len(extents) + 1)}A[{text}] = 1.0\n" for text in texts)
    deps = Dependences(parse(f'{HEADER}def f(A: T.Buffer((100000,), "float32")):\n{loops}{body}'))
    return separate(deps.relations, [(step, 0) for step in deps.steps], level)


def meet(extents: tuple[int, ...], level: int, *indices: Index) -> bool:
    """Whether two iterations of the loop at a level, in the same ones around it, do touch one element."""
    seen: dict[tuple[tuple[int, ...], int], int] = {}
    for at in itertools.product(*map(range, extents)):
        for factors, constant in indices:
            place = (at[:level], sum(map(math.prod, zip(factors, at))) + constant)
            if seen.setdefault(place, at[level]) != at[level]:
                return True
    return False


@pytest.mark.parametrize(
    ("extents", "level", "indices", "expected"),
    [
        ((8, 8), 0, [((8, 1), 0)], True),
        ((8, 9), 0, [((8, 1), 0)], False),
        # the inner loop's step is a multiple of what the outer one covers
        ((8, 5, 8), 0, [((8, 64, 1), 0)], True),
        ((8, 5, 8), 0, [((8, 192, 1), 0)], True),
        ((8, 5, 8), 0, [((8, -64, 1), 0)], True),
        ((8, 5, 8), 0, [((8, 63, 1), 0)], False),
        ((9, 5, 8), 0, [((8, 64, 1), 0)], False),
        ((8, 5, 9), 0, [((8, 64, 1), 0)], False),
        ((8, 5, 1), 0, [((8, 72, 1), 0)], True),
        # several statements, a row apart, and beside each other
        ((8, 5, 4), 0, [((8, 128, 1), 0), ((8, 128, 1), 64), ((8, 128, 1), 4), ((8, 128, 1), 68)], True),
        ((8, 5, 4), 0, [((8, 128, 1), 0), ((8, 128, 1), 64), ((8, 128, 1), 5)], False),
        ((8, 5, 4), 0, [((8, 128, 1), 0), ((8, 128, 1), 56)], False),
        ((8, 5, 4), 0, [((8, 144, 1), 0), ((8, 144, 1), 72)], True),  # rows with padding behind them
        ((8, 5, 4), 0, [((8, 64, 1), 0), ((4, 64, 1), 0)], False),
        ((3, 8, 5), 1, [((7, 8, 64), 0)], True),
    ],
)  # fmt: skip
def test_the_remainders_tell(extents: tuple[int, ...], level: int, indices: list[Index], expected: bool) -> None:
    assert apart(extents, level, *indices) == expected
    assert meet(extents, level, *indices) != expected


@settings(max_examples=150)
@given(st.data())
def test_what_is_seen_to_be_apart_never_meets(data: st.DataObject) -> None:
    extents = tuple(data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=3)))
    level = data.draw(st.integers(0, len(extents) - 1))
    factors = tuple(data.draw(st.sampled_from((0, 1, 2, 3, 4, 5, 8, 10, 16, 20, 24, -4, -16))) for _ in extents)
    constants = data.draw(st.lists(st.sampled_from((0, 1, 2, 4, 8, 16, 20, 32, 33)), min_size=1, max_size=3))
    indices = [(factors, 500 + constant) for constant in constants]
    if apart(extents, level, *indices):
        assert not meet(extents, level, *indices)
