"""Indices of dtypes that wrap around soon: at the ends of vectors, behind masks, and in regions of other dtypes."""

from __future__ import annotations

import pytest
from helpers.passes import program

from tirscript.testing import assert_same_result

PARAMS = 'A: T.Buffer((256,), "int32"), B: T.Buffer((256,), "int32"), M: T.Buffer((2, 256), "int32")'


def runs(body: str) -> None:
    """The program means natively what the interpreter makes of it."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    func = program(f"def f({PARAMS}):\n{lines}")
    assert_same_result(func, func, tolerance=0.0)


@pytest.mark.parametrize(
    "body",
    [
        "B[T.ramp(0, 1, 16)] = M[1, T.ramp(T.uint8(15), T.uint8(255), 16)]",
        "B[T.ramp(0, 1, 16)] = M[1, T.ramp(T.uint8(250), T.uint8(1), 16)]",
        "M[0, T.ramp(T.uint8(250), T.uint8(1), 16)] = B[T.ramp(0, 1, 16)]",
    ],
)
def test_a_ramp_of_a_narrow_dtype_goes_on_as_it_does_there_in_flat_memory(body: str) -> None:
    runs(body)


@pytest.mark.parametrize(
    "body",
    [
        "B[T.ramp(0, 1, 8)] = V[T.ramp(T.uint8(9), T.uint8(255), 8)]",
        "for i in range(T.uint8(40)):\n    B[i] = V[i]",
        "for i in range(T.int8(40)):\n    B[i] = V[i] + W[i]",
    ],
)
def test_an_index_of_another_dtype_than_the_start_of_the_region(body: str) -> None:
    head = "V = T.match_buffer(A[100:200], (100,), 'int32')\nfor q in range(T.int8(3)):\n    "
    inner = "W = T.match_buffer(A[q + T.int8(80):q + T.int8(120)], (40,), 'int32')\n"
    runs(head + ("with T.block('x'):\n" + inner + body).replace("\n", "\n        "))


def test_the_offset_of_a_region_that_starts_at_an_unsigned_number() -> None:
    runs(
        "for q in range(T.uint8(3)):\n    with T.block('x'):\n"
        "        V = T.match_buffer(M[1, q:q + T.uint8(5)], (5,), 'int32', elem_offset='off')\n"
        "        B[q] = V[1] + T.cast(V.elem_offset, 'int32')"
    )


@pytest.mark.parametrize(
    "body",
    [
        "for i in T.vectorized(T.int8(4)):\n    if i != T.int8(2):\n        B[i] = A[i * T.int8(100)]",
        "for i in T.vectorized(T.int8(64)):\n    if i > T.int8(0):\n        B[i] = A[T.int8(-128) - i]",
        "for i in T.vectorized(T.int8(64)):\n    if i > T.int8(0):\n        A[T.int8(-128) - i] = B[i]",
    ],
)
def test_lanes_behind_masked_ones_come_back_from_around_the_end(body: str) -> None:
    runs(body)


@pytest.mark.parametrize("stop", [64, 65, 66, 127])
def test_a_vectorized_loop_of_more_iterations_than_its_variable_has_numbers_above_zero(stop: int) -> None:
    runs(
        f"for i in T.vectorized(T.int8(-128), T.int8({stop})):\n"
        "    A[T.cast(i, 'int32') + 128] = B[T.cast(i, 'int32') + 128] + 1"
    )


def test_an_index_that_a_cast_wraps_around_is_in_the_box_of_its_buffer() -> None:
    runs(
        "L = T.alloc_buffer((256,), 'int32')\n"
        "for i in range(-3, 4):\n    L[T.cast(T.cast(i, 'uint8'), 'int32')] = B[i + 3]\n"
        "for i in range(-3, 4):\n    A[i + 3] = L[T.cast(T.cast(i, 'uint8'), 'int32')]"
    )
