"""The sizes of tiles in registers: of products, and of convolutions."""

from __future__ import annotations

import pytest

from tirscript.passes.schedule.default_cpu import contraction, convolution


@pytest.mark.parametrize("registers", [16, 32])
@pytest.mark.parametrize("extents", [(512, 512), (1000, 1000), (100, 100), (64, 64), (17, 33), (4096, 32)])
def test_register_tiles_fit_and_waste_little(extents: tuple[int, int], registers: int) -> None:
    lanes = registers // 2
    height, vectors = contraction.tile_of(*extents, lanes, registers)
    assert height * vectors + vectors + 1 <= registers and height * vectors >= 8
    padded = [-(-extent // size) * size for extent, size in zip(extents, (height, vectors * lanes), strict=True)]
    # the last vector may hold one column alone
    whole = -(-extents[1] // lanes) * lanes * extents[0]
    assert padded[0] * padded[1] <= 1.3 * whole


def test_tiles_of_convolutions_divide_what_they_tile() -> None:
    for vectors, pixels in ((4, 56), (4, 14), (2, 7), (3, 5), (1, 1)):
        size, height = convolution.tile_of(vectors, pixels, 32)
        assert vectors % size == 0 and pixels % height == 0 and size * height + size + 1 <= 32


@pytest.mark.parametrize(
    ("vectors", "pixels", "deep", "tile"),
    [
        (4, 56, False, (2, 8)),  # taller than wide: weights come from farther away
        (4, 56, True, (4, 4)),  # and pixels, too
        (4, 28, False, (2, 7)),  # so that windows are still unrolled: not 2 by 14
        (2, 13, False, (2, 13)),
        (4, 27, False, (2, 9)),
        (1, 4, False, (1, 4)),
    ],
)
def test_the_tile_of_a_convolution(vectors: int, pixels: int, deep: bool, tile: tuple[int, int]) -> None:
    assert convolution.tile_of(vectors, pixels, 32, deep=deep) == tile


@pytest.mark.parametrize(
    ("vectors", "pixels", "tile"),
    [
        (2, 56, (2, 4)),  # 2 by 7 or 8 with branches would not stay in registers
        (1, 100, (1, 10)),
        (2, 29, (1, 29)),  # nothing else divides it
    ],
)
def test_the_tile_of_a_convolution_that_asks_for_a_border(vectors: int, pixels: int, tile: tuple[int, int]) -> None:
    assert convolution.tile_of(vectors, pixels, 32, asked=True) == tile
