"""Python functions that a kernel calls while it is read, with its buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.script import tir as T


def doubled(A: Any, i: Any, j: Any) -> Any:
    return A[i, j] * 2.0


def row(A: Any, i: Any) -> Any:
    return sum(A[i, j] for j in range(A.shape[1].value))


def largest(A: Any, i: Any) -> Any:
    found = A[i, 0]
    for j in range(1, 4):
        found = T.max(found, A[i, j])
    return found


def last(A: Any, i: Any) -> Any:
    return A[i, A.shape[1] - 1]


@pytest.mark.parametrize(
    ("read", "wanted"),
    [
        (lambda A, i: doubled(A, i, 0), lambda a: a[:, 0] * 2),
        (lambda A, i: doubled(A, i, np.int64(1)), lambda a: a[:, 1] * 2),
        (row, lambda a: a.sum(1)),
        (largest, lambda a: a.max(1)),
        (last, lambda a: a[:, 3]),
    ],
)
def test_a_python_function_reads_elements(read: Callable[..., Any], wanted: Callable[..., Any]) -> None:
    @T.prim_func
    def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = read(A, i)

    given, out = np.arange(16, dtype="float32").reshape(4, 4), np.zeros(4, "float32")
    tirscript.interpret(f, given, out)
    np.testing.assert_array_equal(out, wanted(given))
    assert tirscript.parse(f.script()).script() == f.script()


def stored(A: Any, i: Any) -> None:
    A[i, 0] = 1.0


def branched(A: Any, i: Any) -> Any:
    return A[i, 0] if A[i, 0] > 0.0 else 0.0


@pytest.mark.parametrize(
    ("read", "code", "message", "hint"),
    [
        (lambda A, i: A[i], "T111", "`A` has 2 dimensions, but 1 index stand", None),
        (lambda A, i: A[i, 0:2], "T112", "takes no slice of `A`", "one by one"),
        (lambda A, i: A[i, 1.5], "T112", "the index is float32", None),
        (lambda A, i: A[i, 4], "T113", "4", None),
        (lambda A, i: A[i, -1], "T113", "-1", None),
        (branched, "T033", "`branched` is Python, which runs while parsing", "T.if_then_else"),
        (stored, "T033", "`stored` is Python, which runs while parsing", "`@T.macro`"),
        (lambda A, i: next(iter(A)), "T033", "is Python, which runs while parsing", "`@T.macro`"),
    ],
)
def test_what_it_cannot_do_is_told(read: Callable[..., Any], code: str, message: str, hint: str | None) -> None:
    with pytest.raises(DiagnosticError) as caught:

        @T.prim_func
        def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = read(A, i)

    (one,) = caught.value.diagnostics
    assert one.code == code and message in one.message
    assert one.span is not None and "read(A, i)" in one.span.text
    assert hint is None or hint in str(one.hint)


def test_memory_that_a_python_function_asks_for() -> None:
    def memory() -> Any:
        return T.alloc_buffer((4,), "float32")

    with pytest.raises(DiagnosticError) as caught:

        @T.prim_func
        def kernel(A: T.Buffer((4,), "float32")):
            C = memory()
            C[0] = A[0]

    (one,) = caught.value.diagnostics
    assert one.code == "T033" and "`T.alloc_buffer` stands inside a function" in one.message
    assert "write it in the kernel" in str(one.hint)
