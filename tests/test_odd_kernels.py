"""The kernels of the benchmark in odd sizes: ones, primes, tails; as they are scheduled by default, and with checks of
each index beside, against numpy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tirscript
from tirscript.backend.default_pipeline import lowering_of
from tirscript.ir import Target

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SIZES: dict[str, list[tuple[int, ...]]] = {
    "matmul": [(1, 1, 1), (7, 13, 5), (31, 37, 41), (64, 65, 33), (3, 130, 17), (1, 97, 64), (97, 1, 64)],
    "int8_matmul": [(1,), (13,), (37,), (65,)],
    "batch_matmul": [(1, 1), (2, 13), (3, 37)],
    "gemv": [(1,), (13,), (97,)],
    "conv3x3": [(1, 1, 1), (3, 5, 7), (2, 17, 13), (5, 33, 8)],
    "conv1x1": [(1, 1, 1), (3, 5, 7), (7, 17, 5), (5, 33, 9)],
    "depthwise": [(1, 1), (3, 7), (5, 17)],
    "softmax": [(1, 1), (3, 17), (2, 131), (17, 3)],
    "layer_norm": [(1, 1), (3, 17), (2, 131), (17, 3)],
    "fused_gelu": [(1,), (17,), (131,)],
    "total": [(1,), (17,), (1031,)],
    "argmax": [(1,), (17,), (1031,)],
    "cumsum": [(1,), (17,), (131,)],
    "transpose": [(1,), (7,), (37,)],
    "attention": [(1, 1, 1), (2, 7, 5), (1, 33, 17)],
    "stencil": [(3,), (7,), (37,)],
    "histogram": [(1, 1), (131, 7)],
    "gather": [(1, 1, 1), (7, 5, 13), (13, 33, 7)],
}


@pytest.fixture(scope="module", autouse=True)
def folder() -> Iterator[None]:
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.mark.long
@pytest.mark.parametrize("kind", SIZES)
def test_a_kernel_of_any_size_is_that_of_numpy(kind: str) -> None:
    import kernels_cases
    from kernels_ours import naive

    make: Any = getattr(kernels_cases, kind)
    for sizes in SIZES[kind]:
        case = make(*sizes, *(["odd"] if kind == "matmul" else []))
        program, arguments = naive(case), case.arguments()
        for options in ({}, {"pipeline": lowering_of(Target.parse("llvm")), "debug": True}):
            results = case.results()
            tirscript.build(program, **options)(*arguments, *results)
            assert case.wrong(arguments, results) is None, f"{case.name} {sizes}, {options}"


def test_no_kind_is_left_out() -> None:
    from kernels_cases import CASES

    assert {case.kind for case in CASES if case.counted} <= {case.kind for case in map(_first, SIZES)}


def _first(kind: str) -> Any:
    import kernels_cases

    return getattr(kernels_cases, kind)(*SIZES[kind][0], *(["odd"] if kind == "matmul" else []))
