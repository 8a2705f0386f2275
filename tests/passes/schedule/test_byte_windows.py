"""Convolutions of bytes: windows written out, products of bytes, and what reads them in their tiles."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from helpers.bytes import BYTES, words

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.backend.llvm.host import host
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.default_cpu import DOTS
from tirscript.passes.schedule.default_cpu import CpuFacts, byte_windows, default_schedule
from tirscript.script import tir as T
from tirscript.testing import assert_same_result

FEATURES = set(host().features.split(","))
HERE = any(set(wanted) <= FEATURES for wanted in dict(DOTS[512])["vnni"])
FACTS = CpuFacts(vector_bits=512, threads=2, dots="vnni")


def convolution(
    sizes: tuple[int, int, int], image: str, filters: int, window: int, step: int, kinds: tuple[str, str] = BYTES[:2]
) -> PrimFunc:
    """A convolution of an image of batch, channels and side; `image` names the order of its axes."""
    n, c, side = sizes
    given, weight = kinds
    out = (side - window) // step + 1
    if image == "NCHW":

        @T.prim_func
        def planes(
            P: T.Buffer((n, c, side, side), given),
            W: T.Buffer((filters, c, window, window), weight),
            C: T.Buffer((n, filters, out, out), "int32"),
        ):
            for b, f, y, x, i, u, v in T.grid(n, filters, out, out, c, window, window):
                with T.block("C"):
                    vb, vf, vy, vx, vi, vu, vv = T.axis.remap("SSSSRRR", [b, f, y, x, i, u, v])
                    with T.init():
                        C[vb, vf, vy, vx] = 0
                    C[vb, vf, vy, vx] += T.cast(P[vb, vi, vy * step + vu, vx * step + vv], "int32") * T.cast(
                        W[vf, vi, vu, vv], "int32"
                    )

        return planes

    @T.prim_func
    def pixels(
        P: T.Buffer((n, side, side, c), given),
        W: T.Buffer((filters, window, window, c), weight),
        C: T.Buffer((n, out, out, filters), "int32"),
    ):
        for b, y, x, f, u, v, i in T.grid(n, out, out, filters, window, window, c):
            with T.block("C"):
                vb, vy, vx, vf, vu, vv, vi = T.axis.remap("SSSSRRR", [b, y, x, f, u, v, i])
                with T.init():
                    C[vb, vy, vx, vf] = 0
                C[vb, vy, vx, vf] += T.cast(P[vb, vy * step + vu, vx * step + vv, vi], "int32") * T.cast(
                    W[vf, vu, vv, vi], "int32"
                )

    return pixels


def arguments(kernel: PrimFunc) -> list[Any]:
    rng = np.random.default_rng(1)
    return [
        rng.integers(0, 256, (*one.constant_shape(), one.dtype.bits // 8), "uint8").view(str(one.dtype))[..., 0].copy()
        for one in kernel.param_buffers
    ]


def expected(kernel: PrimFunc, image: str, step: int) -> Any:
    """The result by numpy."""
    P, W, C = arguments(kernel)
    given, weights = P.astype("int32"), W.astype("int32")
    if image != "NCHW":
        given, weights = given.transpose(0, 3, 1, 2), weights.transpose(0, 3, 1, 2)
    size = weights.shape[-1]
    found = np.zeros((C.shape[0], weights.shape[0], *(C.shape[2:] if image == "NCHW" else C.shape[1:3])), "int32")
    for u, v in itertools.product(range(size), range(size)):
        seen = given[:, :, u:, v:][:, :, ::step, ::step][:, :, : found.shape[2], : found.shape[3]]
        found += np.einsum("fc,ncyx->nfyx", weights[:, :, u, v], seen)
    return found if image == "NCHW" else found.transpose(0, 2, 3, 1)


def run(made: PrimFunc, given: list[Any]) -> None:
    if HERE:
        tirscript.build(made, pipeline=DEFAULT_LOWERING)(*given)
    else:
        interpret(made, *given)


@pytest.mark.long
@pytest.mark.parametrize("kinds", list(itertools.product(BYTES, BYTES)))
@pytest.mark.parametrize(
    ("sizes", "image", "filters", "window", "step"),
    [
        ((1, 8, 10), "NCHW", 8, 3, 1),  # 64 pixels, whole tiles
        ((1, 13, 13), "NCHW", 10, 3, 2),  # no size is one of a tile
        ((2, 3, 12), "NCHW", 8, 5, 1),
        ((2, 24, 7), "NCHW", 18, 1, 1),  # lines of pixels are as short as they are
        ((1, 8, 10), "NHWC", 32, 3, 1),
        ((2, 7, 9), "NHWC", 18, 3, 2),
    ],
)
def test_convolutions_are_products_of_bytes(
    sizes: tuple[int, int, int], image: str, filters: int, window: int, step: int, kinds: tuple[str, str]
) -> None:
    kernel = convolution(sizes, image, filters, window, step, kinds)
    made = default_schedule(kernel, FACTS).func
    assert "vpdpbusd" in words(made)
    given = arguments(kernel)
    run(made, given)
    np.testing.assert_array_equal(given[2], expected(kernel, image, step))


def test_what_reads_it_is_done_in_its_tiles() -> None:
    @T.prim_func
    def kernel(
        P: T.Buffer((1, 8, 10, 10), "uint8"), W: T.Buffer((8, 8, 3, 3), "int8"), D: T.Buffer((1, 8, 8, 8), "int32")
    ):
        C = T.alloc_buffer((1, 8, 8, 8), "int32")
        for b, f, y, x, i, u, v in T.grid(1, 8, 8, 8, 8, 3, 3):
            with T.block("C"):
                vb, vf, vy, vx, vi, vu, vv = T.axis.remap("SSSSRRR", [b, f, y, x, i, u, v])
                with T.init():
                    C[vb, vf, vy, vx] = 0
                C[vb, vf, vy, vx] += T.cast(P[vb, vi, vy + vu, vx + vv], "int32") * T.cast(W[vf, vi, vu, vv], "int32")
        for b, f, y, x in T.grid(1, 8, 8, 8):
            with T.block("D"):
                vb, vf, vy, vx = T.axis.remap("SSSS", [b, f, y, x])
                D[vb, vf, vy, vx] = T.max(C[vb, vf, vy, vx] + vf, 0)

    made = default_schedule(kernel, FACTS).func
    text = words(made)
    assert "vpdpbusd" in text and text.count('block("C_') == 2  # its init and its update
    given = arguments(kernel)
    run(made, given)
    wanted = expected(convolution((1, 8, 10), "NCHW", 8, 3, 1, ("uint8", "int8")), "NCHW", 1)
    np.testing.assert_array_equal(given[2], np.maximum(wanted + np.arange(8).reshape(1, 8, 1, 1), 0))


@pytest.mark.parametrize(
    ("facts", "kernel"),
    [
        (CpuFacts(vector_bits=512), convolution((1, 8, 10), "NCHW", 8, 3, 1)),  # no instruction
        (FACTS, convolution((1, 24, 12), "NCHW", 3, 3, 1)),  # too few filters for a tile
        (FACTS, convolution((1, 1, 30), "NCHW", 8, 3, 1)),  # sums too short
        (FACTS, convolution((1, 32, 5), "NCHW", 32, 3, 1)),  # too few pixels for a vector
        (FACTS, convolution((1, 8, 10), "NCHW", 8, 3, 1, ("int16", "int8"))),
    ],
)
def test_other_convolutions_are_not(facts: CpuFacts, kernel: PrimFunc) -> None:
    made = default_schedule(kernel, facts).func
    assert "llvm.x86" not in words(made)
    given = arguments(kernel)
    run(made, given)
    np.testing.assert_array_equal(given[2], expected(kernel, "NCHW", 1))


def test_greatest_products_are_no_sums() -> None:
    @T.prim_func
    def kernel(P: T.Buffer((8, 10, 10), "uint8"), W: T.Buffer((8, 8, 3, 3), "int8"), C: T.Buffer((8, 8, 8), "int32")):
        for f, y, x, i, u, v in T.grid(8, 8, 8, 8, 3, 3):
            with T.block("C"):
                vf, vy, vx, vi, vu, vv = T.axis.remap("SSSRRR", [f, y, x, i, u, v])
                with T.init():
                    C[vf, vy, vx] = -100
                C[vf, vy, vx] = T.max(
                    C[vf, vy, vx], T.cast(P[vi, vy + vu, vx + vv], "int32") * T.cast(W[vf, vi, vu, vv], "int32")
                )

    made = default_schedule(kernel, FACTS).func
    assert "llvm.x86" not in words(made)
    assert_same_result(kernel, made)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "image", "weights"),
    [
        ({"f": 8, "y": 8, "x": 8, "c": 8, "u": 3, "v": 3}, "f, c, y + u, x + v", "f, c, u, v"),  # an image for each
        ({"f": 8, "y": 8, "x": 8, "c": 2, "u": 3, "v": 3, "w": 4}, "c, y + u, x + v, w", "f, c, u, v"),
        ({"f": 8, "y": 8, "x": 8, "c": 2, "u": 3, "v": 3, "w": 4}, "c, y + u, x + v", "f, c, u, v, w"),
        ({"f": 8, "b": 3, "y": 8, "x": 8, "c": 3, "u": 3, "v": 3}, "c, y + u, x + v", "f, c, u, v"),  # the same thrice
    ],
)
def test_windows_that_are_not_for_all_filters_and_terms_stay(sizes: dict[str, int], image: str, weights: str) -> None:
    given = [sum(sizes[one] - 1 for one in index.split(" + ")) + 1 for index in image.split(", ")]
    spatial, loops = [one for one in sizes if one not in "cuvw"], ", ".join(f"i_{one}" for one in sizes)
    kernel = tirscript.parse(f"""
@T.prim_func
def main(
    P: T.Buffer({tuple(given)}, "uint8"),
    W: T.Buffer({tuple(sizes[one] for one in weights.split(", "))}, "int8"),
    C: T.Buffer({tuple(sizes[one] for one in spatial)}, "int32"),
):
    for {loops} in T.grid({", ".join(map(str, sizes.values()))}):
        with T.block("C"):
            {", ".join(sizes)} = T.axis.remap("{"S" * len(spatial)}{"R" * (len(sizes) - len(spatial))}", [{loops}])
            with T.init():
                C[{", ".join(spatial)}] = 0
            C[{", ".join(spatial)}] += T.cast(P[{image}], "int32") * T.cast(W[{weights}], "int32")
""")
    assert isinstance(kernel, PrimFunc)
    made = default_schedule(kernel, FACTS).func
    assert "llvm.x86" not in words(made)
    assert_same_result(kernel, made)


def test_windows_of_too_many_bytes_are_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = convolution((1, 8, 10), "NCHW", 8, 3, 1)
    size = 8 * 9 * 64
    monkeypatch.setattr(byte_windows, "LARGEST", size)
    assert "vpdpbusd" in words(default_schedule(kernel, FACTS).func)
    monkeypatch.setattr(byte_windows, "LARGEST", size - 1)
    assert "vpdpbusd" not in words(default_schedule(kernel, FACTS).func)
