"""The native entry and the checks in Python are two readings of one rule: any arguments are taken by both or by none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.ir import DiagnosticError

FUNCTIONS = (
    """
    def f(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("m", "n"), "float32"), n2: T.int32) -> T.int64:
        B[0, 0] = A[0, 0]
        return n * 100 + m
    """,
    """
    def f(A: T.Buffer(("n", 2), "float32", strides=("s", 1)), B: T.Buffer(("n", 2), "float32", strides=("s", "t")),
          n2: T.int32) -> T.int64:
        B[0, 0] = A[0, 0]
        return s * 100 + n
    """,
    """
    def f(A: T.Buffer(("n2", "n2 % 3"), "float32"), B: T.Buffer(("n2 // 2", "n2 - 1"), "float32", align=8),
          n2: T.int64) -> T.int64:
        B[0, 0] = A[0, 0]
        return n2
    """,
)  # fmt: skip
ECHOES = ("n", "s", 2)
MEMORY = np.zeros(4096, np.uint8)
RARELY = st.integers(0, 11).map(lambda number: number == 0)
SHAPES = (
    lambda n, m: ((n, m), (m, n)),
    lambda n, m: ((n, 2), (n, 2)),
    lambda n, m: ((n, n % 3), (n // 2, max(n - 1, 0))),
)


@st.composite
def arrays(draw: Any, shape: tuple[int, int], starts: list[int]) -> np.ndarray[Any, Any]:
    """A view of one memory: mostly of the right kind, sometimes overlapping, odd, strided, read-only or of another dtype."""
    kind = np.dtype(draw(st.sampled_from(["f8", "i4", ">f4"])) if draw(RARELY) else "f4")
    rows, columns = (size + draw(RARELY) for size in shape)
    down, right = (draw(st.sampled_from([2, -1, -2])) if draw(RARELY) else 1 for _ in shape)
    start = draw(st.sampled_from(starts)) + draw(RARELY)
    width = columns * abs(right) + 3 * draw(RARELY)
    memory = MEMORY[start : start + rows * abs(down) * width * kind.itemsize]
    view = memory.view(kind).reshape(rows * abs(down), width)[:, : columns * abs(right)][::down, ::right]
    if draw(RARELY):
        view = view[0] if view.shape[0] else view[None]
    view.flags.writeable = not draw(RARELY)
    return view


@pytest.fixture(scope="module")
def pairs(make_probe: Any) -> Any:
    programs = zip(FUNCTIONS, ECHOES, strict=True)
    return [(make_probe(text, echo), make_probe(text, echo, portable=True)) for text, echo in programs]


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except DiagnosticError as caught:
        return [(d.code, d.message) for d in caught.diagnostics]


@settings(max_examples=400, deadline=None)
@given(data=st.data(), which=st.integers(0, 2), n=st.integers(0, 6), m=st.integers(0, 4))
def test_both_ways_agree(pairs: Any, data: Any, which: int, n: int, m: int) -> None:
    native, portable = pairs[which]
    first, second = SHAPES[which](n, m)
    a = data.draw(arrays(first, [0, 4]))
    b = data.draw(arrays(second, [1024, 1024, 1028, 8]))
    number = data.draw(st.sampled_from([n, n, n, n, n + 1, -1, 2**40]))
    found = outcome(native, a, b, number)
    assert found == outcome(portable, a, b, number)
    assert not isinstance(found, list) or all(code != "T499" for code, _ in found)
