"""Layouts in memory, and that they are found in the statements of functions, whatever these are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Expr, IndexMap, PrimFunc, Var, const, walk
from tirscript.ir.dtype import FLOAT32, INT32, INT64
from tirscript.passes.layouts import PadMapping, conversion_of
from tirscript.passes.layouts.converters import crop_function, pad_function, refill_function
from tirscript.script import parse
from tirscript.script.extract import parse_python


def function(params: str, body: str) -> PrimFunc:
    made = parse(f"from tirscript.script import tir as T\n\n\n@T.prim_func\ndef f({params}):\n{body}")
    assert isinstance(made, PrimFunc)
    return made


TILES = 'A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")'
BACK = 'A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")'
FOUND = {
    "a pad that chooses": (
        TILES,
        """
    for i, j in T.grid(4, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vi * 4 + vj < 14, A[vi * 4 + vj], 3)
""",
        "packs (i0) -> (i0 // 4, i0 % 4) in (4, 4), pad 3",
    ),
    "a pad in plain loops": (
        TILES,
        """
    for i, j in T.grid(4, 4):
        B[i, j] = A[i * 4 + j] if i * 4 + j < 14 else 3
""",
        "packs (i0) -> (i0 // 4, i0 % 4) in (4, 4), pad 3",
    ),
    "a pad of two blocks": (
        TILES,
        """
    for i in range(14):
        with T.block("b"):
            vi = T.axis.spatial(14, i)
            B[vi // 4, vi % 4] = A[vi]
    for i, j in T.grid(4, 4):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 4 + j >= 14)
            B[vi, vj] = 7
""",
        "packs (i0) -> (i0 // 4, i0 % 4) in (4, 4), pad 7",
    ),
    "a pad that leaves the rest unwritten": (
        TILES,
        """
    for i in range(14):
        B[i // 4, i % 4] = A[i]
""",
        "packs (i0) -> (i0 // 4, i0 % 4) in (4, 4)",
    ),
    "a crop": (
        BACK,
        """
    for i in range(14):
        B[i] = A[i // 4, i % 4]
""",
        "crops (i0) -> (i0 // 4, i0 % 4) in (4, 4)",
    ),
    "a crop that runs over the tiles": (
        BACK,
        """
    for i, j in T.grid(4, 4):
        with T.block("b"):
            T.where(i * 4 + j < 14)
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 4 + vj] = A[vi, vj]
""",
        "crops (i0) -> (i0 // 4, i0 % 4) in (4, 4)",
    ),
    "a crop that says what it leaves out": (
        BACK,
        """
    for i, j in T.grid(4, 4):
        T.assume(i * 4 + j < 14 or A[i, j] == 5)
    for i in range(14):
        B[i] = A[i // 4, i % 4]
""",
        "crops (i0) -> (i0 // 4, i0 % 4) in (4, 4), pad 5",
    ),
    "a crop that says it of other places": (
        BACK,
        """
    for i, j in T.grid(4, 4):
        T.assume(i * 4 + j < 15 or A[i, j] == 5)
    for i in range(14):
        B[i] = A[i // 4, i % 4]
""",
        "crops (i0) -> (i0 // 4, i0 % 4) in (4, 4)",
    ),
    "a transpose": (
        'A: T.Buffer((3, 5), "int32"), B: T.Buffer((5, 3), "int32")',
        """
    for i, j in T.grid(5, 3):
        B[i, j] = A[j, i]
""",
        "packs (i0, i1) -> (i1, i0) in (5, 3)",
    ),
    "a reshape": (
        'A: T.Buffer((3, 8), "int32"), B: T.Buffer((3, 2, 4), "int32")',
        """
    for i, j, k in T.grid(3, 2, 4):
        B[i, j, k] = A[i, j * 4 + k]
""",
        "packs (i0, i1) -> (i0, i1 // 4, i1 % 4) in (3, 2, 4)",
    ),
    "a tensor in the middle": (
        'A: T.Buffer((5,), "int32"), B: T.Buffer((8,), "int32")',
        """
    for i in range(8):
        B[i] = A[i - 2] if i >= 2 and i < 7 else 0
""",
        "packs (i0) -> (i0 + 2) in (8), pad 0",
    ),
    "a slice": (
        'A: T.Buffer((8,), "int32"), B: T.Buffer((5,), "int32")',
        """
    for i in range(5):
        B[i] = A[i + 2]
""",
        "crops (i0) -> (i0 + 2) in (8)",
    ),
    "work": (TILES, "    for i, j in T.grid(4, 4):\n        B[i, j] = A[i * 3 + j] * 2\n", None),
    "elements twice": (
        TILES,
        "    for i, j in T.grid(4, 4):\n        B[i, j] = A[(i * 4 + j) % 14]\n",
        None,
    ),
    "a pad of other places": (
        TILES,
        "    for i, j in T.grid(4, 4):\n        B[i, j] = A[i * 4 + j] if i * 4 + j < 13 else 3\n",
        None,
    ),
    "padding that is not a number": (
        TILES,
        "    for i, j in T.grid(4, 4):\n        B[i, j] = A[i * 4 + j] if i * 4 + j < 14 else A[0]\n",
        None,
    ),
    "padding that is not all stored": (
        TILES,
        """
    for i in range(14):
        with T.block("b"):
            vi = T.axis.spatial(14, i)
            B[vi // 4, vi % 4] = A[vi]
    for i, j in T.grid(4, 4):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 4 + j >= 15)
            B[vi, vj] = 7
""",
        None,
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_mappings_are_found(name: str) -> None:
    params, body, expected = FOUND[name]
    found = conversion_of(function(params, body))
    said = None if found is None else f"{'packs' if found.packs else 'crops'} {found.mapping}"
    assert said == expected


def test_the_examples_pad_and_crop_are_mappings() -> None:
    examples = Path(__file__).resolve().parents[3] / "examples"
    texts = [(examples / f"{name}.py").read_text(encoding="utf-8") for name in ("pad", "crop")]
    functions = [next(iter(parse_python(text).values())) for text in texts]
    pad, crop = (conversion_of(one) if isinstance(one, PrimFunc) else None for one in functions)
    assert pad is not None and crop is not None
    assert pad.packs and not crop.packs and pad.mapping.same_layout(crop.mapping)


def test_layouts_that_are_the_same_and_others() -> None:
    tiles = PadMapping.of(lambda i: (i // 4, i % 4), (14,))
    again = PadMapping.of(lambda i: (i // 2 // 2, i - i // 4 * 4), (14,))
    others = [
        PadMapping.of(lambda i: (i % 4, i // 4), (14,)),
        PadMapping.of(lambda i: (i // 4, i % 4), (15,)),
        PadMapping.of(lambda i: (i // 4, i % 4), (14,), None, (5, 4)),
        PadMapping.of(lambda i: i, (14,)),
    ]
    assert tiles is not None and again is not None and tiles.same_layout(again)
    assert all(one is not None and not tiles.same_layout(one) for one in others)
    assert tiles.same_layout(tiles.with_value(const(3, INT32)))


def test_maps_that_are_no_layouts() -> None:
    assert PadMapping.of(lambda i: i // 2, (14,)) is None
    assert PadMapping.of(lambda i, j: (i, j), (14,)) is None
    gaps = PadMapping.of(lambda i: 2 * i, (14,))
    assert gaps is not None and gaps.has_gaps(gaps.components()[0])


def test_tiles_are_whole() -> None:
    found = PadMapping.of(lambda n, c: (n, c // 16, c % 16), (2, 3))
    assert found is not None and str(found) == "(i0, i1) -> (i0, i1 // 16, i1 % 16) in (2, 1, 16)"
    assert found.padded and not any(map(found.has_gaps, found.components()))


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_functions_and_numpy_agree(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(2, 9), min_size=1, max_size=2))
    tiles = [data.draw(st.integers(1, size)) for size in shape]
    offsets = [data.draw(st.integers(0, 3)) for _ in shape]
    order = data.draw(st.permutations(range(2 * len(shape))))

    def place(*indices: Expr) -> tuple[Expr, ...]:
        moved = [index + offset for index, offset in zip(indices, offsets, strict=True)]
        parts = [index // tile for index, tile in zip(moved, tiles, strict=True)]
        parts += [index % tile for index, tile in zip(moved, tiles, strict=True)]
        return tuple(parts[at] for at in order)

    names = [f"i{at}" for at in range(len(shape))]
    params = tuple(Var(name, INT64) for name in names)
    made = PadMapping.of(IndexMap(params, place(*params)), shape)
    assert made is not None
    value = data.draw(st.sampled_from([0.0, -1.0]))
    given_array = np.arange(np.prod(shape), dtype="float32").reshape(shape) + 1
    expected = made.packed(given_array, const(value, FLOAT32))
    assert (expected != value).sum() == given_array.size
    packed = np.zeros(expected.shape, "float32")
    pad = pad_function("pad", made, FLOAT32, const(value, FLOAT32))
    tirscript.interpret(pad, given_array, packed)
    assert (packed == expected).all()
    crop = crop_function("crop", made, FLOAT32)
    back = np.zeros(shape, "float32")
    tirscript.interpret(crop, packed, back)
    assert (back == given_array).all()
    other = np.zeros(expected.shape, "float32")
    tirscript.interpret(refill_function("refill", made, FLOAT32, const(9.0, FLOAT32)), packed, other)
    assert (other == made.packed(given_array, const(9.0, FLOAT32))).all()
    found = [conversion_of(pad), conversion_of(crop)]
    assert all(one is not None and (one.mapping.same_layout(made) or not made.padded) for one in found)


def test_mappings_are_made_once_and_told_apart() -> None:
    def tiles(i: Any) -> tuple[Any, ...]:
        return i // 4, i % 4

    n, m = Var("n", INT64), Var("n", INT64)
    first, second = PadMapping.of(tiles, (14,)), PadMapping.of(tiles, (14,), const(3, INT32))
    assert first is not None and second is not None and first is PadMapping.of(tiles, (14,))
    assert first.pad_value is None and second.pad_value is not None and second.index_map is first.index_map
    for other in (PadMapping.of(tiles, (15,)), PadMapping.of(tiles, (14,), None, (5, 4)), PadMapping.of(tiles, (n,))):
        assert other is not None and not other.same_layout(first)
    one, another, double = (PadMapping.of(tiles, (size,)) for size in (n, m, n * 2))
    assert one is not None and another is not None and double is not None
    # variables of one name are two
    assert not one.same_layout(another) and one is PadMapping.of(tiles, (n,))
    assert str(double.packed_shape[0]) == "(n * 2 + 3) // 4" and n in walk(double.packed_shape)


def test_numbers_have_the_operators_that_maps_may_have() -> None:
    import operator

    from tirscript.ir.op import get_op
    from tirscript.passes.layouts.numbers import values_at

    i, j = Var("i", INT64), Var("j", INT64)
    places: dict[Var, Any] = {i: np.arange(-3, 4)[:, None], j: np.arange(-2, 3)[None, :]}
    assert (values_at(get_op("negative")(i), places) == -places[i]).all()
    for name, known in {"min": np.minimum, "max": np.maximum, "floordiv": operator.floordiv}.items():
        b = j * 2 + 1
        assert (values_at(get_op(name)(i, b), places) == known(places[i], places[j] * 2 + 1)).all()
    choice = get_op("if_then_else")(get_op("less")(i, j), get_op("negative")(j), i)
    assert (values_at(choice, places) == np.where(places[i] < places[j], -places[j], places[i])).all()
    # a row backwards
    mapping = PadMapping.of(IndexMap((i,), (get_op("negative")(i) + const(4, INT64),)), (const(5, INT64),), None)
    assert mapping.packed(np.arange(5)).tolist() == [4, 3, 2, 1, 0]


def test_a_constant_of_one_element_has_one_place() -> None:
    i, j = Var("i", INT64), Var("j", INT64)
    mapping = PadMapping.of(
        IndexMap((i, j), (const(1, INT64), const(0, INT64))), (const(1, INT64),) * 2, const(7, INT64)
    )
    assert mapping is not None
    assert mapping.packed(np.array([[5]]), const(7, INT64)).tolist() == [[7], [5]]
