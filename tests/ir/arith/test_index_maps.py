"""What index maps do to a domain, against trying all elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.ir import Expr, IndexMap, Var, const, dtype, get_op
from tirscript.ir.arith.evaluate import evaluate
from tirscript.ir.arith.presburger import MappedDomain
from tirscript.ir.arith.presburger.digits import digit_ranges
from tirscript.ir.rewrite import walk

INT32, INT64 = dtype("int32"), dtype("int64")
n = Var("n", INT64)


def mapped(function: Callable[..., object], *shape: Expr | int) -> MappedDomain:
    return MappedDomain(IndexMap.of(function), shape)


def places(count: int) -> list[Var]:
    return [Var(f"p{at}", INT64) for at in range(count)]


INVERSES = {
    "transpose": (lambda i, j: (j, i), (16, 8), ["i1", "i0"]),
    "tiles": (lambda i, j: (i // 4, j, i % 4), (16, 8), ["i0 * 4 + i2", "i1"]),
    "flat": (lambda i, j: (8 * i + j,), (14, 8), ["i0 // 8", "i0 % 8"]),
    "reversed": (lambda i: (15 - i,), (16,), ["15 - i0"]),
    "rotated": (lambda i: ((i + 3) % 16,), (16,), ["(i0 - 3) % 16"]),
    "spread": (lambda i: (2 * i,), (8,), ["i0 // 2"]),
    "symbolic": (lambda i, j: (i // 4, j, i % 4), (n, 8), ["i0 * 4 + i2", "i1"]),
    "split anew": (
        lambda i, j, k: ((64 * i + 8 * j + k) // 24, (64 * i + 8 * j + k) % 24),
        (14, 8, 8),
        ["(i0 * 24 + i1) // 64", "(i0 * 24 + i1) // 8 % 8", "(i0 * 24 + i1) % 8"],
    ),
}


@pytest.mark.parametrize("case", INVERSES)
def test_inverse(case: str) -> None:
    function, shape, expected = INVERSES[case]
    domain = mapped(function, *shape)
    inverse = domain.inverse()
    assert inverse is not None
    assert [str(index) for index in inverse.indices] == expected
    assert domain.is_inverse(inverse) is True and domain.is_injective() is True
    wrong = IndexMap(inverse.params, (inverse.indices[0] + 1, *inverse.indices[1:]))
    assert domain.is_inverse(wrong) is False


def test_collision() -> None:
    domain = mapped(lambda i, j: (i // 2, j), 4, 4)
    found = domain.collision()
    assert found is not None and found.first != found.second
    assert found.place == tuple(
        evaluate(e, dict(zip(domain.index_map.params, found.second))) for e in domain.index_map.indices
    )
    assert domain.is_injective() is False and domain.inverse() is None


def test_collision_names_the_symbols() -> None:
    found = mapped(lambda i: (i % 8,), n).collision()
    assert found is not None and found.symbols[n] > 8
    assert str(found).endswith(f"where n = {found.symbols[n]}")
    assert abs(found.first[0] - found.second[0]) % 8 == 0


def test_padding_of_a_ragged_tiling() -> None:
    domain = mapped(lambda i: (i // 4, i % 4), 14)
    assert str(domain.padding((4, 4), places(2))) == "p0 == 3 and p1 >= 2"
    assert [str(dim) for dim in domain.image_shape() or ()] == ["T.int64(4)", "T.int64(4)"]
    assert domain.is_bijective((4, 4)) is False and domain.stays_within((4, 4)) is True
    assert domain.stays_within((3, 4)) is False and domain.cardinality() == 14


def test_padding_of_a_symbolic_size() -> None:
    domain = mapped(lambda i, j: (i // 4, j, i % 4), n, 8)
    assert str(domain.padding(((n + 3) // 4, 8, 4), places(3))) == "n <= p0 * 4 + p2"
    assert str((domain.image_shape() or ())[0]) == "(n + 3) // 4"
    assert domain.cardinality() is None


def test_no_padding() -> None:
    domain = mapped(lambda i, j: (i * 8 + j,), 4, 8)
    assert str(domain.padding((32,), places(1))) == "False" and domain.is_bijective((32,)) is True
    assert str(domain.image(places(1))) == "p0 >= 0 and p0 < 32"


def test_wrapping_makes_collisions() -> None:
    i = Var("i", dtype("int8"))
    domain = MappedDomain(IndexMap((i,), (i * 4,)), (128,))
    found = domain.collision()
    assert found is not None and (found.first[0] - found.second[0]) % 64 == 0


def test_a_swizzle_is_tried() -> None:
    domain = mapped(lambda i, j: (i, get_op("bitwise_xor")(i, j)), 8, 8)
    assert domain.is_injective() is True and domain.is_bijective((8, 8)) is True and domain.cardinality() == 64
    other = mapped(lambda i, j: (get_op("bitwise_xor")(i, j),), 8, 8)
    found = other.collision()
    assert found is not None and found.first == (0, 1) and found.second == (1, 0)


def test_what_is_not_affine_is_unknown() -> None:
    domain = mapped(lambda i, j: (i * n + j,), n, n)
    assert domain.is_injective() is None and domain.collision() is None and domain.inverse() is None
    assert domain.image(places(1)) is None and domain.image_shape() is None and domain.cardinality() is None
    assert domain.is_bijective((n * n,)) is None


def test_an_empty_domain() -> None:
    domain = mapped(lambda i: (i,), 0)
    assert domain.is_empty() is True and domain.cardinality() == 0
    assert str(domain.padding((3,), places(1))) == "True"


def test_a_predicate_leaves_a_part() -> None:
    made = IndexMap.of(lambda i: (i // 2,))
    domain = MappedDomain(made, (8,), predicate=get_op("equal")(made.params[0] % 2, 1))
    assert domain.is_injective() is True and domain.cardinality() == 4
    inverse = domain.inverse()
    assert inverse is not None and str(inverse.indices[0]) == "i0 * 2 + 1"


def test_wrong_rank_is_an_error() -> None:
    with pytest.raises(ValueError, match="takes 1 index, the shape has 2"):
        mapped(lambda i: (i,), 3, 3)
    with pytest.raises(ValueError, match="gives 1 indices, the shape has 2"):
        mapped(lambda i: (i,), 3).is_bijective((3, 3))


@st.composite
def maps(draw: st.DrawFn) -> MappedDomain:
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    params = [Var(f"i{at}", INT64) for at in range(len(shape))]

    def index(depth: int) -> Expr:
        if depth == 0:
            return draw(st.sampled_from(params))
        kind = draw(st.integers(0, 5))
        inner = index(depth - 1)
        if kind == 0:
            return inner // draw(st.integers(1, 4))
        if kind == 1:
            return inner % draw(st.integers(1, 5))
        if kind == 2:
            return inner * draw(st.integers(-2, 6)) + index(0)
        if kind == 3:
            return get_op(draw(st.sampled_from(("min", "max"))))(inner, index(0))
        if kind == 4:
            return get_op("Select")(index(0) < 2, inner, index(0) + 3)
        return inner + draw(st.integers(-3, 3))

    indices = tuple(index(draw(st.integers(0, 3))) for _ in range(draw(st.integers(1, 3))))
    predicate = draw(st.sampled_from((None, params[0] < 4, (params[0] + params[-1]) % 3 < 2)))
    return MappedDomain(IndexMap(tuple(params), indices), shape, predicate=predicate)


@settings(max_examples=60, deadline=None)
@given(maps())
def test_brute_force(domain: MappedDomain) -> None:
    params = domain.index_map.params
    table = {}
    for element in itertools.product(*(range(int(dim.value)) for dim in domain.shape)):  # type: ignore[attr-defined]
        values = dict(zip(params, element))
        if domain._predicate is None or evaluate(domain._predicate, values):
            table[element] = tuple(evaluate(index, values) for index in domain.index_map.indices)
    taken = set(table.values())
    assert domain.is_injective() in (None, len(taken) == len(table))
    assert domain.cardinality() in (None, len(taken))
    found = domain.collision()
    if found is not None:
        assert found.first != found.second and table[found.first] == table[found.second] == found.place
    elif domain.is_injective() is False:
        raise AssertionError("not injective, and no collision")
    count = len(domain.index_map.indices)
    names = places(count)
    if not taken:
        return
    lows = [min(place[at] for place in taken) for at in range(count)]
    highs = [max(place[at] for place in taken) for at in range(count)]
    sizes = domain.image_shape()
    if sizes is not None:
        assert [evaluate(size, {}) for size in sizes] == [high + 1 for high in highs]
    image = domain.image(names)
    around = list(itertools.product(*(range(low - 1, high + 2) for low, high in zip(lows, highs))))[:3000]
    if image is not None:
        for place in around:
            assert evaluate(image, dict(zip(names, place))) == (place in taken)
    shape = [max(1, high + 1) for high in highs]
    padding = domain.padding(shape, names)
    if padding is not None:
        for place in list(itertools.product(*map(range, shape)))[:3000]:
            assert evaluate(padding, dict(zip(names, place))) == (place not in taken)
    full = all(low == 0 for low in lows) and len(taken) == len(table) == len(
        list(itertools.product(*map(range, shape)))
    )
    assert domain.is_bijective(shape) in (None, full)
    inverse = domain.inverse()
    if inverse is not None:
        for element, place in table.items():
            assert tuple(evaluate(index, dict(zip(inverse.params, place))) for index in inverse.indices) == element
        assert domain.is_inverse(inverse) in (None, True)


@st.composite
def digit_maps(draw: st.DrawFn) -> tuple[MappedDomain, list[int]]:
    """Maps whose indices are numbers with the parameters as digits, and some that are nearly so; and a shape."""
    sizes = draw(st.lists(st.sampled_from((1, 1, 2, 3, 4)), min_size=1, max_size=5))
    kind = draw(st.sampled_from((INT32, INT64)))
    params = [Var(f"i{at}", kind) for at in range(len(sizes))]
    order = draw(st.permutations(range(len(sizes))))
    indices: list[Expr] = []
    shape: list[int] = []
    cut = sorted(draw(st.lists(st.integers(0, len(order)), max_size=2)))
    for start, stop in itertools.pairwise((0, *cut, len(order))):
        stride, index = 1, const(0, kind)
        for at in order[start:stop]:
            index = index + params[at] * (stride + draw(st.sampled_from((0, 0, 0, 0, 0, 1))))
            stride *= sizes[at]
        indices.append(index if draw(st.integers(0, 9)) else index + 1)
        shape.append(stride + (draw(st.integers(0, 9)) == 0))
    return MappedDomain(IndexMap(tuple(params), tuple(indices)), sizes), shape


@settings(max_examples=150, deadline=None)
@given(digit_maps())
def test_digits_against_all_elements(case: tuple[MappedDomain, list[int]]) -> None:
    domain, shape = case
    params = domain.index_map.params
    table = [
        tuple(evaluate(index, dict(zip(params, element))) for index in domain.index_map.indices)
        for element in itertools.product(*(range(int(dim.value)) for dim in domain.shape))  # type: ignore[attr-defined]
    ]
    injective = len(set(table)) == len(table)
    assert domain.is_injective() is injective
    assert domain.is_bijective(shape) is (injective and set(table) == set(itertools.product(*map(range, shape))))


def test_digits_of_symbolic_sizes() -> None:
    i, j, n, m = (Var(name, INT32) for name in "ijnm")
    swapped = MappedDomain(IndexMap((i, j), (j, i)), (n, m))
    assert swapped.is_injective() is True and swapped.is_bijective((m, n)) is True
    assert swapped.is_bijective((n, m)) is False  # where n is not m


def test_digits_do_not_wrap() -> None:
    i = Var("i", dtype("int8"))
    assert digit_ranges((i,), (const(300, INT64),), (i,)) is None
    assert digit_ranges((i,), (const(128, INT64),), (i,)) == [128]


@pytest.mark.parametrize(
    ("condition", "shape", "filled"),
    [
        (None, (6, 32), True),
        (None, (5, 30), True),
        (None, (7, 32), False),
        (lambda i, j, k: j * 8 + k < 30, (6, 30), True),
        (lambda i, j, k: j * 8 + k < 29, (6, 30), False),
        (lambda i, j, k: j * 8 + k + 2 < 32, (6, 30), True),
        (lambda i, j, k: j * 8 + k + 3 < 32, (6, 30), False),
        (lambda i, j, k: i < 5, (5, 32), True),
        (lambda i, j, k: k < 7, (6, 32), False),
        (lambda i, j, k: j * 8 + k > 1, (6, 30), False),
    ],
)
def test_a_box_is_filled(condition: Callable[..., Expr] | None, shape: tuple[int, ...], filled: bool) -> None:
    i, j, k = (Var(name, INT32) for name in "ijk")
    index_map = IndexMap((i, j, k), (i, j * 8 + k))
    predicate = None if condition is None else condition(i, j, k)
    domain = MappedDomain(index_map, (6, 4, 8), predicate=predicate)
    assert domain.is_filled(shape) is filled
    elements = itertools.product(range(6), range(4), range(8))
    taken = {(x, y * 8 + z) for x, y, z in elements if predicate is None or evaluate(predicate, {i: x, j: y, k: z})}
    assert set(itertools.product(*map(range, shape))) <= taken or not filled


def test_computed_sizes_of_dimensions_that_keep_their_index() -> None:
    mapping = IndexMap.of(lambda i, j, k: (j // 32, i, k, j % 32))
    half, rounded = n // 2, (n // 2 + 7) // 8 * 8
    shape = mapping.map_shape([half, 64, rounded])
    assert shape is not None and [dim.script().strip() for dim in shape] == [
        "T.int64(2)",
        "n // 2",
        "(n // 2 + 7) // 8 * 8",
        "T.int64(32)",
    ]
    assert mapping.is_bijective([half, 64, (n + 4) // 5 * 5])
    found = mapping.non_surjective_inverse([half, 60, rounded])
    assert found is not None
    back, free = found
    assert [index.script().strip() for index in back.indices] == ["i", "i0 * 32 + i3", "k"]
    assert evaluate(free, dict(zip(back.params, (1, 0, 0, 28), strict=True)))
    assert not evaluate(free, dict(zip(back.params, (1, 0, 0, 27), strict=True)))


def test_maps_on_indices_of_several_dtypes() -> None:
    tiles = IndexMap.of(lambda i, j: (i // 4, j, i % 4)).with_dtypes([INT64, INT32])
    assert [place.dtype for place in tiles.indices] == [INT64, INT32, INT64]
    assert [place.script().strip() for place in tiles.indices] == ["i // 4", "j", "i % 4"]
    (flat,) = IndexMap.of(lambda i, j: (i * 8 + j,)).with_dtypes([INT64, INT32]).indices
    assert flat.script().strip() == 'i * 8 + T.cast(j, "int64")'
    m = Var("m", INT32)
    (moved,) = IndexMap.of(lambda i: (i + m,), dtype=INT32).with_dtypes([INT64]).indices
    assert moved.script().strip() == 'T.cast(i, "int32") + m'


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda i: (i + 2,), [4]),
        (lambda i: (i * 2,), [4]),
        (lambda i: (i * 2 + 1,), [4]),
        (lambda i, j: (j + 1, i // 4, i % 4), [6, 2]),
        (lambda i, j: (i * 3 + 2, j), [2, 3]),
        (lambda i, j: (i * 8 + j + 1,), [2, 8]),
    ],
)
def test_places_that_no_element_takes(function: Callable[..., object], shape: list[int]) -> None:
    mapping = IndexMap.of(function)
    sizes, found = mapping.map_shape(shape), mapping.non_surjective_inverse(shape)
    assert sizes is not None and found is not None
    back, free = found

    def at(which: IndexMap, place: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(evaluate(index, dict(zip(which.params, place, strict=True))) for index in which.indices)

    taken = {at(mapping, element): element for element in itertools.product(*map(range, shape))}
    assert [max(axis) + 1 for axis in zip(*taken, strict=True)] == [evaluate(size, {}) for size in sizes]
    for place in itertools.product(*(range(evaluate(size, {})) for size in sizes)):
        assert evaluate(free, dict(zip(back.params, place, strict=True))) == (place not in taken)
        assert place not in taken or at(back, place) == taken[place]


def test_products_of_sizes_stand_for_themselves() -> None:
    area = n * Var("m", INT64)
    tiles = IndexMap.of(lambda i, j: (j // 32, i, j % 32))
    rounded = (area + 31) // 32 * 32
    assert tiles.is_bijective([n, rounded])
    shape = tiles.map_shape([n, rounded])
    assert shape is not None and shape[0].script().strip() == "(n * m + 31) // 32"


def test_sizes_that_are_products_of_products_have_no_names_of_their_own() -> None:
    rows, columns, planes, index = (Var(name, INT64) for name in ("rows", "columns", "planes", "index"))
    shape = (rows * columns * planes,)
    blocks = IndexMap((index,), (index // 4, index % 4))
    found = blocks.map_shape(shape)
    back = blocks.non_surjective_inverse(shape)
    assert found is not None and back is not None
    inverse, free = back
    known = {rows, columns, planes, *inverse.params}
    assert {one for part in (*found, free, *inverse.indices) for one in walk(part) if type(one) is Var} <= known
