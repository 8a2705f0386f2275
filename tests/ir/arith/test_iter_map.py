"""Iterator maps: which indices are seen as one-to-one maps of loops, and that what is said of them is true."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import pytest

from tirscript.ir import Const, Expr, IndexMap, Var, get_op
from tirscript.ir.arith.evaluate import evaluate
from tirscript.ir.arith.iter_map import IterMap, detect

i, j, k = Var("i"), Var("j"), Var("k")
PLACES = tuple(map(Var, "pqrstu"))


def text(expr: Expr) -> str:
    return str(expr.script(fragment=True)).strip()


def table(indices: Sequence[Expr], loops: Mapping[Var, int]) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Where each iteration goes."""
    found = {}
    for point in itertools.product(*map(range, loops.values())):
        at = dict(zip(loops, point, strict=True))
        found[point] = tuple(evaluate(index, at) for index in indices)
    return found


def check(found: IterMap, indices: Sequence[Expr], loops: Mapping[Var, int]) -> None:
    """Everything that a map says, tried on all iterations."""
    there = table(indices, loops)
    assert len(set(there.values())) == len(there)
    places = PLACES[: len(indices)]
    back = found.inverse(places)
    for point, place in there.items():
        at = dict(zip(places, place, strict=True))
        assert tuple(evaluate(back[var], at) for var in loops) == point
    ranges = [range(x.base, x.base + x.extent * x.step, x.step) for x in found.indices]
    taken = set(there.values())
    assert taken <= set(itertools.product(*ranges))
    padding = found.padding(places)
    for place in itertools.product(*ranges):
        assert bool(evaluate(padding, dict(zip(places, place, strict=True)))) is (place not in taken)
    assert found.padded is (len(taken) < len(list(itertools.product(*ranges))))
    grown = table(indices, found.padded_loops)
    assert set(itertools.product(*ranges)) <= set(grown.values())


@pytest.mark.parametrize(
    ("loops", "indices", "shape", "padded", "back"),
    [
        ({i: 4, j: 8}, (i * 8 + j,), (32,), False, {i: "p // 8", j: "p % 8"}),
        ({i: 4, j: 8}, (j, i), (8, 4), False, {i: "q", j: "p"}),
        ({i: 14}, (i // 4, i % 4), (4, 4), True, {i: "p * 4 + q"}),
        ({i: 16}, (i // 4 % 2, i % 4, i // 8), (2, 4, 2), False, {i: "r * 8 + p * 4 + q"}),
        (
            {i: 4, j: 3},
            ((i * 3 + j) // 4, (i * 3 + j) % 4),
            (3, 4),
            False,
            {i: "(p * 4 + q) // 3", j: "(p * 4 + q) % 3"},
        ),
        ({i: 8}, (i * 2 + 1,), (8,), False, {i: "(p - 1) // 2"}),
        ({i: 4, j: 1}, (i + j,), (4,), False, {i: "p", j: "0"}),
        ({i: 4, j: 4, k: 4}, (i, (j * 4 + k) // 8, (j * 4 + k) % 8), (4, 2, 8), False, None),
    ],
)
def test_maps(
    loops: dict[Var, int], indices: tuple[Expr, ...], shape: tuple[int, ...], padded: bool, back: dict[Var, str] | None
) -> None:
    found = detect(indices, loops)
    assert found is not None
    assert (found.shape, found.padded) == (shape, padded)
    if back is not None:
        assert {var: text(value) for var, value in found.inverse(PLACES[: len(indices)]).items()} == back
    check(found, indices, loops)


@pytest.mark.parametrize(
    ("loops", "indices"),
    [
        ({i: 4, j: 4}, (i * 3 + j,)),  # digits overlap
        ({i: 4, j: 4}, (i,)),  # j is lost
        ({i: 16}, (i // 4,)),  # i % 4 is lost
        ({i: 16}, (i % 4, i // 8)),  # a gap
        ({i: 4, j: 4}, (i * j,)),
        ({i: 4}, (k,)),
        ({i: 4, j: 4}, (i - j,)),
        ({i: 6}, (i % 4,)),
        ({i: 12}, (i % 6 % 4, i % 6 // 4, i // 6)),  # 6 values in digits of 4: some places are taken twice
    ],
)
def test_no_maps(loops: dict[Var, int], indices: tuple[Expr, ...]) -> None:
    found = detect(indices, loops)
    assert found is None
    assert detect((*indices, *indices), {**loops, Var("unused"): 2}) is None


def test_predicates() -> None:
    less = get_op("less")
    found = detect((i * 4 + j,), {i: 4, j: 4}, predicate=less(i * 4 + j, 14))
    assert found is not None and found.shape == (14,) and found.is_bijective
    assert detect((i, j), {i: 4, j: 4}, predicate=less(i * 4 + j, 14)) is None
    assert detect((i * 4 + j,), {i: 4, j: 4}, predicate=less(j, 3)) is None
    assert detect((i // 4, i % 4), {i: 14}, padding=False) is None
    # what ends early is what digits are taken of
    found = detect(((i * 8 + j) // 6, (i * 8 + j) % 6), {i: 4, j: 8}, predicate=less(i * 8 + j, 30))
    assert found is not None and found.shape == (5, 6) and found.is_bijective
    # the rest of a division is another sum than what is divided
    found = detect((i // 4, i % 4), {i: 8}, predicate=less(i, 3))
    assert found is not None and found.shape == (1, 3)
    found = detect((i * 3 + j,), {i: 4, j: 3}, predicate=get_op("logical_and")(less(j, 1), less(i * 3 + j, 7)))
    assert found is not None and (found.shape, found.indices[0].step) == ((3,), 3)


@pytest.mark.parametrize("seed", range(80))
def test_random_predicates(seed: int) -> None:
    pick = random.Random(seed)
    loops = {var: pick.choice((1, 2, 3, 4, 6, 8)) for var in (i, j, k)[: pick.randint(1, 3)]}
    whole: Expr = Const(0, i.dtype)
    for var, extent in loops.items():
        whole = whole * extent + var
    indices, seen = [whole], [whole, *loops]
    for _ in range(pick.randint(0, 3)):
        piece, by = indices.pop(pick.randrange(len(indices))), pick.choice((2, 3, 4, 5, 8))
        new = [piece // by, piece % by] if pick.random() < 0.7 else [piece // by * by + piece % by]
        indices, seen = indices + new, seen + new
    predicate = get_op("less")(pick.choice(seen), pick.randint(1, 40))
    if pick.random() < 0.5:
        predicate = get_op("logical_and")(predicate, get_op("less")(pick.choice(seen), pick.randint(1, 40)))
    found = detect(indices, loops, predicate=predicate)
    if found is None:
        return
    points = (dict(zip(loops, point, strict=True)) for point in itertools.product(*map(range, loops.values())))
    places = [tuple(evaluate(index, at) for index in indices) for at in points if evaluate(predicate, at)]
    box = set(itertools.product(*(range(x.base, x.base + x.extent * x.step, x.step) for x in found.indices)))
    assert len(set(places)) == len(places) and set(places) <= box
    assert found.padded is (len(places) < len(box))


@pytest.mark.parametrize("seed", range(60))
def test_random_maps(seed: int) -> None:
    pick = random.Random(seed)
    loops = {var: pick.choice((1, 2, 3, 4, 6, 8)) for var in (i, j, k)[: pick.randint(1, 3)]}
    order = list(loops)
    pick.shuffle(order)
    whole: Expr = Const(0, i.dtype)
    for var in order:
        whole = whole * loops[var] + var
    pieces = [whole] if pick.random() < 0.7 else list(order)
    for _ in range(pick.randint(0, 2)):
        piece = pieces.pop(pick.randrange(len(pieces)))
        by = pick.choice((2, 3, 4, 5, 8))
        pieces += [piece // by, piece % by]
    pick.shuffle(pieces)
    if len(pieces) > 1 and pick.random() < 0.3:
        pieces.pop()
    indices = tuple(pieces)
    found = detect(indices, loops)
    if found is not None:
        check(found, indices, loops)
    else:
        values = table(indices, loops).values()
        assert len(set(values)) < len(values) or seed in UNSEEN


# one-to-one, but not as digits side by side: of w, `w % 3` is cut into digits of two values, which it does not fill
UNSEEN = frozenset((24,))


def test_index_maps() -> None:
    tiles = IndexMap.of(lambda a, b: (a // 4, b, a % 4))
    assert tiles.is_bijective((16, 3)) is True
    assert tiles.is_bijective((14, 3)) is False
    assert [text(dim) for dim in tiles.map_shape((14, 3)) or ()] == ["T.int64(4)", "T.int64(3)", "T.int64(4)"]
    found = tiles.non_surjective_inverse((14, 3))
    assert found is not None
    back, padding = found
    assert [text(index) for index in back.indices] == ["i0 * 4 + i2", "b"]
    assert text(padding) == "i0 * 4 + i2 >= 14"
    with pytest.raises(ValueError, match="takes 2 indices"):
        tiles.is_bijective((14,))


def test_index_maps_beyond_digits() -> None:
    skewed = IndexMap.of(lambda a, b: (a + b, b))
    assert skewed.is_injective((4, 4)) is True
    assert skewed.is_bijective((4, 4)) is False
    back = skewed.inverse_of((4, 4))
    assert back is not None
    for a, b in itertools.product(range(4), range(4)):
        at = dict(zip(back.params, (a + b, b), strict=True))
        assert tuple(evaluate(index, at) for index in back.indices) == (a, b)
    assert IndexMap.of(lambda a: (a // 2,)).is_injective((4,)) is False
    given = IndexMap.of(lambda a: (a + 1,), lambda p: (p - 1,))
    assert given.inverse_of((4,)) is given.inverse
